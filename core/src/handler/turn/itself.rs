//! Calls with which an agent looks after itself: what they come to is done and told at once. What it sees of itself is
//! written by a performer: it is more than a record carries.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::call::{FollowUpPriority, ToolName, Urgency};
use holon_facts::content::Text;
use holon_facts::event::brief::BriefVisibility;
use holon_facts::event::scheduling::SleepBegun;
use holon_facts::ids::{AgentId, RunId};
use holon_facts::message::Origin;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::receipt::{Receipt, SelfCall, ToolError, ToolErrorKind, ToolFacts, Verdict};
use holon_facts::subsystem::FOLLOW_UP;
use holon_facts::time::Millis;

use crate::agent::turn::Run;
use crate::agent::work::WorkItem;
use crate::effect::{AgentView, Look};
use crate::handler::evidence::{self, Evidence};
use crate::handler::turn::report;
use crate::handler::turn::tools::Begun;
use crate::handler::wait::register;
use crate::handler::{task, workspace};
use crate::summary::AgentSummary;
use crate::summary::children::ActiveChild;
use crate::tx::Tx;

/// Waits that an agent is shown of itself.
const WAITS: usize = 16;
/// Messages that a turn may leave to its agent, and as many that it may send to the operator.
pub(super) const NOTES: usize = 8;

/// Begins a call; most have their result at once.
pub(super) fn call(tx: &mut Tx<'_>, run_id: RunId, call: &SelfCall) -> Result<Begun, ToolError> {
    let tool = call.tool();
    let unbounded = matches!(call, SelfCall::Get { .. } | SelfCall::Spawn(_) | SelfCall::Workspace(_));
    if !unbounded && made(tx, &tool) >= NOTES {
        let error =
            ToolError::new(ToolErrorKind::LimitReached, format!("a turn has {NOTES} calls of {tool}"));
        return Err(error.hint("say several things at once, or keep them in a work item"));
    }
    let receipt = match call {
        SelfCall::Enqueue { text, priority } => enqueue(tx, text.clone(), *priority)?,
        SelfCall::Notify { message, urgency } => notify(tx, run_id, message.clone(), *urgency),
        SelfCall::Sleep { reason, duration } => sleep(tx, run_id, reason.clone(), *duration)?,
        SelfCall::Wait(call) => register::call(tx, run_id, call)?,
        SelfCall::Spawn(asked) => match task::child::spawn(tx, run_id, asked)? {
            Some(receipt) => receipt,
            None => return Ok(Begun::Performed),
        },
        SelfCall::Workspace(asked) => {
            workspace::tools::call(tx, run_id, asked)?;
            return Ok(Begun::Performed);
        }
        SelfCall::Get { agent } => {
            let view = seen(tx, agent.as_ref())?;
            return Ok(Begun::Looks(Box::new(Look::Agent { view })));
        }
    };
    Ok(Begun::Done(Box::new(receipt)))
}

/// What is seen of the agent, or of one of its children.
fn seen(tx: &Tx<'_>, asked: Option<&AgentId>) -> Result<AgentView, ToolError> {
    let children = tx.agent().tasks.children().filter_map(|(task, _)| ActiveChild::of(task));
    if let Some(other) = asked.filter(|asked| **asked != tx.agent().id) {
        let active_children: Vec<_> = children.filter(|child| child.child_agent_id == *other).collect();
        if active_children.is_empty() {
            let error = ToolError::new(ToolErrorKind::UnknownAgent, format!("you see no agent {other}"));
            return Err(error.hint("leave agent_id out to look at yourself and your children"));
        }
        return Ok(AgentView { summary: None, active_children, waits_left_out: 0 });
    }
    let active_children = children.collect();
    let mut summary = AgentSummary::of(tx.agent(), tx.env.config, tx.now(), tx.env.others.subtree.spent);
    let left_out = summary.waits.split_off(summary.waits.len().min(WAITS)).len() as u64;
    let summary = Some(Box::new(summary));
    Ok(AgentView { summary, active_children, waits_left_out: left_out })
}

/// How many calls of a tool the turn has made that did something, those of its interrupted runs included.
fn made(tx: &Tx<'_>, tool: &ToolName) -> usize {
    let rounds = tx.agent().run.iter().flat_map(|run| &run.conversation.rounds);
    let calls = rounds.flat_map(|round| round.verdicts.iter().zip(&round.results));
    let of_tool = |verdict: &Verdict| verdict.tool().as_ref() == Some(tool);
    calls.filter(|(verdict, result)| of_tool(verdict) && result.error.is_none()).count()
}

fn enqueue(tx: &mut Tx<'_>, text: String, priority: FollowUpPriority) -> Result<Receipt, ToolError> {
    // Nothing that an agent sends itself passes an operator who waits.
    let waits = tx.agent().inbox.queued().any(|entry| entry.message.is_by_operator());
    let priority = if waits { Priority::from(priority).max(Priority::Normal) } else { priority.into() };
    let evidence = Evidence {
        kind: MessageKind::InternalFollowup,
        origin: Origin::system(FOLLOW_UP),
        priority,
        surface: Surface::RuntimeSystem,
        text: Text::whole(text),
    };
    let Some(message_id) = evidence::admit(tx, evidence) else {
        let error = ToolError::new(ToolErrorKind::LimitReached, "the queue is full");
        return Err(error.hint("deal with what is queued first"));
    };
    Ok(receipt(&format!(r#"{{"message_id":"{message_id}"}}"#)))
}

fn notify(tx: &mut Tx<'_>, run_id: RunId, message: String, urgency: Urgency) -> Receipt {
    let run = tx.agent().run.as_ref();
    let (about, turn) = (run.and_then(|run| run.about.work_item), (run_id, run.map(|run| run.message)));
    let visibility = match urgency {
        Urgency::Info => BriefVisibility::TurnResult,
        Urgency::ActionRequired => BriefVisibility::ActionRequired,
    };
    let id = report::report_text(tx, turn, visibility, message, about);
    receipt(&format!(r#"{{"brief_id":"{id}"}}"#))
}

fn sleep(
    tx: &mut Tx<'_>,
    run_id: RunId,
    reason: Option<String>,
    duration_ms: Option<Millis>,
) -> Result<Receipt, ToolError> {
    let owed = |item: &&WorkItem| item.is_runnable() && item.debt.deferred(tx.now()).is_none();
    if let (None, Some(item)) = (duration_ms, tx.agent().work.current().filter(owed)) {
        let message =
            format!("{} is in focus and can be worked on: a sleep without an end would leave it", item.id);
        let error = ToolError::new(ToolErrorKind::InvalidToolInput, message);
        return Err(error.hint("sleep with duration_ms, complete it, or say what stands in its way"));
    }
    let until = duration_ms.map(|duration| tx.now().after(duration));
    tx.record(SleepBegun { run_id, until, duration_ms, reason });
    let until = until.map_or_else(|| "null".into(), |until| format!("\"{until}\""));
    let facts = ToolFacts { ends_turn: true, ..ToolFacts::default() };
    Ok(Receipt::success(Text::short(format!(r#"{{"sleeps_until":{until}}}"#)), facts))
}

/// Whether the round in progress has said that the turn is over.
pub(super) fn rests(run: &Run) -> bool {
    let round = run
        .conversation
        .rounds
        .last()
        .filter(|_| run.conversation.rounds.len() > run.conversation.carried_rounds as usize);
    round.into_iter().flat_map(|round| &round.results).any(|result| result.facts.ends_turn)
}

fn receipt(json: &str) -> Receipt {
    Receipt::success(Text::short(json), ToolFacts::default())
}
