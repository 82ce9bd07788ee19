//! How long things take, as durable records have it: histograms of this process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use holon_core::tool::Tool;
use holon_facts::event::{InboxFact, TurnFact};
use holon_facts::ids::MessageId;
use holon_facts::model::AttemptRecord;
use holon_facts::receipt::Receipt;
use holon_facts::{AgentId, Event, Millis, Record, StepSeq, Wall};
use holon_platform::clock;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

/// Messages whose wait is measured at once; those beyond have none.
const WAITING: usize = 10_000;
/// A record that is older when it becomes durable is a copy of the past.
const PAST: Millis = Millis::minutes(10);

type Labelled<const N: usize> = Family<[(&'static str, String); N], Histogram, fn() -> Histogram>;

pub(super) struct Times {
    turns: Labelled<1>,
    waits: Histogram,
    requests: Labelled<3>,
    tools: Labelled<2>,
    tool_calls: Family<[(&'static str, String); 2], Counter>,
    commits: Histogram,
    answers: Histogram,
    admitted: Mutex<HashMap<(AgentId, MessageId), Wall>>,
    /// The last step that became durable.
    step: Mutex<StepSeq>,
}

fn of_turns() -> Histogram {
    Histogram::new([0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_600.0])
}

fn of_requests() -> Histogram {
    Histogram::new([0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0])
}

fn of_tools() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0])
}

fn of_waits() -> Histogram {
    Histogram::new([0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0])
}

fn of_moments() -> Histogram {
    Histogram::new([0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0])
}

impl Default for Times {
    fn default() -> Self {
        Self {
            turns: Family::new_with_constructor(of_turns),
            waits: of_waits(),
            requests: Family::new_with_constructor(of_requests),
            tools: Family::new_with_constructor(of_tools),
            tool_calls: Family::default(),
            commits: of_moments(),
            answers: of_moments(),
            admitted: Mutex::default(),
            step: Mutex::default(),
        }
    }
}

fn seconds(time: Millis) -> f64 {
    time.0 as f64 / 1_000.0
}

/// Between two moments of the wall clock, which may have been set back.
fn between(from: Wall, to: Wall) -> f64 {
    to.0.saturating_sub(from.0).max(0) as f64 / 1_000_000.0
}

impl Times {
    /// A record has become durable.
    pub(super) fn see(&self, record: &Record) {
        self.durable(record);
        match &record.event {
            Event::Turn(fact) => self.turn(fact),
            Event::Inbox(fact) => self.inbox(record, fact),
            Event::Lifecycle(_)
            | Event::Scheduling(_)
            | Event::Operation(_)
            | Event::Task(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wait(_)
            | Event::Wake(_)
            | Event::Outbox(_)
            | Event::Workspace(_)
            | Event::Brief(_)
            | Event::Episode(_)
            | Event::Skill(_) => {}
        }
    }

    /// How long the loop of the runtime took to answer.
    pub(super) fn answered(&self, after: Millis) {
        self.answers.observe(seconds(after));
    }

    /// From the decision to its records on the disk, once for each step.
    fn durable(&self, record: &Record) {
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        if record.step <= *step {
            return;
        }
        *step = record.step;
        let took = between(record.at, clock::now().wall);
        if took < seconds(PAST) {
            self.commits.observe(took);
        }
    }

    fn turn(&self, fact: &TurnFact) {
        if let TurnFact::TurnTerminal(fact) = fact {
            let labels = [("kind", fact.kind.name().to_owned())];
            self.turns.get_or_create(&labels).observe(seconds(fact.duration_ms));
        }
        if let TurnFact::ProviderAttemptRecorded(fact) = fact {
            self.request(&fact.attempt);
        }
        if let TurnFact::ToolExecuted(fact) = fact {
            self.tool(&fact.tool_name, &fact.receipt, fact.duration_ms);
        }
        if let TurnFact::ToolExecutionFailed(fact) = fact {
            self.tool(&fact.tool_name, &fact.receipt, fact.duration_ms);
        }
    }

    fn request(&self, attempt: &AttemptRecord) {
        let labels = [
            ("provider", attempt.provider.clone()),
            ("model", attempt.model_ref.to_string()),
            ("outcome", attempt.outcome.name().to_owned()),
        ];
        self.requests.get_or_create(&labels).observe(seconds(attempt.duration_ms));
    }

    /// A name that a model has made up is no label.
    fn tool(&self, name: &str, receipt: &Receipt, took: Millis) {
        let known = Tool::ALL.iter().map(|tool| tool.name()).find(|known| *known == name);
        let outcome = receipt.error.as_ref().map_or("ok", |error| error.kind.name());
        let labels = [("tool", known.unwrap_or("other").to_owned()), ("outcome", outcome.to_owned())];
        self.tool_calls.get_or_create(&labels).inc();
        self.tools.get_or_create(&labels).observe(seconds(took));
    }

    fn inbox(&self, record: &Record, fact: &InboxFact) {
        let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        if let InboxFact::MessageAdmitted(fact) = fact
            && admitted.len() < WAITING
        {
            admitted.insert((record.agent.clone(), fact.message.id), record.at);
        }
        if let InboxFact::MessageDequeued(fact) = fact
            && let Some(since) = admitted.remove(&(record.agent.clone(), fact.message_id))
        {
            self.waits.observe(between(since, record.at));
        }
        if let InboxFact::MessageProcessed(fact) = fact {
            admitted.remove(&(record.agent.clone(), fact.message_id));
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        let requests = self.requests.clone();
        time(
            registry,
            "turn_duration",
            "Turns from their begin to their end, by how they ended",
            self.turns.clone(),
        );
        time(
            registry,
            "queue_wait",
            "Messages from their admission until they are taken up",
            self.waits.clone(),
        );
        time(
            registry,
            "model_request_duration",
            "Requests to models, by provider, model and outcome",
            requests,
        );
        time(registry, "tool_duration", "Calls of tools, by tool and outcome", self.tools.clone());
        time(registry, "commit", "From a decision until its records are on the disk", self.commits.clone());
        time(
            registry,
            "loop_lag",
            "How long the loop of the runtime took to answer this page",
            self.answers.clone(),
        );
        registry.register("tool_calls", "Calls of tools, by tool and outcome", self.tool_calls.clone());
    }
}

fn time(registry: &mut Registry, name: &str, help: &str, metric: impl Metric) {
    registry.register_with_unit(name, help, Unit::Seconds, metric);
}
