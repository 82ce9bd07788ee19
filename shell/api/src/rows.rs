//! Every endpoint, in the order of the description: its name and the method of [`Control`] that asks it, its row, and its
//! types. What is not named is the default: nothing in the path, no query, no body, a caller whom the policy lets in.

use holon_core::tool::arguments::{COMMAND_BYTES, INPUT_BYTES};
use http::{Method, StatusCode};

use super::body::{AnyJson, Anything, Empty, Json, OTHER_BYTES, Optional, PROMPT_BODY_BYTES, WEBHOOK_BYTES};
use super::code::Code;
use super::endpoint::{Access, Ask, Asked, Endpoint, Header, HeaderValue, Request, Row};
use super::follow::Follow;
use super::path::{AgentPath, TaskPath, TimerPath, TriggerPath, WorkItemPath};
use super::reply::{Document, OpenApi, OpenMetrics, Stream};
use super::{
    Abort, Admitted, AgentState, AgentStatus, AgentWhy, AttachWorkspace, Briefs, ControlAgent, ControlReply,
    CreateAgent, CreateTimer, CreateWork, Created, DebugPrompt, DebugPromptReply, Delivered, DeliveryQuery,
    DetachWorkspace, Enqueue, EventsPage, EventsQuery, ForkAgent, Forked, Handshake, Health, ListQuery,
    Listed, ModelReply, Models, Nothing, OutputQuery, OutputStreamQuery, PageQuery, Prompt, Readiness,
    RecentQuery, Root, RunTask, RuntimeStatus, SetModel, Shutdown, StopTask, StreamQuery, TaskInputReply,
    TaskOutputResult, TaskReply, TaskShown, Tasks, TasksQuery, TimerReply, Timers, TimersQuery, Transcript,
    TriggerReply, Triggers, UseWorkspace, Wake, WebhookQuery, Woken, WorkItemReply, WorkItemShown, WorkItems,
    WorkItemsQuery, Workspaces, WorkspacesReply, WorktreeSummary, WriteTask,
};

/// What comes with a text in a body; of the text itself six bytes of JSON may be one (`\u0000`).
const BESIDE: usize = 64 << 10;
const COMMAND_BODY_BYTES: usize = 6 * COMMAND_BYTES + BESIDE;
const INPUT_BODY_BYTES: usize = 6 * INPUT_BYTES + BESIDE;
const TIMER_BODY_BYTES: usize = 16 << 10;
const WORK_ITEM_BODY_BYTES: usize = 512 << 10;

const IDEMPOTENCY_KEY: Header = Header {
    name: "Idempotency-Key",
    about: "Names one intention: a repetition within 24 h admits nothing new.",
    value: HeaderValue::Name,
};
const LAST_EVENT_ID: Header = Header {
    name: "Last-Event-ID",
    about: "The last event that was seen; stands before `after_seq`.",
    value: HeaderValue::Number,
};
const DELIVERY: Header =
    Header { name: "X-Delivery-Id", about: "Stands in for `delivery_id`.", value: HeaderValue::Name };
const LAST_OFFSET: Header = Header {
    name: "Last-Event-ID",
    about: "Bytes of output that were seen; stands before `offset`.",
    value: HeaderValue::Number,
};
const EVENT_TYPE: Header =
    Header { name: "X-Event-Type", about: "Stands in for `event_type`.", value: HeaderValue::Name };
const FORGE_DELIVERY: Header =
    Header { name: "X-GitHub-Delivery", about: "Stands in for `X-Delivery-Id`.", value: HeaderValue::Name };
const FORGE_EVENT: Header =
    Header { name: "X-GitHub-Event", about: "Stands in for `X-Event-Type`.", value: HeaderValue::Name };
const SIGNATURE: Header = Header {
    name: "X-Hub-Signature-256",
    about: "`sha256=` and the HMAC-SHA-256 of the body, where `server.webhook_credential` asks for it.",
    value: HeaderValue::Name,
};

const READ: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged];
const CURSOR: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged, Code::CursorAhead];
const STREAM: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged, Code::CursorAhead, Code::InvalidHeader];
const TASK: &[Code] = &[Code::UnknownAgent, Code::UnknownTask, Code::AgentDamaged];
const OUTPUT: &[Code] = &[Code::UnknownAgent, Code::UnknownTask, Code::AgentDamaged, Code::InvalidHeader];
const ITEM: &[Code] = &[Code::UnknownAgent, Code::UnknownWorkItem, Code::AgentDamaged];
const PLACE: &[Code] =
    &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::InvalidWorkspace, Code::TooMany];
const DELIVERED: &[Code] =
    &[Code::UnknownTrigger, Code::AgentStopped, Code::AgentDamaged, Code::OutOfRange, Code::InvalidHeader];
const NEW: &[Code] =
    &[Code::UnknownAgent, Code::AgentDamaged, Code::AgentStopped, Code::OutOfRange, Code::TooMany];
const INGRESS: &[Code] = &[
    Code::UnknownAgent,
    Code::AgentDamaged,
    Code::AgentStopped,
    Code::QueueFull,
    Code::IdempotencyConflict,
    Code::TooMany,
    Code::InvalidHeader,
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
            $(, headers $headers:expr)?
            $(, fails $fails:expr)?
            $(, status $status:ident)?
            => $reply:ty;
        )* }
        followed { $(
            $stream:ident $stream_path:literal $stream_summary:literal,
            path $stream_path_type:ty, query $stream_query:ty, headers $stream_headers:expr, fails $stream_fails:expr;
        )* }
    ) => {
        $(
            #[doc = $summary]
            #[derive(Debug, Clone, Copy)]
            pub enum $name {}

            impl Endpoint for $name {
                const ROW: Row = Row {
                    method: Method::$verb,
                    path: $path,
                    summary: $summary,
                    of_default: or!(value [$(Some(($default_path, $default_summary)))?] None),
                    access: or!(value [$(Access::$access)?] Access::Control),
                    headers: or!(value [$($headers)?] &[]),
                    fails: or!(value [$($fails)?] &[]),
                    status: or!(value [$(StatusCode::$status)?] StatusCode::OK),
                };
                type Path = or!([$($path_type)?] Nothing);
                type Query = or!([$($query)?] Nothing);
                type Body = or!([$($body)?] Empty);
                type Reply = $reply;
            }
        )*
        $(
            #[doc = $stream_summary]
            #[derive(Debug, Clone, Copy)]
            pub enum $stream {}

            impl Endpoint for $stream {
                const ROW: Row = Row {
                    method: Method::GET,
                    path: $stream_path,
                    summary: $stream_summary,
                    of_default: None,
                    access: Access::Control,
                    headers: $stream_headers,
                    fails: $stream_fails,
                    status: StatusCode::OK,
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
        ShowRoot root GET "/" "What listens here, and where to read on", by Open => Root;
        ShowHandshake handshake GET "/handshake" "Protocol, authentication and capabilities", by Open => Handshake;
        ShowHealth health GET "/healthz" "Whether the runtime answers", by Open => Health;
        ShowOpenApi openapi GET "/openapi.json" "This description", by Open => OpenApi;
        ShowMetrics metrics GET "/metrics" "Counters and gauges for Prometheus" => OpenMetrics;
        ListModels models GET "/models" "The configured models, and whether they can be asked" => Models;
        ShowReadiness readiness GET "/control/runtime/readiness" "Whether new work is taken" => Readiness;
        ShowRuntime runtime_status GET "/control/runtime/status" "Process, configuration, activity"
            => RuntimeStatus;
        ShutDown shut_down POST "/control/runtime/shutdown"
            "Leave in good order; nothing is written as stopped", body Optional<Nothing> => Shutdown;

        ListAgents agents GET "/agents/list" "Public agents, by name", query ListQuery => Vec<Document<Listed>>;
        ShowAgent status GET "/agents/{agent_id}/status" "The concise summary of an agent",
            or "/status" "The summary of the default agent", path AgentPath, fails READ => AgentStatus;
        ShowState state GET "/agents/{agent_id}/state" "What a projection begins with",
            or "/state" "What a projection of the default agent begins with",
            path AgentPath, query RecentQuery, fails READ => AgentState;
        ExplainAgent why GET "/agents/{agent_id}/why" "Why an agent is as it is, and what would change it",
            path AgentPath, fails READ => AgentWhy;
        ListBriefs briefs GET "/agents/{agent_id}/briefs" "What an agent told its operator",
            or "/briefs" "What the default agent told its operator",
            path AgentPath, query PageQuery, fails CURSOR => Briefs;
        ShowTranscript transcript GET "/agents/{agent_id}/transcript" "What was said in turns",
            or "/transcript" "What was said in turns of the default agent",
            path AgentPath, query PageQuery, fails CURSOR => Transcript;
        ListEvents events GET "/agents/{agent_id}/events" "A page of durable events",
            path AgentPath, query EventsQuery, fails CURSOR => EventsPage;

        ListTasks tasks GET "/agents/{agent_id}/tasks" "Background tasks, the newest first",
            path AgentPath, query TasksQuery, fails READ => Tasks;
        ShowTask task GET "/agents/{agent_id}/tasks/{task_id}" "One background task, without its output",
            path TaskPath, fails TASK => TaskShown;
        ReadOutput task_output GET "/agents/{agent_id}/tasks/{task_id}/output"
            "What a task has written, at once or at its end",
            path TaskPath, query OutputQuery, fails TASK => TaskOutputResult;

        PostMessage enqueue POST "/agents/{agent_id}/enqueue" "A message from outside",
            or "/enqueue" "A message from outside for the default agent",
            path AgentPath, body Json<Enqueue, WEBHOOK_BYTES>, once key,
            headers &[IDEMPOTENCY_KEY], fails ENQUEUE => Admitted;
        DeliverWebhook webhook POST "/webhooks/generic/{agent_id}" "Any JSON document of another system",
            by Signed, path AgentPath, query WebhookQuery, body AnyJson<WEBHOOK_BYTES>, once key,
            headers &[IDEMPOTENCY_KEY, DELIVERY, FORGE_DELIVERY, EVENT_TYPE, FORGE_EVENT, SIGNATURE],
            fails INGRESS => Admitted;
        SendPrompt prompt POST "/control/agents/{agent_id}/prompt" "A prompt of the operator",
            path AgentPath, body Json<Prompt, PROMPT_BODY_BYTES>, once key,
            headers &[IDEMPOTENCY_KEY], fails INGRESS => Admitted;
        ChangeAgent control POST "/control/agents/{agent_id}/control" "Start or stop an agent",
            path AgentPath, body Json<ControlAgent, OTHER_BYTES>, fails READ => ControlReply;
        AbortRun abort POST "/control/agents/{agent_id}/current-run/abort" "End the run in progress",
            path AgentPath, body Optional<Abort>,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::StaleRunId, Code::NoCurrentRun]
            => ControlReply;
        MakeAgent create_agent POST "/control/agents/{agent_id}/create" "A new agent",
            path AgentPath, body Optional<CreateAgent>,
            fails &[Code::AgentExists, Code::AgentDamaged, Code::TooManyAgents, Code::InvalidWorkspace],
            status CREATED => Created;
        CopyAgent fork POST "/control/agents/{agent_id}/fork"
            "A new agent that begins as this one was at a past event",
            path AgentPath, body Json<ForkAgent, OTHER_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::AgentExists, Code::CursorAhead, Code::TooLarge,
            ],
            status CREATED => Forked;
        ChooseModel set_model POST "/control/agents/{agent_id}/model" "Another model from the next turn on",
            path AgentPath, body Json<SetModel, OTHER_BYTES>,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::InvalidModel] => ModelReply;
        ClearModel clear_model POST "/control/agents/{agent_id}/model/clear" "The runtime's own model again",
            path AgentPath, fails READ => ModelReply;
        PreviewPrompt debug_prompt POST "/control/agents/{agent_id}/debug-prompt"
            "What the model would be told, without telling it",
            path AgentPath, body Json<DebugPrompt, PROMPT_BODY_BYTES>, fails READ => DebugPromptReply;

        StartTask run_task POST "/control/agents/{agent_id}/tasks" "Execute a command as a task",
            path AgentPath, body Json<RunTask, COMMAND_BODY_BYTES>,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::AgentStopped, Code::CommandRefused],
            status CREATED => TaskReply;
        EndTask stop_task POST "/control/agents/{agent_id}/tasks/{task_id}/stop"
            "End a task, with all that it has started",
            path TaskPath, body Optional<StopTask>, fails TASK => TaskReply;
        FeedTask write_task POST "/control/agents/{agent_id}/tasks/{task_id}/input"
            "Write to the command of a task",
            path TaskPath, body Json<WriteTask, INPUT_BODY_BYTES>, fails TASK => TaskInputReply;

        ListTimers timers GET "/agents/{agent_id}/timers" "Timers, the newest first",
            path AgentPath, query TimersQuery, fails READ => Timers;
        MakeTimer create_timer POST "/control/agents/{agent_id}/timers" "Wake an agent after a while",
            path AgentPath, body Json<CreateTimer, TIMER_BODY_BYTES>, fails NEW, status CREATED => TimerReply;
        CancelTimer cancel_timer POST "/control/agents/{agent_id}/timers/{timer_id}/cancel" "End a timer",
            path TimerPath, fails &[Code::UnknownAgent, Code::UnknownTimer, Code::AgentDamaged]
            => TimerReply;

        ShowWorkspaces workspaces GET "/control/agents/{agent_id}/workspace" "Where the agent works",
            path AgentPath, fails READ => Workspaces;
        AttachFolder attach_workspace POST "/control/agents/{agent_id}/workspace/attach"
            "A folder that the agent is to know",
            path AgentPath, body Json<AttachWorkspace, OTHER_BYTES>, fails PLACE => WorkspacesReply;
        UseFolder use_workspace POST "/control/agents/{agent_id}/workspace/use"
            "Where the agent works from its next turn on",
            path AgentPath, body Json<UseWorkspace, OTHER_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::UnknownWorkspace,
                Code::InvalidWorkspace, Code::TooMany,
            ] => WorkspacesReply;
        ExitWorkspace exit_workspace POST "/control/agents/{agent_id}/workspace/exit"
            "Back to the agent's own home from its next turn on", path AgentPath,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::InvalidWorkspace]
            => WorkspacesReply;
        PruneWorktrees prune_worktrees POST "/control/agents/{agent_id}/workspace/prune"
            "Remove worktrees that nobody works in and that have nothing new", path AgentPath,
            fails &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent] => WorkspacesReply;
        ListWorktrees worktrees GET "/agents/{agent_id}/worktree-summary"
            "The worktrees that were made for the agent and its children", path AgentPath, fails READ
            => WorktreeSummary;
        DetachFolder detach_workspace POST "/control/agents/{agent_id}/workspace/detach"
            "A workspace that the agent is to know no longer",
            path AgentPath, body Json<DetachWorkspace, OTHER_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::UnknownWorkspace,
                Code::WorkspaceActive,
            ] => WorkspacesReply;

        WakeAgent wake POST "/control/agents/{agent_id}/wake" "A signal for an agent, told with all others",
            path AgentPath, body Json<Wake, WEBHOOK_BYTES>,
            fails &[
                Code::UnknownAgent, Code::AgentDamaged, Code::AgentStopped, Code::OutOfRange, Code::TooLarge,
            ] => Woken;
        DeliverWake deliver POST "/callbacks/wake/{token}" "Wake the agent whose trigger this is",
            by Token, path TriggerPath, query DeliveryQuery, body Anything<WEBHOOK_BYTES>, fails DELIVERED
            => Delivered;
        DeliverMessage deliver_message POST "/callbacks/enqueue/{token}"
            "Deprecated: the same as /callbacks/wake/{token}",
            by Token, path TriggerPath, query DeliveryQuery, body Anything<WEBHOOK_BYTES>, fails DELIVERED
            => Delivered;
        ListTriggers triggers GET "/control/agents/{agent_id}/triggers" "The trigger, with its address",
            path AgentPath, fails READ => Triggers;
        RotateTrigger rotate_trigger POST "/control/agents/{agent_id}/triggers/rotate"
            "Another address for the trigger", path AgentPath, fails READ => TriggerReply;
        RevokeTrigger revoke_trigger POST "/control/agents/{agent_id}/triggers/revoke"
            "No address for the trigger any more", path AgentPath, fails READ => TriggerReply;

        ShowWorkItems work_items GET "/agents/{agent_id}/work-items" "Work items, the open ones first",
            path AgentPath, query WorkItemsQuery, fails READ => WorkItems;
        ShowWorkItem work_item GET "/agents/{agent_id}/work-items/{work_item_id}" "One work item",
            path WorkItemPath, fails ITEM => WorkItemShown;
        MakeWorkItem create_work_item POST "/control/agents/{agent_id}/work-items" "A new work item",
            path AgentPath, body Json<CreateWork, WORK_ITEM_BODY_BYTES>, fails NEW, status CREATED
            => WorkItemReply;
        FinishWorkItem complete_work_item POST
            "/control/agents/{agent_id}/work-items/{work_item_id}/complete" "Say that a work item is done",
            path WorkItemPath, fails ITEM => WorkItemReply;
    }
    followed {
        FollowEvents "/agents/{agent_id}/events/stream" "Durable events as they happen",
            path AgentPath, query StreamQuery, headers &[LAST_EVENT_ID], fails STREAM;
        FollowOutput "/agents/{agent_id}/tasks/{task_id}/output/stream"
            "What a task writes, as it does, to its end",
            path TaskPath, query OutputStreamQuery, headers &[LAST_OFFSET], fails OUTPUT;
    }
}
