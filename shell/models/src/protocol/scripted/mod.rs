//! The offline provider: plays a scenario, without a network (contract: providers.md, `scripted`).
//!
//! The model of a reference is the name of a built-in scenario (`scripted/demo`, `scripted/hello`) or the
//! path of a file that ends in `.json` (`scripted/some/file.json`, absolute: `scripted//some/file.json`).
//!
//! ```json
//! { "version": 1, "name": "example", "description": "optional, for readers",
//!   "rounds": [
//!     { "text": "I look first.",
//!       "calls": [ { "tool": "ExecCommand", "arguments": { "cmd": "ls" } } ],
//!       "usage": { "input_tokens": 10, "output_tokens": 5 },
//!       "delay_ms": 20,
//!       "fail": { "kind": "server", "message": "overloaded", "retry_after_ms": 100, "times": 2 } },
//!     { "expect": { "last_result_contains": "README" }, "text": "Done.", "stop": "end_turn" } ] }
//! ```
//!
//! - Everything in a round is optional, but it needs `text`, `calls` or `fail`. Unknown fields are refused.
//! - `arguments` is an object; a string is passed on as it is, for malformed arguments.
//! - `stop` is a stop reason of the runtime; by default `tool_use` with calls, `end_turn` without.
//! - `fail` comes `times` times (1 when omitted) before the round is played; a round without text and calls
//!   fails each time. `kind` is a failure kind of the runtime. What was consumed is held by the process, per
//!   agent, input and round.
//! - `expect` is compared before the round is played; a mismatch is a failure that says what was found.
//!
//! The round that is played is the number of assistant items in the request, so a turn that goes on after a
//! restart goes on in the scenario. Each turn plays the scenario from its beginning.

mod scenario;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holon_facts::content::clip;
use holon_facts::frame::Part;
use holon_facts::model::{AnswerBlock, FailureKind, Item, ModelRequest, StopReason};
use holon_facts::model_ref::ModelRef;
use holon_facts::usage::TokenUsage;
use holon_text::Texts;
use scenario::{Expect, Fail, Round, Scenario, ScenarioError};

use crate::answer::{Failure, Reply, proposed};
use crate::provider::{Attempt, Attempting, Provider, ProviderError, ProviderSpec, Transport};

/// Consumed failures that are remembered.
const REMEMBERED: usize = 4_096;

pub use scenario::DEMO;

pub(crate) const TRANSPORT: Transport = Transport::local("scripted", || Arc::new(Scripted::default()));

/// Plays scenarios.
#[derive(Default)]
struct Scripted {
    read: Mutex<BTreeMap<String, Arc<Scenario>>>,
    /// Failures so far, by scenario, agent, input and round.
    failed: Mutex<BTreeMap<String, u32>>,
}

impl Provider for Scripted {
    /// Whether the scenario exists and is valid.
    fn check(&self, _: &ProviderSpec, model: &ModelRef) -> Result<(), ProviderError> {
        self.find(model.model()).map(drop).map_err(|problem| ProviderError::Scenario(problem.to_string()))
    }

    fn attempt<'a>(&'a self, attempt: Attempt<'a>) -> Attempting<'a> {
        let Attempt { texts, request, .. } = attempt;
        Box::pin(self.play(texts, request, request.model.model()))
    }
}

impl Scripted {
    async fn play(&self, texts: &Texts, request: &ModelRequest, name: &str) -> Result<Reply, Failure> {
        let scenario =
            self.find(name).map_err(|problem| Failure::new(FailureKind::Client, problem.to_string()))?;
        if request.sums_up {
            return Err(Failure::new(
                FailureKind::InvalidResponse,
                format!("scenario {name} has no summaries"),
            ));
        }
        let at = played(request);
        let Some(round) = scenario.rounds.get(at) else {
            let message = format!(
                "scenario {} has {} rounds and was asked for round {}; add a round that ends the turn with text",
                scenario.name,
                scenario.rounds.len(),
                at + 1
            );
            return Err(Failure::new(FailureKind::InvalidResponse, message));
        };
        let delay = round.delay_ms.min(request.timeout.0);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        if round.delay_ms > delay {
            let message = format!("no answer within {}", request.timeout);
            return Err(Failure::new(FailureKind::Timeout, message));
        }
        if let Some(fail) = &round.fail
            && (self.fails_again(request, at, fail) || round.only_fails())
        {
            let mut failure = Failure::new(fail.kind, fail.message.clone());
            failure.retry_after_ms = fail.retry_after_ms;
            return Err(failure);
        }
        if let Some(expect) = &round.expect {
            met(texts, request, expect, &scenario.name, at)?;
        }
        Ok(reply(texts, round, at))
    }

    fn find(&self, name: &str) -> Result<Arc<Scenario>, ScenarioError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(name) {
            return Ok(known.clone());
        }
        let found = Arc::new(scenario::find(name)?);
        read.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// Counts a failure of this round, until it has come often enough.
    fn fails_again(&self, request: &ModelRequest, at: usize, fail: &Fail) -> bool {
        let input = match request.conversation.first() {
            Some(Item::User { parts }) => parts.first().map(Part::preview),
            Some(Item::Assistant { .. } | Item::ToolResults { .. }) | None => None,
        };
        let key = format!("{} {} {at} {}", request.model, request.agent, input.unwrap_or_default());
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() >= REMEMBERED {
            failed.clear();
        }
        let count = failed.entry(key).or_default();
        let again = *count < fail.times;
        *count = count.saturating_add(1);
        again
    }
}

/// Rounds of the turn so far.
fn played(request: &ModelRequest) -> usize {
    request.rounds as usize
}

fn reply(texts: &Texts, round: &Round, at: usize) -> Reply {
    let text = round.text.iter().map(|text| AnswerBlock::Text { text: texts.take(text) });
    let calls = round.calls.iter().enumerate().map(|(number, call)| {
        let raw = call.arguments.as_str().map(ToOwned::to_owned);
        let json = raw.unwrap_or_else(|| call.arguments.to_string());
        proposed(texts, format!("call_{}_{}", at + 1, number + 1), call.tool.clone(), &json)
    });
    let default = if round.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let usage = round.usage.map_or(TokenUsage::default(), |usage| TokenUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        cached_input_tokens: 0,
    });
    Reply::new(text.chain(calls).collect(), round.stop.unwrap_or(default), usage)
}

fn met(
    texts: &Texts,
    request: &ModelRequest,
    expect: &Expect,
    scenario: &str,
    at: usize,
) -> Result<(), Failure> {
    let wanted = &expect.last_result_contains;
    let last = request.conversation.iter().rev().find_map(|item| match item {
        Item::ToolResults { results } => results.last(),
        Item::User { .. } | Item::Assistant { .. } => None,
    });
    let found = match last {
        None => "no tool result at all".to_owned(),
        Some(result) => {
            let mut whole = String::new();
            for text in result.receipt.words() {
                let text = texts.resolve(text);
                whole.push_str(
                    &text.map_err(|problem| Failure::new(FailureKind::Client, problem.to_string()))?,
                );
            }
            if whole.contains(wanted.as_str()) {
                return Ok(());
            }
            clip(&texts.redact(&whole), 600)
        }
    };
    let message = format!(
        "scenario {scenario}, round {}: expected a last tool result with {wanted:?}, got {found}",
        at + 1
    );
    Err(Failure::new(FailureKind::InvalidResponse, message))
}
