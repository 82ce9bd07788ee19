//! What a provider keeps need not be sent again: where a request begins with all of an earlier one, to the byte, only what
//! follows its answer goes along.

use holon_facts::ContentId;
use holon_facts::delivery::{GoesOnFrom, Incremental, StoredResponse, WholeReason};
use holon_facts::model::Item;
use holon_text::{TextError, hash};
use serde_json::Value;

use super::request;
use crate::exchange::{Body, Lowered, Lowering};

/// Longest id of a response, in bytes: another one is not gone on from.
pub(super) const ID_BYTES: usize = 256;

/// The request as it is sent, where its provider keeps responses.
pub(super) fn shortened(lowering: &Lowering<'_>, mut body: Body) -> Result<Lowered, TextError> {
    if !lowering.spec.options.incremental_responses {
        return Ok(Lowered::whole(body));
    }
    let Value::Array(input) = body.fields["input"].take() else { return Ok(Lowered::whole(body)) };
    let settings = hash(body.text().as_bytes());
    let from = lowering.request.goes_on_from.as_deref();
    let covered = from.map_or(0, |from| from.response.items as usize);
    let (before, all) = digests(&input, covered);
    let kept = StoredResponse { id: String::new(), items: count(&input), input: all, settings };
    let found = match (lowering.whole, from) {
        (Some(reason), _) => Err(reason),
        (None, None) => Err(WholeReason::NoResponse),
        (None, Some(from)) if from.response.settings != settings => Err(WholeReason::Settings),
        (None, Some(from)) if before != Some(from.response.input) => Err(WholeReason::Conversation),
        (None, Some(from)) => follows(lowering, from)?.ok_or(WholeReason::Conversation),
    };
    let mut incremental =
        Incremental { response_id: None, whole: None, items: count(&input), items_sent: count(&input) };
    let sent = match (found, from) {
        (Ok(rest), Some(from)) => {
            body.fields["previous_response_id"] = from.response.id.clone().into();
            incremental.response_id = Some(from.response.id.clone());
            incremental.items_sent = count(&rest);
            rest
        }
        (Ok(_), None) => input,
        (Err(reason), _) => {
            incremental.whole = Some(reason);
            input
        }
    };
    body.fields["input"] = sent.into();
    Ok(Lowered { body, incremental: Some(incremental), kept: Some(kept) })
}

/// What follows the answer; none where the conversation does not show it, or nothing follows.
fn follows(lowering: &Lowering<'_>, from: &GoesOnFrom) -> Result<Option<Vec<Value>>, TextError> {
    let answer = (from.items as usize).checked_sub(1);
    let shown = answer.and_then(|at| lowering.request.conversation.get(at..));
    let Some([Item::Assistant { .. }, rest @ ..]) = shown else { return Ok(None) };
    let by_others = |item: &Item| matches!(item, Item::User { .. } | Item::ToolResults { .. });
    let rest = if rest.iter().all(by_others) { request::input(lowering, rest)? } else { Vec::new() };
    Ok(Some(rest).filter(|rest| !rest.is_empty()))
}

/// Of the first so many elements, where there are as many, and of all.
fn digests(input: &[Value], first: usize) -> (Option<ContentId>, ContentId) {
    let (mut text, mut before) = (String::new(), None);
    for (at, element) in input.iter().enumerate() {
        if at == first {
            before = Some(hash(text.as_bytes()));
        }
        text.push_str(&element.to_string());
        text.push('\n');
    }
    (before, hash(text.as_bytes()))
}

fn count(input: &[Value]) -> u32 {
    u32::try_from(input.len()).unwrap_or(u32::MAX)
}
