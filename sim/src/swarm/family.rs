//! In some worlds agents have subtrees: many children at a time, and children of those, which get messages and are
//! ended.

use holon_facts::Config;
use holon_facts::budget::Bounds;
use holon_facts::config::ChildLimits;

use super::{Draw, pattern};
use crate::fault::Faults;
use crate::scenario::{Action, Meddling, Timed};

/// Draws whether this is such a world.
pub(super) fn add(
    draw: &mut Draw,
    agents: u32,
    span: u32,
    inputs: &mut Vec<Timed>,
    faults: &mut Faults,
    config: &mut Config,
) {
    (draw.agent, draw.ordinal) = (0, 0);
    if draw.below("family", 6) > 0 {
        return;
    }
    faults.child_calls = draw.of("family's calls", &[500, 700]);
    // A child with long work stays alive.
    faults.task_calls = draw.of("family's work", &[100, 250]);
    faults.commands_last = draw.of("family's commands", &[300, 800]);
    faults.parks = draw.of("family parks", &[0, 200, 1_000]);
    faults.reads_away = draw.of("family reads away", &[0, 500, 800]);
    // A lost sync makes damage unprovable, and the spending of lost children is not summed up.
    if faults.sync_lies == 0 && config.budgets.subtree == Bounds::default() {
        faults.child_damaged = draw.of("family's damage", &[0, 0, 500]);
    }
    // An agent that gets failures only begins no children.
    faults.provider_fails = draw.of("family fails", &[0, 0, 100]);
    faults.provider_silent = draw.of("family's silence", &[0, 0, 30]);
    config.children = ChildLimits {
        depth: draw.of("family's depth", &[1, 2, 3]),
        per_agent: draw.of("family's size", &[2, 8, 8]),
    };
    config.limits.agents = u64::from(agents) + draw.of("family in all", &[3, 12, 30]);
    config.turn.calls_per_round = config.turn.calls_per_round.max(draw.of("family's round", &[4, 8]));
    config.turn.rounds = config.turn.rounds.max(draw.of("family's rounds", &[3, 8]));
    for nth in 0..8 {
        draw.ordinal = nth;
        let agent = draw.below("whose family", agents) + 1;
        let at = u64::from(draw.below("family begins", span));
        inputs.push(Timed { at, agent, action: Action::Message(pattern::prompt()) });
        let (task, how) =
            (u64::from(draw.below("which of a family", 6)) + 1, draw.of("meddling how", Meddling::ALL));
        let at = at + u64::from(draw.below("meddled after", 30_000_000));
        inputs.push(Timed { at, agent, action: Action::Meddle { task, how } });
    }
    draw.ordinal = 0;
}
