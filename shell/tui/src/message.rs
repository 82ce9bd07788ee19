//! What reaches the model, and what it asks for.

use crossterm::event::KeyEvent;
use holon_facts::ids::{BriefId, TaskId, TimerId};
use holon_facts::workspace::WorkspaceId;
use holon_facts::{AgentId, EventSeq, Millis, Wall};

use crate::entry::Entry;
use crate::output::Piece;
use crate::overlay::Kind;
use crate::row::{Part, Row};

/// Something happened.
#[derive(Debug, Clone)]
pub(crate) enum Msg {
    Key(KeyEvent, Millis),
    Paste(String),
    /// Lines down, or up where they are negative.
    Wheel(isize),
    Resize(u16, u16),
    /// A second went by while something shows how long it takes.
    Tick(Wall),
    /// A durable event of the agent, from the follower with this number. What is left of an earlier one is not taken.
    Event(u64, Row),
    /// The model is asked (again), and says more; not durable.
    LiveAttempt(u64),
    LiveText(u64, String),
    /// The last lines of the command in the foreground, in place of those before; not durable.
    LiveOutput(u64, String),
    /// What a followed task writes, of the request with this number; not durable until the task ends.
    Output(u64, Piece),
    /// Whether the stream stands.
    Connected(u64, bool),
    /// What is followed can't be followed on; the code of the refusal where there is one.
    FollowFailed(u64, Option<String>, String),
    Answer(Answer),
}

/// What came of a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Loaded(AgentId, Loaded),
    /// The agent can't be loaded: whether it is worth trying again, and what is wrong.
    LoadFailed {
        agent: AgentId,
        again: bool,
        problem: String,
    },
    Older {
        agent: AgentId,
        /// Which row they are before.
        before: EventSeq,
        rows: Vec<Row>,
        more: bool,
    },
    OlderFailed(AgentId, String),
    Texts {
        agent: AgentId,
        span: (EventSeq, EventSeq),
        texts: Vec<(EventSeq, Vec<Part>)>,
    },
    Status(AgentId, Option<Status>),
    Sent(String),
    NotSent {
        key: String,
        again: bool,
        problem: String,
    },
    Opened(AgentId, Kind, Result<Vec<Entry>, String>),
    Done(Result<String, String>),
    Forked(AgentId),
    /// A command runs in the background.
    Began(AgentId, TaskId),
}

/// What a fresh view begins with.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) status: Status,
    /// The newest, the oldest of them first.
    pub(crate) rows: Vec<Row>,
    pub(crate) last: EventSeq,
    pub(crate) more: bool,
}

/// How the agent stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) posture: String,
    pub(crate) waits_for: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) today: String,
    pub(crate) folder: String,
    /// Of the run in progress: what it does, and since when.
    pub(crate) run: Option<(String, Wall)>,
}

/// A prompt on its way. Its key is made when Enter is pressed, so it is admitted once however often it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) key: String,
    pub(crate) agent: AgentId,
    pub(crate) text: String,
    pub(crate) answers: Option<BriefId>,
    /// It was handed over, and its answer is to come.
    pub(crate) on_its_way: bool,
    /// How often it could not be taken for the moment, and why not the last time.
    pub(crate) deferred: u32,
    pub(crate) problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Nothing is followed until it has come.
    Load(AgentId),
    /// Follow behind an event, under a number.
    Follow(AgentId, EventSeq, u64),
    Older(AgentId, EventSeq),
    Texts(AgentId, EventSeq, EventSeq),
    Status(AgentId),
    /// At once, or after a pause where it was deferred.
    Send(Prompt),
    /// The prompt with this key is sent no more.
    Withdraw(String),
    Open(AgentId, Kind),
    /// Follow what a task writes, under a number.
    FollowOutput(AgentId, TaskId, u64),
    Control(AgentId, Control),
    StartRuntime,
    Leave,
}

/// Something to be done to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    Start,
    Stop,
    Abort,
    Compact,
    /// None returns to the runtime's own.
    Model(Option<String>),
    Fork(AgentId),
    Attach(String),
    Use(String),
    Exit,
    UseKnown(WorkspaceId),
    Detach(WorkspaceId),
    /// Removes worktrees that nobody uses and that have no changes.
    Prune,
    RunTask(String),
    StopTask {
        task: TaskId,
        /// Everything is killed at once.
        force: bool,
    },
    WriteTask(TaskId, String),
    /// Wakes the agent after a time, with a text.
    AddTimer(Millis, String),
    CancelTimer(TimerId),
    RotateTrigger,
    RevokeTrigger,
    CloseAsk(BriefId),
}
