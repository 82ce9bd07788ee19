//! What the runtime counts, as text for Prometheus (OpenMetrics). Counters are of this process; what must
//! outlive it stands in the ledger.

mod now;
mod of_node;
mod times;
mod together;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use holon_api::OpenMetrics;
use holon_api::rows::ShowMetrics;
use holon_core::summary::context::cached_share;
use holon_facts::delivery::{QuotaUse, WholeReason};
use holon_facts::event::{OperationFact, TurnFact};
use holon_facts::lifecycle::Status;
use holon_facts::request::RequestRecord;
use holon_facts::usage::TokenUsage;
use holon_facts::{AgentId, Event, Record, Wall};
use holon_ledger::postgres::node::Tally;
use holon_mcp::ServerState;
use holon_platform::clock;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use self::now::{InMemory, Now};
use self::times::Times;
use super::App;
use super::failure::Failure;
use super::reply::{Respond, Text};
use super::route::{Call, Handled};
use crate::telemetry::{Following, Reporter};

/// Longest summary of a failure that is shown, in characters.
const SUMMARY: usize = 200;

/// Counts what happens. Cheap to clone; all clones count together.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Counted>);

#[derive(Default)]
struct Counted {
    events: Family<[(&'static str, &'static str); 1], Counter>,
    turns: Family<[(&'static str, &'static str); 1], Counter>,
    attempts: Family<[(&'static str, String); 2], Counter>,
    tokens: Family<[(&'static str, &'static str); 1], Counter>,
    request_bytes: Family<[(&'static str, &'static str); 1], Counter>,
    prefix_breaks: Family<[(&'static str, &'static str); 1], Counter>,
    incremental: Family<[(&'static str, &'static str); 1], Counter>,
    quotas: Family<[(&'static str, String); 2], Gauge<f64, AtomicU64>>,
    cached: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    requests: Family<[(&'static str, String); 3], Counter>,
    agents: Gauge,
    runs: Gauge,
    queued: Gauge,
    followed: Gauge,
    times: Times,
    now: Now,
    /// Agents in memory up to which each has labels of its own.
    agent_labels: u64,
    cell: Option<u64>,
    servers_ready: Family<[(&'static str, String); 1], Gauge>,
    server_starts: Family<[(&'static str, String); 1], Gauge>,
    server_calls: Family<[(&'static str, String); 2], Gauge>,
    failure: Mutex<Option<(Wall, AgentId, String)>>,
    traces: Following,
}

impl Counted {
    /// How a server of tools stands.
    fn stands(&self, server: &ServerState) {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let named = [("server", server.name.clone())];
        self.servers_ready.get_or_create(&named).set(i64::from(server.state == "ready"));
        self.server_starts.get_or_create(&named).set(number(server.starts));
        let succeeded = server.calls.saturating_sub(server.failed_calls);
        for (outcome, count) in [("result", succeeded), ("error", server.failed_calls)] {
            let labels = [("server", server.name.clone()), ("outcome", outcome.to_owned())];
            self.server_calls.get_or_create(&labels).set(number(count));
        }
    }
}

impl Metrics {
    /// With labels of agents as long as there are no more than so many in memory.
    /// `cell` is a label of everything where a node has several.
    pub fn labelling(agents: u64, cell: Option<u64>) -> Self {
        Self(Arc::new(Counted { agent_labels: agents, cell, ..Counted::default() }))
    }

    /// A record has become durable.
    pub fn see(&self, record: &Record) {
        let counted = &self.0;
        counted.times.see(record);
        counted.traces.see(record);
        counted.events.get_or_create(&[("type", record.event.kind())]).inc();
        if let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event
            && let Some(request) = &fact.request
        {
            self.sent(request);
        }
        let Event::Turn(fact) = &record.event else { return };
        if let TurnFact::TurnTerminal(fact) = fact {
            counted.turns.get_or_create(&[("kind", fact.kind.name())]).inc();
            self.tokens(fact.token_usage);
        }
        if let TurnFact::ProviderAttemptRecorded(fact) = fact {
            let attempt = &fact.attempt;
            let labels =
                [("provider", attempt.provider.clone()), ("outcome", attempt.outcome.name().to_owned())];
            counted.attempts.get_or_create(&labels).inc();
            let quotas = attempt.delivery.iter().flat_map(|delivery| &delivery.quotas);
            for QuotaUse { window, used_percent, .. } in quotas {
                let labels = [("provider", attempt.provider.clone()), ("window", window.name().to_owned())];
                counted.quotas.get_or_create(&labels).set(f64::from(*used_percent) / 100.0);
            }
            if let Some(sent) = attempt.delivery.as_ref().and_then(|delivery| delivery.incremental.as_ref()) {
                let sent = sent.whole.map_or("part", WholeReason::name);
                counted.incremental.get_or_create(&[("sent", sent)]).inc();
            }
        }
        if let TurnFact::RuntimeError(fact) = fact {
            let summary = fact.failure.summary.preview().chars().take(SUMMARY).collect();
            let mut last = counted.failure.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some((record.at, record.agent.clone(), summary));
        }
    }

    /// What became of traces.
    pub fn traces(&self) -> Following {
        self.0.traces.clone()
    }

    /// The newest turn that failed, in this process.
    pub(super) fn last_failure(&self) -> Option<(Wall, AgentId, String)> {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn sent(&self, request: &RequestRecord) {
        let bytes = |part| self.0.request_bytes.get_or_create(&[("part", part)]).clone();
        let whole = request.layers.conversation.bytes;
        bytes("shared").inc_by(request.shared_bytes);
        bytes("new").inc_by(whole.saturating_sub(request.shared_bytes));
        if let Some(broke) = request.broke {
            self.0.prefix_breaks.get_or_create(&[("at", broke.name())]).inc();
        }
    }

    fn tokens(&self, usage: TokenUsage) {
        let tokens = |direction| self.0.tokens.get_or_create(&[("direction", direction)]).clone();
        tokens("input").inc_by(usage.input_tokens);
        tokens("output").inc_by(usage.output_tokens);
        tokens("cached_input").inc_by(usage.cached_input_tokens);
    }

    fn registry(&self) -> Registry {
        let counted = &self.0;
        let cell = counted.cell.map(|cell| ("cell".into(), cell.to_string().into()));
        let mut registry = Registry::with_prefix_and_labels("holon", cell.into_iter());
        registry.register("events", "Durable events by type", counted.events.clone());
        registry.register("turns", "Turns by how they ended", counted.turns.clone());
        registry.register("provider_attempts", "Requests to models by outcome", counted.attempts.clone());
        registry.register(
            "tokens",
            "Tokens of turns that ended, as providers reported them",
            counted.tokens.clone(),
        );
        registry.register(
            "request_bytes",
            "Text of requests to models, by whether the agent's request before had it in the same place",
            counted.request_bytes.clone(),
        );
        registry.register(
            "prefix_breaks",
            "Requests to models that don't begin with all of the one before, by what is another one",
            counted.prefix_breaks.clone(),
        );
        registry.register(
            "incremental_requests",
            "Requests to providers that keep responses: those of which a part was sent, and why all of the others",
            counted.incremental.clone(),
        );
        registry.register(
            "login_quota_used_ratio",
            "Used part of the quotas of a login, as its provider reported it last",
            counted.quotas.clone(),
        );
        registry.register(
            "cached_input_ratio",
            "Part of its input tokens that providers had in their caches, of each agent in memory",
            counted.cached.clone(),
        );
        registry.register("http_requests", "Requests by route and status", counted.requests.clone());
        registry.register("agents_in_memory", "Agents that are not parked", counted.agents.clone());
        registry.register("runs", "Runs in progress", counted.runs.clone());
        registry.register("queued_messages", "Messages that wait in queues", counted.queued.clone());
        registry.register(
            "tool_servers_ready",
            "Servers of tools: 1 for one that runs, 0 for one that does not",
            counted.servers_ready.clone(),
        );
        registry.register("tool_server_starts", "Starts of servers of tools", counted.server_starts.clone());
        registry.register(
            "tool_server_calls",
            "Calls of tools of other programs by what they brought",
            counted.server_calls.clone(),
        );
        registry.register("followed_agents", "Agents whose events are followed", counted.followed.clone());
        let Following { sent, dropped, failures, .. } = &counted.traces;
        registry.register("telemetry_spans", "Spans that the collector of traces took", sent.clone());
        registry.register("telemetry_dropped_spans", "Spans that it refused for good", dropped.clone());
        registry.register("telemetry_failures", "Requests to it that failed", failures.clone());
        counted.times.register(&mut registry);
        counted.now.register(&mut registry);
        registry
    }
}

/// `GET /metrics`: OpenMetrics; the same as plain text for a client that takes text of no other name.
pub(super) async fn metrics(app: App, call: Call<ShowMetrics>) -> Handled<Text> {
    let mut texts = Vec::new();
    for app in app.of_process() {
        texts.push(shown(&app).await?);
    }
    if let Some(node) = app.process.node() {
        texts.push(of_node::shown(&node)?);
    }
    Ok(text(&texts, &call.from.headers))
}

/// The same of a node that owns nothing at this moment.
pub(super) fn of_node(node: &Tally, headers: &HeaderMap) -> Response {
    match of_node::shown(node) {
        Ok(shown) => Respond::<ShowMetrics>::respond(text(&[shown], headers)),
        Err(failure) => failure.into_response(),
    }
}

fn text(texts: &[String], headers: &HeaderMap) -> Text {
    Text { metrics: OpenMetrics(together::families(texts)), plain: takes_plain_text_alone(headers) }
}

/// What one runtime counts, and what is so at this moment, in OpenMetrics.
async fn shown(app: &App) -> Handled<String> {
    measure(app).await?;
    let mut text = String::new();
    encode(&mut text, &app.metrics.registry()).map_err(Failure::internal)?;
    Ok(text)
}

/// Sends to a collector what one runtime counts, until it is dropped.
pub async fn report(app: App, reporter: Reporter) {
    let shown = || {
        let app = app.clone();
        async move { shown(&app).await.map_err(|failure| failure.text().to_owned()) }
    };
    reporter.run(shown).await;
}

/// What is so at this moment.
async fn measure(app: &App) -> Handled<()> {
    let asked_at = clock::now();
    let now = app.runtime.read(None, |view| {
        let agents = view.agent_ids().filter_map(|id| view.agent(id));
        let mut cached = Vec::new();
        let counts = agents.fold((0, 0, 0), |(agents, runs, queued), agent| {
            let share = cached_share(agent).map(|share| (agent.id.clone(), f64::from(share.0) / 1_000.0));
            cached.extend(share);
            let waiting = i64::try_from(agent.inbox.queued_entries()).unwrap_or(i64::MAX);
            (agents + 1, runs + i64::from(agent.run.is_some()), waiting.saturating_add(queued))
        });
        (counts, cached, InMemory::of(view))
    });
    let ((agents, runs, queued), cached, in_memory) = now.await?;
    let counted = &app.metrics.0;
    counted.times.answered(clock::since(asked_at));
    counted.now.in_memory(in_memory);
    let (statuses, bytes) = app.blocking(|app| Ok((statuses(app), ledger_bytes(app)))).await?;
    counted.now.agents(statuses.into_iter());
    counted.now.ledger(bytes, app.ledger_checks.fault().is_some());
    counted.cached.clear();
    let labelled = u64::try_from(agents).is_ok_and(|agents| agents <= counted.agent_labels);
    for (agent, share) in cached.into_iter().filter(|_| labelled) {
        counted.cached.get_or_create(&[("agent", agent.to_string())]).set(share);
    }
    counted.agents.set(agents);
    counted.runs.set(runs);
    counted.queued.set(queued);
    counted.followed.set(i64::try_from(app.hub.followed()).unwrap_or(i64::MAX));
    for server in app.runtime.tool_servers() {
        counted.stands(&server);
    }
    Ok(())
}

/// How each agent stands; none where that can't be read, which the status of the runtime shows.
fn statuses(app: &App) -> Vec<Status> {
    let agents = app.reader.agents().unwrap_or_default();
    agents.into_iter().filter(|row| !row.archived).map(|row| row.status).collect()
}

/// Of the file, and what is not moved into it yet; nothing for a ledger in a database.
fn ledger_bytes(app: &App) -> u64 {
    let place = app.home.ledger();
    let files =
        place.file().into_iter().flat_map(|file| [file.to_owned(), file.with_extension("sqlite3-wal")]);
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

fn takes_plain_text_alone(headers: &HeaderMap) -> bool {
    let values = || headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let kinds = || values().flat_map(|value| value.split(',')).filter_map(|kind| kind.split(';').next());
    let takes = |taken: &[&str]| kinds().any(|kind| taken.contains(&kind.trim()));
    takes(&["text/plain", "text/*"]) && !takes(&["application/openmetrics-text", "application/*", "*/*"])
}

/// Counts every request, under the route that it matched.
pub(super) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    // A method of nobody's would be a label of its own.
    let method = match request.method().as_str() {
        known @ ("DELETE" | "GET" | "HEAD" | "POST") => known.to_owned(),
        _ => "other".to_owned(),
    };
    let response = next.run(request).await;
    let labels = [("route", path), ("method", method), ("status", response.status().as_u16().to_string())];
    app.metrics.0.requests.get_or_create(&labels).inc();
    response
}

#[cfg(test)]
mod tests {
    use holon_facts::delivery::{Delivery, Incremental, QuotaWindow};
    use holon_facts::event::turn::ProviderAttemptRecorded;
    use holon_facts::ids::{EventSeq, RoundIndex, RunId, StepSeq};
    use holon_facts::model::{AttemptRecord, ModelRef, Timing};

    use super::*;

    #[test]
    fn requests_are_counted_by_what_of_them_was_sent() {
        let metrics = Metrics::default();
        let seen = |delivery: Option<Delivery>| {
            let model = ModelRef::new("openai/test").unwrap();
            let attempt = AttemptRecord::new(model, (1, 1), Timing::default());
            let attempt = AttemptRecord { delivery: delivery.map(Box::new), ..attempt };
            let fact = ProviderAttemptRecorded { run_id: RunId(1), round: RoundIndex(0), attempt };
            let agent = AgentId::new("main").unwrap();
            let event = fact.into();
            metrics.see(&Record { step: StepSeq(1), agent, event_seq: EventSeq(1), at: Wall(1), event });
        };
        for whole in [Some(WholeReason::NoResponse), None, None] {
            let incremental = Incremental { response_id: None, whole, items: 3, items_sent: 1 };
            seen(Some(Delivery { incremental: Some(incremental), ..Delivery::default() }));
        }
        let window = QuotaWindow::Primary;
        let quota = QuotaUse { window, used_percent: 42, window_minutes: None, resets_at: None };
        seen(Some(Delivery { quotas: vec![quota], ..Delivery::default() }));
        seen(Some(Delivery::default()));
        seen(None);
        let mut text = String::new();
        encode(&mut text, &metrics.registry()).unwrap();
        let counted: Vec<_> =
            text.lines().filter(|line| line.starts_with("holon_incremental_requests_total")).collect();
        assert_eq!(counted.len(), 2, "{text}");
        let quota = "holon_login_quota_used_ratio{provider=\"openai\",window=\"primary\"} 0.42\n";
        assert!(text.contains(quota), "{text}");
        for (sent, count) in [("part", 2), ("no_response", 1)] {
            let line = format!("holon_incremental_requests_total{{sent=\"{sent}\"}} {count}");
            assert!(counted.contains(&line.as_str()), "{counted:?}");
        }
    }
}
