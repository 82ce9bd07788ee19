//! What the core asks of the shell. Effects are reachable only through [`crate::Step::release`].

use alloc::boxed::Box;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::episode::Compaction;
use holon_facts::event::operation::OpKind;
use holon_facts::event::workspace::TreeMoment;
use holon_facts::hint::WakeDisposition;
use holon_facts::ids::{AgentId, BriefId, MessageId, OpId, ReplyId, RunId, TaskId, TemplateId, WorkItemId};
use holon_facts::label::AgentLabel;
use holon_facts::lifecycle::ControlOutcome;
use holon_facts::model::ModelRequest;
use holon_facts::names;
use holon_facts::outcome::SupervisorIdentity;
use holon_facts::receipt::InputReceipt;
use holon_facts::reject::Reject;
use holon_facts::template::AgentTemplate;
use holon_facts::time::Millis;
use holon_facts::work::{NoReport, PlanSeen};
use holon_facts::workspace::{ExecutionBinding, WorktreePlan};
use serde::{Deserialize, Serialize};

use crate::agent::external_trigger::ExternalTrigger;
use crate::agent::task::Task;
use crate::agent::timer::Timer;
use crate::agent::work::WorkItem;
use crate::grants::Loan;
use crate::summary::AgentSummary;
use crate::summary::children::{ActiveChild, ChildObservability};
use crate::summary::model::ModelState;
use crate::summary::workspaces::WorkspaceState;
use crate::tool::Tool;
use crate::turns::TurnsUse;

/// Something to be done in the world, after the records of its step are durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Answer the caller. No outcome: a caller who is gone is gone.
    Reply { reply: ReplyId, answer: Answer },
    /// Let the performer of such work do it; the operation ends in exactly one completion.
    Perform { agent: AgentId, op: OpId, work: Work },
    /// Ask for the end of the command that this operation executes: everything of it is asked to end and killed
    /// after a grace, or killed at once. No outcome: the operation ends when the command has.
    StopCommand { agent: AgentId, op: OpId, force: bool },
    /// Bring a child into memory, which has to be told something; its parent's operation ends in `Failed` when that
    /// can't be done, and goes on otherwise.
    LoadChild { agent: AgentId, op: OpId, child: AgentId },
    /// Look at the plan of a work item; ends in [`crate::Input::PlanProbed`] where that is another than is known, and else in
    /// nothing. Whoever is not told looks again after the next turn.
    ProbePlan { agent: AgentId, item: WorkItemId, known: PlanSeen },
    /// Keep the files of an execution root as they are now, before any tool of the agent that is called later begins; ends in
    /// [`crate::Input::TreeKept`], or in nothing where they can't be kept.
    KeepTree { agent: AgentId, execution: ExecutionBinding, moment: TreeMoment },
    /// Have more lent of what several hosts may spend together. Ends in [`crate::Input::Granted`]; a request that needs it waits,
    /// and asks again after a while.
    Borrow { loan: Loan },
    /// What this host has of the turns that several hosts have together, each time that it is something else. Where that makes
    /// a difference, a [`crate::Input::TurnsLent`] follows.
    ShareTurns { used: TurnsUse },
    /// Give up on an operation: close the connection, kill the command. Its outcome no longer matters.
    Cancel { agent: AgentId, op: OpId },
}

/// What an operation is opened for, and one performer does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// Read instruction files and the environment; ends in [`holon_facts::Outcome::Context`].
    LoadContext {
        execution: ExecutionBinding,
        /// It is offered the user's skills, too.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        user_skills: bool,
        /// What the agent's home is made from, where it is not there yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        template: Option<Box<AgentTemplate>>,
        /// Skills of the workspace are not offered.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        untrusted: bool,
        /// Count the files that differ from the last commit, too.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        work_tree: bool,
    },
    /// Make one attempt at a round; ends in `Answer` or `AttemptFailed`.
    CallModel { request: ModelRequest },
    /// Ask a model once for a summary; ends in `Answer` or `AttemptFailed`.
    Summarize { request: ModelRequest },
    /// Execute one accepted tool call; ends in `Tool`.
    CallTool { call: ToolCall },
    /// Call a tool of another program, once; ends in `Tool`.
    CallServer { call: ServerCall },
    /// Bring up a supervisor for a command, and execute nothing yet; ends in `Prepared`, or in `Tool` with the
    /// error that refuses the call.
    PrepareCommand {
        task: TaskId,
        call: ToolCall,
        /// Of the address of the agent's trigger, for the command; none where there is no such address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trigger_generation: Option<u64>,
    },
    /// Let that supervisor execute what it was prepared for: its identity is durable now. Ends in `Tool`.
    RunCommand { supervisor: SupervisorIdentity },
    /// After a start of the runtime: wait for the end of a command that goes on. The operation is the one in which
    /// it was given the word, and ends in `Tool`.
    WatchCommand { supervisor: SupervisorIdentity },
    /// Read or write for a task; ends in `Tool`.
    CallTask { work: TaskWork },
    /// Show work items to a call, after what it did to them; ends in `Tool`.
    CallWork { view: WorkView },
    /// Show to calls that follow each other in a round, and change nothing, what they ask for; ends in `Looked`.
    Look { looks: Vec<Look> },
    /// Take in the template that an agent is to begin with, and claim its name; ends in `Tool`, with the template among its
    /// facts.
    PrepareAgent { template: Option<TemplateId>, name: Option<AgentId> },
    /// Look for the folder that an agent wants to work in; ends in [`holon_facts::Outcome::Workspace`], or in `Tool` with the
    /// error that refuses the call.
    FindWorkspace { wanted: WantedWorkspace },
    /// Remove a worktree that nobody needs, if nothing in it is new; ends in [`holon_facts::Outcome::Worktree`].
    RemoveWorktree { worktree: UnwantedWorktree },
}

impl Work {
    /// The operation that it is done for.
    pub fn kind(&self) -> OpKind {
        match self {
            Self::LoadContext { .. } => OpKind::LoadContext,
            Self::CallModel { .. } => OpKind::CallModel,
            Self::Summarize { .. } => OpKind::Summarize,
            Self::PrepareCommand { .. } => OpKind::PrepareCommand,
            Self::RunCommand { .. } | Self::WatchCommand { .. } => OpKind::RunCommand,
            Self::CallTask { work: TaskWork::Promote { .. } } => OpKind::PromoteCommand,
            Self::CallTask { work: TaskWork::Input { source: InputSource::Text { .. }, .. } } => {
                OpKind::WriteInput
            }
            Self::CallTool { .. }
            | Self::CallServer { .. }
            | Self::CallTask { .. }
            | Self::CallWork { .. }
            | Self::Look { .. }
            | Self::PrepareAgent { .. } => OpKind::CallTool,
            Self::FindWorkspace { .. } => OpKind::FindWorkspace,
            Self::RemoveWorktree { .. } => OpKind::RemoveWorktree,
        }
    }
}

/// A tool call for the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// None when an operator asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub call_id: alloc::string::String,
    pub tool: Tool,
    /// JSON of the tool's argument type.
    pub arguments: Text,
    pub execution: ExecutionBinding,
    /// Most tokens of output that the model may be shown of it.
    pub output_tokens: u64,
    /// After so long the core stops waiting.
    pub timeout: Millis,
}

/// A call of a tool of another program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCall {
    pub run_id: RunId,
    pub call_id: alloc::string::String,
    pub server: alloc::string::String,
    /// As the server calls it.
    pub tool: alloc::string::String,
    /// A JSON object: what the tool is called with, or, where it is `found`, the arguments of [`crate::tool::ToolCall`] around them.
    pub arguments: Text,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub found: bool,
    /// Most tokens of output that the model may be shown of it.
    pub output_tokens: u64,
}

/// The folder that an agent wants to work in.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedWorkspace {
    pub target: WorkspaceTarget,
    /// Where commands are to start, from the execution root on.
    pub cwd: Option<alloc::string::String>,
    /// Where the agent works now: what a relative path is relative to.
    pub from: ExecutionBinding,
    /// Anchors of the workspaces that the agent knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<alloc::string::String>,
    /// It is to be a worktree of the repository that is found there.
    pub isolated: Option<Isolated>,
}

/// A worktree that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolated {
    /// What a new one is called.
    pub plan: WorktreePlan,
    /// Those that the agent may go back into: one of the same repository and label is the one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<WorktreePlan>,
}

/// A worktree that nobody needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnwantedWorktree {
    pub plan: WorktreePlan,
    /// The commit that its branch began at; none where nobody ever had it: nothing in it is anybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<alloc::string::String>,
    /// Anchors of the workspaces that its owner knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<alloc::string::String>,
}

/// What folder is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "snake_case")]
pub enum WorkspaceTarget {
    /// As somebody named it.
    Path {
        path: alloc::string::String,
    },
    /// The anchor of a workspace that the agent knows.
    Attached {
        anchor: alloc::string::String,
    },
    AgentHome,
}

/// What is to be done about tasks, with what the core knows of them at that moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum TaskWork {
    /// Tell a call that its command goes on as this task, with what it has written so far.
    Promote {
        task: TaskId,
        /// Most tokens of output that the model may be shown.
        output_tokens: u64,
        /// It has a terminal.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        tty: bool,
    },
    /// Tell a call that an equal command runs already.
    AlreadyRunning {
        task: Box<Task>,
    },
    Output {
        task: Box<Task>,
        retrieval: Retrieval,
    },
    Input {
        task: Box<Task>,
        /// The operation that executes it; none when it has ended.
        op: Option<OpId>,
        source: InputSource,
    },
    /// It was asked to end; `changed` is false when it had ended or was asked before.
    Stop {
        task: Box<Task>,
        changed: bool,
    },
}

names! {
    /// How far the output of a task is what it will ever be (contract: tasks.md, Projections).
    Retrieval { Success "success", Timeout "timeout", NotReady "not_ready" }
}

/// What a call that changes nothing asks for, as it stands when the first of them begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum Look {
    Work {
        view: WorkView,
    },
    Tasks {
        tasks: Vec<Task>,
    },
    Task {
        task: Box<Task>,
        /// Of the task of a child, while that lives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<Box<ChildObservability>>,
    },
    Agent {
        view: AgentView,
    },
}

/// Work items as a call left them.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkView {
    pub shown: WorkShown,
    /// The item in focus.
    pub current: Option<WorkItemId>,
    /// Whether the call changed anything.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub changed: bool,
    /// Why a completion has no report.
    pub warning: Option<NoReport>,
    /// Arguments whose plan is to be written into the item's file.
    pub plan: Option<Text>,
    /// Most of the result that is shown.
    pub output_tokens: u64,
}

/// An agent as its operators see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// None where it is a child, of which its parent sees less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Box<AgentSummary>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_children: Vec<ActiveChild>,
    /// Waits beyond those of the summary.
    pub waits_left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shown", rename_all = "snake_case")]
pub enum WorkShown {
    None,
    One {
        item: Box<WorkItem>,
        todo_list: bool,
    },
    Many {
        items: Vec<WorkItem>,
        /// Whether there are more.
        more: bool,
        todo_list: bool,
    },
}

/// Where a text for a task comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum InputSource {
    /// The arguments of a call.
    Call {
        arguments: Text,
    },
    /// Nothing is left to write: it is on its way to a child, or was refused.
    Letter {
        input: InputReceipt,
    },
    Text {
        text: Text,
    },
}

/// What a caller is shown. By the time it is sent, what it says is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Created {
        agent: AgentId,
    },
    Admitted {
        message_id: MessageId,
        /// The key was known: nothing new was admitted.
        duplicate: bool,
    },
    Controlled(ControlOutcome),
    ModelSet {
        /// How the agent's model is chosen now.
        state: ModelState,
        changed: bool,
    },
    /// What became of the wish that the open episode closes.
    Compaction {
        compaction: Compaction,
    },
    /// The ask is open no more.
    AskClosed {
        brief: BriefId,
    },
    /// How people see the agent now.
    Labelled {
        label: AgentLabel,
        changed: bool,
    },
    /// A task as it stands now.
    Task {
        task: Box<Task>,
        /// Whether the request changed anything.
        changed: bool,
    },
    /// What became of text for a task.
    TaskInput {
        task: Box<Task>,
        input: InputReceipt,
    },
    /// A timer as it stands now.
    Timer {
        timer: Box<Timer>,
        /// Whether the request changed anything.
        changed: bool,
    },
    /// A work item as it stands now.
    WorkItem {
        item: Box<WorkItem>,
        /// Whether the request changed anything.
        changed: bool,
    },
    /// The workspaces as they stand now.
    Workspaces {
        state: Box<WorkspaceState>,
        /// Whether the request changed anything.
        changed: bool,
    },
    /// What became of a hint.
    Woken {
        disposition: WakeDisposition,
    },
    /// A trigger as it stands now.
    ExternalTrigger {
        trigger: Box<ExternalTrigger>,
        /// Whether the request changed anything.
        changed: bool,
    },
    Drained,
    Refused {
        reject: Reject,
    },
}
