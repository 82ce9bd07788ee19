//! Routing: one line per input, then decisions for every agent that something happened to.

use alloc::vec::Vec;

use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::identity::{AgentSpec, InitialSettings, Supervisor};
use holon_facts::ids::{AgentId, EventSeq, OpId, ReplyId, TaskId};
use holon_facts::lifecycle::Boundary;
use holon_facts::outcome::Outcome;
use holon_facts::provenance::Surface;
use holon_facts::record::Record;
use holon_facts::reject::Reject;

use super::Host;
use super::registry::Resident;
use crate::agent::Agent;
use crate::effect::{Answer, Effect};
use crate::grants::Grant;
use crate::handler::turn::outage;
use crate::handler::{
    admission, asks, control, episode, external_trigger, label, model, recovery, settle, task, timer, turn,
    wake, work, workspace,
};
use crate::input::{ControlRequest, Input};
use crate::operation;
use crate::tx::{Alarm, Batch};

impl Host {
    /// Hands the input to its handler, and says which boundary its agent's decisions are taken at.
    pub(super) fn dispatch(&mut self, batch: &mut Batch, input: Input) -> Boundary {
        if let Some((reply, reject)) = self.keeps_private(&input) {
            batch.effects.push(Effect::Reply { reply, answer: Answer::Refused { reject } });
            return Boundary::Control;
        }
        match input {
            Input::CreateAgent { agent, spec, settings, reply } => {
                self.create(batch, agent, (spec, settings), reply)
            }
            Input::Ingress { agent, ingress, reply } => {
                self.addressed(batch, &agent, reply, |tx| admission::admit(tx, ingress, reply));
                Boundary::MessageAdmission
            }
            Input::Control { agent, request, reply } => {
                self.controlled(batch, &agent, reply, |tx| control::control(tx, &request, reply))
            }
            Input::SetModel { agent, model, reply } => {
                self.controlled(batch, &agent, reply, |tx| model::set(tx, model, reply))
            }
            Input::Compact { agent, reply } => {
                self.controlled(batch, &agent, reply, |tx| episode::compact(tx, reply))
            }
            Input::CloseAsk { agent, brief, reply } => {
                self.controlled(batch, &agent, reply, |tx| asks::close(tx, brief, reply))
            }
            Input::Label { agent, change, reply } => {
                self.controlled(batch, &agent, reply, |tx| label::change(tx, change, reply))
            }
            Input::RunTask { agent, arguments, key, reply } => {
                self.controlled(batch, &agent, reply, |tx| task::operator::run(tx, arguments, key, reply))
            }
            Input::StopTask { agent, task, force, reply } => {
                self.controlled(batch, &agent, reply, |tx| task::operator::end(tx, task, force, reply))
            }
            Input::WriteTask { agent, task, text, reply } => {
                self.controlled(batch, &agent, reply, |tx| task::operator::input(tx, task, text, reply))
            }
            Input::CreateTimer { agent, timer, key, reply } => {
                self.controlled(batch, &agent, reply, |tx| timer::operator::create(tx, timer, key, reply))
            }
            Input::CancelTimer { agent, timer, reply } => {
                self.controlled(batch, &agent, reply, |tx| timer::operator::cancel(tx, timer, reply))
            }
            Input::CreateWorkItem { agent, item, key, reply } => {
                self.controlled(batch, &agent, reply, |tx| work::operator::create(tx, item, key, reply))
            }
            Input::ChangeWorkspace { agent, change, reply } => {
                self.controlled(batch, &agent, reply, |tx| workspace::operator::change(tx, change, reply))
            }
            Input::Wake { agent, hint, reply } => {
                self.addressed(batch, &agent, reply, |tx| wake::wake(tx, hint, reply));
                Boundary::IdleTick
            }
            Input::Deliver { agent, delivery, reply } => {
                self.addressed(batch, &agent, reply, |tx| external_trigger::deliver(tx, delivery, reply));
                Boundary::IdleTick
            }
            Input::ChangeTrigger { agent, change, reply } => {
                self.controlled(batch, &agent, reply, |tx| external_trigger::change(tx, change, reply))
            }
            Input::CompleteWorkItem { agent, item, reply } => {
                self.controlled(batch, &agent, reply, |tx| work::operator::complete(tx, item, reply))
            }
            Input::Completed { agent, op, outcome } => self.complete(batch, &agent, op, outcome),
            looked @ (Input::PlanProbed { .. } | Input::TreeKept { .. }) => self.looked(batch, looked),
            Input::LoginChanged { provider } => self.login_changed(batch, &provider),
            Input::Granted { grant } => self.granted(batch, grant),
            Input::TurnsLent { turns } => self.turns_lent(turns),
            Input::Tick => Boundary::IdleTick,
            Input::Drain { reply } => self.drain(batch, reply),
        }
    }

    /// Whoever waits for a slot is looked at anyway.
    fn turns_lent(&mut self, turns: u64) -> Boundary {
        self.slots.lend(turns);
        Boundary::IdleTick
    }

    /// What somebody found who looked at files, without an operation that waits for it.
    fn looked(&mut self, batch: &mut Batch, input: Input) -> Boundary {
        if let Input::PlanProbed { agent, item, hash } = input {
            return self.seen(batch, &agent, |tx| work::plan::probed(tx, item, hash));
        }
        if let Input::TreeKept { agent, execution, kept, moment } = input {
            return self.seen(batch, &agent, |tx| workspace::tree::kept(tx, execution, kept, moment));
        }
        Boundary::IdleTick
    }

    /// Only its parent tells a child anything, past what comes through its trigger; anybody may end it.
    fn keeps_private(&self, input: &Input) -> Option<(ReplyId, Reject)> {
        let (agent, reply, public) = match input {
            Input::Ingress { agent, ingress, reply } => {
                // Whoever is not an operator is not even told that there is one.
                let public =
                    matches!(ingress.delivery_surface, Surface::HttpPublicEnqueue | Surface::HttpWebhook);
                (agent, *reply, public)
            }
            Input::Control { agent, request: ControlRequest::Archive, reply }
            | Input::SetModel { agent, reply, .. }
            | Input::Label { agent, reply, .. }
            | Input::CloseAsk { agent, reply, .. }
            | Input::Compact { agent, reply }
            | Input::RunTask { agent, reply, .. }
            | Input::WriteTask { agent, reply, .. }
            | Input::CreateTimer { agent, reply, .. }
            | Input::CreateWorkItem { agent, reply, .. }
            | Input::CompleteWorkItem { agent, reply, .. }
            | Input::ChangeWorkspace { agent, reply, .. }
            | Input::Wake { agent, reply, .. } => (agent, *reply, false),
            Input::CreateAgent { .. }
            | Input::Control { .. }
            | Input::StopTask { .. }
            | Input::CancelTimer { .. }
            | Input::Deliver { .. }
            | Input::ChangeTrigger { .. }
            | Input::Completed { .. }
            | Input::PlanProbed { .. }
            | Input::TreeKept { .. }
            | Input::LoginChanged { .. }
            | Input::Granted { .. }
            | Input::TurnsLent { .. }
            | Input::Tick
            | Input::Drain { .. } => return None,
        };
        let Supervisor { agent_id, task_id } = self.agent(agent)?.spec.supervisor.as_ref()?;
        let agent = agent.clone();
        let reject = if public {
            Reject::UnknownAgent { agent }
        } else {
            Reject::PrivateAgent { agent, parent: agent_id.clone(), task: *task_id }
        };
        Some((reply, reject))
    }

    /// Something that an operator asked of one agent.
    fn controlled(
        &mut self,
        batch: &mut Batch,
        agent: &AgentId,
        reply: ReplyId,
        work: impl FnOnce(&mut crate::tx::Tx<'_>),
    ) -> Boundary {
        self.addressed(batch, agent, reply, work);
        Boundary::Control
    }

    /// Something that a caller asked of one agent.
    fn addressed(
        &mut self,
        batch: &mut Batch,
        agent: &AgentId,
        reply: ReplyId,
        work: impl FnOnce(&mut crate::tx::Tx<'_>),
    ) {
        if self.with(batch, agent, work).is_none() {
            let reject = Reject::UnknownAgent { agent: agent.clone() };
            batch.effects.push(Effect::Reply { reply, answer: Answer::Refused { reject } });
        }
        self.unsettled.insert(agent.clone());
    }

    /// Why nobody can create an agent of that name now.
    pub fn may_not_begin(&self, id: &AgentId) -> Option<Reject> {
        let limit = self.config.limits.agents;
        if self.names.contains(id) || self.agents.contains_key(id) {
            Some(Reject::AgentExists { agent: id.clone() })
        } else if let Some(holder) = self.names.renamed_to(id) {
            Some(Reject::NameTaken { name: id.clone(), agent: holder.clone() })
        } else if id.is_reserved() {
            Some(Reject::ReservedAgentId { agent: id.clone() })
        } else if self.draining {
            Some(Reject::Draining)
        } else if self.names.len() as u64 >= limit {
            Some(Reject::TooManyAgents { limit })
        } else {
            None
        }
    }

    fn create(
        &mut self,
        batch: &mut Batch,
        id: AgentId,
        (spec, settings): (AgentSpec, InitialSettings),
        reply: ReplyId,
    ) -> Boundary {
        if let Some(reject) = self.may_not_begin(&id) {
            batch.effects.push(Effect::Reply { reply, answer: Answer::Refused { reject } });
            return Boundary::Bootstrap;
        }
        let record = Record {
            step: batch.seq,
            agent: id.clone(),
            event_seq: EventSeq(1),
            at: self.clock.wall(),
            event: AgentCreated { spec }.into(),
        };
        if let Ok(agent) = Agent::created(&record) {
            self.enrol(agent);
        }
        batch.records.push(record);
        self.with(batch, &id, |tx| {
            external_trigger::provision(tx);
            model::begin(tx, settings.model);
            label::begin(tx, settings.description);
        });
        batch.effects.push(Effect::Reply { reply, answer: Answer::Created { agent: id.clone() } });
        self.unsettled.insert(id);
        Boundary::Bootstrap
    }

    fn complete(&mut self, batch: &mut Batch, agent: &AgentId, op: OpId, outcome: Outcome) -> Boundary {
        let known = self.agent(agent).is_some_and(|agent| agent.ops.contains_key(&op));
        if !known {
            self.stats.late_outcomes += 1;
            return Boundary::MessageProcessing;
        }
        self.with(batch, agent, |tx| operation::completed(tx, op, outcome));
        self.decide_at_boundary(agent);
        Boundary::MessageProcessing
    }

    /// Somebody has looked at something of an agent; whoever is not here is looked at again some time.
    fn seen(
        &mut self,
        batch: &mut Batch,
        agent: &AgentId,
        work: impl FnOnce(&mut crate::tx::Tx<'_>),
    ) -> Boundary {
        self.with(batch, agent, work);
        self.decide_at_boundary(agent);
        Boundary::IdleTick
    }

    /// What happens inside a run calls for no decision; its end does.
    fn decide_at_boundary(&mut self, agent: &AgentId) {
        if self.agent(agent).is_some_and(|agent| agent.run.is_none()) {
            self.unsettled.insert(agent.clone());
        }
    }

    /// Whoever waits for the login of a provider is in memory.
    fn login_changed(&mut self, batch: &mut Batch, provider: &str) -> Boundary {
        let waits =
            |agent: &&Agent| agent.hold.as_ref().is_some_and(|hold| outage::waits_for(hold, provider));
        let waiting: Vec<AgentId> = self.agents().filter(waits).map(|agent| agent.id.clone()).collect();
        for agent in waiting {
            self.seen(batch, &agent, |tx| outage::login_changed(tx, provider));
        }
        Boundary::IdleTick
    }

    /// Whoever waits for more asks its model, or is told that there is none.
    fn granted(&mut self, batch: &mut Batch, grant: Grant) -> Boundary {
        self.grants.note(grant);
        let waits = |resident: &Resident| resident.alarms.contains_key(&Alarm::Grant);
        let waiting = self.agents.iter().filter(|(_, resident)| waits(resident));
        let waiting: Vec<AgentId> = waiting.map(|(id, _)| id.clone()).collect();
        for agent in waiting {
            self.seen(batch, &agent, turn::request::granted);
        }
        Boundary::IdleTick
    }

    /// Interrupts every run and lets nothing new begin. Draining twice answers twice.
    fn drain(&mut self, batch: &mut Batch, reply: ReplyId) -> Boundary {
        self.draining = true;
        let running: Vec<AgentId> = self
            .agents()
            .filter(|agent| agent.run.is_some() || !agent.ops.is_empty())
            .map(|agent| agent.id.clone())
            .collect();
        for agent in running {
            self.with(batch, &agent, recovery::shut_down);
            self.unsettled.insert(agent);
        }
        batch.effects.push(Effect::Reply { reply, answer: Answer::Drained });
        Boundary::Shutdown
    }

    /// Consumes what is due, up to the bound of a step. The end of a task that comes with the step is no longer waited
    /// for in vain, however late that is: a machine may have slept.
    pub(super) fn fire_due(&mut self, batch: &mut Batch, ends: Option<&(AgentId, TaskId)>) {
        let limit = self.config.limits.deadlines_per_step as usize;
        let mut left = self.config.limits.deadlines_per_step;
        for (agent, alarm) in self.deadlines.due_alarms(self.clock.mono(), limit) {
            let has_come =
                ends.is_some_and(|(whose, task)| *whose == agent && alarm == Alarm::StopTask(*task));
            if has_come || !self.deadlines.is_due(&agent, alarm, self.clock.mono()) {
                continue;
            }
            self.with(batch, &agent, |tx| match alarm {
                Alarm::Op(op) => operation::timed_out(tx, op),
                Alarm::Backoff => turn::request::backed_off(tx),
                Alarm::Grant => turn::request::granted(tx),
                Alarm::TurnLimit => turn::limits::out_of_time(tx),
                Alarm::StopTask(task) => task::stop::overdue(tx, task),
            });
            self.decide_at_boundary(&agent);
        }
        for agent in self.deadlines.due_agents(self.clock.wall(), limit) {
            self.deadlines.passed(&agent);
            self.with(batch, &agent, |tx| timer::fire::due(tx, &mut left));
            self.unsettled.insert(agent);
        }
    }

    /// Decides for those that wait for a slot while there is one, in the order of asking, then for every
    /// agent that something happened to. What the bound cuts off stays for the next step. With `about`, only that
    /// agent is at the boundary: what others record says nothing of an input that was not theirs.
    pub(super) fn settle_all(&mut self, batch: &mut Batch, boundary: Boundary, about: Option<&AgentId>) {
        let mut left = self.config.limits.decisions_per_step;
        while left > 0 {
            let waiting = if self.may_run() { self.slots.queue.pop() } else { None };
            let (place, agent) = match waiting {
                Some((place, agent)) => (Some(place), agent),
                None => match self.unsettled.pop_first() {
                    Some(agent) => (None, agent),
                    None => return,
                },
            };
            let others = about.is_some_and(|about| *about != agent);
            let boundary = if others { Boundary::IdleTick } else { boundary };
            self.collect(batch, &agent);
            let settled = self.with(batch, &agent, |tx| settle::settle(tx, boundary, &mut left));
            match settled {
                Some(settle::Settled::Resting) | None => {}
                Some(settle::Settled::NoSlot) => self.slots.queue.push(agent),
                // Whose turn it was has not decided whether to take it.
                Some(settle::Settled::CutShort) => match place {
                    Some(place) => self.slots.queue.put_back(place, agent),
                    None => {
                        self.unsettled.insert(agent);
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::input::Input;
    use crate::testing::{World, answers, config, context, prompt};
    use crate::turns::TurnsUse;
    use holon_facts::config::{Config, HostLimits};
    use holon_facts::ids::ReplyId;

    #[test]
    fn a_slot_goes_to_whoever_asked_first() {
        let limits = HostLimits { concurrent_turns: 1, ..config().limits };
        let mut world = World::new(Config { limits, ..config() });
        for name in ["busy", "first", "second"] {
            world.create(name);
        }
        world.admit("busy", prompt("one"));
        world.admit("busy", prompt("two"));
        world.admit("second", prompt("go"));
        world.admit("first", prompt("go"));
        for expected in ["busy", "second", "first", "busy"] {
            assert!(world.agent(expected).run.is_some(), "it is the turn of {expected}");
            world.complete(expected, context());
            world.complete(expected, answers("done"));
        }
    }

    #[test]
    fn a_host_begins_as_many_turns_as_it_is_lent_and_reports_what_it_uses() {
        let mut world = World::new(Config { lent_turns: Some(0), ..config() });
        for name in ["one", "two", "three"] {
            world.create(name);
            world.admit(name, prompt("go"));
        }
        let used = |lent, running, waiting| Some(TurnsUse { lent, running, waiting });
        assert_eq!(world.turns, used(0, 0, 3));
        world.step(Input::TurnsLent { turns: 2 });
        assert_eq!(world.turns, used(2, 2, 1));
        // What is called back ends with its turns.
        world.step(Input::TurnsLent { turns: 1 });
        assert_eq!(world.turns, used(1, 2, 1));
        world.complete("one", context());
        world.complete("one", answers("done"));
        assert_eq!(world.turns, used(1, 1, 1));
        assert!(world.agent("three").run.is_none());
        world.turns = None;
        world.complete("two", context());
        world.complete("two", answers("done"));
        assert!(world.agent("three").run.is_some(), "the slot stays here");
        assert_eq!(world.turns, used(1, 1, 0));
        // Whoever shuts down wants none.
        world.admit("one", prompt("again"));
        assert_eq!(world.turns, used(1, 1, 1));
        world.step(Input::Drain { reply: ReplyId(99) });
        assert_eq!(world.turns, used(1, 0, 0));
    }

    #[test]
    fn a_host_with_slots_of_its_own_is_lent_none() {
        let mut world = World::new(config());
        world.step(Input::TurnsLent { turns: 0 });
        world.create("one");
        world.admit("one", prompt("go"));
        assert!(world.agent("one").run.is_some() && world.turns.is_none());
    }
}
