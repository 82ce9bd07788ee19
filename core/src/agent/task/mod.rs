//! Background tasks of one agent: commands that outlive the call that started them, and children (contract: tasks.md).
//! The record of a task is the authority: whatever
//! else says something about it is older.

pub mod child;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;

use holon_facts::content::Text;
use holon_facts::event::TaskFact;
use holon_facts::event::task::{StopCause, TaskCreated, TaskStatusUpdated};
use holon_facts::event::turn::FailureArtifact;
use holon_facts::ids::{AgentId, MessageId, TaskId};
use holon_facts::outcome::CommandSpec;
use holon_facts::task::{ChildEnd, ChildSpec, Job, Need, TaskKind, TaskStatus, TaskTransition, WaitPolicy};
use holon_facts::time::{Millis, Wall};
use holon_facts::workspace::Retained;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ended tasks that stay in the state; older ones are in the log.
pub const KEPT: usize = 64;

/// One task (contract: tasks.md, `TaskRecord`).
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    pub id: TaskId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    pub created_at: Wall,
    pub updated_at: Wall,
    /// The message whose turn began it; none when an operator did.
    pub parent_message_id: Option<MessageId>,
    /// The start of its command, or of the child's first message.
    pub summary: String,
    pub wait_policy: WaitPolicy,
    #[serde(flatten)]
    pub job: Job,
    /// The agent had begun the same before: that was no progress.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    #[schemars(skip)]
    pub repeated: bool,
    /// The last request to end it.
    pub stop: Option<StopRequest>,
    /// Why its child can't go on by itself, since it said so last.
    pub need: Option<DeliveredNeed>,
    /// How its child ended, while its worktree is looked at.
    #[schemars(skip)]
    pub child_end: Option<ChildEnd>,
    /// How it ended, once it has.
    pub end: Option<TaskEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRequest {
    pub cause: StopCause,
    /// Whether everything is killed.
    pub force: bool,
    pub at: Wall,
    /// When that was demanded because it had not ended in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalated_at: Option<Wall>,
}

/// What a child needs, and the message that tells its parent; none as long as that is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveredNeed {
    pub need: Need,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_by: Option<MessageId>,
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskEnd {
    /// What the command itself ended with; none where nobody can say.
    pub exit_status: Option<i32>,
    /// None where nobody can say.
    pub duration_ms: Option<Millis>,
    /// The result as its agent reads it.
    pub result: Option<Text>,
    pub failure_artifact: Option<FailureArtifact>,
    /// Why the worktree of its child is still there.
    pub worktree: Option<Retained>,
    /// The message that tells its agent; none as long as that is owed.
    pub delivered_by: Option<MessageId>,
    /// Whether that message is still to be dealt with: it needs what it tells of.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    #[schemars(skip)]
    pub pending: bool,
    /// Whether a turn has shown the result already.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub shown: bool,
    /// Whether its command ended otherwise than the last time.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    #[schemars(skip)]
    pub news: bool,
}

/// All tasks of an agent that it knows of without reading its log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    active: BTreeMap<TaskId, Task>,
    /// In the order of their ends, the newest last.
    ended: VecDeque<Task>,
}

impl Tasks {
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.ended.is_empty()
    }

    /// Tasks that have not ended, in order.
    pub fn active(&self) -> impl Iterator<Item = &Task> {
        self.active.values()
    }

    pub fn active_count(&self) -> u64 {
        self.active.len() as u64
    }

    pub fn is_active(&self, id: TaskId) -> bool {
        self.active.contains_key(&id)
    }

    /// The tasks of children that have not ended.
    pub fn children(&self) -> impl Iterator<Item = (&Task, &ChildSpec)> {
        self.active().filter_map(|task| Some((task, task.child()?)))
    }

    /// The task of a child that has not ended.
    pub fn of_child(&self, child: &AgentId) -> Option<&Task> {
        self.children().find(|(_, spec)| spec.child_agent_id == *child).map(|(task, _)| task)
    }

    /// Ended tasks that are remembered, the newest first.
    pub fn ended(&self) -> impl Iterator<Item = &Task> {
        self.ended.iter().rev()
    }

    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.active.get(&id).or_else(|| self.ended.iter().find(|task| task.id == id))
    }

    /// Ended tasks of which nothing tells their agent yet.
    pub fn undelivered(&self) -> impl Iterator<Item = &Task> {
        self.ended.iter().filter(|task| task.is_undelivered())
    }

    /// The ended tasks that a message reports.
    pub fn delivered_by(&self, message: MessageId) -> impl Iterator<Item = &Task> {
        self.ended
            .iter()
            .filter(move |task| task.end.as_ref().is_some_and(|end| end.delivered_by == Some(message)))
    }

    /// `news`: whether its command ends otherwise than the last time.
    pub(super) fn apply(&mut self, at: Wall, fact: &TaskFact, news: bool) {
        match fact {
            TaskFact::TaskCreated(fact) => {
                self.active.insert(fact.task_id, created(at, fact));
            }
            TaskFact::TaskStatusUpdated(fact) => self.updated(at, fact, news),
            TaskFact::TaskResultQueued(fact) => {
                if let Some(end) = self.end_mut(fact.task_id) {
                    (end.delivered_by, end.pending) = (Some(fact.message_id), true);
                }
                self.forget();
            }
            TaskFact::ChildNeedNoted(fact) => {
                if let Some(task) = self.active.get_mut(&fact.task_id) {
                    task.need = Some(DeliveredNeed { need: fact.need.clone(), delivered_by: None });
                }
            }
            TaskFact::ChildNeedTold(fact) => {
                if let Some(need) = self.need_mut(fact.task_id) {
                    need.delivered_by = Some(fact.message_id);
                }
            }
            TaskFact::ChildEnded(fact) => {
                if let Some(task) = self.active.get_mut(&fact.task_id) {
                    task.child_end = Some(fact.end.clone());
                }
            }
            TaskFact::TaskInputDelivered(_) => {}
        }
    }

    /// A turn has shown the result; names the message that would tell nothing but what was shown.
    pub(super) fn shown(&mut self, id: TaskId) -> Option<MessageId> {
        let end = self.end_mut(id)?;
        end.shown = true;
        let message = end.delivered_by?;
        let shown = |task: &Task| task.end.as_ref().is_some_and(|end| end.shown);
        self.delivered_by(message).all(shown).then_some(message)
    }

    /// A stop has aborted the run that was to report them: what it has not shown is told after the next start.
    pub(super) fn withdrawn(&mut self, messages: &[MessageId]) {
        for end in self.ended.iter_mut().filter_map(|task| task.end.as_mut()) {
            if !end.shown && end.delivered_by.is_some_and(|message| messages.contains(&message)) {
                (end.delivered_by, end.pending) = (None, false);
            }
        }
    }

    /// The message is dealt with.
    pub(super) fn settled(&mut self, message: MessageId) {
        for end in self.ended.iter_mut().filter_map(|task| task.end.as_mut()) {
            end.pending &= end.delivered_by != Some(message);
        }
        self.forget();
    }

    fn updated(&mut self, at: Wall, fact: &TaskStatusUpdated, news: bool) {
        let Some(task) = self.active.get_mut(&fact.task_id) else { return };
        match (fact.cause.stop(), &mut task.stop) {
            (Some(cause), stop) => {
                *stop = Some(StopRequest { cause, force: fact.force, at, escalated_at: None });
            }
            (None, Some(stop)) if fact.force && !stop.force => {
                (stop.force, stop.escalated_at) = (true, Some(at));
            }
            (None, Some(_)) => {}
            (None, None) => {}
        }
        if TaskTransition::of(task.status, fact.status) != TaskTransition::Changes {
            return;
        }
        (task.status, task.updated_at) = (fact.status, at);
        if !fact.status.is_terminal() {
            return;
        }
        let Some(mut task) = self.active.remove(&fact.task_id) else { return };
        task.child_end = None;
        task.end = Some(TaskEnd {
            exit_status: fact.exit_status,
            duration_ms: fact.duration_ms,
            result: fact.result.clone(),
            failure_artifact: fact.failure_artifact.clone(),
            worktree: fact.worktree.clone(),
            delivered_by: None,
            pending: false,
            shown: false,
            news,
        });
        self.ended.push_back(task);
        self.forget();
    }

    /// The oldest go first; what its agent has not been told of stays.
    fn forget(&mut self) {
        while self.ended.len() > KEPT {
            let told = |task: &Task| !task.is_undelivered() && !task.is_pending();
            let Some(at) = self.ended.iter().position(told) else { return };
            self.ended.remove(at);
        }
    }

    fn need_mut(&mut self, id: TaskId) -> Option<&mut DeliveredNeed> {
        self.active.get_mut(&id)?.need.as_mut()
    }

    fn end_mut(&mut self, id: TaskId) -> Option<&mut TaskEnd> {
        self.ended.iter_mut().find(|task| task.id == id)?.end.as_mut()
    }
}

impl Task {
    fn is_undelivered(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.delivered_by.is_none())
    }

    fn is_pending(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.pending)
    }
}

fn created(at: Wall, fact: &TaskCreated) -> Task {
    Task {
        id: fact.task_id,
        kind: fact.kind,
        status: fact.status,
        created_at: at,
        updated_at: at,
        parent_message_id: fact.parent_message_id,
        summary: fact.summary.clone(),
        wait_policy: fact.wait_policy,
        job: fact.job.clone(),
        repeated: fact.repeated,
        stop: None,
        need: None,
        child_end: None,
        end: None,
    }
}

impl Task {
    pub fn command(&self) -> Option<&CommandSpec> {
        self.job.command()
    }

    pub fn child(&self) -> Option<&ChildSpec> {
        self.job.child()
    }
}
