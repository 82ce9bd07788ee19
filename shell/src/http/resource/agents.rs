//! Agents as they are: the list, the summary, the explanation, and what a projection begins with.

use holon_api::rows::{ExplainAgent, ListAgents, ShowAgent, ShowState};
use holon_api::{
    AgentListEntry, AgentState, AgentStatus, AgentWhy, Agents, Code, DamagedAgent, Document, Listed,
    PageQuery, TaskLine,
};
use holon_core::summary::children::ActiveChild;
use holon_core::summary::{AgentSummary, lifecycle_hint};
use holon_core::view::{Explanation, View};
use holon_facts::event::LifecycleFact;
use holon_facts::identity::{AgentSpec, Visibility};
use holon_facts::lifecycle::Status;
use holon_facts::price::Amount;
use holon_facts::{AgentId, Event, EventSeq, Record};
use holon_ledger::AgentRow;
use holon_ledger::read::{ListedAgent, Listing};
use holon_platform::clock;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::look::{Looked, look, waits};
use super::{history, why, workspaces};

/// Agents in one reply, where nothing else is asked for, and at most.
const LISTED: (u32, u32) = (500, 1_000);
/// Briefs and transcript entries of `/state`.
const RECENT: (u32, u32) = (20, 100);

pub(in super::super) async fn list(app: App, call: Call<ListAgents>) -> Handled<Agents> {
    let limit = bounded("limit", call.query.limit, LISTED, 1)?;
    let all = call.query.all;
    let ledger_waits = app.runtime.problem().map(|problem| waits(&problem));
    app.blocking(move |app| {
        let first = call.query.after.is_none();
        let (mut entries, mut after) = (Vec::new(), call.query.after);
        // Those who are not shown make no page shorter, and one more tells whether there is another page.
        while entries.len() <= limit {
            let wanted = limit + 1 - entries.len();
            let page = app.overview.agents_after(Listing::All, after.as_ref(), wanted)?;
            after = page.last().map(|agent| agent.row.agent.clone());
            let ended = page.len() < wanted;
            let page = page.into_iter().filter_map(|agent| listed(app, agent, ledger_waits.as_ref()));
            entries.extend(page.filter(|agent| all || !is_archived(agent)));
            if ended {
                break;
            }
        }
        if entries.is_empty() && first {
            entries.extend(temporary(app, ledger_waits.as_ref())?);
        }
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| more).map(|last| last.agent_id().clone());
        Ok(Agents { ok: true, agents: entries.into_iter().map(Document::from).collect(), more, next })
    })
    .await
}

pub(in super::super) async fn status(app: App, call: Call<ShowAgent>) -> Handled<AgentStatus> {
    Ok(Moment::of(&app, &call.path.agent_id).await?.status(&app))
}

pub(in super::super) async fn why(app: App, call: Call<ExplainAgent>) -> Handled<AgentWhy> {
    let seen = Moment::of(&app, &call.path.agent_id).await?;
    app.blocking(move |app| seen.why(app)).await
}

pub(in super::super) async fn state(app: App, call: Call<ShowState>) -> Handled<AgentState> {
    let recent = bounded("recent", call.query.recent, RECENT, 0)?;
    let (agent, at) = (call.path.agent_id, call.query.at_seq);
    let seen = match at {
        Some(at) => Moment::after(&app, &agent, at).await?,
        None => Moment::of(&app, &agent).await?,
    };
    app.blocking(move |app| {
        let why = seen.why(app)?;
        // What is read here is at least as new as the summary, so whoever follows it misses nothing.
        let (limit, before) = (u32::try_from(recent).ok(), at.map(EventSeq::next));
        let query = PageQuery { limit, before, ..PageQuery::default() };
        let (briefs, transcript) = if recent == 0 {
            (Vec::new(), Vec::new())
        } else {
            (
                history::page_of_briefs(app, &agent, &query)?.briefs,
                history::page_of_transcript(app, &agent, &query)?.entries,
            )
        };
        let (agent, event_seq) = (seen.status(app), seen.summary.event_seq);
        Ok(AgentState { agent, why, briefs, transcript, event_seq })
    })
    .await
}

/// The summary and the explanation of one moment; everything in them is durable.
struct Moment {
    summary: AgentSummary,
    why: Explanation,
    children: Vec<ActiveChild>,
    tasks: Vec<TaskLine>,
    /// Why it is not the present moment.
    waits: Option<String>,
}

impl Moment {
    async fn of(app: &App, agent: &AgentId) -> Handled<Self> {
        let Looked { seen, waits } = look(app, agent, Self::read).await?;
        Ok(Self { waits, ..seen })
    }

    /// The moment right after an event, by fold from the nearest state that is stored. What other agents are is not known
    /// of it.
    async fn after(app: &App, agent: &AgentId, at: EventSeq) -> Handled<Self> {
        let agent = agent.clone();
        app.blocking(move |app| {
            let last = app.last_event(&agent)?;
            if at.0 < 1 || at > last {
                return Err(Failure::unknown_event(&agent, at, last));
            }
            let past = app.reader.agent_after(&agent, at)?;
            let host = app.runtime.as_it_was(&past.agent)?;
            Self::read(host.view(), &agent).ok_or_else(|| Failure::unknown_agent(&agent))
        })
        .await
    }

    fn read(view: View<'_>, agent: &AgentId) -> Option<Self> {
        let mut tasks = view.agent(agent)?.tasks.active().map(TaskLine::from).collect::<Vec<_>>();
        tasks.reverse();
        let children = view.children(agent).collect();
        Some(Self { summary: view.summary(agent)?, why: view.explain(agent)?, children, tasks, waits: None })
    }

    fn status(&self, app: &App) -> AgentStatus {
        AgentStatus {
            boundaries: workspaces::boundaries(app, &self.summary.agent_id, &self.summary.workspace),
            summary: self.summary.clone(),
            active_children: self.children.clone(),
            ledger_waits: self.waits.clone(),
        }
    }

    fn why(&self, app: &App) -> Handled<AgentWhy> {
        let why = why::with_events(app, self.why.clone())?;
        Ok(AgentWhy { ledger_waits: self.waits.clone(), active_tasks: self.tasks.clone(), ..why })
    }
}

/// A number within its bounds, or its default.
pub(super) fn bounded(
    name: &str,
    given: Option<u32>,
    (usual, most): (u32, u32),
    least: u32,
) -> Handled<usize> {
    let number = given.unwrap_or(usual);
    if (least..=most).contains(&number) {
        return Ok(number as usize);
    }
    Err(Failure::new(Code::InvalidQuery, format!("{name}: expected {least} to {most}, got {number}"))
        .detail("field", name))
}

fn is_archived(agent: &Listed) -> bool {
    agent.standing().is_some_and(|standing| standing.label.archived)
}

fn listed(app: &App, agent: ListedAgent, waits: Option<&String>) -> Option<Listed> {
    let ListedAgent { row, account, created } = agent;
    match created {
        Ok(created) => {
            let today = account.on(clock::now().wall.day());
            entry(app, row, &created?, today, waits).map(|entry| Listed::Agent(Box::new(entry)))
        }
        Err(error) => Some(Listed::Damaged(DamagedAgent {
            status: row.status,
            event_seq: row.event_seq,
            agent_id: row.agent,
            damaged: error.to_string(),
        })),
    }
}

/// The agent of a temporary run, which is private, where nobody else is in its home.
fn temporary(app: &App, waits: Option<&String>) -> Handled<Option<Listed>> {
    let agents = app.reader.agents_after(Listing::WithPrivate, None, LISTED.1 as usize)?;
    let own = agents.into_iter().find(|agent| agent.row.agent == app.about.default_agent);
    Ok(own.and_then(|agent| listed(app, agent, waits)))
}

fn entry(
    app: &App,
    row: AgentRow,
    created: &Record,
    spent_today: Amount,
    waits: Option<&String>,
) -> Option<AgentListEntry> {
    let spec = spec(created)?;
    let shown = spec.visibility == Visibility::Public || row.agent == app.about.default_agent;
    shown.then(|| AgentListEntry {
        is_default: row.agent == app.about.default_agent,
        kind: spec.kind,
        visibility: spec.visibility,
        ownership: spec.ownership,
        profile_preset: spec.profile_preset,
        status: row.status,
        open_work: row.open_work,
        next_deadline: row.next_deadline,
        standing: row.standing,
        spent_today,
        created_at: created.at,
        execution: spec.execution.clone(),
        event_seq: row.event_seq,
        lifecycle_hint: (row.status == Status::Stopped).then(|| lifecycle_hint(&row.agent)),
        ledger_waits: waits.cloned(),
        agent_id: row.agent,
    })
}

fn spec(created: &Record) -> Option<&AgentSpec> {
    let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &created.event else { return None };
    Some(&fact.spec)
}

/// Refuses a cursor beyond the last event: whoever has it has seen another ledger.
pub(super) fn check_cursor(name: &str, cursor: Option<EventSeq>, last: EventSeq) -> Handled<()> {
    match cursor {
        Some(cursor) if cursor > last => {
            Err(Failure::new(Code::CursorAhead, format!("{name}: {cursor} is beyond the last event, {last}"))
                .hint("begin again from an event that this runtime has sent")
                .detail("field", name)
                .detail("last_event_seq", last.0))
        }
        Some(_) | None => Ok(()),
    }
}
