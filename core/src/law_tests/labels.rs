//! Labels that follow from nothing.

use alloc::vec::Vec;

use holon_facts::event::lifecycle::AgentLabelled;
use holon_facts::label::AgentLabel;

use super::sabotage::{Case, case};

fn labelled(was: bool, archived: bool) -> AgentLabelled {
    let label = |archived| AgentLabel { archived, ..AgentLabel::default() };
    AgentLabelled { previous: label(was), label: label(archived) }
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        case("L5", "an agent that runs is archived", |s| s.after("turn_started", 0, labelled(false, true))),
        case("L5", "a start leaves the agent in the archive", |s| {
            s.after("control_applied", 0, labelled(false, true));
        }),
        case("S7", "a label changes from what it was not", |s| {
            s.after("turn_started", 0, labelled(true, false));
        }),
    ]
}
