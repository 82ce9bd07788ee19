//! Laws about tools of other programs.

use alloc::sync::Arc;

use holon_facts::call::ToolName;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::turn::ToolsCatalogued;
use holon_facts::event::{Event, OperationFact, TurnFact};
use holon_facts::ids::RunId;
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_facts::record::Record;
use holon_facts::tool::ServerTools;

use super::past::{Call, Past};
use super::{Checked, rule};

/// What is offered of them is on record, as it changes; in the middle of a turn that has an effect only where nothing was read
/// for the episode before.
pub(super) fn cx35(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Turn(TurnFact::TurnStarted(fact)) => match &fact.tools_offered {
            Some(tools) => offered(tools, &past.episodes.catalogue),
            None => Ok(false),
        },
        Event::Turn(TurnFact::ToolsCatalogued(fact)) => catalogued(past, fact),
        _ => Ok(false),
    }
}

fn catalogued(past: &Past, fact: &ToolsCatalogued) -> Checked {
    let ToolsCatalogued { run_id, catalogue, tools_offered } = fact;
    let run = past.run.as_ref().map(|run| run.id);
    rule(run == Some(*run_id) && !past.skills.loaded, || {
        format!("tools of {run_id} in {run:?}, whose context is there: {}", past.skills.loaded)
    })?;
    rule(past.episodes.catalogue != *catalogue, || "the tools are those of before".into())?;
    let ordered = catalogue.tools.is_sorted_by(|one, next| one.name < next.name);
    rule(ordered, || "two tools have one name, or they are in no order".into())?;
    let Some(tools) = tools_offered else { return Ok(true) };
    rule(!past.episodes.open.as_ref().is_some_and(|open| open.loaded), || {
        format!("{run_id} offers other tools in the middle of an episode")
    })?;
    offered(tools, catalogue)?;
    Ok(true)
}

/// An agent's own tools come first, and no name of theirs has two underscores.
fn offered(tools: &Arc<[ToolName]>, catalogue: &ServerTools) -> Checked {
    let foreign = |name: &ToolName| name.as_str().contains("__");
    let first = tools.iter().position(foreign).unwrap_or(tools.len());
    let (_, others) = tools.split_at(first);
    let stranger = others.iter().find(|name| catalogue.get(name.as_str()).is_none());
    rule(stranger.is_none(), || format!("{stranger:?} is offered, and on no record"))?;
    rule(others.is_sorted(), || "tools of other programs are offered in no order".into())?;
    Ok(!others.is_empty())
}

/// A request leaves once for a call, and what is recorded of the call afterwards fits what is known of its end.
pub(super) fn cx33(past: &Past, record: &Record) -> Checked {
    let run = past.run.as_ref();
    let Some(call) = run.and_then(|run| run.open_call()).filter(|call| call.foreign) else {
        return Ok(false);
    };
    let under_way = past.run_ops().any(|(_, op)| op.kind == OpKind::CallTool);
    match &record.event {
        Event::Operation(OperationFact::OperationOpened(fact)) if of_run(past, fact.run_id) => {
            rule(fact.kind == OpKind::CallTool && call.started && !call.sent, || {
                format!("{} ({}) sends {} again, or something else", fact.op, fact.kind, call.id)
            })
        }
        Event::Operation(OperationFact::OperationSettled(fact)) if fact.settlement == Settlement::Lost => {
            let own = past.ops.get(&fact.op).is_some_and(|op| op.run.is_some());
            rule(!own, || format!("{} is lost, and {} has no result", fact.op, call.id))
        }
        Event::Turn(TurnFact::ToolExecuted(fact)) => rule(call.sent && !under_way, || {
            format!("{} has a result, and was not sent or is under way", fact.call_id)
        }),
        Event::Turn(TurnFact::ToolExecutionFailed(fact)) => {
            let kind = fact.receipt.error.as_ref().map(|error| error.kind);
            let interrupted = kind == Some(ToolErrorKind::Interrupted);
            rule(!under_way || interrupted, || {
                format!("{} is under way and ends with {kind:?}", fact.call_id)
            })?;
            Ok(call.sent)
        }
        _ => Ok(false),
    }
}

fn of_run(past: &Past, run: Option<RunId>) -> bool {
    run.is_some() && past.run.as_ref().map(|run| run.id) == run
}

/// Results of other programs have no facts and no images: nothing is done because of them.
pub(super) fn cx37(past: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::ToolExecuted(fact)) = &record.event else { return Ok(false) };
    let call = past.run.as_ref().and_then(|run| run.open_call());
    let of_others = |call: &Call| call.foreign;
    if !call.is_some_and(of_others) && fact.tool_name != "ToolSearch" {
        return Ok(false);
    }
    let facts = &fact.receipt.facts;
    let nothing = ToolFacts { truncated: facts.truncated, ..ToolFacts::default() };
    rule(*facts == nothing && fact.receipt.images.is_empty(), || {
        format!("{} of another program did more than to answer: {facts:?}", fact.tool_name)
    })
}
