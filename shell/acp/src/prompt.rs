//! One prompt: admitted once, waited for, answered once, whatever becomes of the runtime meanwhile.

use std::time::Duration;

use holon_api::{Abort, ClientError, Control, Prompt, PromptImage, PromptOutcome, PromptQuery, WaitUntil};
use holon_core::view::RunVerdict;
use holon_facts::provenance::Priority;
use holon_facts::{AgentId, EventSeq, MessageId};
use holon_platform::entropy;
use holon_rpc::{Error, Peer};
use serde_json::{Value, json};
use tokio::time::Instant;
use url::Url;

use crate::server::{AWAY, Connection, PAUSE, failed, invalid};
pub(crate) use crate::session::Pending;
use crate::update::{chunk, notify};

/// Longest text of an embedded resource, in bytes.
const EMBEDDED_BYTES: usize = 256 << 10;
/// A turn is waited for in parts of this length.
const PART_MS: u32 = 600_000;
/// What was shown may be so far behind the end of a turn.
const CATCH_UP: Duration = Duration::from_secs(10);
/// A run that is to be aborted, and that waits behind another one, is looked for so often.
const LOOK: Duration = Duration::from_millis(50);

/// Answers a prompt at the end of its turn.
pub(crate) async fn answer<C: Control + Clone + Send + Sync + 'static>(
    connection: &Connection<C>,
    (params, peer): (&Value, &Peer),
    mut pending: Pending,
) -> Result<Value, Error> {
    let told = ended(connection, (params, peer), &mut pending).await;
    connection.sessions.answered(&pending.agent, &pending.request);
    told
}

async fn ended<C: Control + Clone + Send + Sync + 'static>(
    connection: &Connection<C>,
    (params, peer): (&Value, &Peer),
    pending: &mut Pending,
) -> Result<Value, Error> {
    let message = admitted(connection, params, pending).await?;
    let (runtime, agent) = (&connection.runtime, pending.agent.clone());
    let mut cancelled = pending.cancelled.clone();
    let cancel = async {
        // Without a session nobody can cancel it any more.
        if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
        abort(runtime, &agent, message).await;
        std::future::pending::<()>().await;
    };
    let outcome = tokio::select! {
        outcome = outcome(runtime, &agent, message) => outcome.map_err(|error| failed(&error, "sessionId"))?,
        () = cancel => return Err(Error::failed("the wait for the prompt ended")),
    };
    // Everything that happened is shown before the response.
    let last = patiently(Instant::now(), || runtime.status(&agent))
        .await
        .map_err(|error| failed(&error, "sessionId"))?;
    shown(pending, last.summary.event_seq).await;
    let (outcome, waits) = outcome;
    if let Some(because) = &waits {
        let text = format!("The prompt waits: {because}.");
        let gone = || Error::failed("the editor has closed the connection");
        notify(peer, &agent, &chunk("agent_message_chunk", &text)).await.ok_or_else(gone)?;
    }
    stopped(pending, message, outcome.verdict, waits)
}

/// Hands a prompt to the runtime, after those of the session that came before it.
async fn admitted<C: Control>(
    connection: &Connection<C>,
    params: &Value,
    pending: &mut Pending,
) -> Result<MessageId, Error> {
    let since = Instant::now();
    // The next one has its turn when this one is admitted, or has failed.
    let mut turn = pending.turn.take();
    if let Some(turn) = &mut turn {
        turn.comes().await;
    }
    // Not the id of the request: an editor may use it again, and it may be any text.
    let one = entropy::name().map_err(|error| Error::failed(error.to_string()))?;
    let key = format!("acp-{}-{one}", connection.name);
    let interjects = params["_meta"]["holon"]["delivery"] == "interject";
    let (text, images) = contents(&params["prompt"])?;
    let prompt = Prompt {
        text,
        images,
        skills: Vec::new(),
        priority: interjects.then_some(Priority::Interject),
        actor_id: Some("acp".to_owned()),
        correlation_id: Some(key.clone()),
        causation_id: None,
    };
    let (runtime, agent) = (&connection.runtime, &pending.agent);
    let sent = || runtime.prompt(agent, PromptQuery::default(), prompt.clone(), Some(key.clone()));
    let refused = |error: ClientError| {
        let field = if error.code() == Some("invalid_body") { "prompt" } else { "sessionId" };
        failed(&error, field)
    };
    Ok(patiently(since, sent).await.map_err(refused)?.message_id)
}

/// Waits until an event was shown: not for ever, and not where nothing is shown any more.
async fn shown(pending: &mut Pending, last: EventSeq) {
    let caught_up = pending.shown.wait_for(|seen| *seen >= last);
    drop(tokio::time::timeout(CATCH_UP, caught_up).await);
}

/// Asks again while the runtime is away, at least once.
async fn patiently<T, F>(since: Instant, ask: impl Fn() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    loop {
        match ask().await {
            Err(error) if error.may_pass() && since.elapsed() < AWAY => tokio::time::sleep(PAUSE).await,
            told => return told,
        }
    }
}

/// What came of a prompt; with the reason if it waits and has not had its turn.
async fn outcome(
    runtime: &impl Control,
    agent: &AgentId,
    message: MessageId,
) -> Result<(PromptOutcome, Option<String>), ClientError> {
    let query = PromptQuery { wait: Some(WaitUntil::Turn), timeout_ms: Some(PART_MS) };
    loop {
        let told = patiently(Instant::now(), || runtime.message((agent, message), query.clone())).await?;
        let told = told.into_reply();
        if let Some(outcome) = told.outcome {
            let waits = told.problem.filter(|_| told.ended == Some(false));
            return Ok((outcome, waits));
        }
    }
}

/// Ends the run of a message, also one that has not begun yet.
async fn abort(runtime: &impl Control, agent: &AgentId, message: MessageId) {
    loop {
        let run = runtime.why(agent).await.ok().and_then(|why| why.explanation.run.clone());
        if let Some(run) = run.filter(|run| run.message_id == message) {
            let abort = Abort { run_id: Some(run.run_id), stop_after_abort: false };
            // One that has ended by itself is fine, too.
            drop(runtime.abort(agent, abort).await);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Why the turn stopped, in the words of the protocol.
fn stopped(
    pending: &Pending,
    message: MessageId,
    verdict: RunVerdict,
    waits: Option<String>,
) -> Result<Value, Error> {
    let reason = match verdict {
        RunVerdict::Completed
        | RunVerdict::WaitingForOperator
        | RunVerdict::WaitingForExternal
        | RunVerdict::WaitingForTimer => "end_turn",
        RunVerdict::BudgetExhausted | RunVerdict::MaxTurnsExceeded => "max_turn_requests",
        RunVerdict::Aborted | RunVerdict::Stopped | RunVerdict::Interrupted => "cancelled",
        RunVerdict::Failed => {
            let failure = pending.failures.of(message);
            match failure.as_ref().map(|failure| failure.kind.as_str()) {
                Some("refusal" | "content_filter") => "refusal",
                Some("output_limit") => "max_tokens",
                kind => {
                    let text = failure.as_ref().map_or("the turn failed", |failure| failure.text.as_str());
                    return Err(Error::failed(text).with(json!({ "kind": kind })));
                }
            }
        }
    };
    let mut about = json!({ "verdict": verdict, "message_id": message });
    if let Some(waits) = waits {
        about["waits"] = waits.into();
    }
    Ok(json!({ "stopReason": reason, "_meta": { "holon": about } }))
}

/// The text of a prompt: its texts, what was embedded, and the names of what was linked; beside it its images.
fn contents(blocks: &Value) -> Result<(String, Vec<PromptImage>), Error> {
    let blocks = blocks.as_array().ok_or_else(|| invalid("prompt", "expected a list of blocks"))?;
    let (mut text, mut images) = (String::new(), Vec::new());
    for (at, block) in blocks.iter().enumerate() {
        let field = format!("prompt[{at}]");
        let part = match block["type"].as_str() {
            Some("text") => block["text"].as_str().map(ToOwned::to_owned),
            Some("resource_link") => block["uri"].as_str().map(|uri| format!("[{}]", named(uri))),
            Some("resource") => {
                let (uri, embedded) = (&block["resource"]["uri"], block["resource"]["text"].as_str());
                let uri = named(uri.as_str().unwrap_or_default());
                if embedded.is_some_and(|embedded| embedded.len() > EMBEDDED_BYTES) {
                    return Err(invalid(&field, &format!("a resource has at most {EMBEDDED_BYTES} bytes")));
                }
                embedded.map(|embedded| format!("[{uri}]\n{embedded}\n"))
            }
            Some("image") => block["data"].as_str().map(|data| {
                let name =
                    block["uri"].as_str().map(named).and_then(|uri| Some(uri.rsplit('/').next()?.to_owned()));
                let name = name.unwrap_or_else(|| format!("image {}", images.len() + 1));
                let shown = format!("[{name}]");
                images.push(PromptImage { data: data.to_owned(), name: Some(name) });
                shown
            }),
            Some("audio") => return Err(invalid(&field, "blocks of the type audio are not taken")),
            Some(_) | None => None,
        };
        let part =
            part.ok_or_else(|| invalid(&field, "expected a text, an image, a resource or a link to one"))?;
        if !text.is_empty() && !text.ends_with(char::is_whitespace) {
            text.push(' ');
        }
        text.push_str(&part);
    }
    if text.trim().is_empty() { Err(invalid("prompt", "it is empty")) } else { Ok((text, images)) }
}

/// What an address names: of a file its path as it is on the disk, with the lines that are meant as `:10-20`.
fn named(uri: &str) -> String {
    let plain = uri.strip_prefix("file://").unwrap_or(uri);
    let Some(url) = Url::parse(uri).ok().filter(|url| url.scheme() == "file") else {
        return plain.to_owned();
    };
    let path = url.to_file_path().ok().and_then(|path| path.into_os_string().into_string().ok());
    match path.filter(|path| !path.contains(char::is_control)) {
        Some(path) => path + &url.fragment().map(lines).unwrap_or_default(),
        None => plain.to_owned(),
    }
}

/// Lines as the fragment of an address names them: `L10`, `L10:20` or `L10-L20`.
fn lines(fragment: &str) -> String {
    let number = |text: &str| text.trim_start_matches('L').parse::<u32>().ok();
    let (first, last) = fragment.split_once([':', '-']).unwrap_or((fragment, ""));
    match (number(first).filter(|_| first.starts_with('L')), number(last)) {
        (Some(first), Some(last)) => format!(":{first}-{last}"),
        (Some(first), None) if last.is_empty() => format!(":{first}"),
        (_, _) => format!("#{fragment}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_its_texts_and_what_they_are_about() {
        let blocks = json!([
            { "type": "text", "text": "Look at" },
            { "type": "resource_link", "uri": "file:///work/a.rs", "name": "a.rs" },
            { "type": "text", "text": "and at" },
            { "type": "resource", "resource": { "uri": "file:///work/b.rs", "text": "fn b() {}" } },
        ]);
        let (text, images) = contents(&blocks).unwrap();
        assert_eq!(text, "Look at [/work/a.rs] and at [/work/b.rs]\nfn b() {}\n");
        assert!(images.is_empty());
        let (text, images) = contents(&json!([
            { "type": "image", "data": "AAEC", "mimeType": "image/png", "uri": "file:///work/a.png" },
            { "type": "image", "data": "AAED", "mimeType": "image/png" },
        ]))
        .unwrap();
        assert_eq!((text.as_str(), images[0].data.as_str()), ("[a.png] [image 2]", "AAEC"));
        for (uri, name) in [
            ("file:///work/My%20Dir/%C3%A4.rs#L10:20", "/work/My Dir/ä.rs:10-20"),
            ("file:///work/a.rs#L10-L20", "/work/a.rs:10-20"),
            ("file:///work/a.rs?symbol=b#L10", "/work/a.rs:10"),
            ("file:///work/a.rs#top", "/work/a.rs#top"),
            ("file:///work/a%0A.rs", "/work/a%0A.rs"),
            ("/work/a%20b.rs", "/work/a%20b.rs"),
            ("https://example.com/a%20b", "https://example.com/a%20b"),
        ] {
            assert_eq!(named(uri), name);
        }
        for (blocks, says) in [
            (json!("go"), "prompt: expected a list"),
            (json!([]), "prompt: it is empty"),
            (json!([{ "type": "audio", "data": "" }]), "prompt[0]: blocks of the type audio"),
            (json!([{ "type": "image" }]), "prompt[0]: expected"),
            (json!([{ "type": "text" }]), "prompt[0]: expected"),
        ] {
            let error = contents(&blocks).unwrap_err();
            assert!(error.code == -32_602 && error.message.contains(says), "{blocks}: {error}");
        }
    }
}
