//! What an agent needs that another one begins.

use holon_facts::ids::TemplateId;
use holon_facts::outcome::ToolOutcome;
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::{AgentId, Outcome, Text};
use holon_platform::clock;

use super::{Performers, Settings};
use crate::templates::{Reach, Selector};

impl Performers {
    /// Claims the name of an agent that another one begins, and takes in its template; ends in `Tool`, with both among its
    /// facts.
    pub async fn prepare_agent(&self, template: Option<TemplateId>, name: Option<AgentId>) -> Outcome {
        let started = clock::now();
        let receipt = match self.prepared(template, name).await {
            Ok(facts) => Receipt::success(Text::default(), facts),
            Err(error) => Receipt::failure(error),
        };
        Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: clock::since(started), end: None } }
    }

    async fn prepared(
        &self,
        template: Option<TemplateId>,
        name: Option<AgentId>,
    ) -> Result<ToolFacts, ToolError> {
        let Settings { templates, names, .. } = &self.inner.settings;
        let wrong = |problem: String| ToolError::new(ToolErrorKind::InvalidToolInput, problem);
        let mut facts = ToolFacts::default();
        if let Some(id) = template {
            let kept = templates.keep(&Selector::Id(id), Reach::ThisMachine).await.map_err(|problem| {
                let hint = "leave it out, or name another one; nothing was begun";
                wrong(problem.to_string()).field("template").hint(hint)
            })?;
            facts.template = Some(Box::new(kept));
        }
        if let Some(name) = name {
            match names.claim(&name).await {
                // It is kept: the agent is on record later.
                Ok(Some(_)) => facts.claimed = Some(name),
                Ok(None) => {
                    let error = wrong(format!("{name} exists already")).field("agent_id");
                    return Err(error.hint("give it another name"));
                }
                Err(problem) => {
                    let error = ToolError::new(ToolErrorKind::ToolExecutionFailed, problem.to_string());
                    return Err(error.hint("try again later; nothing was begun"));
                }
            }
        }
        Ok(facts)
    }
}
