//! Laws about tools of other programs.

use alloc::format;
use alloc::sync::Arc;

use holon_facts::call::ToolName;
use holon_facts::event::turn::ToolsCatalogued;
use holon_facts::event::{Event, TurnFact};
use holon_facts::record::Record;
use holon_facts::tool::ServerTools;

use super::past::Past;
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
