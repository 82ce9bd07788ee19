//! Tasks as the world knows them: how their commands really ended, when they were asked to end, and which ones
//! operators end in the quiet phase.

use holon_core::Input;
use holon_core::agent::Agent;
use holon_core::recovery::{Found, FoundCommand};
use holon_core::replay::Call;
use holon_facts::event::TaskFact;
use holon_facts::event::task::{TaskCause, TaskInputDelivered, TaskOrigin, TaskStatusUpdated};
use holon_facts::ids::TaskId;
use holon_facts::lifecycle::Status;
use holon_facts::receipt::InputTarget;
use holon_facts::task::TaskStatus;
use holon_facts::{AgentId, Event, Millis, Outcome, Record, Wall};

use super::World;
use super::agenda::Happening;
use super::command::Supervised;
use crate::commands;
use crate::failure::{Failure, ensure, liveness};
use crate::ingress::{Request, agent_id};
use crate::scenario::Action;

/// A supervisor reports within this time beyond the grace, and once more after a kill.
const REPORT: Millis = Millis::seconds(15);
/// How much longer the end of a child may take, because of its worktrees.
const REMOVALS: u64 = 10 * 300_000_000;
/// Allowance for late timers and busy moments.
const SLACK: u64 = 30_000_000;

impl World<'_> {
    /// Checks the records of a step about tasks.
    pub(super) fn check_tasks(&mut self, call: &Call, records: &[Record]) -> Result<(), Failure> {
        for record in records {
            let Event::Task(fact) = &record.event else { continue };
            let agent = &record.agent;
            match fact {
                TaskFact::TaskStatusUpdated(fact) if fact.status.is_terminal() => {
                    self.has_ended(agent, fact.task_id)?;
                    if self.is_child(agent, fact.task_id) {
                        let parent = self.checks.agents().get(agent);
                        if parent.is_some_and(|parent| parent.status == Status::Stopped) {
                            self.injector.saw("a child ends while its supervisor is stopped");
                        }
                        continue;
                    }
                    if fact.cause == TaskCause::Unproven {
                        self.injector.saw("a task ends unproven");
                    }
                    self.checks.say("P8");
                    self.is_true(call, agent, fact)?;
                }
                TaskFact::TaskStatusUpdated(fact) => {
                    self.outside.ending.entry((agent.clone(), fact.task_id)).or_insert(self.at);
                    self.injector.saw("a task is asked to end");
                    if fact.cause == TaskCause::AgentStopped && self.is_child(agent, fact.task_id) {
                        self.injector.saw("a supervisor stops");
                    }
                }
                TaskFact::TaskInputDelivered(fact) if fact.input_target == InputTarget::ChildFollowup => {
                    self.injector.saw("a child gets a message");
                }
                TaskFact::ChildEnded(_) => self.injector.saw("a child leaves a worktree"),
                TaskFact::ChildNeedNoted(_) => self.injector.saw("a child needs its parent"),
                TaskFact::ChildNeedTold(_) => self.witness.a_child_speaks(agent, &mut self.injector),
                TaskFact::TaskInputDelivered(fact) => {
                    self.injector.saw("a task is written to");
                    self.is_written(agent, fact)?;
                }
                TaskFact::TaskCreated(fact) => self.injector.saw(match fact.cause {
                    TaskOrigin::PromotedAtShutdown => "a command goes on beyond a shutdown",
                    TaskOrigin::PromotedAtStop => "a command is ended with its agent",
                    TaskOrigin::PromotedAtTurnEnd => "a command is ended with its turn",
                    TaskOrigin::PromotedAtRecovery => "a command went on beyond a crash",
                    TaskOrigin::Promoted => "a command goes on as a task",
                    TaskOrigin::Operator => "an operator's task begins",
                    TaskOrigin::Spawned => "a child begins",
                }),
                TaskFact::TaskResultQueued(fact) => {
                    if self.is_child(agent, fact.task_id) {
                        self.witness.a_child_speaks(agent, &mut self.injector);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn is_child(&self, agent: &AgentId, task: TaskId) -> bool {
        let known = self.checks.agents().get(agent).and_then(|agent| agent.tasks.get(task));
        known.is_some_and(|task| task.child().is_some())
    }

    /// P8: the recorded end of a task is the end of its command; where nobody knows that end, the record claims none.
    fn is_true(&self, call: &Call, agent: &AgentId, fact: &TaskStatusUpdated) -> Result<(), Failure> {
        let (id, recorded) = (fact.task_id, (fact.status, fact.exit_status));
        let known = self.named(agent, id);
        let truth = known.and_then(|known| Some((known, &known.end.as_ref()?.1)));
        if let Some((known, outcome)) = truth.filter(|(known, _)| brings(call, agent, known)) {
            let right = commands::status_of(outcome);
            ensure!(recorded == right, "P8", "{id} of {agent} ends {recorded:?}, right is {right:?}");
            ensure!(known.ended, "P8", "{id} of {agent} ends before its command");
            return Ok(());
        }
        // The request to end the task may still wait for the disk.
        let asked = fact.previous == TaskStatus::Cancelling;
        let unknown = asked || known.is_none_or(|known| known.lost || known.asked || known.op.is_none());
        let broke = known.is_some_and(|known| known.broke) && fact.status == TaskStatus::Failed;
        let vague = (fact.status == TaskStatus::Interrupted || broke) && fact.exit_status.is_none();
        ensure!(unknown && vague, "P8", "{id} of {agent} ends {recorded:?}, there is {known:?}");
        Ok(())
    }

    /// P8: the bytes that are recorded as written to a task were written.
    fn is_written(&self, agent: &AgentId, fact: &TaskInputDelivered) -> Result<(), Failure> {
        let known = self.named(agent, fact.task_id);
        let target = known.and_then(|known| known.spec.input_target());
        let written = known.map_or(0, |known| known.written);
        let right = fact.bytes_written <= written && target == Some(fact.input_target);
        ensure!(right, "P8", "{} was given {fact:?}, in truth {written} bytes", fact.task_id);
        Ok(())
    }

    /// The supervisor of a task.
    pub(super) fn named(&self, agent: &AgentId, task: TaskId) -> Option<&Supervised> {
        let mut all = self.outside.supervised.values();
        all.find(|known| known.agent == *agent && known.task == task)
    }

    /// V9: a task that was asked to end has ended soon.
    fn has_ended(&mut self, agent: &AgentId, task: TaskId) -> Result<(), Failure> {
        let Some(since) = self.outside.ending.remove(&(agent.clone(), task)) else { return Ok(()) };
        self.checks.say("V9");
        let took = self.at - since;
        let grace = self.scenario.config_of(self.life.number).tasks.stop_grace.0;
        let most = (grace + 2 * REPORT.0) * 1_000
            + 2 * (self.waits.all(since) + self.life.writer.waits(self.at))
            + SLACK;
        // The removal of a worktree, of a child or of its own child, may never be answered.
        let most = if self.is_child(agent, task) { most + REMOVALS } else { most };
        if took > most {
            return Err(liveness("V9", format!("{task} of {agent} took {took} µs to end, {most} at most")));
        }
        Ok(())
    }

    /// A start of the runtime asks again for the end of these tasks.
    pub(super) fn ask_again(&mut self) {
        let at = self.at;
        let ending = self.checks.agents().values().flat_map(|agent| {
            let tasks = agent.tasks.active().filter(|task| task.status == TaskStatus::Cancelling);
            tasks.map(|task| ((agent.id.clone(), task.id), at))
        });
        self.outside.ending = ending.collect();
    }

    /// In the quiet phase operators end tasks that would run for days, and send messages where an agent waits for one.
    pub(super) fn end_long_work(&mut self, number: u32) -> Result<(), Failure> {
        let agent = agent_id(number);
        let left = self
            .checks
            .agents()
            .get(&agent)
            .map_or(Vec::new(), |agent| agent.tasks.active().map(|task| task.id.0).collect());
        for task in &left {
            let action = Action::StopTask { task: *task, force: false };
            self.send(Request { agent: number, action })?;
        }
        let armed = self.checks.agents().get(&agent);
        let armed: Vec<u64> =
            armed.map_or(Vec::new(), |agent| agent.timers.armed().map(|timer| timer.id.0).collect());
        for timer in &armed {
            self.send(Request { agent: number, action: Action::CancelTimer { timer: *timer } })?;
        }
        let pending = |agent: &&Agent| agent.inbox.queued_entries() > 0 || agent.work.signal().is_some();
        // Anything due at this moment is still to come.
        let now = Wall(self.now().wall.0.saturating_sub(10_000_000));
        // An agent that waits for a higher budget waits for ever.
        let pending =
            self.checks.agents().get(&agent).filter(pending).filter(|_| !self.waits_for_budget(&agent));
        let held = pending.is_some_and(|agent| agent.unattended.self_hold);
        // Everything else has to end without an operator.
        let restrained = |agent: &&Agent| {
            let counted = &agent.unattended;
            let bounded = counted.self_deferred_until.is_some() || counted.exhausted.is_some();
            held || bounded || agent.held(now).is_some() || agent.work.signal().is_some()
        };
        let waits = pending.filter(restrained).is_some_and(|agent| agent.status != Status::Stopped);
        // A recheck may bring more of it.
        let known = self.checks.agents().get(&agent).filter(|_| !self.waits_for_budget(&agent));
        // At the last moment of the clock no deadline is ahead.
        let over = self.now().wall == Wall(i64::MAX);
        let ahead = !over && known.is_some_and(|agent| agent.next_deadline(now).is_some());
        if held {
            self.send(Request { agent: number, action: Action::Start })?;
        }
        let runs = self.checks.agents().get(&agent).is_some_and(|agent| agent.run.is_some());
        if !left.is_empty() || !armed.is_empty() || waits || ahead || runs || self.life.engine.is_none() {
            self.agenda.plan(self.at + 600_000_000, 0, Happening::Tidy(number));
        }
        Ok(())
    }
}

/// Whether a call reports the end of a command.
fn brings(call: &Call, agent: &AgentId, known: &Supervised) -> bool {
    match call {
        Call::Step { input: Input::Completed { agent: of, op, outcome: Outcome::Tool { .. } }, .. } => {
            of == agent && known.op == Some(*op)
        }
        Call::Recover { agent: of, report, .. } => {
            let ended = |found: &FoundCommand| {
                known.op == Some(found.op) && matches!(found.found, Found::Ended { .. })
            };
            of == agent && report.commands.iter().any(ended)
        }
        Call::Step { .. }
        | Call::RuntimeStarted { .. }
        | Call::Admit { .. }
        | Call::Park { .. }
        | Call::Copy { .. }
        | Call::AgentsLeft { .. } => false,
    }
}
