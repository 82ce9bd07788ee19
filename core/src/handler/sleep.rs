//! Ends a sleep that an agent chose (contract: tools.md, Sleep; scheduler.md, row 8).

use holon_facts::content::Text;
use holon_facts::event::scheduling::SleepElapsed;
use holon_facts::message::Origin;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::subsystem::SLEEP_ELAPSED;

use crate::handler::evidence::{self, Evidence};
use crate::tx::Tx;

/// Queues the message that ends the sleep.
pub(super) fn deliver(tx: &mut Tx<'_>) {
    let Some(sleep) = &tx.agent().sleep else { return };
    let Some(until) = sleep.over(tx.now()) else { return };
    let because = sleep.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let evidence = Evidence {
        kind: MessageKind::SystemTick,
        origin: Origin::system(SLEEP_ELAPSED),
        priority: Priority::Background,
        surface: Surface::RuntimeSystem,
        text: Text::short(format!("You slept from {} until {until}{because}", sleep.since)),
    };
    if let Some(message_id) = evidence::admit(tx, evidence) {
        tx.record(SleepElapsed { message_id, until });
    }
}
