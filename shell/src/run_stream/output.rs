//! The lines that are written besides durable events.

use holon_api::ClientError;
use holon_core::view::RunVerdict;
use holon_facts::ids::{BriefId, TaskId};
use holon_facts::{AgentId, MessageId, Reject};
use serde::Serialize;

use super::input::Source;
use crate::report::RunReport;

/// One line that is written to a program besides durable events.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) enum OutputLine<'a> {
    /// A line of the input is a durable message of the agent.
    InputAdmitted { agent_id: &'a AgentId, payload: AdmittedInput },
    /// A line of the input changed nothing. The run goes on.
    InputRefused { agent_id: &'a AgentId, payload: RefusedInput },
    /// The turn of a prompt has ended.
    PromptFinished { agent_id: &'a AgentId, payload: FinishedPrompt },
    /// The run has ended: the last line.
    RunFinished { agent_id: &'a AgentId, payload: &'a RunReport },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AdmittedInput {
    #[serde(flatten)]
    pub(super) source: Source,
    pub(super) message_id: MessageId,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RefusedInput {
    #[serde(flatten)]
    pub(super) source: Source,
    #[serde(flatten)]
    pub(super) refusal: Refusal,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FinishedPrompt {
    #[serde(flatten)]
    pub(super) source: Source,
    pub(super) message_id: MessageId,
    pub(super) verdict: RunVerdict,
    /// What `holon prompt --wait` ends with for this verdict.
    pub(super) exit_code: u8,
    /// What the agent reports; null without a report.
    pub(super) final_text: Option<String>,
    /// Tasks of the turn that still run.
    pub(super) active_tasks: Vec<TaskId>,
}

/// Why a line changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refusal {
    /// `invalid_line`, `line_too_long`, `input_unreadable`, `no_open_ask`, or the code of an HTTP error.
    code: String,
    /// What is wrong.
    error: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Refusal {
    pub fn new(code: &str, error: &impl ToString) -> Self {
        Self { code: code.to_owned(), error: error.to_string(), hint: None }
    }

    /// A line that can't be meant.
    pub fn invalid(error: &impl ToString) -> Self {
        Self::new("invalid_line", error).hint("docs/run-stream.md lists the lines and their fields")
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> &str {
        &self.code
    }

    #[cfg(test)]
    pub(super) fn error(&self) -> &str {
        &self.error
    }
}

impl From<Reject> for Refusal {
    fn from(reject: Reject) -> Self {
        let refusal = Self::new(reject.code(), &reject);
        match reject.hint() {
            Some(hint) => refusal.hint(hint),
            None => refusal,
        }
    }
}

impl Refusal {
    /// The open ask that an answer is for.
    ///
    /// # Errors
    /// There is none, or not this one.
    pub fn unless_asked(
        agent: &AgentId,
        open: impl DoubleEndedIterator<Item = BriefId>,
        named: Option<BriefId>,
    ) -> Result<BriefId, Self> {
        let mut newest_first = open.rev();
        match named {
            None => newest_first.next().ok_or_else(|| {
                Self::new("no_open_ask", &format!("{agent} has asked nothing that is not answered"))
                    .hint("write a line of the type `prompt`")
            }),
            Some(brief) => {
                let open = newest_first.find(|open| *open == brief);
                open.ok_or_else(|| Reject::UnknownAsk { agent: agent.clone(), brief }.into())
            }
        }
    }

    /// What a runtime refused; none where it could not be asked.
    pub fn by_runtime(error: &ClientError) -> Option<Self> {
        let ClientError::Refused { body, .. } = error else { return None };
        Some(Self { code: body.code.clone(), error: body.error.clone(), hint: body.hint.clone() })
    }
}

/// The last line of a stream.
///
/// # Errors
/// None in practice: a report is plain data.
pub fn run_finished(report: &RunReport) -> serde_json::Result<String> {
    OutputLine::RunFinished { agent_id: &report.agent_id, payload: report }.line()
}

impl OutputLine<'_> {
    pub(super) fn line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}
