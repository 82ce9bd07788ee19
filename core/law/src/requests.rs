//! Laws about requests to models: they go on with each other, and they fit.

use holon_facts::event::Event;
use holon_facts::event::operation::{OpKind, OperationFact, OperationOpened};
use holon_facts::record::Record;
use holon_facts::request::{Layers, PrefixBreak, RequestRecord, RequestSize};

use super::past::Past;
use super::{Checked, rule};

/// A request has all of the one before it as its beginning, or the first part that it has not is on record. In a run it
/// has all, unless another model is asked, an episode has closed, or a provider has refused what its model had thought.
pub(super) fn m4(past: &Past, record: &Record) -> Checked {
    let Some((opened, now)) = request(record) else { return Ok(false) };
    if opened.kind != OpKind::CallModel {
        return Ok(false);
    }
    let before = past.requests.last.as_deref();
    let (broke, shared) = shared(before, now);
    rule(now.broke == broke && now.shared_bytes == shared, || {
        format!(
            "{} shares {} bytes with the request before ({:?}), it has {shared} ({broke:?})",
            opened.op, now.shared_bytes, now.broke
        )
    })?;
    let same_run = opened.run_id.is_some() && opened.run_id == past.requests.run;
    let reason = match broke {
        None | Some(PrefixBreak::First | PrefixBreak::Model) => true,
        // Another build may put it in other words.
        Some(PrefixBreak::Surface) => !same_run,
        Some(PrefixBreak::Standing | PrefixBreak::Head) => past.requests.closed || !same_run,
        Some(PrefixBreak::Conversation) => {
            past.requests.closed || past.requests.thoughts_refused || !same_run
        }
    };
    rule(reason, || {
        format!("{} does not go on with the request before ({broke:?}), and nothing happened", opened.op)
    })
}

/// As far as the records have it: where all layers are the same, the conversation may still be another one.
fn shared(before: Option<&RequestRecord>, now: &RequestRecord) -> (Option<PrefixBreak>, u64) {
    let Some(before) = before else { return (Some(PrefixBreak::First), 0) };
    let Layers { surface, standing, head, conversation } = before.layers;
    if before.model != now.model {
        (Some(PrefixBreak::Model), 0)
    } else if surface != now.layers.surface {
        (Some(PrefixBreak::Surface), 0)
    } else if standing != now.layers.standing {
        (Some(PrefixBreak::Standing), surface.bytes)
    } else if head != now.layers.head {
        (Some(PrefixBreak::Head), standing.bytes)
    } else if before.items > now.items || now.broke.is_some() {
        (Some(PrefixBreak::Conversation), head.bytes)
    } else {
        (None, conversation.bytes)
    }
}

/// A request that is sent fits, as its provider has counted so far, with a margin.
pub(super) fn m12(past: &Past, record: &Record) -> Checked {
    let Some((opened, request)) = request(record) else { return Ok(false) };
    let RequestSize { ratio, limit, .. } = request.size;
    let tokens = RequestSize::MARGIN.times(request.size.tokens());
    // Each of both was rounded up.
    rule(tokens <= limit.saturating_add(2), || {
        format!("{} may take {tokens} tokens of {}, {limit} fit", opened.op, request.model)
    })?;
    let counted = past.requests.counted.get(&request.model);
    let plausible = counted.map_or(ratio == RequestSize::UNKNOWN, |counted| {
        (counted.least.min(RequestSize::UNKNOWN)..=counted.most.max(RequestSize::UNKNOWN)).contains(&ratio)
    });
    rule(plausible, || format!("{} has the ratio {ratio:?}, counted was {counted:?}", opened.op))
}

fn request(record: &Record) -> Option<(&OperationOpened, &RequestRecord)> {
    let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event else { return None };
    Some((fact, fact.request.as_deref()?))
}
