//! Queues the tick for rechecks that are due, and gives up after too many (contract: work.md, Work items).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::wait::{RecheckGivenUp, Rechecked, WorkItemRecheckDue};
use holon_facts::ids::{MessageId, RunId};
use holon_facts::message::Origin;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::subsystem::RECHECK;
use holon_facts::wait::IN_A_ROW;
use holon_facts::work::IN_A_TICK;

use crate::agent::wait::recheck::{Owner, owners};
use crate::handler::evidence::{self, Evidence};
use crate::handler::turn::report;
use crate::tx::Tx;

/// Queues the one message that reports all that is due, and arms the next of each.
pub(crate) fn deliver(tx: &mut Tx<'_>) {
    let now = tx.now();
    let due = owners(tx.agent()).filter(|owner| owner.recheck.is_due(now)).take(IN_A_TICK);
    let due: Vec<Owner<'_>> = due.collect();
    let rechecked = due.iter().map(|owner| Rechecked {
        work_item_id: owner.id(),
        count: owner.recheck.count.saturating_add(1),
        next_at: now.after(owner.recheck.delay(owner.recheck.count.saturating_add(1))),
    });
    let rechecked: Vec<Rechecked> = rechecked.collect();
    let evidence = Evidence {
        kind: MessageKind::SystemTick,
        origin: Origin::system(RECHECK),
        priority: Priority::Background,
        surface: Surface::RuntimeSystem,
        text: Text::short(text_of(&due)),
    };
    if let Some(message_id) = evidence::admit(tx, evidence) {
        tx.record(WorkItemRecheckDue { message_id, due: rechecked });
    }
}

fn text_of(due: &[Owner<'_>]) -> String {
    let named: Vec<String> = due.iter().map(Owner::name).collect();
    format!("Look whether this still stands in the way: {}.", named.join(", "))
}

/// A turn was to look, and has ended: what stands after so many of them is left to an operator.
pub(crate) fn turn_ended(tx: &mut Tx<'_>, run_id: RunId, message: MessageId) {
    if tx.agent().inbox.is_live(message) {
        return;
    }
    let over = |owner: &Owner<'_>| owner.recheck.is_delivered_by(message) && owner.recheck.count >= IN_A_ROW;
    let given_up: Vec<RecheckGivenUp> = owners(tx.agent())
        .filter(over)
        .map(|owner| RecheckGivenUp {
            work_item_id: owner.id(),
            wait_id: owner.wait.map(|wait| wait.id),
            run_id,
        })
        .collect();
    if given_up.is_empty() {
        return;
    }
    let named = |fact: &RecheckGivenUp| match (fact.work_item_id, fact.wait_id) {
        (Some(item), _) => item.to_string(),
        (None, wait) => wait.map(|wait| wait.to_string()).unwrap_or_default(),
    };
    let names: Vec<String> = given_up.iter().take(IN_A_TICK).map(named).collect();
    let text = format!(
        "{IN_A_ROW} rechecks in a row changed nothing of {}: nobody looks again before you say something about it.",
        names.join(", ")
    );
    let about = if let [only] = given_up.as_slice() { only.work_item_id } else { None };
    for fact in given_up {
        tx.record(fact);
    }
    report::needs_operator(tx, run_id, text, about);
}
