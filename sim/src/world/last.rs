//! The quiet phase: no new faults, everything that is down comes back, every admitted message ends. Performers that are
//! dead for ever stay dead: their agents must still obey a stop and a shutdown.

use std::collections::BTreeSet;
use std::iter;

use holon_core::agent::{Agent, OpenOp};
use holon_facts::event::operation::OpKind;

use super::World;
use super::agenda::Happening;
use crate::failure::{Failure, ensure, liveness};
use crate::families;
use crate::ingress::{Request, Waiting, agent_id};
use crate::scenario::Action;

/// How long commands may run in the quiet phase before operators end them.
const TIDY: u64 = 4_000_000_000;

impl World<'_> {
    pub(super) fn begin_quiet_phase(&mut self) -> Result<(), Failure> {
        self.quiet = true;
        self.trace.note(self.at, "quiet");
        // The disk is no longer stuck.
        self.writer_wakes()?;
        for agent in 1..=self.scenario.agents {
            for agent in iter::once(agent).chain(families::public(agent)) {
                self.agenda.plan(self.at + TIDY, 0, Happening::Tidy(agent));
            }
            if self.scenario.faults.dies(agent) {
                let site = self.site("dead", agent, "stopped after");
                let after = 10_000_000 + u64::from(self.choices.below(site, 600)) * 1_000_000;
                self.plan(self.at + after, agent, Happening::Last(agent));
            } else {
                self.plan(self.at, agent, Happening::Request(Request { agent, action: Action::Start }));
            }
        }
        Ok(())
    }

    /// Stops an agent whose performers are dead, sometimes after a shutdown.
    pub(super) fn final_stop(&mut self, agent: u32) -> Result<(), Failure> {
        let site = self.site("dead", agent, "drained first");
        if self.choices.below(site, 2) == 0 {
            self.send(Request { agent: 0, action: Action::Restart })?;
        }
        self.plan(self.at + 1_000_000, agent, Happening::Request(Request { agent, action: Action::Stop }));
        Ok(())
    }

    /// Whether a request would disturb the quiet phase.
    pub(super) fn disturbs(&self, request: &Request) -> bool {
        let dies = self.scenario.faults.dies(request.agent);
        let interrupts = |action: &Action| {
            matches!(
                action,
                Action::Abort { .. }
                    | Action::Restart
                    | Action::Kill { .. }
                    | Action::Suspend { .. }
                    | Action::Freeze { .. }
            )
        };
        interrupts(&request.action)
            || request.action == if dies { Action::Start } else { Action::Stop }
            || (request.action == Action::Archive && !dies)
    }

    /// The operations of an agent that a stop interrupts.
    pub(super) fn stop_meets(&self, request: &Request) -> BTreeSet<&'static str> {
        let stops =
            matches!(request.action, Action::Stop | Action::Archive | Action::Abort { stop: true, .. });
        let agent = self.checks.agents().get(&agent_id(request.agent)).filter(|_| stops);
        let meets = |agent: &Agent, open: &OpenOp| match open.kind {
            OpKind::CallModel => Some("a stop during a request"),
            OpKind::CallTool | OpKind::PrepareCommand | OpKind::PromoteCommand | OpKind::AwaitTask => {
                Some("a stop during a tool call")
            }
            OpKind::RunCommand if agent.is_of_run(open) => Some("a stop during a command"),
            OpKind::RunCommand => Some("a stop while a task goes on"),
            OpKind::LoadContext
            | OpKind::FindWorkspace
            | OpKind::WriteInput
            | OpKind::SuperviseChild
            | OpKind::RemoveWorktree => None,
            OpKind::Summarize => None,
        };
        agent.into_iter().flat_map(|agent| agent.ops.values().filter_map(|open| meets(agent, open))).collect()
    }

    /// Notes a shutdown that is requested twice, or while no process is up.
    pub(super) fn saw_shutdown(&mut self, request: &Request) {
        if request.action != Action::Restart {
            return;
        }
        if self.life.engine.is_none() {
            self.injector.saw("a shutdown is asked for during a start");
        }
        let mut waiting = self.outside.clients.waiting.values();
        let twice = waiting.any(|waiting| waiting.request.action == Action::Restart);
        if twice || self.life.leaving || self.life.drained.is_some() {
            self.injector.saw("a shutdown is asked for twice");
        }
    }

    /// V5, V6: a stop or a shutdown takes no longer than the disk does, whatever is in flight.
    pub(super) fn obeyed(&mut self, waiting: &Waiting) -> Result<(), Failure> {
        let law = if matches!(waiting.request.action, Action::Stop | Action::Archive | Action::Abort { .. }) {
            "V5"
        } else if waiting.request.action == Action::Restart {
            "V6"
        } else {
            return Ok(());
        };
        if waiting.disturbs {
            self.checks.say(law);
            if self.scenario.faults.is_dead("provider", waiting.request.agent, self.at)
                || self.scenario.faults.is_dead("tool", waiting.request.agent, self.at)
            {
                self.injector.saw("a stop while nobody answers");
            }
        }
        let took = self.at - waiting.since;
        if self.life.writer.by_reserve {
            // The request met a disk that was already full, or was in flight when the disk filled up.
            let most = self.waits.longest(waiting.since).max(2 * self.scenario.faults.sync);
            self.checks.say("D10");
            ensure!(took <= most, "D10", "{:?} waited {took} µs for the room held back", waiting.request);
            return Ok(());
        }
        let most = 2 * self.scenario.faults.sync.max(self.waits.longest(waiting.since));
        if took > most {
            let problem = format!("{:?} took {took} µs, the disk {most} µs at most", waiting.request);
            return Err(liveness(law, problem));
        }
        Ok(())
    }

    pub(super) fn bring_everybody_in(&mut self) -> Result<(), Failure> {
        let absent: Vec<_> = self.checks.parked.keys().cloned().collect();
        for agent in absent {
            // An agent whose log is damaged stays out of memory.
            drop(self.admit(&agent)?);
        }
        Ok(())
    }
}
