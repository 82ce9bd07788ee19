//! A run against a provider that misbehaves, and what must hold however it does: what is printed, what is
//! durable and what the provider saw tell the same.

use std::process::Child;

use serde_json::Value;

use crate::provider::{Provider, Reply};
use crate::{Ended, Holon, payloads};

/// One model for each protocol.
pub const MODELS: [&str; 3] = ["local/test", "openai/test", "anthropic/test"];

/// The key of all providers. It must never be seen.
pub const KEY: &str = "canary-4f1c77aa";

/// A run as it is set up. Waits are short unless a test wants them otherwise.
#[derive(Debug, Clone)]
pub struct Trial {
    pub model: String,
    /// Lines of `config.toml`.
    config: String,
    fallbacks: String,
    agent: bool,
}

/// What a run left behind. It was looked at already for what holds always.
#[derive(Debug)]
pub struct Told {
    pub ended: Ended,
    /// What `--json` printed.
    pub report: Value,
    pub records: Vec<Value>,
}

/// Each protocol, streamed.
pub fn streamed() -> impl Iterator<Item = Trial> {
    MODELS.into_iter().map(Trial::new)
}

/// Each protocol, streamed and as one document.
pub fn both() -> impl Iterator<Item = Trial> {
    streamed().flat_map(|trial| [trial.clone(), trial.option("stream", "false")])
}

impl Trial {
    pub fn new(model: &str) -> Self {
        let trial =
            Self { model: model.to_owned(), config: String::new(), fallbacks: String::new(), agent: false };
        trial
            .set("runtime.durability", "\"process\"")
            .set("runtime.retry_backoff_ms", "4")
            .set("run.patience_ms", "0")
    }

    /// A setting; the last one of a key counts.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Self {
        let start = format!("{key} = ");
        self.config = self.config.split_inclusive('\n').filter(|line| !line.starts_with(&start)).collect();
        self.config.push_str(&format!("{start}{value}\n"));
        self
    }

    /// An option of the model's provider.
    #[must_use]
    pub fn option(self, name: &str, value: &str) -> Self {
        let provider = self.model.split('/').next().unwrap_or_default();
        let key = format!("providers.{provider}.{name}");
        self.set(&key, value)
    }

    /// The chain of models after the first one.
    #[must_use]
    pub fn fallbacks<T: AsRef<str>>(self, models: &[T]) -> Self {
        let models: Vec<&str> = models.iter().map(AsRef::as_ref).collect();
        Self { fallbacks: models.join(","), ..self }
    }

    /// An agent that stays rather than one of its own.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { agent: true, ..self }
    }

    /// A home with this configuration, in front of this address.
    pub fn home(&self, url: &str) -> Holon {
        let holon = Holon::new()
            .with("HOLON_MODEL", &self.model)
            .with("HOLON_MODEL_FALLBACKS", &self.fallbacks)
            .with("HOLON_LOCAL_BASE_URL", url)
            .with("OPENAI_BASE_URL", url)
            .with("ANTHROPIC_BASE_URL", url.trim_end_matches("/v1"))
            .with("OPENAI_API_KEY", KEY)
            .with("ANTHROPIC_API_KEY", KEY);
        std::fs::create_dir(holon.home()).expect("a home");
        std::fs::write(holon.home().join("config.toml"), &self.config).expect("a configuration");
        holon
    }

    fn arguments<'a>(&self, prompt: &'a str) -> Vec<&'a str> {
        let agent: &[&str] = if self.agent { &["--agent", "main", "--create-agent"] } else { &[] };
        [&["run", "--json"], agent, &[prompt]].concat()
    }

    /// A run that goes on while the test does something else.
    pub fn spawn(&self, holon: &Holon, prompt: &str) -> Child {
        holon.spawn(&self.arguments(prompt))
    }

    /// A run to its end.
    pub fn run(&self, holon: &Holon, prompt: &str) -> Told {
        Told::new(holon, holon.run(&self.arguments(prompt)))
    }

    /// A run against these replies, of which none may be left over; each attempt is one request.
    pub fn against(&self, replies: impl IntoIterator<Item = Reply>) -> (Told, Provider) {
        let replies: Vec<Reply> = replies.into_iter().collect();
        let count = replies.len();
        let provider = Provider::start(replies);
        let told = self.run(&self.home(&provider.url), "go");
        assert_eq!(told.attempts().len(), count, "{self:?}: {:#?}", told.story());
        assert_eq!(provider.asked().len(), count, "{self:?}: each attempt is one request");
        (told, provider)
    }
}

impl Told {
    /// What a run left, with what holds always.
    pub fn new(holon: &Holon, ended: Ended) -> Self {
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        assert!(!ended.stdout.contains(KEY) && !ended.stderr.contains(KEY), "{ended:?}");
        let report = ended.json();
        let ledger = report["ledger"].as_str().expect("a ledger").to_owned();
        holon.check_ledger(ledger.as_ref());
        let records = holon.records(ledger.as_ref());
        let told = Self { ended, report, records };
        told.agree();
        told.times();
        told
    }

    /// The attempts of this run, in order.
    pub fn attempts(&self) -> &[Value] {
        self.report["provider_attempt_timeline"]["attempts"].as_array().expect("a list")
    }

    /// Each attempt in a line: `local/test 1/3 server retrying`.
    pub fn story(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let line = |attempt: &Value| {
            let [model, kind, outcome] =
                ["model_ref", "failure_kind", "outcome"].map(|key| text(&attempt[key]));
            format!("{model} {}/{} {kind} {outcome}", attempt["attempt"], attempt["max_attempts"])
        };
        self.attempts().iter().map(line).collect()
    }

    /// The payloads of the records of this type.
    pub fn facts(&self, kind: &str) -> Vec<&Value> {
        payloads(&self.records, kind)
    }

    /// The results of all calls, in order.
    pub fn results(&self) -> Vec<&Value> {
        let is_result =
            |record: &&Value| record["type"] == "tool_executed" || record["type"] == "tool_execution_failed";
        self.records.iter().filter(is_result).map(|record| &record["payload"]).collect()
    }

    /// The report, the records, the exit code and the brief tell the same.
    fn agree(&self) {
        let report = &self.report;
        let recorded = self.facts("provider_attempt_recorded");
        let recorded: Vec<&Value> = recorded.iter().map(|fact| &fact["attempt"]).collect();
        let kinds = |attempts: &[&Value]| -> Vec<(Value, Value)> {
            attempts.iter().map(|one| (one["started_at"].clone(), one["outcome"].clone())).collect()
        };
        let attempts: Vec<&Value> = self.attempts().iter().collect();
        assert!(kinds(&recorded).ends_with(&kinds(&attempts)), "{report}");
        assert_eq!(self.facts("turn_started").len(), self.facts("turn_terminal").len());
        let calls = self.facts("assistant_round_recorded").into_iter();
        let calls = calls.flat_map(|round| round["blocks"].as_array().expect("a list"));
        let calls = calls.filter(|block| block["type"] == "tool_call").count();
        assert_eq!(self.results().len(), calls, "each call has one result");
        let (code, failed) = match report["verdict"].as_str().expect("a verdict") {
            "completed" => (0, false),
            "failed" => (1, true),
            "budget_exhausted" | "max_turns_exceeded" => (8, true),
            "aborted" => (130, false),
            other => panic!("{other}: {report}"),
        };
        assert_eq!(self.ended.code, Some(code), "{:?}", self.ended);
        assert_eq!(report["failure_artifact"].is_object(), failed, "{report}");
        if failed {
            self.failure();
        }
    }

    /// A failure is told to the engineer by an event, to the operator by a brief.
    fn failure(&self) {
        let (report, artifact) = (&self.report, &self.report["failure_artifact"]);
        let errors = self.facts("runtime_error");
        let error = errors.last().expect("a runtime error");
        assert!(artifact["summary"].is_string(), "{artifact}");
        let plain = |artifact: &Value| {
            let mut artifact = artifact.clone();
            artifact["summary"].take();
            artifact
        };
        // In a record, a long summary is the name of a stored text.
        assert_eq!(plain(&error["failure"]), plain(artifact));
        let briefs = self.facts("brief_created");
        let brief = briefs.last().expect("a brief");
        assert_eq!((&brief["kind"], &brief["run_id"]), (&"failure".into(), &error["run_id"]), "{brief}");
        assert_eq!(brief["related_message_id"], error["message_id"]);
        if report["turn_reason"] != "provider_failure" {
            return;
        }
        let (last, attempts) = (self.attempts().last().expect("an attempt"), &error["attempts"]);
        assert_eq!(artifact["metadata"]["attempts"], attempts.as_array().map_or(0, Vec::len).to_string());
        assert_eq!(artifact["kind"], last["failure_kind"]);
        assert_eq!(artifact["summary"], last["message"]);
        assert_eq!(artifact["provider"], last["provider"]);
        assert_eq!(artifact["model_ref"], last["model_ref"]);
        assert_eq!(artifact["status"], last["transport_diagnostics"]["status"]);
    }

    /// Attempts follow each other, no sooner than was decided.
    fn times(&self) {
        let at = |value: &Value| value.as_str().expect("a time").parse::<jiff::Timestamp>().expect("a time");
        for attempt in self.attempts() {
            let (started, completed) = (at(&attempt["started_at"]), at(&attempt["completed_at"]));
            assert!(started <= completed && attempt["duration_ms"].is_u64(), "{attempt}");
            let succeeded = attempt["outcome"] == "succeeded";
            assert_eq!(attempt["failure_kind"].is_null(), succeeded, "{attempt}");
            assert_eq!(attempt["message"].is_string(), !succeeded, "{attempt}");
            counted(attempt, succeeded);
            assert_eq!(attempt["backoff_ms"].is_u64(), attempt["outcome"] == "retrying", "{attempt}");
            let model = attempt["model_ref"].as_str().expect("a model");
            assert_eq!(model.split('/').next(), attempt["provider"].as_str());
        }
        for pair in self.attempts().windows(2) {
            let waited = at(&pair[1]["started_at"]).duration_since(at(&pair[0]["completed_at"]));
            let least = pair[0]["backoff_ms"].as_i64().unwrap_or(0);
            assert!(waited.as_millis() >= i128::from(least), "{waited:?} is less than {least} ms");
        }
    }
}

/// An answer has its usage; of a failure what its provider had reported by then, where an answer had begun.
fn counted(attempt: &Value, succeeded: bool) {
    let (usage, failed) = (&attempt["token_usage"], &attempt["transport_diagnostics"]);
    if succeeded || usage.is_null() {
        assert_eq!(usage.is_object(), succeeded, "{attempt}");
        return;
    }
    let stages = ["stream", "body", "idle", "whole"];
    let begun = failed["status"] == 200 || stages.iter().any(|stage| failed["stage"] == *stage);
    assert!(begun && usage["total_tokens"].as_u64() > Some(0), "{attempt}");
}
