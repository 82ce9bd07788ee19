//! A hand-made life with requests that were kept while nobody owned the agent, and ways to take one twice.

use alloc::vec::Vec;

use holon_facts::event::inbox::MessageAdmitted;
use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::event::wake::WakeHintRecorded;
use holon_facts::hint::Hint;
use holon_facts::ids::DepositId;
use holon_facts::message::Priority;

use super::facts::*;
use super::sabotage::{Case, Script};
use crate::testing::spec;

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        Case::of("X7", "a deposit becomes two messages", life(), |s| {
            s.replace("message_admitted", 1, message(2, 7));
        }),
        Case::of("X7", "a deposit becomes a message and a hint", life(), |s| {
            s.replace("wake_hint_recorded", 0, hint(8));
        }),
    ]
}

fn message(id: u64, deposit: u64) -> MessageAdmitted {
    MessageAdmitted { deposit: Some(DepositId(deposit)), ..admitted(id, Priority::Normal) }
}

fn hint(deposit: u64) -> WakeHintRecorded {
    let hint = Hint { deposit: Some(DepositId(deposit)), ..super::hints::hint("ci") };
    WakeHintRecorded { sequence: 1, hint, folded: None, folded_as: None }
}

fn life() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(message(1, 7));
    s.step().on(message(2, 8));
    s.step().on(hint(5));
    s
}
