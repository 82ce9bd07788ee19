//! Ends waits: by the message that a turn takes, or by their owner.

use alloc::vec::Vec;

use holon_facts::event::timer::TimerCancelled;
use holon_facts::event::wait::{Resolution, WaitCancelled, WaitEnd, WaitResolved};
use holon_facts::ids::{MessageId, TimerId, WaitId, WorkItemId};

use crate::agent::wait::resolve::matched;
use crate::tx::Tx;

/// A turn takes a message: what waited for it waits no more.
pub(crate) fn taken(tx: &mut Tx<'_>, message_id: MessageId) {
    let Some(entry) = tx.agent().inbox.queued_entry(message_id) else { return };
    let waits: Vec<WaitId> = matched(tx.agent(), &entry.message).map(|wait| wait.id).collect();
    for wait_id in waits {
        tx.record(WaitResolved { wait_id, by: Resolution::Message { message_id } });
    }
}

/// The owner waits no more, if it did.
pub(crate) fn cancel(tx: &mut Tx<'_>, owner: Option<WorkItemId>, reason: WaitEnd) {
    let Some(wait) = tx.agent().wait_of(owner) else { return };
    let (wait_id, timer_id) = (wait.id, wait.timer_id);
    tx.record(WaitCancelled { wait_id, reason });
    let armed = |timer: &TimerId| tx.agent().timers.is_armed(*timer);
    if let Some(timer_id) = timer_id.filter(armed) {
        tx.record(TimerCancelled { timer_id });
    }
}
