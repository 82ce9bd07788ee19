//! What goes over the wire, for the server, its description and every client: one file per resource. Requests
//! refuse unknown fields; replies may gain fields, so a client ignores those that it does not know.

#[macro_use]
extern crate holon_omit;

mod access;
mod agents;
mod body;
mod briefs;
mod client;
mod client_error;
mod code;
mod console;
mod control;
mod debug_prompt;
mod earlier_answer;
mod endpoint;
mod error;
mod events;
mod follow;
mod inbox;
mod ingress;
mod latency;
mod ledger_checks;
mod memory;
mod models;
mod path;
mod reply;
pub mod rows;
mod runtime;
mod scheduler_fixture;
mod skills;
mod task;
mod tasks;
mod timers;
mod transcript;
mod triggers;
mod wake;
mod word;
mod work_item;
mod work_items;
mod workspaces;

pub use access::{Access, AuthMode};
pub use agents::{
    AgentListEntry, AgentState, AgentStatus, AgentWhy, Agents, DamagedAgent, EventMark, ListQuery, Listed,
    RecentQuery, Trouble,
};
pub use briefs::{Brief, Briefs};
pub use console::{ConsoleLink, ConsoleSession, ConsoleSessions, EndedSession, LoggedIn, Login, OpenSession};
pub use control::{
    Abort, Action, CompactReply, ControlAgent, ControlReply, CreateAgent, Created, Describe, ForkAgent,
    Forked, GivenAnswer, GivenCall, INSTRUCTIONS_BYTES, LabelReply, Rename,
};
pub use debug_prompt::{
    Change, DebugPrompt, DebugPromptReply, PastRequest, PrefixBroke, PromptDiff, PromptSection, RequestName,
    RequestOutcome, SectionChange, SectionState, Source, ToolSize, Wire,
};
pub use earlier_answer::earlier_answer;
pub use error::ErrorBody;
pub use events::{
    AllEventsPage, AllEventsQuery, AllStreamQuery, AnyEvent, DamagedEvent, DamagedKind, Envelope, EventsPage,
    EventsQuery, LedgerSeq, LiveAttempt, LiveOutput, LiveText, Order, Presentation, StreamQuery,
};
pub use inbox::{ClosedAsk, Inbox, InboxQuery, OpenAsk, TemporaryRunSummary};
pub use ingress::{
    Admitted, Enqueue, EnqueueKind, EnqueuePriority, Payload, Prompt, PromptImage, PromptOutcome,
    PromptQuery, Prompted, WaitUntil, WebhookQuery,
};
pub use latency::{Latency, LatencyQuery};
pub use ledger_checks::{
    CheckLedger, LedgerCheck, LedgerCheckKind, LedgerCheckReply, LedgerCheckState, LedgerChecks,
    LedgerChecksQuery,
};
pub use memory::{
    MemoryCount, MemoryFound, MemoryHit, MemoryIndex, MemoryMetadata, MemoryQuery, MemorySearched,
    MemoryShown, MemorySource, MemoryStatus, MemoryText, MemoryTextQuery,
};
pub use models::{Availability, ModelReply, Models, SetModel};
pub use runtime::{
    Activity, Auth, FailurePhase, Handshake, Health, LastFailure, Nothing, Protocol, Readiness, Root,
    RuntimeInfo, RuntimeState, RuntimeStatus, Shutdown, StreamToken, ToolServer,
};
pub use scheduler_fixture::{FixtureQuery, SchedulerFixture, SchedulerScenario};
pub use skills::{
    CheckQuery, CheckedSkill, CheckedSkills, InstallSkill, InstalledState, SkillReply, SkillRoot, SkillShown,
    SkillStanding, Skills, UninstallSkill,
};
pub use task::{
    Artifact, CommandSnapshot, TaskInputResult, TaskLine, TaskOutputResult, TaskResult, TaskSnapshot,
};
pub use tasks::{
    OutputEnd, OutputPiece, OutputQuery, OutputStreamQuery, RunTask, StopTask, TaskInputReply, TaskReply,
    TaskShown, Tasks, TasksQuery, WriteTask,
};
pub use timers::{CreateTimer, TimerReply, TimerSnapshot, Timers, TimersQuery};
pub use transcript::{Block, Item, PageQuery, RoundData, Transcript, TranscriptEntry};
pub use triggers::{
    Delivered, DeliveryQuery, DepositDisposition, Deposited, TriggerReply, TriggerSnapshot, Triggers,
};
pub use wake::{Wake, Woken};
pub use work_item::{ItemState, PlanArtifact, WorkItemSnapshot};
pub use work_items::{CreateWork, WorkItemReply, WorkItemShown, WorkItems, WorkItemsQuery};
pub use workspaces::{
    AttachWorkspace, Boundaries, DetachWorkspace, UseWorkspace, Workspaces, WorkspacesReply, WorktreeSummary,
};

pub use body::{
    AnyJson, Anything, Body, Empty, Json, OTHER_BYTES, Optional, PROMPT_BODY_BYTES, PROMPT_BYTES,
    PROMPT_WITH_IMAGES_BYTES, WEBHOOK_BYTES,
};
pub use client::{
    Bearer, ByteStream, CONNECT_TIMEOUT, Client, Connect, Connecting, Connection, HttpAllEvents, HttpEvents,
    HttpOutput, Location, not_reachable, silent,
};
pub use client_error::ClientError;
pub use code::Code;
pub use endpoint::{Access as RouteAccess, Ask, Asked, Endpoint, Header, HeaderValue, Request, Row};
pub use follow::{AllEvents, Events, Follow, Followed, Output, Written};
pub use path::{
    AgentPath, AskPath, MemoryPath, MessagePath, NewAgentPath, Path, RequestPath, SessionPath, TaskPath,
    TimerPath, TriggerPath, WorkItemPath,
};
pub use reply::{Document, OpenApi, OpenMetrics, Reply, Stream};
pub use rows::Control;

/// Name of the protocol in the handshake.
pub const PROTOCOL: &str = "holon-control";
/// Its version: raised when a client of the version before could misread a reply.
pub const PROTOCOL_VERSION: u32 = 2;
