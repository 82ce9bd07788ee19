//! What a provider keeps need not be sent again: where a request begins with all of an earlier one, to the byte, only what
//! follows its answer goes along.

use holon_facts::delivery::{GoesOnFrom, Incremental, StoredResponse, WholeReason};
use holon_facts::model::Item;
use holon_text::{TextError, hash};

use super::request::{self, INPUT};
use crate::exchange::{Body, List, Lowered, Lowering};

/// Longest id of a response, in bytes: another one is not gone on from.
pub(super) const ID_BYTES: usize = 256;

/// The request as it is sent, where its provider keeps responses.
pub(super) fn shortened(lowering: &Lowering<'_>, mut body: Body) -> Result<Lowered, TextError> {
    if !lowering.spec.options.incremental_responses {
        return Ok(Lowered::whole(body));
    }
    let Some(input) = body.take(INPUT) else { return Ok(Lowered::whole(body)) };
    let settings = hash(&body.bytes());
    let from = lowering.request.goes_on_from.as_deref();
    let kept = StoredResponse { id: String::new(), items: count(&input), input: hash(input.all()), settings };
    let found = match (lowering.whole, from) {
        (Some(reason), _) => Err(reason),
        (None, None) => Err(WholeReason::NoResponse),
        (None, Some(from)) if from.response.settings != settings => Err(WholeReason::Settings),
        (None, Some(from)) if !begins_as(&input, from) => Err(WholeReason::Conversation),
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
    body.put(INPUT, sent);
    Ok(Lowered { body, incremental: Some(incremental), kept: Some(kept) })
}

/// Whether all of the earlier request is at the beginning, with more behind it.
fn begins_as(input: &List, from: &GoesOnFrom) -> bool {
    let covered = from.response.items as usize;
    covered < input.len() && input.first(covered).is_some_and(|first| hash(first) == from.response.input)
}

/// What follows the answer; none where the conversation does not show it, or nothing follows.
fn follows(lowering: &Lowering<'_>, from: &GoesOnFrom) -> Result<Option<List>, TextError> {
    let answer = (from.items as usize).checked_sub(1);
    let shown = answer.and_then(|at| lowering.request.conversation.get(at..));
    let Some([Item::Assistant { .. }, rest @ ..]) = shown else { return Ok(None) };
    let by_others = |item: &Item| matches!(item, Item::User { .. } | Item::ToolResults { .. });
    let rest = if rest.iter().all(by_others) { request::input(lowering, rest)? } else { List::default() };
    Ok(Some(rest).filter(|rest| rest.len() > 0))
}

fn count(input: &List) -> u32 {
    u32::try_from(input.len()).unwrap_or(u32::MAX)
}
