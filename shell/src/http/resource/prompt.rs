//! Prompts of the operator, and what comes of one for whoever waits for it.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use holon_api::rows::{SendPrompt, ShowMessage};
use holon_api::{
    Admitted, ClientError, Code, Control, Json, MessagePath, PROMPT_BYTES, PromptImage, PromptOutcome,
    PromptQuery, Prompted, WaitUntil,
};
use holon_facts::EventSeq;
use holon_facts::image::{Image, MESSAGE_BYTES, PER_MESSAGE, bytes_of};
use holon_facts::message::{Ingress, Origin};
use holon_facts::provenance::{Priority, Surface};
use holon_text::Texts;

use super::super::App;
use super::super::failure::Failure;
use super::super::reply::OrStatus;
use super::super::route::{Call, Handled};
use super::agents::bounded;
use super::ingress::{admission, admit, check_names, key, keyed};
use super::skills;
use super::watched::Watched;
use crate::answer::Answer;
use crate::events::Watch;
use crate::images::{self, ImageError};
use crate::prompt_turn::PromptTurn;
use crate::wait::{End, Wait, whole_text};

/// Events after a message that are looked at for its end, where nobody waits.
const LOOKED_AT: u64 = 50_000;

pub(in super::super) async fn prompt(app: App, call: Call<SendPrompt>) -> Handled<OrStatus<Prompted>> {
    let (wait, limit) = (call.query.wait, longest(&call.query)?);
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
    let images = images(&app, prompt.images.clone()).await?;
    let key = key(&call.from.headers)?;
    let has_key = key.is_some();
    let idempotency = keyed(key, "prompt", &prompt)?;
    let named = (prompt.text.clone(), prompt.skills.clone());
    let skills = skills::given(&app, &call.path.agent_id, named, idempotency.clone()).await?;
    let ingress = Ingress {
        origin: Origin::Operator { actor_id: prompt.actor_id },
        priority: prompt.priority.unwrap_or(Priority::Normal),
        correlation_id: prompt.correlation_id,
        causation_id: prompt.causation_id,
        images,
        skills,
        idempotency,
        ..Ingress::prompt(
            app.runtime.texts().take(&prompt.text),
            Surface::HttpControlPrompt,
            admission(call.from.caller),
        )
    };
    let watch = wait.map(|_| app.hub.watch(&call.path.agent_id));
    let admitted = admit(&app, call.path.agent_id, ingress).await?;
    Ok(match wait {
        Some(until) => Waiting { app, admitted, until, limit, has_key }.reply(watch).await,
        None => OrStatus::Usual(prompted(&admitted)),
    })
}

/// What came of a message that was sent before.
pub(in super::super) async fn message(app: App, call: Call<ShowMessage>) -> Handled<OrStatus<Prompted>> {
    let (wait, limit) = (call.query.wait, longest(&call.query)?);
    let MessagePath { agent_id, message_id } = call.path;
    let agent = agent_id.clone();
    let known = move |app: &App| {
        app.last_event(&agent)?;
        Ok(app.reader.admission(&agent, message_id)?)
    };
    if app.blocking(known).await?.is_none() {
        let text = format!("{agent_id} was sent no message {message_id}");
        return Err(Failure::new(Code::UnknownMessage, text)
            .hint(format!("holon transcript {agent_id} shows those that there are"))
            .detail("message_id", message_id.to_string()));
    }
    let admitted = Admitted { ok: true, agent_id, message_id, duplicate: false };
    let until = wait.unwrap_or(WaitUntil::Turn);
    let waiting = Waiting { app, admitted, until, limit, has_key: false };
    if wait.is_some() { Ok(waiting.reply(None).await) } else { waiting.now().await }
}

/// The images of a prompt, taken in.
async fn images(app: &App, given: Vec<PromptImage>) -> Handled<Vec<Image>> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    if given.len() > PER_MESSAGE {
        let text = format!("images: {} are more than the limit of {PER_MESSAGE}", given.len());
        return Err(Failure::new(Code::TooLarge, text)
            .detail("field", "images")
            .detail("limit", PER_MESSAGE));
    }
    let taken = move |app: &App| {
        let images = given.iter().enumerate().map(|(at, given)| taken(app.runtime.texts(), at, given));
        let images = images.collect::<Handled<Vec<Image>>>()?;
        match bytes_of(&images) {
            bytes if bytes > MESSAGE_BYTES => {
                let text =
                    format!("images: {bytes} bytes together are more than the limit of {MESSAGE_BYTES}");
                let failure = Failure::new(Code::TooLarge, text).detail("field", "images");
                Err(failure.detail("bytes", bytes).detail("limit", MESSAGE_BYTES))
            }
            _ => Ok(images),
        }
    };
    app.blocking(taken).await
}

/// An image, or what is wrong with it at its place.
fn taken(texts: &Texts, at: usize, given: &PromptImage) -> Handled<Image> {
    let field = format!("images[{at}]");
    let bytes = BASE64_STANDARD.decode(&given.data).map_err(|problem| {
        let text = format!("{field}.data is no base64: {problem}");
        Failure::new(Code::InvalidBody, text).detail("field", format!("{field}.data"))
    })?;
    let name = given.name.clone().unwrap_or_else(|| format!("image {}", at + 1));
    images::take(texts, &name, &bytes).map_err(|error| {
        let large = matches!(error, ImageError::TooLarge { .. });
        let code = if large { Code::TooLarge } else { Code::InvalidBody };
        let failure = Failure::new(code, format!("{field} ({name:?}): {error}"));
        failure.hint(error.hint()).detail("field", field)
    })
}

/// How long a request waits.
fn longest(query: &PromptQuery) -> Handled<Duration> {
    let PromptQuery { wait, timeout_ms } = *query;
    if wait.is_none() && timeout_ms.is_some() {
        let text = "timeout_ms: only a request with wait=turn or wait=settled waits";
        return Err(Failure::new(Code::InvalidQuery, text).detail("field", "timeout_ms"));
    }
    Ok(Duration::from_millis(bounded("timeout_ms", timeout_ms, PromptQuery::WAIT_MS, 0)? as u64))
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
    async fn reply(&self, watch: Option<Watch>) -> OrStatus<Prompted> {
        let source = match self.source(watch).await {
            Ok(source) => source,
            Err(failure) => return self.not_ended(None, failure.to_string()),
        };
        let after = source.begins_after();
        let Ok(_waits) = self.app.waits.try_acquire() else {
            return self.not_ended(Some(after), "too many requests wait already".to_owned());
        };
        let ended = tokio::select! {
            biased;
            () = self.app.shutdown.asked() => Err("the runtime shuts down".to_owned()),
            ended = Box::pin(self.outcome(source)) => ended.map_err(|error| error.to_string()),
            () = tokio::time::sleep(self.limit) => Err("the wait timed out".to_owned()),
        };
        match ended {
            Ok((end, text)) if end.turn_ended => self.ended(after, end.outcome(text)),
            Ok((end, text)) => self.held(after, &end, text),
            Err(problem) => self.not_ended(Some(after), problem),
        }
    }

    /// What came of the message so far, from the events that follow it.
    async fn now(&self) -> Handled<OrStatus<Prompted>> {
        let after = self.before().await?;
        let Admitted { agent_id, message_id: message, .. } = self.admitted.clone();
        let agent = agent_id.clone();
        let fold = move |app: &App| {
            let (mut turn, mut answer, mut ended) = (PromptTurn::of(message), Answer::to(message), None);
            let last = app.last_event(&agent)?.min(EventSeq(after.0.saturating_add(LOOKED_AT)));
            for record in app.reader.records(&agent, after, last)? {
                let record = record?;
                // What is reported of the end is recorded with it.
                if ended.is_some_and(|step| step < record.step) && !turn.is_open() {
                    break;
                }
                turn.record(&record);
                answer.record(&record);
                ended = ended.or(turn.ended().map(|_| record.step));
            }
            Ok((turn, answer))
        };
        let (turn, answer) = self.app.blocking(fold).await?;
        if turn.ended().is_none() {
            return Ok(self.not_ended(Some(after), "its turn has not ended".to_owned()));
        }
        let why = self.app.why(&agent_id).await.map_err(Failure::internal)?.into_reply();
        let end = End::of(why, Some(&turn)).map_err(Failure::internal)?;
        let text = self.text(&answer).await.map_err(Failure::internal)?;
        Ok(self.ended(after, end.outcome(text)))
    }

    fn ended(&self, after: EventSeq, outcome: PromptOutcome) -> OrStatus<Prompted> {
        OrStatus::Usual(Prompted {
            ended: Some(true),
            after_seq: Some(after),
            outcome: Some(outcome),
            ..prompted(&self.admitted)
        })
    }

    /// Nothing more happens soon, and the turn has not ended: the prompt waits.
    fn held(&self, after: EventSeq, end: &End, text: Option<String>) -> OrStatus<Prompted> {
        let waits = self.waits_on(Some(after), end.kept_by());
        OrStatus::Other(Prompted { outcome: Some(end.outcome(text)), ..waits })
    }

    async fn text(&self, answer: &Answer) -> Result<Option<String>, ClientError> {
        match answer.told() {
            Some(told) => whole_text(&self.app, &self.admitted.agent_id, told).await.map(Some),
            None => Ok(None),
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

    /// What happens from the prompt on. That of a repeat may be long ago.
    async fn source(&self, watch: Option<Watch>) -> Handled<Watched> {
        let Admitted { agent_id: agent, message_id: message, duplicate, .. } = &self.admitted;
        if let Some(watch) = watch.filter(|_| !duplicate)
            && let Some(watched) = Watched::from_admission(&self.app, watch, *message).await
        {
            return Ok(watched);
        }
        Ok(Watched::after(&self.app, agent, self.before().await?))
    }

    /// How the wait ended, and what the agent reports.
    async fn outcome(&self, source: Watched) -> Result<(End, Option<String>), ClientError> {
        let Admitted { agent_id: agent, message_id: message, .. } = &self.admitted;
        let mut answer = Answer::to(*message);
        let wait = Wait::over(&self.app, agent, source, self.app.idle_limit).for_prompt(*message, self.until);
        let end = wait.until_end(&mut |record| answer.record(record)).await?;
        Ok((end, self.text(&answer).await?))
    }

    fn not_ended(&self, after: Option<EventSeq>, problem: String) -> OrStatus<Prompted> {
        OrStatus::Other(self.waits_on(after, problem))
    }

    fn waits_on(&self, after: Option<EventSeq>, problem: String) -> Prompted {
        let Admitted { agent_id: agent, message_id: message, .. } = &self.admitted;
        let hint = if self.has_key {
            "send the same request again, with the same Idempotency-Key, to wait on".to_owned()
        } else {
            format!("GET /agents/{agent}/messages/{message}?wait=turn waits on")
        };
        Prompted {
            ended: Some(false),
            after_seq: after,
            problem: Some(problem),
            hint: Some(hint),
            ..prompted(&self.admitted)
        }
    }
}

fn prompted(admitted: &Admitted) -> Prompted {
    let Admitted { ok, agent_id, message_id, duplicate } = admitted.clone();
    let (ended, after_seq, outcome, problem, hint) = (None, None, None, None, None);
    Prompted { ok, agent_id, message_id, duplicate, ended, after_seq, outcome, problem, hint }
}
