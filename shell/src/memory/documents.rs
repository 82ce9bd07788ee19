//! From records to documents: which ones are searched, what each is called, and whose word it is.

use holon_facts::event::brief::BriefKind;
use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::event::work::{WorkChange, WorkItemWritten};
use holon_facts::event::workspace::{WorkspaceAttached, WorkspaceUsed};
use holon_facts::event::{BriefFact, EpisodeFact, InboxFact, LifecycleFact, WorkFact, WorkspaceFact};
use holon_facts::identity::AgentSpec;
use holon_facts::message::AuthorityClass;
use holon_facts::workspace::WorkspaceId;
use holon_facts::{Event, Record};
use holon_ledger::read::Reader;
use holon_memory::{Document, Fill, Kind, Source, Standing};

use super::bodies;
use super::problem::MemoryProblem;

/// The kinds of records that documents are made of, and those that name agents and workspaces.
pub(super) const KINDS: [&str; 8] = [
    "agent_created",
    "workspace_attached",
    "workspace_used",
    "brief_created",
    "episode_closed",
    "episode_summarized",
    "work_item_written",
    "message_admitted",
];

/// Takes a record in.
pub(super) fn take(fill: &Fill<'_>, ledger: &Reader, record: &Record) -> Result<(), MemoryProblem> {
    if let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &record.event {
        return created(fill, ledger, record, fact);
    }
    if let Event::Workspace(WorkspaceFact::WorkspaceUsed(fact)) = &record.event {
        return uses(fill, record, fact);
    }
    if let Event::Workspace(WorkspaceFact::WorkspaceAttached(fact)) = &record.event {
        return profile(fill, ledger, record, fact);
    }
    let Some(workspace) = fill.workspace(&record.agent)? else { return Ok(()) };
    let Some((source, standing, events)) = source(fill, record)? else { return Ok(()) };
    let document = Document {
        agent: record.agent.clone(),
        source,
        standing,
        workspace,
        path: None,
        title: String::new(),
        updated_at: record.at,
        events,
        stamp: None,
    };
    write(fill, ledger, record, document)
}

/// What a record is about, and the records that its document is made of from now on.
fn source(fill: &Fill<'_>, record: &Record) -> Result<Option<(Source, Standing, Vec<u64>)>, MemoryProblem> {
    let seq = record.event_seq.0;
    let before = |source: &Source| {
        let known = fill.entry(&record.agent, source)?;
        Ok::<_, MemoryProblem>(known.map(|entry| entry.document.events).unwrap_or_default())
    };
    if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event {
        let message = &fact.message;
        let source = Source { kind: Kind::Message, id: message.id.to_string() };
        let of_operator = message.authority_class == AuthorityClass::OperatorInstruction;
        return Ok(of_operator.then(|| (source, Standing::Operator, vec![seq])));
    }
    if let Event::Brief(BriefFact::BriefCreated(fact)) = &record.event {
        let source = Source { kind: Kind::Brief, id: fact.id.to_string() };
        return Ok((fact.kind != BriefKind::Ack).then(|| (source, Standing::Own, vec![seq])));
    }
    if let Event::Episode(EpisodeFact::EpisodeClosed(fact)) = &record.event {
        let source = Source { kind: Kind::Episode, id: fact.episode_id.to_string() };
        return Ok(Some((source, Standing::Own, vec![seq])));
    }
    if let Event::Episode(EpisodeFact::EpisodeSummarized(fact)) = &record.event {
        if fact.summary.is_none() {
            return Ok(None);
        }
        let source = Source { kind: Kind::Episode, id: fact.episode_id.to_string() };
        let mut events = before(&source)?;
        events.push(seq);
        return Ok(Some((source, Standing::Own, events)));
    }
    if let Event::Work(WorkFact::WorkItemWritten(fact)) = &record.event {
        let source = Source { kind: Kind::WorkItem, id: fact.work_item_id.to_string() };
        let events = item_events(fact, before(&source)?, seq);
        return Ok(events.map(|events| (source, Standing::Own, events)));
    }
    Ok(None)
}

/// The objective as it is now comes first, then the report. None where neither changes.
fn item_events(fact: &WorkItemWritten, mut events: Vec<u64>, seq: u64) -> Option<Vec<u64>> {
    match &fact.change {
        WorkChange::Created { .. } => Some(vec![seq]),
        WorkChange::Updated { objective: Some(_), .. } => {
            match events.first_mut() {
                Some(first) => *first = seq,
                None => events.push(seq),
            }
            Some(events)
        }
        WorkChange::Updated { objective: None, .. } => None,
        WorkChange::Completed { .. } => {
            events.truncate(1);
            events.push(seq);
            Some(events)
        }
    }
}

fn created(
    fill: &Fill<'_>,
    ledger: &Reader,
    record: &Record,
    AgentCreated { spec }: &AgentCreated,
) -> Result<(), MemoryProblem> {
    fill.agent(&record.agent, !spec.is_temporary())?;
    fill.works_in(&record.agent, of_project(spec.execution.workspace_id()).as_ref())?;
    let AgentSpec { execution, attached, .. } = spec;
    for anchor in attached.iter().chain([&execution.workspace_anchor]) {
        let workspace_id = WorkspaceId::of_anchor(anchor);
        if *anchor == execution.workspace_anchor && execution.workspace_id().is_agent_home() {
            continue;
        }
        profile(fill, ledger, record, &WorkspaceAttached { workspace_id, workspace_anchor: anchor.clone() })?;
    }
    Ok(())
}

fn uses(fill: &Fill<'_>, record: &Record, fact: &WorkspaceUsed) -> Result<(), MemoryProblem> {
    Ok(fill.works_in(&record.agent, of_project(fact.workspace_id.clone()).as_ref())?)
}

/// What the agent knows of a workspace.
fn profile(
    fill: &Fill<'_>,
    ledger: &Reader,
    record: &Record,
    WorkspaceAttached { workspace_id, workspace_anchor }: &WorkspaceAttached,
) -> Result<(), MemoryProblem> {
    if workspace_id.is_agent_home() || fill.workspace(&record.agent)?.is_none() {
        return Ok(());
    }
    let document = Document {
        agent: record.agent.clone(),
        source: Source { kind: Kind::WorkspaceProfile, id: workspace_id.to_string() },
        standing: Standing::Own,
        workspace: Some(workspace_id.clone()),
        path: Some(workspace_anchor.clone()),
        title: workspace_id.to_string(),
        updated_at: record.at,
        events: vec![record.event_seq.0],
        stamp: None,
    };
    write(fill, ledger, record, document)
}

/// An agent's own home is no workspace of a project: what is done there belongs to the agent.
fn of_project(workspace: WorkspaceId) -> Option<WorkspaceId> {
    (!workspace.is_agent_home()).then_some(workspace)
}

fn write(
    fill: &Fill<'_>,
    ledger: &Reader,
    record: &Record,
    mut document: Document,
) -> Result<(), MemoryProblem> {
    let Some(body) = bodies::of(ledger, &document, Some(record))? else {
        return Ok(fill.remove(&document.agent, &document.source)?);
    };
    if document.title.is_empty() {
        document.title = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    }
    Ok(fill.put(&document, &body)?)
}
