//! Records wake hints and queues the tick for them (contract: work.md, Wake hints).

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::wake::{WakeHintCoalesced, WakeHintRecorded, WakeTickQueued};
use holon_facts::hint::{BODY_BYTES, Hint, HintWeight, WakeDisposition};
use holon_facts::ids::ReplyId;
use holon_facts::message::{NAME_BYTES, Origin};
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::reject::Reject;
use holon_facts::subsystem::WAKE_HINT;

use crate::agent::wake::{Pending, fold};
use crate::effect::Answer;
use crate::handler::admission;
use crate::handler::evidence::{self, Evidence};
use crate::tx::Tx;

/// Takes a hint in, or refuses it, and answers the caller. What comes through a trigger is no business of this door.
pub(crate) fn wake(tx: &mut Tx<'_>, hint: Hint, reply: ReplyId) {
    let hint = Hint { external_trigger_id: None, repeats: false, ..hint };
    let answer = match admission::closed(tx).or_else(|| refusal(&hint)) {
        Some(reject) => Answer::Refused { reject },
        None => Answer::Woken { disposition: take(tx, hint) },
    };
    tx.reply(reply, answer);
}

pub(super) fn take(tx: &mut Tx<'_>, hint: Hint) -> WakeDisposition {
    let wait_id = hint.wait_id.or_else(|| tx.agent().wait_named_by(&hint));
    let hint = Hint { wait_id, ..hint };
    let hints = &tx.agent().hints;
    let sequence = hints.sequence.saturating_add(1);
    if hints.pending.contains_key(&hint.source) {
        tx.record(WakeHintCoalesced { sequence, hint });
        return WakeDisposition::Coalesced;
    }
    let folded = tx.agent().source_to_fold(&Pending::one(tx.now(), sequence, hint.clone()));
    let (folded, folded_as) = folded.unzip();
    tx.record(WakeHintRecorded { sequence, hint, folded, folded_as });
    WakeDisposition::Triggered
}

pub(super) fn refusal(hint: &Hint) -> Option<Reject> {
    for (name, text) in [("source", &hint.source), ("reason", &hint.reason)] {
        if text.is_empty() {
            let (what, least, most) = (format!("the length of the {name}"), 1, NAME_BYTES as u64);
            return Some(Reject::OutOfRange { field: name.into(), what, value: 0, least, most });
        }
    }
    if let Some((name, text)) = hint.names().find(|(_, text)| text.len() > NAME_BYTES) {
        let (bytes, limit) = (text.len() as u64, NAME_BYTES as u64);
        return Some(Reject::TooLarge { what: name.into(), bytes, limit });
    }
    let bytes = hint.body.as_ref().map_or(0, Text::bytes);
    (bytes > BODY_BYTES).then(|| Reject::TooLarge { what: "the body".into(), bytes, limit: BODY_BYTES })
}

/// Queues the one message that reports all that waits.
pub(crate) fn deliver(tx: &mut Tx<'_>) {
    queue_tick(tx, Vec::new());
}

/// A stop clears bare hints; the others stay, as one queued message (contract: decisions.md, 29). A child does not begin
/// again.
pub(super) fn keep_at_stop(tx: &mut Tx<'_>) {
    let agent = tx.agent();
    let bare = |pending: &&Pending| agent.weight(pending) == HintWeight::Bare;
    let left: Vec<String> =
        agent.hints.pending().filter(bare).map(|pending| pending.hint.source.clone()).collect();
    let matter = left.len() < agent.hints.pending.len() || agent.folded_matters();
    if matter && agent.spec.supervisor.is_none() {
        queue_tick(tx, left);
    }
}

/// It reports all that waits but of these sources.
fn queue_tick(tx: &mut Tx<'_>, left: Vec<String>) {
    let agent = tx.agent();
    let shown = || agent.hints.pending().filter(|pending| !left.contains(&pending.hint.source));
    let named: u64 = shown().chain(agent.hints.folded()).map(|pending| pending.count).sum();
    let (sequence, hints) = (agent.hints.sequence, named.saturating_add(agent.hints.others()));
    // The model has to look at what says something, and at what somebody waits for.
    let matters = |pending: &Pending| pending.hint.body.is_some() || agent.is_awaited(pending);
    let contentful = agent.folded_matters() || shown().any(matters);
    let evidence = Evidence {
        kind: MessageKind::SystemTick,
        origin: Origin::system(WAKE_HINT),
        priority: Priority::Next,
        surface: Surface::RuntimeSystem,
        text: Text::short(fold::tick_text(&agent.hints, &left)),
    };
    if let Some(message_id) = evidence::admit(tx, evidence) {
        tx.record(WakeTickQueued { message_id, sequence, hints, contentful, left });
    }
}
