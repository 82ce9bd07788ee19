//! Children on the side of their parent: spawn, follow-up, needs and end (contract: tasks.md, Child agents).

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::call::{MESSAGE_BYTES, SpawnAgent, SpawnPreset};
use holon_facts::content::{Text, clip};
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::task::{
    ChildEnded, ChildNeedNoted, ChildNeedTold, TaskCause, TaskCreated, TaskInputDelivered, TaskOrigin,
};
use holon_facts::hash;
use holon_facts::identity::{AgentKind, AgentSpec, Ownership, ProfilePreset, Supervisor, Visibility};
use holon_facts::ids::{AgentId, OpId, RunId, TaskId, WorktreeId};
use holon_facts::lifecycle::Status;
use holon_facts::message::Origin;
use holon_facts::outbox::Letter;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::receipt::{InputReceipt, InputTarget, Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::subsystem::CHILD_NEEDS;
use holon_facts::task::{ChildEnd, ChildSpec, Fingerprint, Job, Need, TaskStatus, WaitPolicy};
use holon_facts::template::AgentTemplate;
use holon_facts::time::Millis;
use holon_facts::workspace::{ExecutionBinding, Retained, WorkspaceMode, Worktree, WorktreePlan};
use serde::Serialize;

use crate::agent::Agent;
use crate::agent::task::{DeliveredNeed, Task};
use crate::handler::evidence::{self, Evidence};
use crate::handler::outbox;
use crate::handler::task::deliver::Delivery;
use crate::handler::task::end::{self, End};
use crate::handler::turn::{request, tools};
use crate::handler::workspace::{self, isolate};
use crate::summary::supervision::ChildSupervision;
use crate::tx::{Opening, Tx};

/// Bytes of what a child is shown first that stand for the whole of it.
const SUMMARY: usize = 120;
/// Bytes of a parent's name that the names of its children begin with, where the whole of it has no room.
const STEM: usize = 30;

/// Begins another agent, for a call; its template is taken in and its name claimed first, then a worktree for it is made.
pub(crate) fn spawn(
    tx: &mut Tx<'_>,
    run_id: RunId,
    asked: &SpawnAgent,
) -> Result<Option<Receipt>, ToolError> {
    let claims = tx.env.config.shares_names && asked.preset == SpawnPreset::PublicNamed;
    if asked.template.is_none() && !claims {
        return begin(tx, run_id, asked, None);
    }
    model(tx, asked)?;
    let name = match asked.preset {
        SpawnPreset::PrivateChild => {
            first_message(asked)?;
            may_supervise(tx)?;
            None
        }
        SpawnPreset::PublicNamed => Some(named(tx, asked)?),
    };
    tools::prepare_agent(tx, run_id, asked.template.clone(), name.filter(|_| claims));
    Ok(None)
}

/// The agent that the call in progress begins was prepared.
pub(crate) fn prepared(tx: &mut Tx<'_>, template: Option<Box<AgentTemplate>>) {
    let run_id = tx.agent().run.as_ref().map(|run| run.id);
    let (Some(asked), Some(run_id)) = (tools::open_spawn(tx), run_id) else { return };
    match begin(tx, run_id, &asked, template) {
        Ok(None) => return,
        Ok(Some(receipt)) => tools::record_result(tx, receipt, Millis(0)),
        Err(error) => tools::record_failure(tx, error, Millis(0)),
    }
    request::advance(tx);
}

fn begin(
    tx: &mut Tx<'_>,
    run_id: RunId,
    asked: &SpawnAgent,
    template: Option<Box<AgentTemplate>>,
) -> Result<Option<Receipt>, ToolError> {
    let model = model(tx, asked)?;
    match asked.preset {
        SpawnPreset::PrivateChild if asked.workspace_mode == WorkspaceMode::Worktree => {
            first_message(asked)?;
            may_supervise(tx)?;
            workspace::tools::isolate(tx, run_id, template).map(|()| None)
        }
        SpawnPreset::PrivateChild => {
            let spec = |supervisor, agent: &Agent| AgentSpec {
                template: template.map(|template| *template),
                ..child_spec(supervisor, agent)
            };
            supervise(tx, run_id, asked, None, spec).map(Some)
        }
        SpawnPreset::PublicNamed => {
            let agent = named(tx, asked)?;
            let parent = tx.agent();
            let execution = ExecutionBinding::home_of(&agent, &tx.env.config.homes);
            let attached = parent.workspaces.attached().map(|(_, anchor)| anchor.to_string());
            let spec = AgentSpec {
                lineage_parent_agent_id: Some(parent.id.clone()),
                attached: attached.collect(),
                template: template.map(|template| *template),
                untrusted: parent.workspaces.untrusted().map(ToString::to_string).collect(),
                ..AgentSpec::named(AgentKind::Named, execution)
            };
            let message = asked.initial_message.clone().map(Text::whole);
            outbox::post(tx, agent.clone(), Letter::Spawn { spec: spec.into(), model, message });
            Ok(Some(receipt_of(&agent, None)))
        }
    }
}

/// A private agent under supervision, which works where its supervisor does.
fn child_spec(supervisor: Supervisor, of: &Agent) -> AgentSpec {
    AgentSpec {
        kind: AgentKind::Child,
        visibility: Visibility::Private,
        ownership: Ownership::ParentSupervised,
        profile_preset: ProfilePreset::PrivateChild,
        lineage_parent_agent_id: Some(supervisor.agent_id.clone()),
        supervisor: Some(supervisor),
        depth: of.spec.depth.saturating_add(1),
        forked_from: None,
        tree: Some(of.tree().clone()),
        isolated: false,
        execution: of.execution().clone(),
        attached: of.workspaces.attached().map(|(_, anchor)| anchor.to_string()).collect(),
        template: None,
        untrusted: of.workspaces.untrusted().map(ToString::to_string).collect(),
    }
}

/// Begins a child in the worktree that was made for it.
pub(crate) fn spawn_isolated(
    tx: &mut Tx<'_>,
    run_id: RunId,
    asked: &SpawnAgent,
    (execution, worktree): (&ExecutionBinding, WorktreeId),
    template: Option<Box<AgentTemplate>>,
) -> Result<Receipt, ToolError> {
    let plan =
        tx.agent().worktrees().find(|one| one.plan.worktree_id == worktree).map(|one| one.plan.clone());
    let spec = |supervisor, agent: &Agent| AgentSpec {
        execution: execution.clone(),
        isolated: true,
        template: template.map(|template| *template),
        ..child_spec(supervisor, agent)
    };
    supervise(tx, run_id, asked, plan, spec)
}

/// The model that is asked for it first: one of those that the runtime asks.
fn model(tx: &Tx<'_>, asked: &SpawnAgent) -> Result<Option<holon_facts::model_ref::ModelRef>, ToolError> {
    let Some(model) = &asked.model else { return Ok(tx.agent().model_override.clone()) };
    if tx.env.config.models.contains(model) {
        return Ok(Some(model.clone()));
    }
    let known: Vec<String> = tx.env.config.models.iter().map(ToString::to_string).collect();
    let problem = format!("{model} is none of the models of this runtime");
    let error = ToolError::new(ToolErrorKind::InvalidToolInput, problem);
    Err(error.field("model").hint(&format!("leave it out, or take one of: {}", known.join(", "))))
}

fn refused(message: String, hint: &str) -> ToolError {
    ToolError::new(ToolErrorKind::LimitReached, message).hint(hint)
}

fn room(tx: &Tx<'_>) -> Result<(), ToolError> {
    let limit = tx.env.config.limits.agents;
    let spawning = tx.agent().outbox.open().filter(|(_, open)| matches!(open.letter, Letter::Spawn { .. }));
    if tx.env.names.len() as u64 + spawning.count() as u64 >= limit {
        let message =
            format!("the runtime has {limit} agents, which is as many as it may have (limits.agents)");
        return Err(refused(message, "do it yourself, or wait for the end of a child"));
    }
    Ok(())
}

/// The name of a public agent that does not exist yet.
fn named(tx: &Tx<'_>, asked: &SpawnAgent) -> Result<AgentId, ToolError> {
    let wrong = |message: String, hint: &str| {
        Err(ToolError::new(ToolErrorKind::InvalidToolInput, message).field("agent_id").hint(hint))
    };
    let Some(agent) = asked.agent_id.clone() else {
        return wrong("is missing: a public agent has a name".into(), "give it one");
    };
    if agent.is_reserved() {
        return wrong(
            format!("{agent} is a name that the runtime gives"),
            "another one, without two hyphens in a row",
        );
    }
    let posted = tx.agent().outbox.open().any(|(_, open)| open.to == agent);
    if tx.env.names.holder(&agent).is_some() || posted {
        return wrong(format!("{agent} exists already"), "give it another name");
    }
    room(tx).map(|()| agent)
}

/// Whether the agent may have another child.
fn may_supervise(tx: &Tx<'_>) -> Result<(), ToolError> {
    let (limits, agent) = (&tx.env.config.children, tx.agent());
    if agent.spec.depth >= limits.depth {
        let message = format!("children may be {} deep (limits.child_depth), and this one is", limits.depth);
        return Err(ToolError::new(ToolErrorKind::ToolNotExposed, message).hint("do it yourself"));
    }
    if agent.tasks.children().count() as u64 >= limits.per_agent {
        let message = format!(
            "{} children are alive, which is as many as an agent may have (limits.children_per_agent)",
            limits.per_agent
        );
        return Err(refused(message, "wait for the end of one, or end one with TaskStop"));
    }
    room(tx)
}

fn first_message(asked: &SpawnAgent) -> Result<Text, ToolError> {
    asked.initial_message.clone().map(Text::whole).ok_or_else(|| {
        let error = ToolError::new(ToolErrorKind::InvalidToolInput, "is missing: a child begins with it");
        error.field("initial_message").hint("say what the child is to do and to report")
    })
}

/// Begins a child under supervision.
fn supervise(
    tx: &mut Tx<'_>,
    run_id: RunId,
    asked: &SpawnAgent,
    worktree: Option<WorktreePlan>,
    spec: impl FnOnce(Supervisor, &Agent) -> AgentSpec,
) -> Result<Receipt, ToolError> {
    may_supervise(tx)?;
    let (model, message) = (model(tx, asked)?, first_message(asked)?);
    let agent = tx.agent();
    let (task_id, parent) = (agent.next.task, agent.id.clone());
    let child_agent_id = child_id(&parent, task_id);
    let spec = spec(Supervisor { agent_id: parent.clone(), task_id }, agent);
    let purpose = Fingerprint::of_purpose(&message);
    let repeated = agent.novelty.knows(purpose);
    let parent_message_id = agent.run.as_ref().map(|run| run.message);
    let opening = Opening { task_id: Some(task_id), ..Opening::without_end(OpKind::SuperviseChild) };
    let op = tx.open(opening, None);
    let workspace_mode = asked.workspace_mode;
    let child = ChildSpec { child_agent_id: child_agent_id.clone(), workspace_mode, worktree, purpose };
    let job = Job::Child(child);
    tx.record(TaskCreated {
        task_id,
        kind: job.kind(),
        cause: TaskOrigin::Spawned,
        status: TaskStatus::Running,
        op: Some(op),
        run_id: Some(run_id),
        parent_message_id,
        summary: clip(message.preview(), SUMMARY),
        wait_policy: WaitPolicy::Background,
        job,
        repeated,
    });
    let letter = Letter::Spawn { spec: spec.into(), model, message: Some(message) };
    outbox::post(tx, child_agent_id.clone(), letter);
    let supervision = tx.agent().tasks.get(task_id).and_then(|task| ChildSupervision::of(&parent, task));
    Ok(receipt_of(&child_agent_id, supervision))
}

/// The name of a child: that of its parent, and the number of its task. Nobody else has one like it.
pub(crate) fn child_id(parent: &AgentId, task: TaskId) -> AgentId {
    let whole = format!("{parent}--{}", task.0);
    AgentId::new(&whole).unwrap_or_else(|_| {
        let (stem, hash) = (clip(parent.as_str(), STEM), hash::fnv(parent.as_str().as_bytes()));
        let short = format!("{stem}{:08x}--{}", hash & 0xffff_ffff, task.0);
        AgentId::new(&short).unwrap_or_else(|_| parent.clone())
    })
}

/// Tells a child more; what came of it.
pub(crate) fn follow_up(tx: &mut Tx<'_>, id: TaskId, text: Text) -> InputReceipt {
    let refused = |problem: String| InputReceipt { problem: Some(problem), ..InputReceipt::default() };
    let Some(task) = tx.agent().tasks.get(id) else { return refused("there is no such task".into()) };
    if let Some(problem) = task.refuses_input() {
        return refused(problem.into());
    }
    let bytes_written = text.bytes();
    if bytes_written > MESSAGE_BYTES as u64 {
        return refused(format!("it has {bytes_written} bytes, the most for a child is {MESSAGE_BYTES}"));
    }
    let Some(to) = task.child().map(|child| child.child_agent_id.clone()) else {
        return refused("it is no child".into());
    };
    let input_target = InputTarget::ChildFollowup;
    outbox::post(tx, to, Letter::FollowUp { text });
    tx.record(TaskInputDelivered { task_id: id, input_target, bytes_written });
    InputReceipt { accepted_input: true, input_target: Some(input_target), bytes_written, problem: None }
}

/// A child can't go on by itself.
pub(crate) fn needs(tx: &mut Tx<'_>, child: &AgentId, need: Need) {
    if let Some(task_id) = tx.agent().tasks.of_child(child).map(|task| task.id) {
        tx.record(ChildNeedNoted { task_id, need });
    }
}

/// One tick for each need that the agent was not told of.
pub(crate) fn deliver_needs(tx: &mut Tx<'_>) {
    if tx.agent().status == Status::Stopped {
        return;
    }
    let undelivered = |task: &Task| -> Option<(TaskId, String)> {
        let DeliveredNeed { need, .. } = task.need.as_ref().filter(|need| need.delivered_by.is_none())?;
        let child = &task.child()?.child_agent_id;
        let text = format!(
            "Your child {child} ({}) can't go on by itself: {}, {} ({}). You are its operator: answer with TaskInput, or end it with TaskStop.",
            task.id, need.kind, need.subject, need.about
        );
        Some((task.id, text))
    };
    let undelivered: Vec<(TaskId, String)> = tx.agent().tasks.active().filter_map(undelivered).collect();
    for (task_id, text) in undelivered {
        let origin = Origin::system(CHILD_NEEDS);
        let (kind, surface) = (MessageKind::SystemTick, Surface::RuntimeSystem);
        let text = Text::short(text);
        let evidence = Evidence { kind, origin, priority: Priority::Next, surface, text };
        let Some(message_id) = evidence::admit(tx, evidence) else { return };
        tx.record(ChildNeedTold { task_id, message_id });
    }
}

/// A child has said how it ended. Where it had a worktree, its task ends when that was looked at.
pub(crate) fn ended(tx: &mut Tx<'_>, child: &AgentId, end: ChildEnd, left: Vec<Worktree>) {
    let Some(task) = tx.agent().tasks.of_child(child) else { return };
    let (task_id, worktree) = (task.id, task.child().and_then(|child| child.worktree.as_ref()));
    let worktree = worktree.map(|plan| plan.worktree_id);
    outbox::take_back(tx, child, "the child has ended");
    isolate::inherit(tx, child, left);
    match worktree {
        Some(worktree) => {
            tx.record(ChildEnded { task_id, end });
            isolate::leave(tx, worktree);
        }
        None => over(tx, task_id, end, None),
    }
}

/// The worktree of a child was removed, or is retained.
pub(crate) fn worktree_over(tx: &mut Tx<'_>, id: TaskId, retained: Option<Retained>) {
    let end = tx.agent().tasks.get(id).and_then(|task| task.child_end.clone());
    if let Some(end) = end {
        over(tx, id, end, retained);
    }
}

fn over(tx: &mut Tx<'_>, id: TaskId, end: ChildEnd, worktree: Option<Retained>) {
    let Some(began) = tx.agent().tasks.get(id).map(|task| task.created_at) else { return };
    if let Some(op) = super::stop::executing(tx, id) {
        tx.settle(op, Settlement::Done);
    }
    let ChildEnd { status, result, spent } = end;
    let cause = if status == TaskStatus::Cancelled { TaskCause::Stopped } else { TaskCause::Exited };
    let duration = Some(tx.now().since(began));
    end::ended(
        tx,
        id,
        End { status, cause, exit_status: None, duration, result, spent, worktree, skill_files: Vec::new() },
        Delivery::Now,
    );
}

/// After a start of the runtime: a copy of an agent has no children.
pub(crate) fn recover(tx: &mut Tx<'_>) {
    let me = &tx.agent().id;
    let others: Vec<(TaskId, AgentId)> = tx
        .agent()
        .tasks
        .children()
        .filter(|(task, child)| child_id(me, task.id) != child.child_agent_id)
        .map(|(task, child)| (task.id, child.child_agent_id.clone()))
        .collect();
    for (id, child) in others {
        outbox::take_back(tx, &child, "it is the child of another agent");
        if let Some(op) = super::stop::executing(tx, id) {
            tx.settle(op, Settlement::Lost);
        }
        let why = "it is the child of the agent that this one is a copy of";
        end::ended(tx, id, End::unproven(why), Delivery::Together);
    }
}

/// A child can't be brought into memory: nobody learns of its end.
pub(crate) fn lost(tx: &mut Tx<'_>, op: OpId) {
    let child = tx.agent().task_of(op).and_then(|task| tx.agent().tasks.get(task)?.child().cloned());
    let Some(child) = child else { return };
    outbox::take_back(tx, &child.child_agent_id, "the child can't be brought into memory");
    if let Some(worktree) = child.worktree {
        isolate::leave(tx, worktree.worktree_id);
    }
}

/// What a call that has begun a child is shown.
#[derive(Serialize)]
struct Spawned<'a> {
    agent_id: &'a AgentId,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    child: Option<SpawnedChild<'a>>,
}

#[derive(Serialize)]
struct SpawnedChild<'a> {
    child_agent_id: &'a AgentId,
    supervision_task_id: TaskId,
    child_supervision: ChildSupervision,
}

fn receipt_of(agent_id: &AgentId, supervision: Option<ChildSupervision>) -> Receipt {
    let child = supervision.map(|supervision| SpawnedChild {
        child_agent_id: agent_id,
        supervision_task_id: supervision.supervision_task_id,
        child_supervision: supervision,
    });
    let json = serde_json::to_string(&Spawned { agent_id, child }).unwrap_or_default();
    Receipt::success(Text::whole(json), ToolFacts::default())
}
