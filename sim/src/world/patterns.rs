//! Faults that come together, recognised by what happened in the world, not by what the scenario planned.

use std::collections::BTreeSet;

use holon_facts::AgentId;

use crate::fault::{Ill, Injector};
use crate::scenario::Action;

/// How far each pattern has progressed.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// Agents stopped by a command, and whether all were stopped at one time.
    stopped: BTreeSet<u32>,
    swizzled: bool,
    /// Agents whose provider answered 429 in this spell.
    limited: BTreeSet<AgentId>,
    crashes_in_a_row: u32,
    sandwich: Sandwich,
    last_command: Option<(u64, u32, bool)>,
}

/// The clock jumps forward, the process crashes, the clock jumps back.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Sandwich {
    #[default]
    Nothing,
    Forward,
    Crashed,
}

impl Patterns {
    pub(super) fn clock(&mut self, back: bool, injector: &mut Injector) {
        if back && self.sandwich == Sandwich::Crashed {
            injector.saw("clock sandwich");
        }
        self.sandwich = if back { Sandwich::Nothing } else { Sandwich::Forward };
    }

    pub(super) fn crash(&mut self, soon: bool, injector: &mut Injector) {
        if self.sandwich == Sandwich::Forward {
            self.sandwich = Sandwich::Crashed;
        }
        self.crashes_in_a_row = if soon { self.crashes_in_a_row + 1 } else { 0 };
        if self.crashes_in_a_row == 2 {
            injector.saw("crash loop");
        }
    }

    /// Notes a command that was carried out.
    pub(super) fn obeyed(
        &mut self,
        at: u64,
        agent: u32,
        agents: u32,
        action: &Action,
        injector: &mut Injector,
    ) {
        let stops = *action == Action::Stop;
        if !stops && *action != Action::Start {
            return;
        }
        if self.last_command.is_some_and(|last| last == (at, agent, !stops)) {
            injector.saw("start and stop at one instant");
        }
        self.last_command = Some((at, agent, stops));
        if stops {
            self.stopped.insert(agent);
            self.swizzled |= agents > 1 && self.stopped.len() == agents as usize;
        } else {
            self.stopped.remove(&agent);
            if self.swizzled && self.stopped.is_empty() {
                injector.saw("swizzle stop");
                self.swizzled = false;
            }
        }
    }

    /// Notes an agent whose provider answered 429.
    pub(super) fn limited(&mut self, agent: &AgentId, injector: &mut Injector) {
        self.limited.insert(agent.clone());
        if self.limited.len() == 2 {
            injector.saw("several agents are limited at once");
        }
    }

    /// Notes the end of a spell.
    pub(super) fn over(&mut self, what: Ill, injector: &mut Injector) {
        if what == Ill::Limited && self.limited.len() > 1 {
            injector.saw("retry storm");
        }
        self.limited.clear();
    }
}
