//! Requests as they are made over the typed client, and their answers in the model's words.

use std::time::Duration;

use holon_api::{
    Abort, Action, AgentStatus, AttachWorkspace, Block, ClientError, Control as Runtime, ControlAgent,
    ControlReply, CreateTimer, DetachWorkspace, EventsQuery, ForkAgent, Item, Order, PageQuery,
    Prompt as Body, PromptQuery, RunTask, SetModel, StopTask, TranscriptEntry, UseWorkspace, WriteTask,
};
use holon_facts::provenance::MessageKind;
use holon_facts::{AgentId, EventSeq, Millis};
use holon_present::{DetailLine, Extent, call_lines, error_line, message_lines, result_lines};
use holon_text::moment;
use tokio::time::sleep;

use crate::message::{Answer, Control, Loaded, Prompt, Status};
use crate::row::{Part, Row};
use crate::text::{clean, clean_whole};

/// Events of one page.
const PAGE: u32 = 256;
/// Entries of one page of texts.
const ENTRIES: u32 = 500;
/// Before a prompt that could not be taken is sent again, and how often that is doubled.
const DEFERRED: Duration = Duration::from_secs(1);
const DOUBLED: u32 = 2;
/// Among other rows.
const ROW: Amount = Amount { extent: Extent { patch: 60, output: 10 }, clean };
/// In the transcript.
pub(crate) const WHOLE: Amount =
    Amount { extent: Extent { patch: 2_000, output: 2_000 }, clean: clean_whole };

/// How much of an entry is shown.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    /// Of a patch and of an output, in lines.
    extent: Extent,
    /// Makes each text fit to be shown, and bounds it.
    clean: fn(&str) -> String,
}

pub(crate) async fn load(client: &impl Runtime, agent: AgentId) -> Answer {
    match loaded(client, &agent).await {
        Ok(loaded) => Answer::Loaded(agent, loaded),
        Err(error) => Answer::LoadFailed { agent, again: error.may_pass(), problem: error.to_string() },
    }
}

async fn loaded(client: &impl Runtime, agent: &AgentId) -> Result<Loaded, ClientError> {
    let status = client.status(agent).await?;
    let (rows, last, more) = page(client, agent, None).await?;
    Ok(Loaded { status: standing(&status), rows, last, more })
}

/// The newest events before one, the oldest of them first.
async fn page(
    client: &impl Runtime,
    agent: &AgentId,
    before_seq: Option<EventSeq>,
) -> Result<(Vec<Row>, EventSeq, bool), ClientError> {
    let (limit, order) = (Some(PAGE), Some(Order::Desc));
    let query = EventsQuery { present: false, before_seq, limit, order, after_seq: None };
    let page = client.events(agent, query).await?.into_reply();
    // Where the page begins, whatever was written since.
    let last = page.events.first().map_or(EventSeq(0), |event| event.event_seq);
    Ok((page.events.iter().rev().map(|event| Row::of(event)).collect(), last, page.more))
}

pub(crate) async fn older(client: &impl Runtime, agent: AgentId, before: EventSeq) -> Answer {
    match page(client, &agent, Some(before)).await {
        Ok((rows, _, more)) => Answer::Older { agent, before, rows, more },
        Err(error) => Answer::OlderFailed(agent, error.to_string()),
    }
}

/// The whole texts of a span of events. What can't be read keeps what its event shows.
pub(crate) async fn texts(client: &impl Runtime, agent: AgentId, first: EventSeq, last: EventSeq) -> Answer {
    let (mut texts, mut after) = (Vec::new(), EventSeq(first.0.saturating_sub(1)));
    let query = |after| PageQuery { before: None, after: Some(after), limit: Some(ENTRIES) };
    while after < last {
        let Ok(page) = client.transcript(&agent, query(after)).await else { break };
        let page = page.into_reply();
        let within = page.entries.iter().filter(|entry| entry.event_seq <= last);
        let shown = within.map(|entry| (entry.event_seq, parts(entry, ROW)));
        texts.extend(shown.filter(|(_, parts)| !parts.is_empty()));
        let Some(next) = page.next.filter(|next| page.more && *next > after) else { break };
        after = next;
    }
    if let Ok(page) = client.briefs(&agent, query(EventSeq(first.0.saturating_sub(1)))).await {
        let briefs = page.into_reply().briefs.into_iter().filter(|brief| brief.event_seq <= last);
        texts.extend(briefs.map(|brief| (brief.event_seq, vec![Part::Markdown(clean(&brief.text))])));
    }
    Answer::Texts { agent, span: (first, last), texts }
}

/// An entry of the transcript in parts; none where it shows nothing.
pub(crate) fn parts(entry: &TranscriptEntry, amount: Amount) -> Vec<Part> {
    let Amount { extent, clean } = amount;
    let detail = |(look, line): DetailLine| Part::Detail((look, clean(&line)));
    match &entry.item {
        Item::IncomingMessage { message_kind: MessageKind::TaskResult, text, .. } => {
            message_lines(MessageKind::TaskResult, text, extent).into_iter().map(detail).collect()
        }
        Item::IncomingMessage { text, .. } | Item::RuntimeFailure { text, .. } => {
            Some(clean(text.trim_end()))
                .filter(|text| !text.is_empty())
                .map(Part::Plain)
                .into_iter()
                .collect()
        }
        Item::AssistantRound { blocks, .. } => blocks.iter().flat_map(|part| block(part, amount)).collect(),
        Item::ToolResults { error: Some(error), .. } => {
            vec![detail(error_line(&error.kind.to_string(), error.message.preview()))]
        }
        Item::ToolResults { text, changed_files, error: None, .. } => {
            let text = text.as_deref().unwrap_or_default();
            result_lines(text, changed_files, extent).into_iter().map(detail).collect()
        }
        Item::ContinuationPrompt { .. } => Vec::new(),
    }
}

fn block(block: &Block, Amount { extent, clean }: Amount) -> Vec<Part> {
    match block {
        Block::Text { text } if text.trim().is_empty() => Vec::new(),
        Block::Text { text } => vec![Part::Markdown(clean(text.trim()))],
        Block::ToolCall { tool_name, arguments, .. } => {
            let lines = call_lines(tool_name, arguments, extent).into_iter();
            lines.map(|(look, line)| Part::Detail((look, clean(&line)))).collect()
        }
    }
}

pub(crate) async fn status(client: &impl Runtime, agent: AgentId) -> Answer {
    let status = client.status(&agent).await.ok().map(|status| standing(&status));
    Answer::Status(agent, status)
}

fn standing(status: &AgentStatus) -> Status {
    let summary = &status.summary;
    let today = summary.spending.today;
    let cost = Some(today.cost_micros).filter(|cost| cost.0 > 0);
    let cost = cost.map_or_else(String::new, |cost| format!(" {cost}"));
    let run = summary.run.as_ref().map(|run| match &run.call {
        Some(call) => (holon_present::call(&call.tool_name, &call.arguments), call.since),
        None => ("thinking".to_owned(), run.since),
    });
    Status {
        posture: summary.scheduling_posture.shown(summary.label.archived).to_owned(),
        waits_for: summary.waits.first().map(|wait| holon_present::one_line(&wait.wait.waiting_for)),
        model: summary.model.effective_model.as_ref().map(ToString::to_string),
        today: format!("{} tokens{cost} today", today.tokens),
        folder: status.summary.workspace.execution_root_id.clone(),
        run,
    }
}

pub(crate) async fn send(client: &impl Runtime, prompt: Prompt) -> Answer {
    let Prompt { key, agent, text, answers, deferred, .. } = prompt;
    if let Some(doubled) = deferred.checked_sub(1) {
        sleep(DEFERRED * 2_u32.pow(doubled.min(DOUBLED))).await;
    }
    let causation_id = answers.map(|brief| brief.to_string());
    let (images, skills) = (Vec::new(), Vec::new());
    let body =
        Body { text, images, skills, priority: None, actor_id: None, correlation_id: None, causation_id };
    match client.prompt(&agent, PromptQuery::default(), body, Some(key.clone())).await {
        Ok(_) => Answer::Sent(key),
        Err(error) => Answer::NotSent { key, again: error.may_pass(), problem: error.to_string() },
    }
}

pub(crate) async fn control(client: &impl Runtime, agent: AgentId, control: Control) -> Answer {
    if let Control::Fork(name) = control {
        let body = ForkAgent { agent_id: name, event_seq: None, model: None, answer: None, files: false };
        return match client.fork(&agent, body).await {
            Ok(forked) => Answer::Forked(forked.into_reply().agent_id),
            Err(error) => Answer::Done(Err(worded(&error))),
        };
    }
    if let Control::RunTask(cmd) = control {
        let body = RunTask { cmd, accepts_input: Some(true), ..RunTask::default() };
        return match client.run_task(&agent, body, None).await {
            Ok(begun) => Answer::Began(agent, begun.task.task_id),
            Err(error) => Answer::Done(Err(worded(&error))),
        };
    }
    Answer::Done(controlled(client, &agent, control).await.map_err(|error| worded(&error)))
}

pub(crate) fn worded(error: &ClientError) -> String {
    let hint = error.hint().map_or_else(String::new, |hint| format!("; next: {hint}"));
    format!("{error}{hint}")
}

async fn controlled(client: &impl Runtime, agent: &AgentId, control: Control) -> Result<String, ClientError> {
    Ok(match control {
        Control::Start => acted(client, agent, "start", Action::Start).await?,
        Control::Stop => acted(client, agent, "stop", Action::Stop).await?,
        Control::Abort => outcome("abort", &client.abort(agent, Abort::default()).await?.into_reply()),
        Control::Compact => {
            client.compact(agent).await?;
            "the open episode is closed".to_owned()
        }
        Control::Model(Some(name)) => {
            let Ok(model) = name.parse() else { return Ok(format!("{name} is no model")) };
            client.set_model(agent, SetModel { model }).await?;
            format!("the model is {name} from the next turn on")
        }
        Control::Model(None) => {
            client.clear_model(agent).await?;
            "the model is the runtime's own from the next turn on".to_owned()
        }
        Control::Fork(name) => format!("{name} is made by another request"),
        Control::Attach(path) => {
            client.attach_workspace(agent, AttachWorkspace { path: path.clone() }).await?;
            format!("attached {path}")
        }
        Control::Use(path) => {
            let body = UseWorkspace { path: Some(path.clone()), workspace_id: None, cwd: None };
            used(client, agent, body, &path).await?
        }
        Control::Exit => {
            client.exit_workspace(agent).await?;
            "works in its own home from the next turn on".to_owned()
        }
        Control::UseKnown(id) => {
            let name = id.to_string();
            used(client, agent, UseWorkspace { path: None, workspace_id: Some(id), cwd: None }, &name).await?
        }
        Control::Detach(workspace_id) => {
            client.detach_workspace(agent, DetachWorkspace { workspace_id: workspace_id.clone() }).await?;
            format!("{workspace_id} is attached no longer; its files stay")
        }
        Control::Prune => {
            client.prune_worktrees(agent).await?;
            "worktrees that nobody uses and that have no changes are being removed".to_owned()
        }
        Control::RunTask(cmd) => format!("{cmd} is run by another request"),
        Control::StopTask { task, force } => {
            let stopped = client.stop_task((agent, task), StopTask { force }).await?.into_reply();
            let already = if stopped.changed { "" } else { " already" };
            format!("{task} is {}{already}", stopped.task.status)
        }
        Control::AddTimer(after, text) => timed(client, agent, after, text).await?,
        Control::CancelTimer(timer) => {
            format!("{timer} is {}", client.cancel_timer((agent, timer)).await?.timer.status)
        }
        Control::RotateTrigger => {
            client.rotate_trigger(agent).await?;
            "the trigger has a new address; the one before wakes nobody".to_owned()
        }
        Control::RevokeTrigger => {
            client.revoke_trigger(agent).await?;
            "the trigger has no address until it is rotated".to_owned()
        }
        Control::WriteTask(task, input) => {
            client.write_task((agent, task), WriteTask { input }).await?.into_reply().result.summary_text
        }
        Control::CloseAsk(brief) => {
            client.close_ask((agent, brief)).await?;
            format!("{brief} is closed without an answer")
        }
    })
}

async fn acted(
    client: &impl Runtime,
    agent: &AgentId,
    asked: &str,
    action: Action,
) -> Result<String, ClientError> {
    let reply = client.control(agent, ControlAgent { action }).await?;
    Ok(outcome(asked, &reply))
}

async fn used(
    client: &impl Runtime,
    agent: &AgentId,
    body: UseWorkspace,
    name: &str,
) -> Result<String, ClientError> {
    client.use_workspace(agent, body).await?;
    Ok(format!("works in {name} from the next turn on"))
}

async fn timed(
    client: &impl Runtime,
    agent: &AgentId,
    after: Millis,
    text: String,
) -> Result<String, ClientError> {
    let summary = Some(text).filter(|text| !text.is_empty());
    let body = CreateTimer { duration_ms: after.0, interval_ms: None, misfire: None, summary };
    let timer = client.create_timer(agent, body, None).await?.into_reply().timer;
    let due = timer.next_fire_at.map(moment::near).unwrap_or_default();
    Ok(format!("{} fires at {due}", timer.timer_id))
}

/// What a request about the agent did.
fn outcome(asked: &str, reply: &ControlReply) -> String {
    let ControlReply { agent_id, outcome, .. } = reply;
    let change = if outcome.changed { "is" } else { "was already" };
    let run = outcome.aborted_run_id.map_or_else(String::new, |run| format!("; {run} is aborted"));
    format!("{asked}: {agent_id} {change} {}{run}", outcome.next)
}
