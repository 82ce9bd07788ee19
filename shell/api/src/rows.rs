//! Every endpoint, in the order of the description: its name and the method of [`Control`] that asks it, its row, and its
//! types. What is not named is the default: nothing in the path, no query, no body, a caller whom the policy lets in.

use std::time::Duration;

use holon_facts::call::{COMMAND_BYTES, INPUT_BYTES};
use http::{Method, StatusCode};

use super::INSTRUCTIONS_BYTES;
use super::body::{
    AnyJson, Anything, Empty, Json, OTHER_BYTES, Optional, PROMPT_BODY_BYTES, PROMPT_WITH_IMAGES_BYTES,
    WEBHOOK_BYTES,
};
use super::code::Code;
use super::endpoint::{Access, Ask, Asked, Endpoint, Header, HeaderValue, Request, Row};
use super::follow::Follow;
use super::memory::{MemoryQuery, MemorySearched, MemoryShown, MemoryStatus, MemoryTextQuery};
use super::path::MemoryPath;
use super::path::{
    AgentPath, AskPath, MessagePath, NewAgentPath, RequestPath, SessionPath, TaskPath, TimerPath,
    TriggerPath, WorkItemPath,
};
use super::reply::{OpenApi, OpenMetrics, Stream};
use super::{
    Abort, Admitted, AgentState, AgentStatus, AgentWhy, Agents, AllEventsPage, AllEventsQuery,
    AllStreamQuery, AttachWorkspace, Briefs, CheckLedger, CheckQuery, CheckedSkills, ClosedAsk, CompactReply,
    ConsoleLink, ConsoleSession, ConsoleSessions, ControlAgent, ControlReply, CreateAgent, CreateTimer,
    CreateWork, Created, DebugPrompt, DebugPromptReply, Delivered, DeliveryQuery, Describe, DetachWorkspace,
    EndedSession, Enqueue, EventsPage, EventsQuery, FixtureQuery, ForkAgent, Forked, Handshake, Health,
    Inbox, InboxQuery, InstallSkill, LabelReply, Latency, LatencyQuery, LedgerCheckReply, LedgerChecks,
    LedgerChecksQuery, ListQuery, LoggedIn, Login, ModelReply, Models, Nothing, OutputQuery,
    OutputStreamQuery, PageQuery, Prompt, PromptQuery, Prompted, Readiness, RecentQuery, Rename, Root,
    RunTask, RuntimeStatus, SchedulerFixture, SetModel, Shutdown, SkillReply, Skills, StopTask, StreamQuery,
    StreamToken, TaskInputReply, TaskOutputResult, TaskReply, TaskShown, Tasks, TasksQuery, TimerReply,
    Timers, TimersQuery, Transcript, TriggerReply, Triggers, UninstallSkill, UseWorkspace, Wake,
    WebhookQuery, Woken, WorkItemReply, WorkItemShown, WorkItems, WorkItemsQuery, Workspaces,
    WorkspacesReply, WorktreeSummary, WriteTask,
};

/// What comes with a text in a body; of the text itself six bytes of JSON may be one (`\u0000`).
const ENVELOPE_BYTES: usize = 64 << 10;
const COMMAND_BODY_BYTES: usize = 6 * COMMAND_BYTES + ENVELOPE_BYTES;
const INPUT_BODY_BYTES: usize = 6 * INPUT_BYTES + ENVELOPE_BYTES;
const CREATE_BODY_BYTES: usize = 6 * INSTRUCTIONS_BYTES + ENVELOPE_BYTES;
const TIMER_BODY_BYTES: usize = 16 << 10;
const WORK_ITEM_BODY_BYTES: usize = 512 << 10;

const IDEMPOTENCY_KEY: Header = Header {
    name: "Idempotency-Key",
    about: "Identifies one request: a retry within 24 h adds nothing new.",
    value: HeaderValue::Name,
};
const LAST_EVENT_ID: Header = Header {
    name: "Last-Event-ID",
    about: "Resumes after this event; takes precedence over `after_seq`.",
    value: HeaderValue::Number,
};
const DELIVERY: Header =
    Header { name: "X-Delivery-Id", about: "Replaces a missing `delivery_id`.", value: HeaderValue::Name };
const LAST_OFFSET: Header = Header {
    name: "Last-Event-ID",
    about: "Resumes after this many bytes of output; takes precedence over `offset`.",
    value: HeaderValue::Number,
};
const LAST_POSITION: Header = Header {
    name: "Last-Event-ID",
    about: "Resumes behind this position; takes precedence over `after`.",
    value: HeaderValue::Number,
};
const EVENT_TYPE: Header =
    Header { name: "X-Event-Type", about: "Replaces a missing `event_type`.", value: HeaderValue::Name };
const FORGE_DELIVERY: Header = Header {
    name: "X-GitHub-Delivery",
    about: "Replaces a missing `X-Delivery-Id`.",
    value: HeaderValue::Name,
};
const FORGE_EVENT: Header =
    Header { name: "X-GitHub-Event", about: "Replaces a missing `X-Event-Type`.", value: HeaderValue::Name };
const SIGNATURE: Header = Header {
    name: "X-Hub-Signature-256",
    about: "`sha256=` and the HMAC-SHA-256 of the body; required when `server.webhook_credential` is set.",
    value: HeaderValue::Name,
};

const NOT_ENDED: (StatusCode, &str) =
    (StatusCode::ACCEPTED, "The prompt is durable; what `wait` waits for has not ended.");

const READ: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged];
const TURN: &[Code] = &[Code::UnknownAgent, Code::UnknownTurn, Code::AgentDamaged];
const REQUEST: &[Code] =
    &[Code::UnknownAgent, Code::UnknownTurn, Code::UnknownRequest, Code::AgentDamaged, Code::TooFar];
const EVENT: &[Code] = &[Code::UnknownAgent, Code::UnknownEvent, Code::AgentDamaged, Code::TooFar];
const CURSOR: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged, Code::CursorAhead];
const STREAM: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged, Code::CursorAhead, Code::InvalidHeader];
const TASK: &[Code] = &[Code::UnknownAgent, Code::UnknownTask, Code::AgentDamaged];
const OUTPUT: &[Code] = &[Code::UnknownAgent, Code::UnknownTask, Code::AgentDamaged, Code::InvalidHeader];
const ITEM: &[Code] = &[Code::UnknownAgent, Code::UnknownWorkItem, Code::AgentDamaged];
const SKILL: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged, Code::SkillNotFound, Code::SkillInvalid];
const SOURCE: &[Code] = &[Code::UnknownAgent, Code::MemorySourceNotFound, Code::AgentDamaged];
const WORKSPACE: &[Code] =
    &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::InvalidWorkspace, Code::TooMany];
const DELIVERED: &[Code] =
    &[Code::UnknownTrigger, Code::AgentStopped, Code::AgentDamaged, Code::OutOfRange, Code::InvalidHeader];
const WORK: &[Code] = &[
    Code::UnknownAgent,
    Code::AgentDamaged,
    Code::AgentStopped,
    Code::OutOfRange,
    Code::TooMany,
    Code::IdempotencyConflict,
    Code::InvalidHeader,
];
const RUN: &[Code] = &[
    Code::UnknownAgent,
    Code::AgentDamaged,
    Code::AgentStopped,
    Code::CommandRefused,
    Code::IdempotencyConflict,
    Code::InvalidHeader,
];
const INGRESS: &[Code] = &[
    Code::UnknownAgent,
    Code::AgentDamaged,
    Code::AgentStopped,
    Code::QueueFull,
    Code::IdempotencyConflict,
    Code::TooMany,
    Code::InvalidHeader,
];

const PROMPT: &[Code] = &[
    Code::UnknownAgent,
    Code::AgentDamaged,
    Code::AgentStopped,
    Code::QueueFull,
    Code::IdempotencyConflict,
    Code::TooMany,
    Code::InvalidHeader,
    Code::SkillNotFound,
    Code::SkillInvalid,
];
const ENQUEUE: &[Code] = &[
    Code::UnknownAgent,
    Code::AgentDamaged,
    Code::AgentStopped,
    Code::QueueFull,
    Code::IdempotencyConflict,
    Code::TooMany,
    Code::InvalidHeader,
    Code::MissingSignature,
];

/// Git takes so long at the most for each of the things that it does.
fn installation(_: &Nothing) -> Duration {
    Duration::from_mins(10)
}

/// The first of two that is given.
macro_rules! or {
    ([] $default:ty) => {
        $default
    };
    ([$given:ty] $default:ty) => {
        $given
    };
    (value [] $default:expr) => {
        $default
    };
    (value [$given:expr] $default:expr) => {
        $given
    };
}

macro_rules! endpoints {
    (
        asked { $(
            $name:ident $ask:ident $verb:ident $path:literal $summary:literal
            $(, or $default_path:literal $default_summary:literal)?
            $(, by $access:ident)?
            $(, path $path_type:ty)?
            $(, query $query:ty)?
            $(, body $body:ty)?
            $(, once $key:ident)?
            $(, waits $waits:path)?
            $(, headers $headers:expr)?
            $(, fails $fails:expr)?
            $(, status $status:ident)?
            $(, or_status $or_status:ident)?
            => $reply:ty;
        )* }
        followed { $(
            $stream:ident $follow:ident $stream_path:literal $stream_summary:literal,
            path $stream_path_type:ty, query $stream_query:ty, headers $stream_headers:expr, fails $stream_fails:expr;
        )* }
    ) => {
        $(
            #[doc = $summary]
            #[derive(Debug, Clone, Copy)]
            pub enum $name {}

            impl Endpoint for $name {
                const ROW: Row = Row {
                    name: stringify!($ask),
                    method: Method::$verb,
                    path: $path,
                    summary: $summary,
                    of_default: or!(value [$(Some(($default_path, $default_summary)))?] None),
                    access: or!(value [$(Access::$access)?] Access::Control),
                    headers: or!(value [$($headers)?] &[]),
                    fails: or!(value [$($fails)?] &[]),
                    status: or!(value [$(StatusCode::$status)?] StatusCode::OK),
                    or_status: or!(value [$(Some($or_status))?] None),
                };
                type Path = or!([$($path_type)?] Nothing);
                type Query = or!([$($query)?] Nothing);
                type Body = or!([$($body)?] Empty);
                type Reply = $reply;
                $(
                    fn waits(query: &Self::Query) -> Duration {
                        $waits(query)
                    }
                )?
            }
        )*
        $(
            #[doc = $stream_summary]
            #[derive(Debug, Clone, Copy)]
            pub enum $stream {}

            impl Endpoint for $stream {
                const ROW: Row = Row {
                    name: stringify!($follow),
                    method: Method::GET,
                    path: $stream_path,
                    summary: $stream_summary,
                    of_default: None,
                    access: Access::Stream,
                    headers: $stream_headers,
                    fails: $stream_fails,
                    status: StatusCode::OK,
                    or_status: None,
                };
                type Path = $stream_path_type;
                type Query = $stream_query;
                type Body = Empty;
                type Reply = Stream;
            }
        )*

        /// Everything that can be asked of a runtime, wherever it is: one method for each endpoint.
        pub trait Control: Follow $(+ Ask<$name>)* { $(
            #[doc = $summary]
            fn $ask(
                &self
                $(, path: impl Into<$path_type>)?
                $(, query: $query)?
                $(, body: impl Into<$body>)?
                $(, $key: Option<String>)?
            ) -> impl Future<Output = Asked<$reply>> + Send {
                Ask::<$name>::ask(self, Request {
                    path: or!(value [$(Into::<$path_type>::into(path))?] Nothing {}),
                    query: or!(value [$({ let query: $query = query; query })?] Nothing {}),
                    body: or!(value [$(Into::<$body>::into(body))?] Empty),
                    key: or!(value [$($key)?] None),
                })
            }
        )* }

        impl<T: Follow $(+ Ask<$name>)*> Control for T {}
    };
}

endpoints! {
    asked {
        ShowRoot root GET "/" "Name this server and link its description", by Open => Root;
        ShowHandshake handshake GET "/handshake" "Show protocol, authentication and capabilities", by Open => Handshake;
        ShowHealth health GET "/healthz" "Check the health of the runtime", by Open => Health;
        ShowOpenApi openapi GET "/openapi.json" "Show this OpenAPI description", by Open => OpenApi;
        ShowMetrics metrics GET "/metrics" "Export counters and gauges for Prometheus" => OpenMetrics;
        ListModels models GET "/models" "List the configured models and whether each is available" => Models;
        ShowReadiness readiness GET "/control/runtime/readiness" "Check whether the runtime accepts new work" => Readiness;
        ShowRuntime runtime_status GET "/control/runtime/status" "Show process, configuration and activity"
            => RuntimeStatus;
        ShutDown shut_down POST "/control/runtime/shutdown"
            "Shut the runtime down; agents resume at the next start", body Optional<Nothing> => Shutdown;
        MakeStreamToken create_stream_token POST "/control/stream-token"
            "Create a short-lived token for event streams", body Optional<Nothing>, status CREATED => StreamToken;

        CheckTheLedger check_ledger POST "/control/ledger/checks"
            "Verify or replay the whole ledger, while agents go on", body Json<CheckLedger, OTHER_BYTES>,
            fails &[Code::CheckRunning], status ACCEPTED => LedgerCheckReply;
        ShowLedgerChecks ledger_checks GET "/control/ledger/checks"
            "Show the newest check of the ledger of each kind, now or when none runs",
            query LedgerChecksQuery, waits LedgerChecksQuery::waits => LedgerChecks;

        MakeConsoleLink create_console_link POST "/control/console/link"
            "Create a link that logs a browser in to the web console, once",
            body Optional<Nothing>, fails &[Code::NoConsole], status CREATED => ConsoleLink;
        LogIn log_in POST "/console/login" "Log a browser in with the one-time token of a link",
            by Login, body Json<Login, OTHER_BYTES>, fails &[Code::NoConsole] => LoggedIn;
        LogOut log_out POST "/console/logout" "End the session of the browser that asks",
            body Optional<Nothing> => EndedSession;
        ShowSession session GET "/console/session" "Show how the caller is let in" => ConsoleSession;
        ListSessions sessions GET "/console/sessions" "List the browsers that are logged in" => ConsoleSessions;
        EndSession end_session DELETE "/console/sessions/{session_id}" "End a session: its browser is logged out",
            path SessionPath, fails &[Code::UnknownSession] => EndedSession;

        ListAgents agents GET "/agents/list" "List public agents by name", query ListQuery => Agents;
        ListAsks inbox GET "/inbox" "List what agents have asked of their operator", query InboxQuery => Inbox;
        ShowAgent status GET "/agents/{agent_id}/status" "Summarize an agent",
            or "/status" "Summarize the default agent", path AgentPath, fails READ => AgentStatus;
        ShowState state GET "/agents/{agent_id}/state" "Show the state a projection starts from",
            or "/state" "Show the state a projection of the default agent starts from",
            path AgentPath, query RecentQuery, fails EVENT => AgentState;
        ExplainAgent why GET "/agents/{agent_id}/why" "Explain why an agent is in its state and what would change it",
            path AgentPath, fails READ => AgentWhy;
        ListBriefs briefs GET "/agents/{agent_id}/briefs" "List an agent's briefs for its operator",
            or "/briefs" "List the default agent's briefs for its operator",
            path AgentPath, query PageQuery, fails CURSOR => Briefs;
        ShowTranscript transcript GET "/agents/{agent_id}/transcript" "Show the transcript of turns",
            or "/transcript" "Show the transcript of the default agent",
            path AgentPath, query PageQuery, fails CURSOR => Transcript;
        ShowLatency latency GET "/agents/{agent_id}/latency" "Show where the time of turns went",
            path AgentPath, query LatencyQuery, fails TURN => Latency;
        ShowSchedulerFixture scheduler_fixture GET "/agents/{agent_id}/scheduler-fixture"
            "Show a past decision of the scheduler with its facts",
            path AgentPath, query FixtureQuery, fails EVENT => SchedulerFixture;
        ShowRequest past_request GET "/agents/{agent_id}/requests/{request_id}"
            "Show a request to the model as it was sent", path RequestPath, fails REQUEST => DebugPromptReply;
        ListEvents events GET "/agents/{agent_id}/events" "List durable events, page by page",
            path AgentPath, query EventsQuery, fails CURSOR => EventsPage;
        ListAllEvents all_events GET "/events" "List durable events of all public agents, page by page",
            query AllEventsQuery, fails &[Code::CursorAhead] => AllEventsPage;

        ListTasks tasks GET "/agents/{agent_id}/tasks" "List background tasks, newest first",
            path AgentPath, query TasksQuery, fails READ => Tasks;
        ShowTask task GET "/agents/{agent_id}/tasks/{task_id}" "Show one background task, without its output",
            path TaskPath, fails TASK => TaskShown;
        ReadOutput task_output GET "/agents/{agent_id}/tasks/{task_id}/output"
            "Read the output of a task, now or when it ends",
            path TaskPath, query OutputQuery, waits OutputQuery::waits, fails TASK => TaskOutputResult;

        PostMessage enqueue POST "/agents/{agent_id}/enqueue" "Enqueue an external message",
            or "/enqueue" "Enqueue an external message for the default agent",
            path AgentPath, body Json<Enqueue, WEBHOOK_BYTES>, once key,
            headers &[IDEMPOTENCY_KEY], fails ENQUEUE => Admitted;
        DeliverWebhook webhook POST "/webhooks/generic/{agent_id}" "Deliver a webhook: any JSON document of another system",
            by Signed, path AgentPath, query WebhookQuery, body AnyJson<WEBHOOK_BYTES>, once key,
            headers &[IDEMPOTENCY_KEY, DELIVERY, FORGE_DELIVERY, EVENT_TYPE, FORGE_EVENT, SIGNATURE],
            fails INGRESS => Admitted;
        SendPrompt prompt POST "/control/agents/{agent_id}/prompt" "Send a prompt as the operator",
            path AgentPath, query PromptQuery, body Json<Prompt, PROMPT_WITH_IMAGES_BYTES>, once key,
            waits PromptQuery::waits, headers &[IDEMPOTENCY_KEY], fails PROMPT, or_status NOT_ENDED => Prompted;
        ShowMessage message GET "/agents/{agent_id}/messages/{message_id}"
            "Show what came of a message, now or when its turn ends",
            path MessagePath, query PromptQuery, waits PromptQuery::waits,
            fails &[Code::UnknownAgent, Code::UnknownMessage, Code::AgentDamaged], or_status NOT_ENDED => Prompted;
        CloseAsk close_ask POST "/control/agents/{agent_id}/asks/{brief_id}/close" "Close an ask without an answer",
            path AskPath, fails &[Code::UnknownAgent, Code::UnknownAsk, Code::PrivateAgent, Code::AgentDamaged]
            => ClosedAsk;
        ChangeAgent control POST "/control/agents/{agent_id}/control" "Start, stop or archive an agent",
            path AgentPath, body Json<ControlAgent, OTHER_BYTES>,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent] => ControlReply;
        AbortRun abort POST "/control/agents/{agent_id}/current-run/abort" "Abort the run in progress",
            path AgentPath, body Optional<Abort>,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::StaleRunId, Code::NoCurrentRun]
            => ControlReply;
        MakeAgent create_agent POST "/control/agents/{agent_id}/create" "Create an agent",
            path NewAgentPath, body Optional<CreateAgent, CREATE_BODY_BYTES>,
            fails &[
                Code::AgentExists, Code::NameTaken, Code::AgentDamaged, Code::TooManyAgents, Code::InvalidWorkspace, Code::InvalidModel,
            ],
            status CREATED => Created;
        RenameAgent rename POST "/control/agents/{agent_id}/rename" "Give an agent a second name",
            path AgentPath, body Json<Rename, OTHER_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::NameTaken, Code::ReservedAgentId,
            ] => LabelReply;
        DescribeAgent describe POST "/control/agents/{agent_id}/describe" "Describe what an agent is for",
            path AgentPath, body Json<Describe, OTHER_BYTES>,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent] => LabelReply;
        CopyAgent fork POST "/control/agents/{agent_id}/fork"
            "Fork an agent from a past event",
            path AgentPath, body Json<ForkAgent, OTHER_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::AgentExists, Code::NameTaken, Code::UnknownEvent,
                Code::TooLarge, Code::InvalidModel, Code::InvalidWorkspace, Code::TextsRemoved,
                Code::ReservedAgentId, Code::TooManyAgents,
            ],
            status CREATED => Forked;
        CompactAgent compact POST "/control/agents/{agent_id}/compact"
            "Close the open episode: requests show a digest of its conversation from now on",
            path AgentPath, fails &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent] => CompactReply;
        ChooseModel set_model POST "/control/agents/{agent_id}/model" "Set the model from the next turn on",
            path AgentPath, body Json<SetModel, OTHER_BYTES>,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::InvalidModel] => ModelReply;
        ClearModel clear_model POST "/control/agents/{agent_id}/model/clear" "Return to the runtime's own model",
            path AgentPath, fails READ => ModelReply;
        PreviewPrompt debug_prompt POST "/control/agents/{agent_id}/debug-prompt"
            "Show a request to the model: the next one, or a past one as it was sent",
            path AgentPath, body Json<DebugPrompt, PROMPT_BODY_BYTES>, fails REQUEST => DebugPromptReply;

        StartTask run_task POST "/control/agents/{agent_id}/tasks" "Run a command as a background task",
            path AgentPath, body Json<RunTask, COMMAND_BODY_BYTES>, once key, headers &[IDEMPOTENCY_KEY],
            fails RUN, status CREATED => TaskReply;
        EndTask stop_task POST "/control/agents/{agent_id}/tasks/{task_id}/stop"
            "Stop a task and every process it started",
            path TaskPath, body Optional<StopTask>, fails TASK => TaskReply;
        FeedTask write_task POST "/control/agents/{agent_id}/tasks/{task_id}/input"
            "Write to the standard input of a task",
            path TaskPath, body Json<WriteTask, INPUT_BODY_BYTES>, fails TASK => TaskInputReply;

        ListTimers timers GET "/agents/{agent_id}/timers" "List timers, newest first",
            path AgentPath, query TimersQuery, fails READ => Timers;
        MakeTimer create_timer POST "/control/agents/{agent_id}/timers" "Create a timer that wakes the agent",
            path AgentPath, body Json<CreateTimer, TIMER_BODY_BYTES>, once key, headers &[IDEMPOTENCY_KEY],
            fails WORK, status CREATED => TimerReply;
        CancelTimer cancel_timer POST "/control/agents/{agent_id}/timers/{timer_id}/cancel" "Cancel a timer",
            path TimerPath, fails &[Code::UnknownAgent, Code::UnknownTimer, Code::AgentDamaged]
            => TimerReply;

        ListSkills skills GET "/agents/{agent_id}/skills" "List skills, and which of them are in use",
            path AgentPath, fails READ => Skills;
        CheckSkills check_skills GET "/agents/{agent_id}/skills/check"
            "Compare installed skills with what was installed",
            path AgentPath, query CheckQuery, fails SKILL => CheckedSkills;
        InstallASkill install_skill POST "/control/agents/{agent_id}/skills/install"
            "Install a skill from a folder or a repository",
            path AgentPath, body Json<InstallSkill, OTHER_BYTES>, waits installation,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::SkillNotFound, Code::SkillInstalled,
                Code::SkillInvalid, Code::RemoteUnreachable, Code::RemoteTimeout,
            ],
            status CREATED => SkillReply;
        UninstallASkill uninstall_skill POST "/control/agents/{agent_id}/skills/uninstall"
            "Remove a skill that was installed",
            path AgentPath, body Json<UninstallSkill, OTHER_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::SkillNotFound, Code::SkillModified,
                Code::SkillInvalid,
            ] => SkillReply;

        ShowWorkspaces workspaces GET "/control/agents/{agent_id}/workspace" "Show the agent's workspaces",
            path AgentPath, fails READ => Workspaces;
        AttachFolder attach_workspace POST "/control/agents/{agent_id}/workspace/attach"
            "Attach a folder as a workspace",
            path AgentPath, body Json<AttachWorkspace, OTHER_BYTES>, fails WORKSPACE => WorkspacesReply;
        UseFolder use_workspace POST "/control/agents/{agent_id}/workspace/use"
            "Switch the active workspace from the next turn on",
            path AgentPath, body Json<UseWorkspace, OTHER_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::UnknownWorkspace,
                Code::InvalidWorkspace, Code::TooMany,
            ] => WorkspacesReply;
        ExitWorkspace exit_workspace POST "/control/agents/{agent_id}/workspace/exit"
            "Return to the agent's own home from the next turn on", path AgentPath,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::InvalidWorkspace]
            => WorkspacesReply;
        PruneWorktrees prune_worktrees POST "/control/agents/{agent_id}/workspace/prune"
            "Remove unused worktrees without changes", path AgentPath,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent] => WorkspacesReply;
        ListWorktrees worktrees GET "/agents/{agent_id}/worktree-summary"
            "List the worktrees of the agent and its children", path AgentPath, fails READ
            => WorktreeSummary;
        DetachFolder detach_workspace POST "/control/agents/{agent_id}/workspace/detach"
            "Detach a workspace",
            path AgentPath, body Json<DetachWorkspace, OTHER_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::UnknownWorkspace,
                Code::WorkspaceActive,
            ] => WorkspacesReply;

        WakeAgent wake POST "/control/agents/{agent_id}/wake" "Send a wake hint; the agent handles it when idle",
            path AgentPath, body Json<Wake, WEBHOOK_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::AgentStopped, Code::OutOfRange, Code::TooLarge,
            ] => Woken;
        DeliverWake deliver POST "/callbacks/wake/{token}" "Wake the agent that owns this trigger",
            by Token, path TriggerPath, query DeliveryQuery, body Anything<WEBHOOK_BYTES>, fails DELIVERED
            => Delivered;
        DeliverMessage deliver_message POST "/callbacks/enqueue/{token}"
            "Deprecated: the same as /callbacks/wake/{token}",
            by Token, path TriggerPath, query DeliveryQuery, body Anything<WEBHOOK_BYTES>, fails DELIVERED
            => Delivered;
        ListTriggers triggers GET "/control/agents/{agent_id}/triggers" "Show the trigger with its address",
            path AgentPath, fails READ => Triggers;
        RotateTrigger rotate_trigger POST "/control/agents/{agent_id}/triggers/rotate"
            "Replace the trigger's address", path AgentPath, fails READ => TriggerReply;
        RevokeTrigger revoke_trigger POST "/control/agents/{agent_id}/triggers/revoke"
            "Revoke the trigger's address", path AgentPath, fails READ => TriggerReply;

        ShowWorkItems work_items GET "/agents/{agent_id}/work-items" "List work items, open ones first",
            path AgentPath, query WorkItemsQuery, fails READ => WorkItems;
        ShowWorkItem work_item GET "/agents/{agent_id}/work-items/{work_item_id}" "Show one work item",
            path WorkItemPath, fails ITEM => WorkItemShown;
        MakeWorkItem create_work_item POST "/control/agents/{agent_id}/work-items" "Create a work item",
            path AgentPath, body Json<CreateWork, WORK_ITEM_BODY_BYTES>, once key, headers &[IDEMPOTENCY_KEY],
            fails WORK, status CREATED => WorkItemReply;
        FinishWorkItem complete_work_item POST
            "/control/agents/{agent_id}/work-items/{work_item_id}/complete" "Mark a work item as completed",
            path WorkItemPath, fails ITEM => WorkItemReply;
        SearchMemory memory_search GET "/agents/{agent_id}/memory/search" "Search what an agent remembers",
            path AgentPath, query MemoryQuery, fails READ => MemorySearched;
        ShowMemoryStatus memory_status GET "/agents/{agent_id}/memory/status"
            "Show what there is to search, and how far the index is", path AgentPath, fails READ => MemoryStatus;
        ReadMemory memory_text GET "/agents/{agent_id}/memory/{source_ref}" "Read a text that an agent remembers",
            path MemoryPath, query MemoryTextQuery, fails SOURCE => MemoryShown;
        RebuildMemory memory_reindex POST "/control/agents/{agent_id}/memory/reindex"
            "Delete the index of the home and fill it again", path AgentPath, fails READ => MemoryStatus;
    }
    followed {
        FollowEvents follow "/agents/{agent_id}/events/stream" "Stream durable events as they happen",
            path AgentPath, query StreamQuery, headers &[LAST_EVENT_ID], fails STREAM;
        FollowAllEvents follow_all "/events/stream" "Stream durable events of all public agents as they happen",
            path Nothing, query AllStreamQuery, headers &[LAST_POSITION],
            fails &[Code::CursorAhead, Code::InvalidHeader];
        FollowOutput follow_output "/agents/{agent_id}/tasks/{task_id}/output/stream"
            "Stream the output of a task until it ends",
            path TaskPath, query OutputStreamQuery, headers &[LAST_OFFSET], fails OUTPUT;
    }
}
