//! Steps of a turn: what the model says beside its calls, and each call with its outcome in one line.

use std::collections::BTreeMap;

use holon_core::Millis;
use holon_core::event::TurnFact;
use holon_core::event::turn::{AssistantRoundRecorded, ToolExecuted, ToolExecutionFailed};
use holon_core::model::Block;
use holon_core::tool::ToolErrorKind;

use crate::present;
use crate::screen::Tone;

/// Durations below this say nothing.
const NOTICEABLE: Millis = Millis(1_000);

/// One line, and what makes it the same as another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) tone: Tone,
    pub(super) text: String,
    pub(super) kind: StepKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepKind {
    Said,
    /// Something was done; the text without what varies from time to time.
    Done(String),
    /// Nothing was done, for this reason.
    Refused(ToolErrorKind),
}

/// Calls whose outcome is not known yet, by their id.
#[derive(Debug, Default)]
pub(super) struct Steps {
    open: BTreeMap<String, String>,
}

impl Steps {
    /// The lines that a fact brings.
    pub(super) fn see(&mut self, fact: &TurnFact) -> Vec<Step> {
        match fact {
            TurnFact::AssistantRoundRecorded(fact) => self.round(fact),
            TurnFact::ToolExecuted(fact) => vec![self.executed(fact)],
            TurnFact::ToolExecutionFailed(fact) => vec![self.failed(fact)],
            TurnFact::TurnStarted(_) | TurnFact::TurnTerminal(_) => {
                self.open.clear();
                Vec::new()
            }
            TurnFact::TurnContextBuilt(_)
            | TurnFact::ProviderAttemptRecorded(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::RuntimeError(_)
            | TurnFact::BudgetExhausted(_) => Vec::new(),
        }
    }

    /// What an open call does, for people.
    pub(super) fn title(&self, call_id: &str) -> &str {
        self.open.get(call_id).map_or("a tool", String::as_str)
    }

    /// A round without a call is the answer itself, which is printed at the end.
    fn round(&mut self, fact: &AssistantRoundRecorded) -> Vec<Step> {
        self.open.clear();
        let mut said = Vec::new();
        for block in fact.blocks.iter().filter(|_| !fact.verdicts.is_empty()) {
            match block {
                Block::Text { text } => {
                    let text = present::one_line(text.preview());
                    if !text.is_empty() {
                        said.push(Step { tone: Tone::Plain, text, kind: StepKind::Said });
                    }
                }
                Block::ToolCall { call_id, tool_name, arguments } => {
                    self.open.insert(call_id.clone(), present::call(tool_name, arguments));
                }
            }
        }
        said
    }

    fn executed(&mut self, fact: &ToolExecuted) -> Step {
        let title = self.open.remove(&fact.call_id).unwrap_or_else(|| fact.tool_name.clone());
        let facts = &fact.receipt.facts;
        let (mark, tone, outcome) = match (facts.exit_status, facts.changed_files.as_slice()) {
            (Some(0), _) => ("✓", Tone::Good, String::new()),
            (Some(status), _) => ("✗", Tone::Bad, format!(": exit status {status}")),
            (None, []) => ("✓", Tone::Good, String::new()),
            (None, files) => ("✓", Tone::Good, format!(": changed {}", present::files(files))),
        };
        let title = if facts.changed_files.is_empty() { title } else { fact.tool_name.clone() };
        let key = format!("{mark} {title}{outcome}");
        let text = format!("{key}{}", took(fact.duration_ms));
        Step { tone, text, kind: StepKind::Done(key) }
    }

    fn failed(&mut self, fact: &ToolExecutionFailed) -> Step {
        let title = self.open.remove(&fact.call_id).unwrap_or_else(|| fact.tool_name.clone());
        let Some(error) = &fact.receipt.error else {
            return Step {
                tone: Tone::Bad,
                text: format!("✗ {title}"),
                kind: StepKind::Refused(ToolErrorKind::Interrupted),
            };
        };
        let why = present::one_line(error.message.preview());
        let text = format!("✗ {title}: {}: {why}{}", error.kind, took(fact.duration_ms));
        Step { tone: Tone::Bad, text, kind: StepKind::Refused(error.kind) }
    }
}

/// How long something took, where that is worth a word.
fn took(duration: Millis) -> String {
    if duration < NOTICEABLE { String::new() } else { format!(" ({})", present::duration(duration)) }
}
