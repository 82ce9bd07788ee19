//! Prompts that an operator sends into a turn in progress (contract: agent.md, Interjection).

use alloc::vec::Vec;

use crate::event::inbox::{OperatorInterjectionAdmitted, SafePoint};
use crate::host::tx::Tx;
use crate::ids::MessageId;

/// Takes in every interjection that waits; says whether there was one.
pub(crate) fn take(tx: &mut Tx<'_>, safe_point: SafePoint) -> bool {
    let Some(run) = &tx.agent().run else { return false };
    let (run_id, round) = (run.id, run.next_round());
    let waiting: Vec<MessageId> = tx.agent().inbox.interjections().map(|message| message.id).collect();
    for &message_id in &waiting {
        tx.record(OperatorInterjectionAdmitted { message_id, run_id, round, safe_point });
    }
    !waiting.is_empty()
}
