//! The table of routes: everything that the server answers, in the order of its description.

use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware;

use super::App;
use super::auth::Access;
use super::code::Code;
use super::failure::Failure;
use super::resource::{
    agents, control, debug, events, fork, history, ingress, models, runtime, stream, tasks, timers, triggers,
    wake, work_items, workspaces,
};
use super::route::{Header, Route, Value};
use super::{metrics, openapi};

const IDEMPOTENCY_KEY: Header = Header {
    name: "Idempotency-Key",
    about: "Names one intention: a repetition within 24 h admits nothing new.",
    value: Value::Name,
};
const LAST_EVENT_ID: Header = Header {
    name: "Last-Event-ID",
    about: "The last event that was seen; stands before `after_seq`.",
    value: Value::Number,
};
const DELIVERY: Header =
    Header { name: "X-Delivery-Id", about: "Stands in for `delivery_id`.", value: Value::Name };
const LAST_OFFSET: Header = Header {
    name: "Last-Event-ID",
    about: "Bytes of output that were seen; stands before `offset`.",
    value: Value::Number,
};
const EVENT_TYPE: Header =
    Header { name: "X-Event-Type", about: "Stands in for `event_type`.", value: Value::Name };
const FORGE_DELIVERY: Header =
    Header { name: "X-GitHub-Delivery", about: "Stands in for `X-Delivery-Id`.", value: Value::Name };
const FORGE_EVENT: Header =
    Header { name: "X-GitHub-Event", about: "Stands in for `X-Event-Type`.", value: Value::Name };
const SIGNATURE: Header = Header {
    name: "X-Hub-Signature-256",
    about: "`sha256=` and the HMAC-SHA-256 of the body, where `server.webhook_credential` asks for it.",
    value: Value::Name,
};

const READ: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged];
const CURSOR: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged, Code::CursorAhead];
const STREAM: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged, Code::CursorAhead, Code::InvalidHeader];
const TASK: &[Code] = &[Code::UnknownAgent, Code::UnknownTask, Code::AgentDamaged];
const OUTPUT: &[Code] = &[Code::UnknownAgent, Code::UnknownTask, Code::AgentDamaged, Code::InvalidHeader];
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

/// Every route.
pub(super) fn routes() -> Vec<Route> {
    let mut routes = whole_runtime();
    routes.extend(reads());
    routes.extend(task_reads());
    routes.extend(writes());
    routes.extend(task_writes());
    routes.extend(of_timers());
    routes.extend(of_workspaces());
    routes.extend(of_wakes());
    routes.extend(of_work_items());
    routes
}

fn whole_runtime() -> Vec<Route> {
    vec![
        Route::open("/", "What listens here, and where to read on", runtime::root),
        Route::open("/handshake", "Protocol, authentication and capabilities", runtime::handshake),
        Route::open("/healthz", "Whether the runtime answers", runtime::healthz),
        Route::open("/openapi.json", "This description", openapi::openapi),
        Route::get("/metrics", "Counters and gauges for Prometheus", metrics::metrics),
        Route::get("/models", "The configured models, and whether they can be asked", models::models),
        Route::get("/control/runtime/readiness", "Whether new work is taken", runtime::readiness),
        Route::get("/control/runtime/status", "Process, configuration, activity", runtime::status),
        Route::post(
            "/control/runtime/shutdown",
            "Leave in good order; nothing is written as stopped",
            runtime::shutdown,
        ),
    ]
}

fn reads() -> Vec<Route> {
    vec![
        Route::get("/agents/list", "Public agents, by name", agents::list),
        Route::get("/agents/{agent_id}/status", "The concise summary of an agent", agents::status)
            .fails(READ),
        Route::get("/status", "The summary of the default agent", agents::status).fails(READ),
        Route::get("/agents/{agent_id}/state", "What a projection begins with", agents::state).fails(READ),
        Route::get("/state", "What a projection of the default agent begins with", agents::state).fails(READ),
        Route::get(
            "/agents/{agent_id}/why",
            "Why an agent is as it is, and what would change it",
            agents::why,
        )
        .fails(READ),
        Route::get("/agents/{agent_id}/briefs", "What an agent told its operator", history::briefs)
            .fails(CURSOR),
        Route::get("/briefs", "What the default agent told its operator", history::briefs).fails(CURSOR),
        Route::get("/agents/{agent_id}/transcript", "What was said in turns", history::transcript)
            .fails(CURSOR),
        Route::get("/transcript", "What was said in turns of the default agent", history::transcript)
            .fails(CURSOR),
        Route::get("/agents/{agent_id}/events", "A page of durable events", events::events).fails(CURSOR),
        Route::get("/agents/{agent_id}/events/stream", "Durable events as they happen", stream::stream)
            .headers(&[LAST_EVENT_ID])
            .fails(STREAM),
    ]
}

fn task_reads() -> Vec<Route> {
    vec![
        Route::get("/agents/{agent_id}/tasks", "Background tasks, the newest first", tasks::list).fails(READ),
        Route::get(
            "/agents/{agent_id}/tasks/{task_id}",
            "One background task, without its output",
            tasks::show,
        )
        .fails(TASK),
        Route::get(
            "/agents/{agent_id}/tasks/{task_id}/output",
            "What a task has written, at once or at its end",
            tasks::output::output,
        )
        .fails(TASK),
        Route::get(
            "/agents/{agent_id}/tasks/{task_id}/output/stream",
            "What a task writes, as it does, to its end",
            tasks::stream::stream,
        )
        .headers(&[LAST_OFFSET])
        .fails(OUTPUT),
    ]
}

fn task_writes() -> Vec<Route> {
    vec![
        Route::post("/control/agents/{agent_id}/tasks", "Execute a command as a task", tasks::run).fails(&[
            Code::UnknownAgent,
            Code::AgentDamaged,
            Code::AgentStopped,
            Code::CommandRefused,
        ]),
        Route::post(
            "/control/agents/{agent_id}/tasks/{task_id}/stop",
            "End a task, with all that it has started",
            tasks::stop,
        )
        .fails(TASK),
        Route::post(
            "/control/agents/{agent_id}/tasks/{task_id}/input",
            "Write to the command of a task",
            tasks::input,
        )
        .fails(TASK),
    ]
}

fn of_timers() -> Vec<Route> {
    vec![
        Route::get("/agents/{agent_id}/timers", "Timers, the newest first", timers::list).fails(READ),
        Route::post("/control/agents/{agent_id}/timers", "Wake an agent after a while", timers::create)
            .fails(&[
                Code::UnknownAgent,
                Code::AgentDamaged,
                Code::AgentStopped,
                Code::OutOfRange,
                Code::TooMany,
            ]),
        Route::post("/control/agents/{agent_id}/timers/{timer_id}/cancel", "End a timer", timers::cancel)
            .fails(&[Code::UnknownAgent, Code::UnknownTimer, Code::AgentDamaged]),
    ]
}

fn of_wakes() -> Vec<Route> {
    const DELIVERED: &[Code] = &[
        Code::UnknownTrigger,
        Code::AgentStopped,
        Code::AgentDamaged,
        Code::OutOfRange,
        Code::InvalidHeader,
    ];
    const TRIGGERS: &[Code] = &[Code::UnknownAgent, Code::AgentDamaged];
    vec![
        Route::post(
            "/control/agents/{agent_id}/wake",
            "A signal for an agent, told with all others",
            wake::wake,
        )
        .fails(&[
            Code::UnknownAgent,
            Code::AgentDamaged,
            Code::AgentStopped,
            Code::OutOfRange,
            Code::TooLarge,
        ]),
        Route::post_by(
            Access::Token,
            "/callbacks/wake/{token}",
            "Wake the agent whose trigger this is",
            triggers::deliver,
        )
        .fails(DELIVERED),
        Route::post_by(
            Access::Token,
            "/callbacks/enqueue/{token}",
            "Deprecated: the same as /callbacks/wake/{token}",
            triggers::enqueue,
        )
        .fails(DELIVERED),
        Route::get("/control/agents/{agent_id}/triggers", "The trigger, with its address", triggers::list)
            .fails(TRIGGERS),
        Route::post(
            "/control/agents/{agent_id}/triggers/rotate",
            "Another address for the trigger",
            triggers::rotate,
        )
        .fails(TRIGGERS),
        Route::post(
            "/control/agents/{agent_id}/triggers/revoke",
            "No address for the trigger any more",
            triggers::revoke,
        )
        .fails(TRIGGERS),
    ]
}

fn of_workspaces() -> Vec<Route> {
    const PLACE: &[Code] =
        &[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::InvalidWorkspace, Code::TooMany];
    vec![
        Route::get("/control/agents/{agent_id}/workspace", "Where the agent works", workspaces::show)
            .fails(READ),
        Route::post(
            "/control/agents/{agent_id}/workspace/attach",
            "A folder that the agent is to know",
            workspaces::attach,
        )
        .fails(PLACE),
        Route::post(
            "/control/agents/{agent_id}/workspace/use",
            "Where the agent works from its next turn on",
            workspaces::use_it,
        )
        .fails(&[
            Code::UnknownAgent,
            Code::AgentDamaged,
            Code::PrivateAgent,
            Code::UnknownWorkspace,
            Code::InvalidWorkspace,
            Code::TooMany,
        ]),
        Route::post(
            "/control/agents/{agent_id}/workspace/exit",
            "Back to the agent's own home from its next turn on",
            workspaces::exit,
        )
        .fails(&[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent, Code::InvalidWorkspace]),
        Route::post(
            "/control/agents/{agent_id}/workspace/prune",
            "Remove worktrees that nobody works in and that have nothing new",
            workspaces::prune,
        )
        .fails(&[Code::UnknownAgent, Code::AgentDamaged, Code::PrivateAgent]),
        Route::get(
            "/agents/{agent_id}/worktree-summary",
            "The worktrees that were made for the agent and its children",
            workspaces::worktrees,
        )
        .fails(READ),
        Route::post(
            "/control/agents/{agent_id}/workspace/detach",
            "A workspace that the agent is to know no longer",
            workspaces::detach,
        )
        .fails(&[
            Code::UnknownAgent,
            Code::AgentDamaged,
            Code::PrivateAgent,
            Code::UnknownWorkspace,
            Code::WorkspaceActive,
        ]),
    ]
}

fn of_work_items() -> Vec<Route> {
    const ITEM: &[Code] = &[Code::UnknownAgent, Code::UnknownWorkItem, Code::AgentDamaged];
    vec![
        Route::get("/agents/{agent_id}/work-items", "Work items, the open ones first", work_items::list)
            .fails(READ),
        Route::get("/agents/{agent_id}/work-items/{work_item_id}", "One work item", work_items::show)
            .fails(ITEM),
        Route::post("/control/agents/{agent_id}/work-items", "A new work item", work_items::create).fails(&[
            Code::UnknownAgent,
            Code::AgentDamaged,
            Code::AgentStopped,
            Code::OutOfRange,
            Code::TooMany,
        ]),
        Route::post(
            "/control/agents/{agent_id}/work-items/{work_item_id}/complete",
            "Say that a work item is done",
            work_items::complete,
        )
        .fails(ITEM),
    ]
}

fn writes() -> Vec<Route> {
    vec![
        Route::post("/agents/{agent_id}/enqueue", "A message from outside", ingress::enqueue)
            .headers(&[IDEMPOTENCY_KEY])
            .fails(ENQUEUE),
        Route::post("/enqueue", "A message from outside for the default agent", ingress::enqueue)
            .headers(&[IDEMPOTENCY_KEY])
            .fails(ENQUEUE),
        Route::post_by(
            Access::Signed,
            "/webhooks/generic/{agent_id}",
            "Any JSON document of another system",
            ingress::webhook,
        )
        .headers(&[IDEMPOTENCY_KEY, DELIVERY, FORGE_DELIVERY, EVENT_TYPE, FORGE_EVENT, SIGNATURE])
        .fails(INGRESS),
        Route::post("/control/agents/{agent_id}/prompt", "A prompt of the operator", ingress::prompt)
            .headers(&[IDEMPOTENCY_KEY])
            .fails(INGRESS),
        Route::post("/control/agents/{agent_id}/control", "Start or stop an agent", control::control)
            .fails(READ),
        Route::post(
            "/control/agents/{agent_id}/current-run/abort",
            "End the run in progress",
            control::abort,
        )
        .fails(&[Code::UnknownAgent, Code::AgentDamaged, Code::StaleRunId, Code::NoCurrentRun]),
        Route::post("/control/agents/{agent_id}/create", "A new agent", control::create).fails(&[
            Code::AgentExists,
            Code::AgentDamaged,
            Code::TooManyAgents,
            Code::InvalidWorkspace,
        ]),
        Route::post(
            "/control/agents/{agent_id}/fork",
            "A new agent that begins as this one was at a past event",
            fork::fork,
        )
        .fails(&[
            Code::UnknownAgent,
            Code::AgentDamaged,
            Code::AgentExists,
            Code::CursorAhead,
            Code::TooLarge,
        ]),
        Route::post("/control/agents/{agent_id}/model", "Another model from the next turn on", models::set)
            .fails(&[Code::UnknownAgent, Code::AgentDamaged, Code::InvalidModel]),
        Route::post("/control/agents/{agent_id}/model/clear", "The runtime's own model again", models::clear)
            .fails(READ),
        Route::post(
            "/control/agents/{agent_id}/debug-prompt",
            "What the model would be told, without telling it",
            debug::prompt,
        )
        .fails(READ),
    ]
}

/// The server's router.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for route in routes() {
        router = router.route(route.name.path, route.service);
    }
    router
        .fallback(unknown_route)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(app.clone(), metrics::count))
        .with_state(app)
}

async fn unknown_route(uri: Uri) -> Box<Failure> {
    let path: String = uri.path().chars().take(200).collect();
    Failure::new(Code::UnknownRoute, format!("there is no route {path}"))
        .hint("GET /openapi.json describes every route")
}

async fn method_not_allowed(method: Method, uri: Uri) -> Box<Failure> {
    let path: String = uri.path().chars().take(200).collect();
    Failure::new(Code::MethodNotAllowed, format!("{path} does not take {method}"))
        .hint("GET /openapi.json describes every route")
}
