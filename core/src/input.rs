//! Everything that can happen to the host, as data. A row of the flight recorder holds one of these.

use alloc::string::String;

use holon_facts::content::{ContentId, Text};
use holon_facts::event::workspace::TreeMoment;
use holon_facts::hint::Hint;
use holon_facts::identity::{AgentSpec, InitialSettings};
use holon_facts::ids::{AgentId, BriefId, OpId, ReplyId, RunId, TaskId, TimerId, WorkItemId};
use holon_facts::label::LabelChange;
use holon_facts::message::{Idempotency, Ingress};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::Outcome;
use holon_facts::timer::TimerSpec;
use holon_facts::trigger::{Delivery, TriggerChange};
use holon_facts::work::NewWorkItem;
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange, WorkspaceTree};
use serde::{Deserialize, Serialize};

use crate::grants::Grant;

/// One input of [`crate::Host::step`].
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// A new agent; refused when the id is taken.
    CreateAgent {
        agent: AgentId,
        spec: AgentSpec,
        #[serde(default, skip_serializing_if = "holon_facts::is_default")]
        settings: InitialSettings,
        reply: ReplyId,
    },
    /// A message from outside; the reply names the id under which it is durable.
    Ingress { agent: AgentId, ingress: Ingress, reply: ReplyId },
    /// Start, stop or abort; applied in this step, whatever the agent does.
    Control { agent: AgentId, request: ControlRequest, reply: ReplyId },
    /// Another primary model for one agent, from its next turn on; none goes back to the runtime's own.
    SetModel { agent: AgentId, model: Option<ModelRef>, reply: ReplyId },
    /// An operator wants the open episode of an agent to close.
    Compact { agent: AgentId, reply: ReplyId },
    /// An operator closes what an agent has asked, without an answer.
    CloseAsk { agent: AgentId, brief: BriefId, reply: ReplyId },
    /// An operator renames or describes an agent.
    Label { agent: AgentId, change: LabelChange, reply: ReplyId },
    /// An operator starts a command as a task; answered when it has the word to execute. `arguments` is the JSON of
    /// `ExecCommand`.
    RunTask { agent: AgentId, arguments: Text, key: Option<Idempotency>, reply: ReplyId },
    /// An operator asks a task to end.
    StopTask { agent: AgentId, task: TaskId, force: bool, reply: ReplyId },
    /// An operator writes to a task; answered when that is done.
    WriteTask { agent: AgentId, task: TaskId, text: Text, reply: ReplyId },
    /// An operator makes a timer.
    CreateTimer { agent: AgentId, timer: TimerSpec, key: Option<Idempotency>, reply: ReplyId },
    /// An operator ends a timer.
    CancelTimer { agent: AgentId, timer: TimerId, reply: ReplyId },
    /// An operator makes a work item; the focus stays where it is.
    CreateWorkItem { agent: AgentId, item: NewWorkItem, key: Option<Idempotency>, reply: ReplyId },
    /// An operator completes a work item.
    CompleteWorkItem { agent: AgentId, item: WorkItemId, reply: ReplyId },
    /// An operator changes which folders an agent knows, or where it works.
    ChangeWorkspace { agent: AgentId, change: WorkspaceChange, reply: ReplyId },
    /// Somebody outside wakes an agent.
    Wake { agent: AgentId, hint: Hint, reply: ReplyId },
    /// Something was sent to the address of an agent's trigger.
    Deliver { agent: AgentId, delivery: Delivery, reply: ReplyId },
    /// An operator changes that address, or ends it.
    ChangeTrigger { agent: AgentId, change: TriggerChange, reply: ReplyId },
    /// The outcome of an operation. An operation that is unknown or settled is counted and ignored.
    Completed { agent: AgentId, op: OpId, outcome: Outcome },
    /// Somebody has looked at the plan of a work item; the hash of its file, if there is one.
    PlanProbed { agent: AgentId, item: WorkItemId, hash: Option<ContentId> },
    /// Somebody has kept the files where the agent works, as a turn has found or left them.
    TreeKept {
        agent: AgentId,
        execution: ExecutionBinding,
        kept: WorkspaceTree,
        #[serde(default)]
        moment: TreeMoment,
    },
    /// The login that requests to a provider show is another one now; whoever waits for that goes on.
    LoginChanged { provider: String },
    /// More is lent to this host, or no more is there; requests that wait for it go on.
    Granted { grant: Grant },
    /// So many turns may be in progress at this host from now on; those that are go on, and none begins beside as many.
    TurnsLent { turns: u64 },
    /// Time has passed; deadlines are looked at in every step anyway.
    Tick,
    /// The service shuts down: no new turn starts, runs are interrupted, nothing is written as stopped.
    Drain { reply: ReplyId },
}

impl Input {
    /// Whom it is for; none for what is everybody's.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::CreateAgent { agent, .. }
            | Self::Ingress { agent, .. }
            | Self::Control { agent, .. }
            | Self::SetModel { agent, .. }
            | Self::Label { agent, .. }
            | Self::CloseAsk { agent, .. }
            | Self::Compact { agent, .. }
            | Self::RunTask { agent, .. }
            | Self::StopTask { agent, .. }
            | Self::WriteTask { agent, .. }
            | Self::CreateTimer { agent, .. }
            | Self::CancelTimer { agent, .. }
            | Self::CreateWorkItem { agent, .. }
            | Self::CompleteWorkItem { agent, .. }
            | Self::ChangeWorkspace { agent, .. }
            | Self::Wake { agent, .. }
            | Self::Deliver { agent, .. }
            | Self::ChangeTrigger { agent, .. }
            | Self::Completed { agent, .. }
            | Self::PlanProbed { agent, .. }
            | Self::TreeKept { agent, .. } => Some(agent),
            Self::LoginChanged { .. }
            | Self::Granted { .. }
            | Self::TurnsLent { .. }
            | Self::Tick
            | Self::Drain { .. } => None,
        }
    }

    /// Whether a full disk must not keep it out: the reserve is for what ends something.
    pub fn is_urgent(&self) -> bool {
        match self {
            Self::Drain { .. } | Self::StopTask { .. } => true,
            Self::Control { request, .. } => match request {
                ControlRequest::Stop | ControlRequest::Archive | ControlRequest::Abort { .. } => true,
                ControlRequest::Start => false,
            },
            Self::ChangeTrigger { change, .. } => *change == TriggerChange::Revoke,
            Self::CreateAgent { .. }
            | Self::Deliver { .. }
            | Self::Ingress { .. }
            | Self::SetModel { .. }
            | Self::Label { .. }
            | Self::CloseAsk { .. }
            | Self::Compact { .. }
            | Self::RunTask { .. }
            | Self::WriteTask { .. }
            | Self::CreateTimer { .. }
            | Self::CancelTimer { .. }
            | Self::CreateWorkItem { .. }
            | Self::CompleteWorkItem { .. }
            | Self::ChangeWorkspace { .. }
            | Self::Wake { .. }
            | Self::Completed { .. }
            | Self::PlanProbed { .. }
            | Self::TreeKept { .. }
            | Self::LoginChanged { .. }
            | Self::Granted { .. }
            | Self::TurnsLent { .. }
            | Self::Tick => false,
        }
    }
}

/// What an operator asks of an agent's lifecycle (contract: agent.md, Lifecycle).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ControlRequest {
    Start,
    Stop,
    /// Stops it, and takes it out of lists; the next start brings it back.
    Archive,
    Abort {
        /// Refused when it is not the run in progress; none means whichever is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_id: Option<RunId>,
        #[serde(default)]
        stop_after_abort: bool,
    },
}
