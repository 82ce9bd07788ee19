//! `holon run --agent` while the home has a runtime: the prompt goes there, and the report is made of the records
//! that come back. The ledger is only read here, for the texts that records name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use holon_api::{Abort, AgentWhy, Boundaries, Client, Control, CreateAgent};
use holon_core::view::RunVerdict;
use holon_facts::execution::{Enforcement, ExecutionPolicy, ExecutionProfile};
use holon_facts::terminal::TurnKind;
use holon_facts::{EventSeq, MessageId, Record};
use holon_ledger::read::text_reader;
use holon_platform::clock;
use holon_supervise::confine::{Confinement, Network, Policy, Unconfinable};
use holon_text::Texts;

use super::attached_input::{Instructed, Seen};
use super::exit::Exit;
use super::interrupts::Ending;
use super::output::Failure;
use super::prompt::{Sent, patiently, send};
use super::run_request::{RunRequest, Target, Task};
use super::setup::known_secrets;
use crate::changes::{Before, Changes};
use crate::client;
use crate::daemon::{Metadata, ProbeResult, Token, look};
use crate::driver::Observer;
use crate::home::Home;
use crate::report::{Ended, RunFold, RunReport, Verified};
use crate::run_stream::Source;
use crate::screen::Look;
use crate::settings::Settings;
use crate::wait::{End, Wait};
use crate::workplace::HeldBack;

/// The runtime that has the home, if one is ready.
pub(super) fn living(home: &Home) -> Option<Metadata> {
    match look(home) {
        Ok(ProbeResult::Ready(metadata)) => Some(*metadata),
        // Whoever wants the home is told by its lock.
        Ok(ProbeResult::Nobody | ProbeResult::Busy { .. }) | Err(_) => None,
    }
}

/// A runtime asks the models that it was started with, as long as its settings allow.
pub(super) fn check_terms(own: bool, metadata: &Metadata) -> Result<(), Failure> {
    if !own {
        return Ok(());
    }
    let error = anyhow!(
        "the runtime of the home (process {}) runs this agent: --model, --max-turns and --budget are its own settings",
        metadata.process.pid
    );
    Err(Failure::usage(error).hint("leave them out, or holon config set, then holon daemon restart"))
}

/// Gives the prompt to the runtime, and waits for the end of what comes of it.
pub(super) async fn run(
    mut request: RunRequest,
    metadata: Metadata,
    task: &Task,
    ending: Ending,
) -> Result<RunReport, Failure> {
    check_terms(request.own_terms, &metadata)?;
    let started = clock::now();
    let configured = || Settings::socket(&request.home.config(), &request.environment);
    let socket = metadata.socket_path.or_else(configured).unwrap_or_else(|| request.home.socket());
    let token = Token::find(None, &request.environment, None).map_err(Failure::usage)?;
    let client = client::at(socket, token.as_ref());
    let workspace = PathBuf::from(&request.execution.execution_root);
    let mut before = Box::pin(ending.or(ensure_agent(&request, &client))).await?;
    let before_files = Box::pin(ending.or(look_at_files(&request, &client, &workspace))).await?;
    let texts = texts_of(&request)?;
    drop(request.texts.set(texts.clone()));
    let prompted = Box::pin(begin(&request, &client, task, &ending)).await?;
    let mut fold = prompted.map_or_else(RunFold::default, RunFold::of);
    let mut observer = std::mem::replace(&mut request.observer, Box::new(|_| {}));
    let message_id = match (request.input.take(), prompted) {
        (Some(mut input), prompted) => {
            prompted.into_iter().for_each(|message| input.admitted(Source::default(), message));
            let instructed = Instructed { client: &client, agent: &request.agent, ending: &ending };
            let mut see = |seen: Seen<'_>| match seen {
                Seen::Prompted(message) => fold.prompted_again(message),
                Seen::Record(record) => {
                    fold.record(record);
                    observer(record);
                }
            };
            before = Box::pin(instructed.until_end(&mut input, before, &mut see)).await?;
            input.last(&ending)?
        }
        (None, Some(prompted)) => prompted,
        (None, None) => return Err(Failure::usage(anyhow!("there is neither a prompt nor an input"))),
    };
    let attached = Attached { request: &request, client: &client, texts: &texts, ending: &ending };
    let (end, verified) = Box::pin(attached.until_end(before, &mut fold, &mut observer)).await?;
    let End { verdict, due, why, .. } = end;
    drop(observer);
    let tools = fold.tools_started();
    let changes = match before_files {
        Ok(before) if tools => Box::pin(before.changes(&workspace)).await,
        Ok(before) => before.nothing(),
        Err(problem) => Changes::Unknown(format!("git was not started: {problem}")),
    };
    let ended = Ended {
        verdict,
        exit_code: Exit::from(verdict).code(),
        agent_id: request.agent.clone(),
        message_id,
        due,
        queued: why.explanation.queue.queued.iter().map(|(_, count)| count).sum(),
        duration_ms: clock::since(started).0,
        ledger: request.home.ledger().to_string(),
        changes,
        verified,
    };
    Ok(fold.report(ended, &texts)?)
}

/// Begins to look at the files, held back as the runtime holds back commands of the agent; git is not started where that can't
/// be done. Tools of another process can't be made to wait for the look, which takes less than a model's answer.
async fn look_at_files(
    request: &RunRequest,
    client: &Client,
    workspace: &Path,
) -> Result<Result<Before, Unconfinable>, Failure> {
    let Boundaries { profile, policy } = client.workspaces(&request.agent).await?.into_reply().boundaries;
    let policy = match profile {
        ExecutionProfile::HostLocal => None,
        ExecutionProfile::Confined => match policy_of(&policy, &request.home) {
            Ok(policy) => Some(policy),
            Err(problem) => return Ok(Err(problem)),
        },
    };
    let held_back = HeldBack { supervisor: &holon_supervise::program(), policy: policy.as_ref() };
    let (before, _gate) = Before::look(workspace, &request.environment, Some(held_back));
    Ok(Ok(before))
}

/// What commands are held back from under a policy that a runtime of the home reports.
fn policy_of(reported: &ExecutionPolicy, home: &Home) -> Result<Policy, Unconfinable> {
    let network = match reported.network {
        Enforcement::NotEnforced => Network::On,
        Enforcement::Partly => Network::Internet,
        Enforcement::Enforced => Network::Off,
    };
    let writable: Vec<PathBuf> = reported.writable.iter().map(PathBuf::from).collect();
    let (home, hidden) = (home.root(), Home::shared(home.root()));
    Ok(Confinement::new(network, &writable, None, home, hidden)?.shared())
}

/// Gives the agent what it is to do before anything comes over its input.
async fn begin(
    request: &RunRequest,
    client: &Client,
    task: &Task,
    ending: &Ending,
) -> Result<Option<MessageId>, Failure> {
    if let Task::Input = task {
        return Ok(None);
    }
    let prompt = request.conditions.instruct(task.text());
    let sent = Sent { images: &request.images, skills: &request.skills, ..Sent::of(&prompt) };
    Ok(Some(ending.or(send(client, &request.agent, sent)).await?.message_id))
}

/// A prompt that the runtime works on.
struct Attached<'a> {
    request: &'a RunRequest,
    client: &'a Client,
    texts: &'a Texts,
    ending: &'a Ending,
}

impl Attached<'_> {
    /// Waits for the end, and gives unmet conditions back to the agent.
    async fn until_end(
        &self,
        mut before: EventSeq,
        fold: &mut RunFold,
        observer: &mut Observer,
    ) -> Result<(End, Verified), Failure> {
        let Self { request, client, texts, ending } = *self;
        let mut verified = Verified::default();
        let mut left = request.conditions.tries;
        loop {
            let mut see = |record: &Record| {
                fold.record(record);
                observer(record);
            };
            let wait = Wait::new(client, &request.agent, before, request.idle_limit)
                .for_tasks(request.wait_for_tasks)
                .looking_first()
                .with_live(request.live.clone());
            let mut end = tokio::select! {
                biased;
                () = ending.wait() => return Ok((interrupted(abort(request, client).await?)?, verified)),
                end = wait.until_end(&mut see) => end?,
            };
            if end.verdict != RunVerdict::Completed {
                return Ok((end, verified));
            }
            let answer = fold.told().map(|told| texts.resolve(&told.text)).transpose()?;
            verified = tokio::select! {
                biased;
                () = ending.wait() => {
                    end.verdict = RunVerdict::Interrupted;
                    return Ok((end, Verified::default()));
                }
                verified = request.verify(answer.as_deref()) => verified?,
            };
            let Some(objection) = verified.objection() else { return Ok((end, verified)) };
            if left == 0 {
                end.verdict = RunVerdict::Failed;
                return Ok((end, verified));
            }
            left -= 1;
            before = end.why.explanation.event_seq;
            let again = patiently(ending, client, &request.agent, Sent::of(&objection)).await?;
            fold.prompted_again(again.message_id);
        }
    }
}

/// The texts that the records of the runtime name. What it knows as secrets was replaced before they were stored.
fn texts_of(request: &RunRequest) -> Result<Texts, Failure> {
    let reader = Arc::new(request.home.ledger().reader()?);
    Ok(Texts::new(known_secrets(&request.home, &request.environment), text_reader(reader)))
}

/// Makes the agent if that was asked for; gives its last event.
async fn ensure_agent(request: &RunRequest, client: &Client) -> Result<EventSeq, Failure> {
    let agent = &request.agent;
    match client.status(agent).await {
        Ok(status) => {
            request.check_folder(&status.summary.workspace.execution)?;
            Ok(status.summary.event_seq)
        }
        Err(error) if error.code() == Some("unknown_agent") && request.target == Target::Created => {
            let wanted = CreateAgent {
                workspace_root: Some(request.execution.workspace_anchor.clone()),
                cwd: Some(request.execution.cwd.clone()),
                template: request.template.as_ref().map(ToString::to_string),
                ..CreateAgent::default()
            };
            client.create_agent(agent, wanted).await?;
            Ok(client.status(agent).await?.summary.event_seq)
        }
        Err(error) if error.code() == Some("unknown_agent") => {
            let hint = format!("holon run --agent {agent} --create-agent …");
            Err(Failure::new(Exit::NotFound, error).hint(hint))
        }
        Err(error) => Err(error.into()),
    }
}

/// Ends the run in progress; what else is queued stays the runtime's business.
async fn abort(request: &RunRequest, client: &Client) -> Result<AgentWhy, Failure> {
    request.screen.line(Look::Aside, "holon: interrupted, the run ends (once more: at once)");
    let agent = &request.agent;
    match client.abort(agent, Abort::default()).await {
        Ok(_) => {}
        Err(error) if error.code() == Some("no_current_run") => {}
        Err(error) => return Err(error.into()),
    }
    Ok(client.why(agent).await?.into_reply())
}

/// The end of a run that was asked to end, whatever it was at.
fn interrupted(mut why: AgentWhy) -> Result<End, Failure> {
    let last = why.explanation.last_turn.as_ref().map(|turn| turn.kind);
    why.explanation.verdict = Some(verdict(why.explanation.verdict, last));
    Ok(End::of(why, None)?)
}

fn verdict(now: Option<RunVerdict>, last: Option<TurnKind>) -> RunVerdict {
    match now {
        Some(ended @ (RunVerdict::Aborted | RunVerdict::Stopped)) => ended,
        // The next message is at work already.
        None if last == Some(TurnKind::Aborted) => RunVerdict::Aborted,
        None
        | Some(
            RunVerdict::Completed
            | RunVerdict::WaitingForOperator
            | RunVerdict::WaitingForExternal
            | RunVerdict::WaitingForTimer
            | RunVerdict::Failed
            | RunVerdict::BudgetExhausted
            | RunVerdict::MaxTurnsExceeded
            | RunVerdict::Interrupted,
        ) => RunVerdict::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aborted_run_says_so_although_the_next_message_is_at_work() {
        assert_eq!(verdict(None, Some(TurnKind::Aborted)), RunVerdict::Aborted);
        assert_eq!(verdict(None, Some(TurnKind::Completed)), RunVerdict::Interrupted);
        assert_eq!(verdict(Some(RunVerdict::Aborted), None), RunVerdict::Aborted);
        assert_eq!(verdict(Some(RunVerdict::WaitingForTimer), None), RunVerdict::Interrupted);
    }
}
