//! What overlays list, as their entries.

mod children;
mod places;

use holon_api::{
    ClientError, Control as Runtime, DebugPrompt, EventsQuery, InboxQuery, ListQuery, Order, PageQuery,
    TasksQuery, WorkItemsQuery,
};
use holon_facts::AgentId;
use holon_text::moment;

use crate::command::{COMMANDS, Command};
use crate::entry::{Entry, Target};
use crate::overlay::Kind;
use crate::perform::{WHOLE, parts};
use crate::row::Part;

/// Agents of one page of the list.
const AGENTS: u32 = 1_000;
/// Events that are shown as they are recorded.
const EVENTS: u32 = 256;
/// Entries of the transcript.
const ENTRIES: u32 = 100;

const KEYS: [&str; 9] = [
    "Enter               send; with an empty line, choose what is selected",
    "Alt-Enter, Ctrl-J   break the line",
    "Up, Down            earlier prompts, or another line; Up first takes back what can't be sent",
    "PgUp, PgDn, End     older rows, newer rows, the newest row",
    "Tab                 complete a command",
    "Esc                 close what is on top; nothing is aborted",
    "Ctrl-C              clear the composer; twice leaves, and agents go on",
    "F1 help · F2 agents · F3 tasks · F4 work · F5 transcript · F6 events · F7 why · F8 needs you",
    "Ctrl-P, F9          actions",
];

pub(crate) async fn entries(
    client: &impl Runtime,
    agent: &AgentId,
    kind: &Kind,
) -> Result<Vec<Entry>, ClientError> {
    match kind {
        Kind::Agents => agents(client).await,
        Kind::Inbox => inbox(client).await,
        Kind::Why => why(client, agent).await,
        Kind::Tasks => tasks(client, agent).await,
        // What a task writes is followed.
        Kind::Output(_) => Ok(Vec::new()),
        Kind::Work => work(client, agent).await,
        Kind::Children => children::tree(client, agent).await,
        Kind::Timers => places::timers(client, agent).await,
        Kind::Triggers => places::triggers(client, agent).await,
        Kind::Workspaces => places::workspaces(client, agent).await,
        Kind::Transcript => transcript(client, agent).await,
        Kind::Events => events(client, agent).await,
        Kind::Prompt(text) => prompt(client, agent, text.clone()).await,
        Kind::Models => models(client).await,
        Kind::Actions => Ok(actions()),
        Kind::Help => {
            Ok(KEYS.into_iter().map(Entry::line).chain([Entry::line("")]).chain(actions()).collect())
        }
    }
}

fn lines(text: &str) -> Vec<Entry> {
    text.lines().map(Entry::line).collect()
}

/// A part of a row as it was written.
fn raw(part: &Part) -> Vec<Entry> {
    match part {
        Part::Plain(text) | Part::Markdown(text) | Part::Detail((_, text)) => lines(text),
    }
}

fn actions() -> Vec<Entry> {
    COMMANDS.iter().map(Command::entry).collect()
}

async fn agents(client: &impl Runtime) -> Result<Vec<Entry>, ClientError> {
    let query = ListQuery { limit: Some(AGENTS), ..ListQuery::default() };
    let page = client.agents(query).await?.into_reply();
    let mut entries: Vec<Entry> = page
        .agents
        .iter()
        .map(|listed| {
            let id = listed.agent_id();
            let Some(standing) = listed.standing() else {
                return Entry::of(id.to_string(), Target::Agent(id.clone()));
            };
            let needs = if standing.asks.is_empty() { "" } else { " · needs you" };
            let waits = standing.waiting_for.as_deref().map_or_else(String::new, |what| format!(" · {what}"));
            let posture = standing.posture.shown(standing.label.archived).replace('_', " ");
            let since = moment::relative(standing.since);
            Entry::of(format!("{id} · {posture} {since}{needs}{waits}"), Target::Agent(id.clone()))
        })
        .collect();
    if page.more {
        entries.push(Entry::line(format!("the first {AGENTS} are listed; /agent NAME switches to any")));
    }
    Ok(entries)
}

async fn inbox(client: &impl Runtime) -> Result<Vec<Entry>, ClientError> {
    let page = client.inbox(InboxQuery { after: None, limit: Some(500) }).await?.into_reply();
    let mut asks = page.asks;
    asks.sort_by_key(|ask| ask.created_at);
    let entry = |ask: holon_api::OpenAsk| {
        let head = format!("{}/{} {}", ask.agent_id, ask.brief_id, moment::relative(ask.created_at));
        Entry::of(format!("{head}\n{}\n", ask.text.trim()), Target::Ask(ask.agent_id, ask.brief_id))
    };
    Ok(asks.into_iter().map(entry).collect())
}

async fn why(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let why = client.why(agent).await?.into_reply();
    let told = &why.explanation;
    let mut entries = vec![
        Entry::line(format!("{} since {}", told.scheduling_posture.shown(false), moment::exact(told.since))),
        Entry::line(format!(
            "the scheduler would decide {}: {} (row {})",
            told.decision.kind, told.decision.reason, told.decision.row
        )),
    ];
    entries.extend(told.waits.iter().map(|wait| {
        let recheck = wait.recheck_at.map(|at| format!(", looked at again {}", moment::exact(at)));
        Entry::line(format!(
            "waits for {}: {}{}",
            wait.wait.kind,
            wait.wait.waiting_for,
            recheck.unwrap_or_default()
        ))
    }));
    entries.extend(
        told.hold.iter().map(|hold| Entry::line(format!("on hold since {}", moment::exact(hold.since)))),
    );
    let trouble = why.hold_error.iter().chain(&why.failure);
    entries.extend(trouble.map(|trouble| Entry::line(format!("{}: {}", trouble.kind, trouble.text))));
    entries.extend(
        why.active_tasks
            .iter()
            .map(|task| Entry::line(format!("{} {}: {}", task.task_id, task.status, task.summary))),
    );
    entries.extend(
        told.deadlines.iter().map(|due| Entry::line(format!("{} at {}", due.reason, moment::exact(due.at)))),
    );
    let sources: Vec<String> = told.woken_by.iter().map(ToString::to_string).collect();
    entries.push(Entry::line(format!("would change with: {}", sources.join(", "))));
    Ok(entries)
}

async fn tasks(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let page = client.tasks(agent, TasksQuery::default()).await?.into_reply();
    let entry = |task: &holon_api::TaskLine| {
        let line = format!(
            "{} {} {} · {}",
            task.task_id,
            task.status,
            moment::relative(task.created_at),
            task.summary
        );
        Entry::of(line, Target::Task { task: task.task_id, runs: !task.status.is_terminal() })
    };
    Ok(page.tasks.iter().map(entry).collect())
}

async fn work(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let page = client.work_items(agent, WorkItemsQuery::default()).await?.into_reply();
    let entry = |item: &holon_api::WorkItemSnapshot| {
        let focus = if item.in_focus { " (in focus)" } else { "" };
        let mut text = format!("{} {}{focus} · {}", item.work_item_id, item.scheduling_state, item.objective);
        for todo in item.todo_list.iter().flatten() {
            text.push_str(&format!("\n  {}: {}", todo.state, todo.text));
        }
        if let Some(wait) = &item.wait {
            text.push_str(&format!("\n  waits for {}", wait.waiting_for));
        }
        Entry::line(text)
    };
    Ok(page.work_items.iter().map(entry).collect())
}

async fn transcript(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let query = PageQuery { limit: Some(ENTRIES), ..PageQuery::default() };
    let page = client.transcript(agent, query).await?.into_reply();
    let of = |entry: &holon_api::TranscriptEntry| {
        let head = Entry::line(format!("── {} · event {}", moment::exact(entry.at), entry.event_seq));
        std::iter::once(head).chain(parts(entry, WHOLE).iter().flat_map(raw)).collect::<Vec<_>>()
    };
    Ok(page.entries.iter().flat_map(of).collect())
}

async fn events(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let query = EventsQuery { limit: Some(EVENTS), order: Some(Order::Desc), ..EventsQuery::default() };
    let events = client.events(agent, query).await?.into_reply().events;
    let entry = |event: &holon_api::Document<holon_api::Envelope>| {
        let payload = serde_json::to_string(&event.payload).unwrap_or_else(|error| error.to_string());
        Entry::line(format!("{} {} {} {payload}", event.event_seq, moment::exact(event.ts), event.kind))
    };
    Ok(events.iter().rev().map(entry).collect())
}

async fn prompt(
    client: &impl Runtime,
    agent: &AgentId,
    text: Option<String>,
) -> Result<Vec<Entry>, ClientError> {
    let reply =
        client.debug_prompt(agent, DebugPrompt { text, ..DebugPrompt::default() }).await?.into_reply();
    let head = format!("about {} tokens, {} tools", reply.est_tokens, reply.tools.len());
    let of = |section: &holon_api::PromptSection| {
        let head = Entry::line(format!("── {}", section.label));
        std::iter::once(head).chain(lines(&section.text)).collect::<Vec<_>>()
    };
    Ok(std::iter::once(Entry::line(head)).chain(reply.sections.iter().flat_map(of)).collect())
}

async fn models(client: &impl Runtime) -> Result<Vec<Entry>, ClientError> {
    let models = client.models().await?.into_reply();
    let entry = |(name, state): (String, holon_api::Availability)| {
        let problem = state.problem.map_or_else(String::new, |problem| format!(": {problem}"));
        let standing = if state.available { "available" } else { "not available" };
        Entry::of(format!("{name} · {standing}{problem}"), Target::Model(name))
    };
    let own = Entry::of("default · the runtime's own model", Target::Model("default".to_owned()));
    Ok(std::iter::once(own).chain(models.model_availability.into_iter().map(entry)).collect())
}
