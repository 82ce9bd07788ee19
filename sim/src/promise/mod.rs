//! E1: exactly the effects that the records of a step promise are released with it, once: the effects of opened
//! operations, cancellations, ends of commands, watches of running commands, loads of agents that have a message to
//! receive. The promises are a fold of their own over the records; the effects are observed as they leave.

pub(crate) mod armed;
pub(crate) mod sleeps;
pub(crate) mod times;

use std::collections::{BTreeMap, BTreeSet};

use holon_core::recovery::{Found, FoundCommand};
use holon_core::replay::Call;
use holon_core::{Effect, effect};
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::{InboxFact, OperationFact, OutboxFact, TaskFact};
use holon_facts::ids::{LetterId, TaskId};
use holon_facts::outbox::Letter;
use holon_facts::task::TaskStatus;
use holon_facts::{AgentId, Event, OpId, Record, Text};

use crate::failure::{Failure, ensure};

/// One effect, without its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    /// A performer begins an operation, in one of these ways.
    Begin(OpId, Work),
    Cancel(OpId),
    /// A command is asked to end, at once or after its grace.
    Stop(OpId, bool),
    Watch(OpId),
    Load(AgentId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    Context,
    Model,
    /// A performer executes a call, looks something up for it, or writes.
    Call,
    Prepare,
    Run,
    Find,
    Remove,
}

/// The effects that one step must have, and those that it may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Due {
    must: BTreeSet<(AgentId, Promise)>,
    may: BTreeSet<(AgentId, Promise)>,
}

/// Everything that is open on record, for all agents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Promises {
    agents: BTreeMap<AgentId, Open>,
    /// Sabotage: outbox messages are expected with another text.
    pub(crate) others: bool,
}

#[derive(Debug, Clone, Default)]
struct Open {
    ops: BTreeMap<OpId, Op>,
    tasks: BTreeMap<TaskId, Task>,
    /// Undelivered outbox messages: their receivers and texts.
    outgoing: BTreeMap<LetterId, (AgentId, Option<Text>)>,
    /// Texts of the messages that the step has delivered.
    taken: BTreeMap<LetterId, Text>,
}

#[derive(Debug, Clone)]
struct Op {
    kind: OpKind,
    task: Option<TaskId>,
}

#[derive(Debug, Clone, Default)]
struct Task {
    child: Option<AgentId>,
    child_ended: bool,
    /// The task is asked to end, at once or after its grace.
    stop: Option<bool>,
}

impl Work {
    fn of(kind: OpKind) -> Option<Self> {
        match kind {
            OpKind::LoadContext => Some(Self::Context),
            OpKind::CallModel | OpKind::Summarize => Some(Self::Model),
            OpKind::CallTool | OpKind::PromoteCommand | OpKind::WriteInput => Some(Self::Call),
            OpKind::PrepareCommand => Some(Self::Prepare),
            OpKind::RunCommand => Some(Self::Run),
            OpKind::FindWorkspace => Some(Self::Find),
            OpKind::RemoveWorktree => Some(Self::Remove),
            // The core itself ends these.
            OpKind::AwaitTask | OpKind::SuperviseChild => None,
        }
    }
}

impl Promise {
    /// The promise that an effect keeps; none if no record promises it, or another check covers it.
    fn of(effect: &Effect) -> Option<(&AgentId, Self)> {
        Some(match effect {
            Effect::Perform { agent, op, work } => (agent, Self::performed(*op, work)),
            Effect::Cancel { agent, op } => (agent, Self::Cancel(*op)),
            Effect::StopCommand { agent, op, force } => (agent, Self::Stop(*op, *force)),
            Effect::LoadChild { agent, child, .. } => (agent, Self::Load(child.clone())),
            Effect::Reply { .. }
            | Effect::ProbePlan { .. }
            | Effect::KeepTree { .. }
            | Effect::Borrow { .. }
            | Effect::ShareTurns { .. } => return None,
        })
    }

    fn performed(op: OpId, work: &effect::Work) -> Self {
        let work = match work {
            effect::Work::LoadContext { .. } => Work::Context,
            effect::Work::CallModel { .. } | effect::Work::Summarize { .. } => Work::Model,
            effect::Work::CallTool { .. }
            | effect::Work::CallServer { .. }
            | effect::Work::CallTask { .. }
            | effect::Work::CallWork { .. }
            | effect::Work::Look { .. }
            | effect::Work::PrepareAgent { .. } => Work::Call,
            effect::Work::PrepareCommand { .. } => Work::Prepare,
            effect::Work::RunCommand { .. } => Work::Run,
            effect::Work::FindWorkspace { .. } => Work::Find,
            effect::Work::RemoveWorktree { .. } => Work::Remove,
            effect::Work::WatchCommand { .. } => return Self::Watch(op),
        };
        Self::Begin(op, work)
    }
}

impl Due {
    /// Checks the effects of the step as they leave; returns how many there were.
    pub(crate) fn check(mut self, effects: &[Effect]) -> Result<u64, Failure> {
        let mut released = 0;
        for (agent, promise) in effects.iter().filter_map(Promise::of) {
            let promised = (agent.clone(), promise);
            released += 1;
            if self.must.remove(&promised) {
                continue;
            }
            // The load for a waiting message is requested again with the next message for the same agent.
            let may = match promised.1 {
                Promise::Load(_) => self.may.contains(&promised),
                Promise::Begin(..) | Promise::Cancel(_) | Promise::Stop(..) | Promise::Watch(_) => {
                    self.may.remove(&promised)
                }
            };
            ensure!(may, "E1", "{:?} of {agent} leaves, and no record promises it again", promised.1);
        }
        let kept = self.must.first();
        ensure!(kept.is_none(), "E1", "{kept:?} is promised by a record, and does not leave with it");
        Ok(released)
    }

    /// Commands that are asked to end, at once or after their grace. Of two requests for one command, the later one is
    /// at once.
    pub(crate) fn stops(&self) -> impl Iterator<Item = (&AgentId, OpId, bool)> {
        self.must.iter().filter_map(|(agent, promise)| match promise {
            Promise::Stop(op, force) => Some((agent, *op, *force)),
            Promise::Begin(..) | Promise::Cancel(_) | Promise::Watch(_) | Promise::Load(_) => None,
        })
    }

    /// Removes loads of agents in memory: these receive their messages without a load.
    pub(crate) fn loads(&mut self, resident: impl Fn(&AgentId) -> bool) {
        self.must.retain(|(_, promise)| !matches!(promise, Promise::Load(child) if resident(child)));
    }
}

impl Promises {
    /// Returns what a call and its records promise, and applies the records.
    ///
    /// # Errors
    /// When a child is to end and no message asks it to.
    pub(crate) fn step(&mut self, call: &Call, records: &[Record]) -> Result<Due, Failure> {
        let mut due = Due::default();
        if let Call::Recover { agent, report, .. } = call {
            self.recovered(agent, &report.commands, &mut due);
        }
        let mut posted = BTreeSet::new();
        let mut stop_messages = BTreeSet::new();
        for record in records {
            let open = self.agents.entry(record.agent.clone()).or_default();
            if let Event::Outbox(OutboxFact::LetterPosted(fact)) = &record.event
                && !matches!(fact.letter, Letter::Spawn { .. })
            {
                if let Letter::Stop { force } = fact.letter {
                    let promised = stop_messages.remove(&(record.agent.clone(), fact.to.clone(), force));
                    ensure!(promised, "E1", "{} is told to end by {}, unasked", fact.to, record.agent);
                }
                posted.insert((record.agent.clone(), fact.letter_id));
            }
            stop_messages.extend(open.stop_message(record));
            open.is_killed_first(record)?;
            open.promises(record, &mut due);
            open.follow(&record.event);
        }
        if let Call::Recover { agent, .. } = call {
            let outgoing = self.agents.get(agent).into_iter().flat_map(|open| open.outgoing.keys());
            posted.extend(outgoing.map(|message| (agent.clone(), *message)));
        }
        self.texts_arrive(records)?;
        for record in records {
            self.agents.get_mut(&record.agent).into_iter().for_each(|open| open.taken.clear());
        }
        let unsent = stop_messages.first();
        ensure!(unsent.is_none(), "E1", "{unsent:?}: a child is to end, and is not told so");
        for (from, message) in posted {
            let Some(open) = self.agents.get(&from) else { continue };
            if let Some((to, _)) = open.outgoing.get(&message).filter(|(to, _)| open.supervises(to)) {
                let load = (from.clone(), Promise::Load(to.clone()));
                due.must.insert(load.clone());
                due.may.insert(load);
            }
        }
        Ok(due)
    }

    /// M9: the text of a received outbox message is a message of the receiver.
    fn texts_arrive(&self, records: &[Record]) -> Result<(), Failure> {
        for record in records {
            let Event::Outbox(OutboxFact::LetterReceived(fact)) = &record.event else { continue };
            let posted = self.agents.get(&fact.from).and_then(|from| from.taken.get(&fact.letter_id));
            let Some(text) = posted else { continue };
            let has_text = |other: &Record| {
                let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &other.event else { return false };
                other.agent == record.agent && fact.message.body.text == *text && !self.others
            };
            let arrives = records.iter().any(has_text);
            ensure!(
                arrives,
                "M9",
                "{} takes {} of {}, and has no {text:?}",
                record.agent,
                fact.letter_id,
                fact.from
            );
        }
        Ok(())
    }

    /// Running commands are watched again; those that were asked to end are asked again.
    fn recovered(&self, agent: &AgentId, commands: &[FoundCommand], due: &mut Due) {
        let Some(open) = self.agents.get(agent) else { return };
        for command in commands.iter().filter(|command| command.found == Found::Running) {
            let Some(op) = open.ops.get(&command.op).filter(|op| op.kind == OpKind::RunCommand) else {
                continue;
            };
            due.must.insert((agent.clone(), Promise::Watch(command.op)));
            let stop = op.task.and_then(|task| open.tasks.get(&task)?.stop);
            due.must.extend(stop.map(|force| (agent.clone(), Promise::Stop(command.op, force))));
        }
    }
}

impl Open {
    fn supervises(&self, child: &AgentId) -> bool {
        self.tasks.values().any(|task| task.child.as_ref() == Some(child))
    }

    /// The command of a task.
    fn executing(&self, task: TaskId) -> Option<OpId> {
        let runs = |op: &&Op| op.kind == OpKind::RunCommand && op.task == Some(task);
        self.ops.iter().find(|(_, op)| runs(op)).map(|(id, _)| *id)
    }

    /// The stop message that must be sent with the same record, if a child is asked to end.
    fn stop_message(&self, record: &Record) -> Option<(AgentId, AgentId, bool)> {
        let Event::Task(TaskFact::TaskStatusUpdated(fact)) = &record.event else { return None };
        let task = self.tasks.get(&fact.task_id).filter(|_| fact.status == TaskStatus::Cancelling)?;
        let child = task.child.clone().filter(|_| !task.child_ended)?;
        Some((record.agent.clone(), child, fact.force))
    }

    /// A command that was asked to end gently is not given up before it was asked to end at once.
    fn is_killed_first(&self, record: &Record) -> Result<(), Failure> {
        let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event else { return Ok(()) };
        let op = self.ops.get(&fact.op).filter(|op| op.kind == OpKind::RunCommand);
        let stop = op.and_then(|op| self.tasks.get(&op.task?)?.stop);
        let gentle = fact.settlement == Settlement::TimedOut && stop == Some(false);
        ensure!(!gentle, "E1", "{} of {} is given up, and was not to end at once", fact.op, record.agent);
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    fn promises(&self, record: &Record, due: &mut Due) {
        let agent = || record.agent.clone();
        match &record.event {
            Event::Operation(OperationFact::OperationOpened(fact)) => {
                let work = Work::of(fact.kind).map(|work| (agent(), Promise::Begin(fact.op, work)));
                due.must.extend(work);
            }
            Event::Operation(OperationFact::OperationSettled(fact)) => {
                let performed = self.ops.get(&fact.op).is_some_and(|op| Work::of(op.kind).is_some());
                let cancel = (agent(), Promise::Cancel(fact.op));
                match fact.settlement {
                    Settlement::Cancelled | Settlement::TimedOut if performed => due.must.insert(cancel),
                    Settlement::Cancelled | Settlement::TimedOut | Settlement::Done | Settlement::Failed => {
                        due.may.insert(cancel)
                    }
                    Settlement::Lost => false,
                };
            }
            Event::Task(TaskFact::TaskStatusUpdated(fact)) if fact.status == TaskStatus::Cancelling => {
                let op = self.executing(fact.task_id);
                due.must.extend(op.map(|op| (agent(), Promise::Stop(op, fact.force))));
            }
            _ => {}
        }
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::Operation(OperationFact::OperationOpened(fact)) => {
                self.ops.insert(fact.op, Op { kind: fact.kind, task: fact.task_id });
            }
            Event::Operation(OperationFact::OperationSettled(fact)) => drop(self.ops.remove(&fact.op)),
            Event::Task(fact) => self.task(fact),
            Event::Outbox(OutboxFact::LetterPosted(fact)) => {
                let text = match &fact.letter {
                    Letter::FollowUp { text } => Some(text.clone()),
                    Letter::Spawn { message, .. } => message.clone(),
                    Letter::Stop { .. } | Letter::Needs { .. } | Letter::Result { .. } => None,
                };
                self.outgoing.insert(fact.letter_id, (fact.to.clone(), text));
            }
            Event::Outbox(OutboxFact::LetterDelivered(fact)) => {
                let text = self.outgoing.remove(&fact.letter_id).and_then(|(_, text)| text);
                self.taken.extend(text.map(|text| (fact.letter_id, text)));
            }
            Event::Outbox(OutboxFact::LetterReturned(fact)) => drop(self.outgoing.remove(&fact.letter_id)),
            Event::Outbox(OutboxFact::LetterReceived(_))
            | Event::Lifecycle(_)
            | Event::Inbox(_)
            | Event::Scheduling(_)
            | Event::Turn(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wait(_)
            | Event::Wake(_)
            | Event::Workspace(_)
            | Event::Brief(_)
            | Event::Episode(_)
            | Event::Skill(_) => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    fn task(&mut self, fact: &TaskFact) {
        match fact {
            TaskFact::TaskCreated(fact) => {
                let child = fact.job.child().map(|child| child.child_agent_id.clone());
                self.tasks.insert(fact.task_id, Task { child, ..Task::default() });
            }
            TaskFact::TaskStatusUpdated(fact) if fact.status.is_terminal() => {
                self.tasks.remove(&fact.task_id);
            }
            TaskFact::TaskStatusUpdated(fact) => {
                if let Some(task) = self.tasks.get_mut(&fact.task_id) {
                    task.stop = Some(fact.force || task.stop == Some(true));
                }
            }
            TaskFact::ChildEnded(fact) => {
                if let Some(task) = self.tasks.get_mut(&fact.task_id) {
                    task.child_ended = true;
                }
            }
            _ => {}
        }
    }
}
