//! What the driver receives: requests of clients and outcomes of performers.

use holon_core::{Answer, Input};
use holon_driver::{Admits, LoadError, NoAnswer};
use holon_facts::ids::Seed;
use holon_facts::{AgentId, OpId, Outcome};

use super::World;
use super::agenda::Happening;
use super::command::Ends;
use crate::failure::{Failure, ensure};
use crate::fault::Ill;
use crate::ingress::{self, Request, Waiting};
use crate::scenario::{Action, Timed};

/// Delay before a client that reached no process retries, in microseconds.
const AGAIN: u64 = 100_000;

impl World<'_> {
    /// Handles an input of the scenario that is due.
    pub(super) fn arrive(&mut self, index: usize) -> Result<(), Failure> {
        let Some(timed) = self.scenario.inputs.get(index) else { return Ok(()) };
        let with_it = |other: &Timed| (other.at, other.agent) == (timed.at, timed.agent);
        if self
            .scenario
            .inputs
            .get(index.saturating_sub(20)..=index)
            .is_some_and(|near| near.len() > 20 && near.iter().all(with_it))
        {
            self.injector.saw("a flood");
        }
        match &timed.action {
            Action::ClockJump { micros } => {
                self.clock_jumps(*micros);
                Ok(())
            }
            Action::Suspend { micros } => {
                self.sleep(*micros);
                Ok(())
            }
            Action::Freeze { micros } => {
                self.freeze(*micros);
                Ok(())
            }
            Action::Kill { again } => self.kill(*again),
            Action::Tick => {
                self.agenda.plan(self.at, 0, Happening::Ring(None));
                Ok(())
            }
            Action::Login { provider } => {
                self.login_changes(*provider);
                Ok(())
            }
            Action::Create { .. }
            | Action::Message(_)
            | Action::Model { .. }
            | Action::Compact
            | Action::RunTask { .. }
            | Action::StopTask { .. }
            | Action::WriteTask { .. }
            | Action::CreateTimer { .. }
            | Action::CancelTimer { .. }
            | Action::CreateWork { .. }
            | Action::CompleteWork { .. }
            | Action::Wake { .. }
            | Action::Deliver { .. }
            | Action::ChangeTrigger { .. }
            | Action::Meddle { .. }
            | Action::Place { .. }
            | Action::Start
            | Action::Stop
            | Action::Archive
            | Action::Rename { .. }
            | Action::Describe
            | Action::CloseAsk { .. }
            | Action::Abort { .. }
            | Action::Restart => {
                let request = Request { agent: timed.agent, action: timed.action.clone() };
                self.twice(&request)?;
                self.request(request)
            }
        }
    }

    /// Handles a request of a client. The quiet phase drops requests that would disturb it.
    pub(super) fn request(&mut self, request: Request) -> Result<(), Failure> {
        if self.quiet && self.disturbs(&request) {
            return Ok(());
        }
        self.send(request)
    }

    /// Sends a request twice where the fault strikes. A retry is sent once.
    fn twice(&mut self, request: &Request) -> Result<(), Failure> {
        let site = self.site("client", request.agent, "");
        let per_mille = self.often(self.scenario.faults.request_twice);
        let faults = &self.scenario.faults;
        if !self.quiet
            && request.repeatable()
            && self.injector.strikes(faults, &mut *self.choices, site, "twice", per_mille)
        {
            if per_mille == 1_000 {
                self.injector.saw("everything twice");
            }
            self.request(request.clone())?;
        }
        Ok(())
    }

    /// The rate of a doubling fault now: always during a spell of doubling, else the given rate.
    pub(super) fn often(&self, per_mille: u32) -> u32 {
        if self.scenario.faults.ill(Ill::Twice, self.at) { 1_000 } else { per_mille }
    }

    pub(super) fn send(&mut self, request: Request) -> Result<(), Failure> {
        self.saw_shutdown(&request);
        if self.life.engine.is_none() || self.life.leaving {
            self.plan(self.at + AGAIN, request.agent, Happening::Request(request));
            return Ok(());
        }
        let reply = self.outside.clients.next_reply();
        let Some(input) = ingress::input(&request, Seed(self.scenario.seed), reply) else { return Ok(()) };
        let known = input.agent().map_or(Ok(Ok(true)), |agent| self.bring_in(agent, input.is_urgent()))?;
        self.life.waits_to_enter = None;
        let Some(engine) = &self.life.engine else { return Ok(()) };
        // A shutdown waits for a full disk as for a slow one.
        let waits_for_space = request.action == Action::Restart;
        let admits = match known {
            Ok(_) => engine.admits(&input, waits_for_space),
            Err(LoadError::DiskFull(full)) => Admits::Refused(Err(full.into())),
            // The driver reports this itself.
            Err(LoadError::Damaged { .. } | LoadError::Driver(_)) => return Ok(()),
        };
        match admits {
            Admits::Now => {}
            Admits::Later => {
                let later = self.when_there_is_capacity()?;
                self.life.waits_to_enter = input.agent().cloned();
                self.agenda.plan(later, 0, Happening::Request(request));
                return Ok(());
            }
            Admits::Refused(answer) => return self.refused(request, answer),
        }
        let disturbs = match request.agent {
            0 => !self.outside.inflight.is_empty(),
            agent => self.outside.at_work(&ingress::agent_id(agent)).next().is_some(),
        };
        let meets = self.stop_meets(&request);
        let waiting = Waiting { request, since: self.at, disturbs, meets, urgent: input.is_urgent() };
        self.outside.clients.waiting.insert(reply, waiting);
        let now = self.now();
        self.steps(&Ends::new(), |engine| engine.ask(now, input, reply, reply, waits_for_space))
    }

    /// While nothing can be written, the driver refuses inputs, except that it still answers for messages admitted
    /// before.
    fn refused(&mut self, request: Request, answer: Result<Answer, NoAnswer>) -> Result<(), Failure> {
        self.injector.saw("a full disk refuses an input");
        self.checks.say("D10");
        ensure!(self.life.writer.is_stalled(), "D10", "{request:?} is refused, and the disk has room");
        if let Ok(Answer::Admitted { message_id, duplicate }) = answer {
            let agent = ingress::agent_id(request.agent);
            let held = self.disk.get().holds_message(&agent, message_id);
            ensure!(held && duplicate, "Q6", "{message_id} of {agent} is said to be admitted, and is not");
            self.injector.saw("a full disk still shows what it holds");
            self.promised(request, agent, message_id, duplicate);
        } else if request.repeatable() {
            self.plan(self.at + 10 * AGAIN, request.agent, Happening::Request(request));
        }
        Ok(())
    }

    /// Notifies callers that wait for a full disk. Those whose request is repeatable send it again.
    pub(super) fn answer_waiting(&mut self) -> Result<(), Failure> {
        let Some(engine) = &mut self.life.engine else { return Ok(()) };
        for reply in engine.take_put_off() {
            let Some(waiting) = self.outside.clients.waiting.remove(&reply) else { continue };
            let Waiting { request, urgent, .. } = waiting;
            self.injector.saw("callers that wait for a full disk are notified");
            self.checks.say("D10");
            let reserve_is_free = urgent && !self.disk.get().reserve_used;
            ensure!(
                !reserve_is_free,
                "D10",
                "{request:?} waits for a full disk, and the room held back is free"
            );
            self.life.put_off.insert(reply);
            if request.repeatable() {
                self.plan(self.at + 10 * AGAIN, request.agent, Happening::Request(request));
            }
        }
        Ok(())
    }

    /// Delivers the outcome of a performer; one of an earlier life arrives half of the time.
    pub(super) fn completed(
        &mut self,
        agent: &AgentId,
        op: OpId,
        outcome: Outcome,
        life: u64,
    ) -> Result<(), Failure> {
        if life != self.life.number {
            let number = self.number(agent);
            let site = self.site("ghost", number, "speaks");
            if self.choices.below(site, 2) == 0 {
                return Ok(());
            }
            self.injector.saw("outcome of an earlier life");
        } else {
            self.outside.inflight.remove(&(agent.clone(), op));
        }
        let runs = self.checks.agents().get(agent).is_some_and(|agent| agent.run.is_some());
        if self.witness.was_aborted(agent, op) && runs {
            self.injector.saw("an outcome of an aborted run comes during the next");
        }
        self.input(Input::Completed { agent: agent.clone(), op, outcome })
    }
}
