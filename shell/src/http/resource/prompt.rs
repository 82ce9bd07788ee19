//! Prompts of the operator, and what comes of one for whoever waits for it.

use std::time::Duration;

use holon_api::rows::SendPrompt;
use holon_api::{
    Admitted, ClientError, Code, Json, PROMPT_BYTES, PromptOutcome, PromptQuery, Prompted, WaitUntil,
};
use holon_facts::EventSeq;
use holon_facts::message::{Ingress, Origin};
use holon_facts::provenance::{Priority, Surface};

use super::super::App;
use super::super::failure::Failure;
use super::super::reply::OrStatus;
use super::super::route::{Call, Handled};
use super::agents::bounded;
use super::ingress::{admission, admit, check_names, key, keyed};
use crate::answer::Answer;
use crate::wait::{Wait, whole_text};

pub(in super::super) async fn prompt(app: App, call: Call<SendPrompt>) -> Handled<OrStatus<Prompted>> {
    let PromptQuery { wait, timeout_ms } = call.query;
    if wait.is_none() && timeout_ms.is_some() {
        let text = "timeout_ms: only a request with wait=turn or wait=settled waits";
        return Err(Failure::new(Code::InvalidQuery, text).detail("field", "timeout_ms"));
    }
    let limit = Duration::from_millis(bounded("timeout_ms", timeout_ms, PromptQuery::WAIT_MS, 0)? as u64);
    let Json(prompt) = call.body;
    check_prompt(&prompt.text)?;
    check_names(
        Code::InvalidBody,
        &[
            ("actor_id", &prompt.actor_id),
            ("correlation_id", &prompt.correlation_id),
            ("causation_id", &prompt.causation_id),
        ],
    )?;
    let key = key(&call.from.headers)?;
    let has_key = key.is_some();
    let idempotency = keyed(key, "prompt", &prompt)?;
    let ingress = Ingress {
        origin: Origin::Operator { actor_id: prompt.actor_id },
        priority: prompt.priority.unwrap_or(Priority::Normal),
        correlation_id: prompt.correlation_id,
        causation_id: prompt.causation_id,
        idempotency,
        ..Ingress::prompt(
            app.runtime.texts().take(&prompt.text),
            Surface::HttpControlPrompt,
            admission(call.from.caller),
        )
    };
    let admitted = admit(&app, call.path.agent_id, ingress).await?;
    Ok(match wait {
        Some(until) => Waiting { app, admitted, until, limit, has_key }.reply().await,
        None => OrStatus::Usual(prompted(&admitted)),
    })
}

/// What can't be a prompt: nothing, or more than is taken.
pub(super) fn check_prompt(text: &str) -> Handled<()> {
    if text.is_empty() {
        return Err(Failure::new(Code::InvalidBody, "text: a prompt has text").detail("field", "text"));
    }
    if text.len() > PROMPT_BYTES {
        let said = format!("text: {} bytes are more than the limit of {PROMPT_BYTES}", text.len());
        return Err(Failure::new(Code::TooLarge, said)
            .detail("field", "text")
            .detail("bytes", text.len())
            .detail("limit", PROMPT_BYTES));
    }
    Ok(())
}

/// A prompt that is durable, and what of it is waited for: whatever happens to the wait, its client is not told that
/// the prompt was refused.
struct Waiting {
    app: App,
    admitted: Admitted,
    until: WaitUntil,
    limit: Duration,
    has_key: bool,
}

impl Waiting {
    async fn reply(&self) -> OrStatus<Prompted> {
        let after = match self.before().await {
            Ok(after) => after,
            Err(failure) => return self.not_ended(None, failure.to_string()),
        };
        let Ok(_waits) = self.app.waits.try_acquire() else {
            return self.not_ended(Some(after), "too many requests wait already".to_owned());
        };
        let ended = tokio::select! {
            biased;
            () = self.app.shutdown.asked() => Err("the runtime shuts down".to_owned()),
            ended = Box::pin(self.outcome(after)) => ended.map_err(|error| error.to_string()),
            () = tokio::time::sleep(self.limit) => Err("the wait timed out".to_owned()),
        };
        match ended {
            Ok(outcome) => OrStatus::Usual(Prompted {
                ended: Some(true),
                after_seq: Some(after),
                outcome: Some(outcome),
                ..prompted(&self.admitted)
            }),
            Err(problem) => self.not_ended(Some(after), problem),
        }
    }

    /// The event before the prompt, which may be long ago: then the request is a repeat.
    async fn before(&self) -> Handled<EventSeq> {
        let (agent, message) = (self.admitted.agent_id.clone(), self.admitted.message_id);
        let admission = move |app: &App| Ok(app.reader.admission(&agent, message)?);
        match self.app.blocking(admission).await? {
            Some(record) => Ok(EventSeq(record.event_seq.0.saturating_sub(1))),
            None => Err(Failure::internal(format!("the ledger does not have {message}"))),
        }
    }

    async fn outcome(&self, after: EventSeq) -> Result<PromptOutcome, ClientError> {
        let Admitted { agent_id: agent, message_id: message, .. } = &self.admitted;
        let mut answer = Answer::to(*message);
        let wait = Wait::new(&self.app, agent, after, self.app.idle_limit).for_prompt(*message, self.until);
        let end = wait.until_end(&mut |record| answer.record(record)).await?;
        let text = match answer.told() {
            Some(told) => Some(whole_text(&self.app, agent, told).await?),
            None => None,
        };
        Ok(end.outcome(text))
    }

    fn not_ended(&self, after: Option<EventSeq>, problem: String) -> OrStatus<Prompted> {
        let agent = &self.admitted.agent_id;
        let hint = match after {
            _ if self.has_key => {
                "send the same request again, with the same Idempotency-Key, to wait on".to_owned()
            }
            Some(after) => format!("follow GET /agents/{agent}/events/stream?after_seq={after}"),
            None => format!("look at GET /agents/{agent}/why"),
        };
        OrStatus::Other(Prompted {
            ended: Some(false),
            after_seq: after,
            problem: Some(problem),
            hint: Some(hint),
            ..prompted(&self.admitted)
        })
    }
}

fn prompted(admitted: &Admitted) -> Prompted {
    let Admitted { ok, agent_id, message_id, duplicate } = admitted.clone();
    let (ended, after_seq, outcome, problem, hint) = (None, None, None, None, None);
    Prompted { ok, agent_id, message_id, duplicate, ended, after_seq, outcome, problem, hint }
}
