//! `holon prompt`: a message for an agent of the runtime, and with `--wait` what came of it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use holon_api::{
    Client, Control, Document, Prompt, PromptImage, PromptOutcome, PromptQuery, Prompted, WaitUntil,
};
use holon_core::view::RunVerdict;
use holon_facts::content::clip;
use holon_facts::ids::BriefId;
use holon_facts::image::NAME_BYTES;
use holon_facts::provenance::Priority;
use holon_facts::{AgentId, EventSeq, MessageId, Record};
use holon_platform::{entropy, spawn};
use serde::Serialize;

use holon_text::moment;

use super::client_context::{Autostart, ClientContext};
use super::exit::Exit;
use super::image_args::{ImageArgs, SkillArgs};
use super::interrupts::Ending;
use super::output::{self, Failure};
use super::patience::until_answered;
use super::run::{joined, prompt_text};
use crate::activity::Activity;
use crate::images::Picture;
use crate::report::RunFold;
use crate::screen::Screen;
use crate::settings::quoted;
use crate::wait::{End, Wait, whole_text};
use holon_present as present;

/// What a client that gave a prompt waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Until {
    /// The end of the prompt's turn
    Turn,
    /// Until nothing more happens by itself: tasks, children, and what is due soon
    Settled,
}

impl From<Until> for WaitUntil {
    fn from(until: Until) -> Self {
        match until {
            Until::Turn => Self::Turn,
            Until::Settled => Self::Settled,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct PromptArgs {
    /// Send this prompt: its words are joined; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Deliver into the turn in progress at its next safe point
    #[arg(long)]
    interject: bool,
    #[command(flatten)]
    images: ImageArgs,
    #[command(flatten)]
    skills: SkillArgs,
    #[command(flatten)]
    start: Autostart,
    #[command(flatten)]
    follow_up: FollowUp,
}

/// What a command does with the message that it has sent.
#[derive(Debug, Args)]
pub(super) struct FollowUp {
    /// Wait for the end of the prompt's turn and print the agent's report; `settled` waits as `holon run` does, until
    /// no work is left
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "turn")]
    #[arg(value_name = "UNTIL")]
    wait: Option<Until>,
    /// Name this prompt: a repeat under the same name counts once [default: a new one]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Show only errors on stderr
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn prompt(home: Option<PathBuf>, args: PromptArgs) -> Result<Exit, Failure> {
    let PromptArgs { text, agent, interject, images, skills, start, follow_up } = args;
    let start = start.quietly(follow_up.is_quiet());
    let text = joined(&text)?;
    ClientContext::work_started(home, start, |cli, ending| async move {
        let prompt = ending.or(typed(text)).await?;
        let images = ending.or(async { spawn::blocking(move || images.read()).await? }).await?;
        let agent = ending.or(cli.agent(agent.as_deref())).await?;
        let skills = skills.names;
        let message = Message { agent, prompt, images, skills, interject, answers: None };
        deliver(&cli, message, follow_up, &ending).await
    })
}

impl FollowUp {
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Whether nothing but the outcome is shown.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet || self.json
    }
}

/// The text of a message: as it was given, or standard input.
pub(super) async fn typed(text: String) -> Result<String, Failure> {
    spawn::blocking(move || prompt_text(&text)).await?
}

/// What is sent to whom.
pub(super) struct Message {
    pub(super) agent: AgentId,
    pub(super) prompt: String,
    pub(super) images: Vec<Picture>,
    pub(super) skills: Vec<String>,
    pub(super) interject: bool,
    /// The brief that asked for it.
    pub(super) answers: Option<BriefId>,
}

/// Sends a message, and shows what comes of it as far as that was asked for.
pub(super) async fn deliver(
    cli: &ClientContext,
    message: Message,
    follow_up: FollowUp,
    ending: &Ending,
) -> Result<Exit, Failure> {
    let Message { agent, prompt, images, skills, interject, answers } = message;
    let wait = follow_up.wait.map(WaitUntil::from);
    let key = follow_up.key.clone();
    let along = Sent { images: &images, skills: &skills, interject, ..Sent::of(&prompt) };
    let sent = Sent { key, wait, answers, ..along };
    let sent = ending.or(send(&cli.client, &agent, sent)).await?;
    let message = sent.message_id;
    if let Some(until) = wait {
        let before = sent.after_seq.unwrap_or(EventSeq(0));
        let asked = Asked { agent, before, message, until };
        return outcome(cli, &asked, &follow_up, ending).await;
    }
    if follow_up.json {
        output::document(&sent)?;
    } else {
        output::line(&format!("{message} for {agent}"))?;
        if !follow_up.quiet {
            output::hint("look", &format!("holon tail {agent} --follow"));
        }
    }
    Ok(Exit::Completed)
}

/// A prompt on its way.
#[derive(Clone)]
pub(super) struct Sent<'a> {
    pub(super) prompt: &'a str,
    pub(super) images: &'a [Picture],
    pub(super) skills: &'a [String],
    pub(super) interject: bool,
    /// A new one if none is given. It makes it safe to send the prompt again when the answer is missing.
    pub(super) key: Option<String>,
    /// With it the reply has the event before the prompt, also of one that was sent before.
    pub(super) wait: Option<WaitUntil>,
    /// The brief that asked for it.
    pub(super) answers: Option<BriefId>,
    /// What its sender calls it.
    pub(super) correlation_id: Option<String>,
}

impl<'a> Sent<'a> {
    /// A text alone.
    pub(super) fn of(prompt: &'a str) -> Self {
        Self {
            prompt,
            images: &[],
            skills: &[],
            interject: false,
            key: None,
            wait: None,
            answers: None,
            correlation_id: None,
        }
    }
}

pub(super) async fn send(
    client: &Client,
    agent: &AgentId,
    sent: Sent<'_>,
) -> Result<Document<Prompted>, Failure> {
    let prompt = Prompt {
        text: sent.prompt.to_owned(),
        images: sent.images.iter().map(carried).collect(),
        skills: sent.skills.to_vec(),
        priority: sent.interject.then_some(Priority::Interject),
        actor_id: None,
        correlation_id: sent.correlation_id,
        causation_id: sent.answers.map(|brief| brief.to_string()),
    };
    let key = match sent.key {
        Some(key) => key,
        None => new_key()?,
    };
    // What happens meanwhile is shown, so the wait itself is that of the events.
    let query = PromptQuery { wait: sent.wait, timeout_ms: sent.wait.map(|_| 0) };
    client.prompt(agent, query, prompt, Some(key.clone())).await.map_err(|error| {
        let again = error.code() == Some("not_stored_yet");
        let failure = Failure::from(error);
        if !again {
            return failure;
        }
        let interject = if sent.interject { " --interject" } else { "" };
        let key = quoted(&key);
        failure.hint(format!(
            "free space on that disk, or see holon daemon status; then holon prompt --agent {agent}{interject} --key {key} with the same text: it is admitted once"
        ))
    })
}

/// The same, of a runtime that may be started anew meanwhile: it takes the prompt once.
pub(super) async fn patiently(
    ending: &Ending,
    client: &Client,
    agent: &AgentId,
    sent: Sent<'_>,
) -> Result<Document<Prompted>, Failure> {
    let key = match sent.key.clone() {
        Some(key) => key,
        None => new_key()?,
    };
    let sent = Sent { key: Some(key), ..sent };
    until_answered(ending, || send(client, agent, sent.clone())).await
}

fn new_key() -> Result<String, Failure> {
    Ok(format!("cli-{}{}", entropy::name()?, entropy::name()?))
}

fn carried(picture: &Picture) -> PromptImage {
    PromptImage { data: picture.base64(), name: Some(clip(&picture.name, NAME_BYTES)) }
}

/// A prompt that was taken in, and what of it is waited for.
struct Asked {
    agent: AgentId,
    /// The last event before it.
    before: EventSeq,
    message: MessageId,
    until: WaitUntil,
}

async fn outcome(
    cli: &ClientContext,
    asked: &Asked,
    args: &FollowUp,
    ending: &Ending,
) -> Result<Exit, Failure> {
    let Asked { agent, before, message, until } = asked;
    let quiet = args.is_quiet();
    let screen = if quiet { Screen::quiet() } else { Screen::stderr(&cli.environment) };
    let mut activity = Activity::new(screen.clone(), cli.texts());
    let mut fold = RunFold::of(*message);
    let live = activity.live();
    let mut see = |record: &Record| {
        fold.record(record);
        activity.see(record);
    };
    let wait =
        Wait::new(&cli.client, agent, *before, cli.idle_limit()).for_prompt(*message, *until).with_live(live);
    let end = tokio::select! {
        biased;
        () = ending.wait() => {
            output::note(&format!("holon: {agent} continues with it"));
            let failure = Failure::new(Exit::Interrupted, anyhow::anyhow!("interrupted"));
            return Err(failure.hint(format!("holon agent abort {agent}, or holon tail {agent} --follow")));
        }
        end = wait.until_end(&mut see) => end?,
        never = screen.animate() => match never {},
    };
    activity.finish();
    let exit = Exit::from(end.verdict);
    let told = match fold.told() {
        Some(told) => Some(ending.or(async { Ok(whole_text(&cli.client, agent, told).await?) }).await?),
        None => None,
    };
    if args.json {
        let ok = exit == Exit::Completed;
        output::document(&Shown { ok, agent_id: agent, message_id: *message, outcome: end.outcome(told) })?;
        return Ok(exit);
    }
    if let Some(told) = told.filter(|told| !activity.answered(told)) {
        output::answer(&told)?;
    }
    for due in &end.due {
        output::note(&format!("holon: the next thing to do is due at {}", moment::near(due.at)));
    }
    if exit != Exit::Completed {
        explain(agent, &end, &fold);
    }
    Ok(exit)
}

/// What came of a prompt, as one document.
#[derive(Serialize)]
struct Shown<'a> {
    ok: bool,
    agent_id: &'a AgentId,
    message_id: MessageId,
    #[serde(flatten)]
    outcome: PromptOutcome,
}

/// Why it is not completed, and where to look.
fn explain(agent: &AgentId, end: &End, fold: &RunFold) {
    let asked = || fold.action_required().filter(|_| end.verdict == RunVerdict::WaitingForOperator);
    let because = fold.failed().or_else(|| Some(present::whole_line(asked()?.preview())));
    let because = because.map_or_else(String::new, |because| format!(": {because}"));
    output::prose(&format!("holon: {}{because}", end.verdict));
    if !end.tasks.is_empty() {
        let named: Vec<String> = end.tasks.iter().map(ToString::to_string).collect();
        let runs = if named.len() == 1 { "runs" } else { "run" };
        output::note(&format!("holon: the turn has ended, and {} still {runs}", named.join(", ")));
        output::hint("wait", "holon prompt --wait=settled waits for tasks and for what their results bring");
    }
    output::hint("look", &format!("holon why {agent}, holon transcript {agent}"));
}
