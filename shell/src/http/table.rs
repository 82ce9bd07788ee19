//! The table of routes: which handler answers which endpoint, over HTTP and to whoever asks in this process. What an
//! endpoint is, `holon_api::rows` says.

use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware;
use axum::routing::{get, post};
use holon_api::rows::*;
use holon_api::{Ask, Asked, Code, Request};

use super::App;
use super::failure::Failure;
use super::reply::Answer;
use super::resource::{
    agents, all_events, control, debug, events, fork, history, inbox, ingress, labels, latency,
    ledger_checks, memory, models, prompt, runtime, scheduler_fixture, skills, stream, tasks, timers,
    triggers, wake, work_items, workspaces,
};
use super::route::{Call, Route};
use super::{console, cors, mcp, metrics, openapi, stream_tokens};

macro_rules! handlers {
    (asked { $($endpoint:ident $($handler:ident)::+,)* } followed { $($stream:ident $($follower:ident)::+,)* }) => {
        /// Every route.
        pub(super) fn routes() -> Vec<Route> {
            let mut routes = Vec::new();
            $(routes.extend(Route::of::<$endpoint, _, _, _>($($handler)::+));)*
            $(routes.extend(Route::of::<$stream, _, _, _>($($follower)::+));)*
            routes
        }

        $(impl Ask<$endpoint> for App {
            async fn ask(&self, request: Request<$endpoint>) -> Asked<<$endpoint as holon_api::Endpoint>::Reply> {
                let answered = match Call::<$endpoint>::here(self, request).await {
                    Ok(call) => $($handler)::+(self.clone(), call).await,
                    Err(failure) => Err(failure),
                };
                Answer::<$endpoint>::document(answered.map_err(|failure| failure.refusal())?)
            }
        })*
    };
}

handlers! {
    asked {
        ShowRoot runtime::root,
        ShowHandshake runtime::handshake,
        ShowHealth runtime::healthz,
        ShowOpenApi openapi::openapi,
        ShowMetrics metrics::metrics,
        ListModels models::models,
        ShowReadiness runtime::readiness,
        ShowRuntime runtime::status,
        ShutDown runtime::shutdown,
        MakeStreamToken stream_tokens::create,
        CheckTheLedger ledger_checks::begin,
        ShowLedgerChecks ledger_checks::show,
        MakeConsoleLink console::create_link,
        LogIn console::log_in,
        LogOut console::log_out,
        ShowSession console::session,
        ListSessions console::sessions,
        EndSession console::end_session,
        ListAgents agents::list,
        ListAsks inbox::inbox,
        CloseAsk inbox::close,
        CompactAgent control::compact,
        ShowAgent agents::status,
        ShowState agents::state,
        ExplainAgent agents::why,
        ListBriefs history::briefs,
        ShowTranscript history::transcript,
        ShowLatency latency::latency,
        ShowSchedulerFixture scheduler_fixture::fixture,
        ShowRequest debug::request,
        ListEvents events::events,
        ListAllEvents all_events::page,
        ListTasks tasks::list,
        ShowTask tasks::show,
        ReadOutput tasks::output::output,
        PostMessage ingress::enqueue,
        DeliverWebhook ingress::webhook,
        SendPrompt prompt::prompt,
        ShowMessage prompt::message,
        ChangeAgent control::control,
        RenameAgent labels::rename,
        DescribeAgent labels::describe,
        AbortRun control::abort,
        MakeAgent control::create,
        CopyAgent fork::fork,
        ChooseModel models::set,
        ClearModel models::clear,
        PreviewPrompt debug::prompt,
        StartTask tasks::run,
        EndTask tasks::stop,
        FeedTask tasks::input,
        ListTimers timers::list,
        MakeTimer timers::create,
        CancelTimer timers::cancel,
        ListSkills skills::list,
        CheckSkills skills::check,
        InstallASkill skills::install,
        UninstallASkill skills::uninstall,
        ShowWorkspaces workspaces::show,
        AttachFolder workspaces::attach,
        UseFolder workspaces::use_it,
        ExitWorkspace workspaces::exit,
        PruneWorktrees workspaces::prune,
        ListWorktrees workspaces::worktrees,
        DetachFolder workspaces::detach,
        WakeAgent wake::wake,
        DeliverWake triggers::deliver,
        DeliverMessage triggers::enqueue,
        ListTriggers triggers::list,
        RotateTrigger triggers::rotate,
        RevokeTrigger triggers::revoke,
        ShowWorkItems work_items::list,
        ShowWorkItem work_items::show,
        MakeWorkItem work_items::create,
        FinishWorkItem work_items::complete,
        SearchMemory memory::search,
        ShowMemoryStatus memory::status,
        ReadMemory memory::text,
        RebuildMemory memory::reindex,
    }
    followed {
        FollowEvents stream::stream,
        FollowAllEvents all_events::stream,
        FollowOutput tasks::stream::stream,
    }
}

/// The server's router.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for route in routes() {
        router = router.route(route.path, route.service);
    }
    router
        .route("/mcp", post(mcp::speak))
        .route("/console", get(console::without_slash))
        .route("/console/", get(console::page))
        .route("/console/{*file}", get(console::page))
        .fallback(unknown_route)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(app.clone(), cors::answer))
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
