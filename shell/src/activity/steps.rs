//! Steps of a turn: what the model says beside its calls, and each call with its outcome in one line.

use std::collections::BTreeMap;

use holon_facts::event::TurnFact;
use holon_facts::event::turn::{AssistantRoundRecorded, ToolExecuted, ToolExecutionFailed};
use holon_facts::model::Block;
use holon_facts::receipt::ToolErrorKind;
use holon_facts::{Millis, Text};
use holon_text::Texts;
use holon_text::time;
use std::sync::{Arc, OnceLock};

use crate::screen::Look;
use holon_present::{self as present, DetailLine, Extent};

/// How much of patches and outputs stands below a step: of what went well, and of what did not.
const DONE: Extent = Extent { patch: 40, output: 2 };
const FAILED: Extent = Extent { patch: 40, output: 10 };

/// Durations below this say nothing.
const NOTICEABLE: Millis = Millis(1_000);

/// One line, and what makes it the same as another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) look: Look,
    pub(super) text: String,
    pub(super) kind: StepKind,
    /// What stands below it.
    pub(super) below: Vec<DetailLine>,
}

/// Where texts that records name are read; nothing before there is a runtime.
pub type TextSource = Arc<OnceLock<Texts>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepKind {
    Said,
    /// Something was done; the text without what varies from time to time.
    Done(String),
    /// Nothing was done, for this reason.
    Refused(ToolErrorKind),
}

/// Calls whose outcome is not known yet, by their id.
#[derive(Default)]
pub(super) struct Steps {
    open: BTreeMap<String, Call>,
    texts: TextSource,
}

#[derive(Debug)]
struct Call {
    title: String,
    tool_name: String,
    arguments: Text,
}

impl Steps {
    pub(super) fn reading(texts: TextSource) -> Self {
        Self { texts, ..Self::default() }
    }

    /// The lines that a fact brings.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn see(&mut self, fact: &TurnFact) -> Vec<Step> {
        match fact {
            TurnFact::AssistantRoundRecorded(fact) => self.round(fact),
            TurnFact::ToolExecuted(fact) => vec![self.executed(fact)],
            TurnFact::ToolExecutionFailed(fact) => vec![self.failed(fact)],
            TurnFact::TurnStarted(_) | TurnFact::TurnTerminal(_) => {
                self.open.clear();
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// What an open call does, for people.
    pub(super) fn title(&self, call_id: &str) -> &str {
        self.open.get(call_id).map_or("a tool", |call| &call.title)
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
                        said.push(Step { look: Look::Plain, text, kind: StepKind::Said, below: Vec::new() });
                    }
                }
                Block::ToolCall { call_id, tool_name, arguments } => {
                    let title = present::call(tool_name, arguments);
                    let (tool_name, arguments) = (tool_name.clone(), arguments.clone());
                    self.open.insert(call_id.clone(), Call { title, tool_name, arguments });
                }
                Block::Reasoning { .. } => {}
            }
        }
        said
    }

    fn executed(&mut self, fact: &ToolExecuted) -> Step {
        let call = self.open.remove(&fact.call_id);
        let below = self.below(call.as_ref(), fact);
        let title = call.map_or_else(|| fact.tool_name.clone(), |call| call.title);
        let facts = &fact.receipt.facts;
        let (mark, look, outcome) = match (facts.exit_status, facts.changed_files.as_slice()) {
            (Some(0), _) => ("✓", Look::Good, String::new()),
            (Some(status), _) => ("✗", Look::Bad, format!(": exit status {status}")),
            (None, []) => ("✓", Look::Good, String::new()),
            (None, files) => ("✓", Look::Good, format!(": changed {}", present::files(files))),
        };
        let title = if facts.changed_files.is_empty() { title } else { fact.tool_name.clone() };
        let key = format!("{mark} {title}{outcome}");
        let text = format!("{key}{}", took(fact.duration_ms));
        Step { look, text, kind: StepKind::Done(key), below }
    }

    /// The patch, or the end of the output. What can't be read is left out: the ledger has it.
    fn below(&self, call: Option<&Call>, fact: &ToolExecuted) -> Vec<DetailLine> {
        let facts = &fact.receipt.facts;
        if !facts.changed_files.is_empty() {
            let arguments = call.and_then(|call| Some((&call.tool_name, self.whole(&call.arguments)?)));
            let lines = arguments.map(|(tool, arguments)| present::call_lines(tool, &arguments, DONE));
            // The first line names the tool, as the step does; and the step names a file that is the only one.
            let lines = lines.into_iter().flatten().skip(1);
            let head = |line: &DetailLine| line.1.starts_with("--- ") || line.1.starts_with("+++ ");
            let only = facts.changed_files.len() == 1;
            return lines.skip_while(|line| only && head(line)).collect();
        }
        let (Some(status), Some(content)) = (facts.exit_status, fact.receipt.content.as_ref()) else {
            return Vec::new();
        };
        let extent = if status == 0 { DONE } else { FAILED };
        let Some(text) = self.whole(content) else { return Vec::new() };
        let mut lines = present::result_lines(&text, &[], extent);
        // The step says how it ended.
        lines.pop();
        lines
    }

    /// A text as a whole, where it can be had.
    fn whole(&self, text: &Text) -> Option<String> {
        match text {
            Text::Inline(text) => Some(text.clone()),
            Text::Stored(_) => self.texts.get()?.resolve(text).ok().map(|text| text.to_string()),
        }
    }

    fn failed(&mut self, fact: &ToolExecutionFailed) -> Step {
        let call = self.open.remove(&fact.call_id);
        let title = call.map_or_else(|| fact.tool_name.clone(), |call| call.title);
        let Some(error) = &fact.receipt.error else {
            return Step {
                look: Look::Bad,
                text: format!("✗ {title}"),
                kind: StepKind::Refused(ToolErrorKind::Interrupted),
                below: Vec::new(),
            };
        };
        let why = present::one_line(error.message.preview());
        let key = format!("✗ {title}: {}: {why}", error.kind);
        let text = format!("{key}{}", took(fact.duration_ms));
        // A command that took too long did something, and says more than its kind.
        let done = error.kind == ToolErrorKind::CommandTimedOut;
        let kind = if done { StepKind::Done(key) } else { StepKind::Refused(error.kind) };
        Step { look: Look::Bad, text, kind, below: Vec::new() }
    }
}

/// How long something took, where that is worth a word.
fn took(duration: Millis) -> String {
    if duration < NOTICEABLE { String::new() } else { format!(" ({})", time::duration(duration)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holon_core::tool::Tool;
    use holon_facts::Text;
    use holon_facts::ids::{RoundIndex, RunId};
    use holon_facts::model::StopReason;
    use holon_facts::receipt::{Receipt, ToolError, ToolFacts, Verdict};
    use holon_facts::usage::TokenUsage;

    use super::*;

    fn round(cmd: &str) -> TurnFact {
        let arguments = Text::Inline(serde_json::json!({ "cmd": cmd }).to_string());
        let call = Block::ToolCall { call_id: "c1".into(), tool_name: "ExecCommand".into(), arguments };
        let said = Block::Text { text: Text::Inline("I look.".into()) };
        TurnFact::AssistantRoundRecorded(Box::new(AssistantRoundRecorded {
            run_id: RunId(1),
            round: RoundIndex(0),
            blocks: Arc::from([said, call]),
            verdicts: vec![Verdict::Accepted(Tool::ExecCommand.into())],
            stop_reason: StopReason::ToolUse,
            token_usage: TokenUsage::default(),
            end: None,
            joined: None,
            candidate: 0,
            probes: false,
        }))
    }

    fn executed(facts: ToolFacts, duration_ms: u64) -> TurnFact {
        TurnFact::ToolExecuted(Box::new(ToolExecuted {
            run_id: RunId(1),
            round: RoundIndex(0),
            index: 0,
            call_id: "c1".into(),
            tool_name: "ExecCommand".into(),
            receipt: Arc::new(Receipt::success(Text::Inline(String::new()), facts)),
            duration_ms: Millis(duration_ms),
        }))
    }

    fn failed(kind: ToolErrorKind) -> TurnFact {
        TurnFact::ToolExecutionFailed(Box::new(ToolExecutionFailed {
            run_id: RunId(1),
            round: RoundIndex(0),
            index: 0,
            call_id: "c1".into(),
            tool_name: "ExecCommand".into(),
            receipt: Arc::new(Receipt::failure(ToolError::new(kind, "because"))),
            duration_ms: Millis(0),
        }))
    }

    fn shown(cmd: &str, outcome: &TurnFact) -> Step {
        let mut steps = Steps::default();
        let said = steps.see(&round(cmd));
        assert_eq!(said.len(), 1);
        assert_eq!((said[0].text.as_str(), &said[0].kind), ("I look.", &StepKind::Said));
        assert_eq!(steps.title("c1"), cmd);
        steps.see(outcome).remove(0)
    }

    #[test]
    fn a_call_is_one_line_with_its_outcome() {
        let ended = |exit_status, ms| {
            let facts = ToolFacts { exit_status: Some(exit_status), ..ToolFacts::default() };
            shown("make", &executed(facts, ms)).text
        };
        assert_eq!(ended(0, 999), "✓ make");
        assert_eq!(ended(2, 61_000), "✗ make: exit status 2 (1 min 1 s)");
        let facts = ToolFacts { changed_files: vec!["a".into(), "b".into()], ..ToolFacts::default() };
        assert_eq!(shown("-", &executed(facts, 0)).text, "✓ ExecCommand: changed a, b");
    }

    #[test]
    fn a_refusal_is_no_deed_and_a_command_that_took_too_long_is_one() {
        let refused = shown("x", &failed(ToolErrorKind::UnknownTool));
        assert_eq!(refused.text, "✗ x: unknown_tool: because");
        assert_eq!(refused.kind, StepKind::Refused(ToolErrorKind::UnknownTool));
        let late = shown("x", &failed(ToolErrorKind::CommandTimedOut));
        assert_eq!(late.kind, StepKind::Done("✗ x: command_timed_out: because".into()));
    }
}
