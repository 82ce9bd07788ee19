//! M10: text from others is in fences, none of which it can close, and never in the system role.

use std::collections::BTreeSet;

use holon_facts::frame::{Part, PromptBlock};
use holon_facts::model::{Item, ModelRequest};
use holon_facts::provenance::MessageKind;
use holon_facts::{AgentId, Text};

use super::compare::{given, leaves, outside, rendered};
use super::talk::{Delivered, Expected, Piece};
use crate::failure::{Failure, ensure};

/// Shorter names may occur in anybody's text.
const NAME: usize = 6;

/// Checks a request; returns how many fences it has.
pub(super) fn check(request: &ModelRequest, expected: &Expected) -> Result<u64, Failure> {
    let agent = &request.agent;
    let frame = &request.frame;
    frame.system().try_for_each(|block| system(agent, block))?;
    let mut fences = 0;
    for block in frame.turn() {
        let foreign = outside(&block.parts).into_iter().find(|part| given(part).is_some());
        ensure!(foreign.is_none(), "M10", "{agent} is shown {foreign:?} outside of a fence");
        fences += closed(agent, &block.parts)?;
    }
    let operators = operators(expected);
    let names = names(expected);
    for item in &request.conversation {
        let Item::User { parts } = item else { continue };
        let foreign = |part: &&Part| given(part).is_some_and(|text| !operators.contains(&text));
        let foreign = outside(parts).into_iter().find(foreign);
        ensure!(foreign.is_none(), "M10", "{agent} is shown {foreign:?} outside of a fence");
        let words = rendered(&outside(parts));
        let name = names.iter().find(|name| words.contains(**name));
        ensure!(name.is_none(), "M10", "{agent} is shown the name {name:?} outside of a fence: {words:?}");
        fences += closed(agent, parts)?;
    }
    Ok(fences)
}

/// The system role has the runtime's own text, instruction files and the list of skills.
fn system(agent: &AgentId, block: &PromptBlock) -> Result<(), Failure> {
    let instructions = ["agent_instructions", "workspace_instructions"].contains(&block.label.as_str());
    let foreign = block.parts.iter().find(|part| match part {
        Part::Rendered(_) => false,
        Part::Given(_) => !instructions,
        Part::Image(_) => true,
        // Descriptions of skills, on one line each.
        Part::Excerpt { .. } => block.label != "skills_catalogue",
        Part::Quoted { .. } => true,
    });
    ensure!(foreign.is_none(), "M10", "the system role of {agent} has {foreign:?}");
    Ok(())
}

/// No text in a fence has its tag; returns the number of fences.
fn closed(agent: &AgentId, parts: &[Part]) -> Result<u64, Failure> {
    let mut fences = 0;
    for part in parts {
        let Part::Quoted { tag, parts } = part else { continue };
        fences += 1;
        let tag = tag.to_string();
        let has_tag = |part: &&Part| match part {
            Part::Rendered(text) => text.contains(&tag),
            Part::Given(text) | Part::Excerpt { text, .. } => text.preview().contains(&tag),
            // An image is from an operator, and is never fenced.
            Part::Image(_) | Part::Quoted { .. } => true,
        };
        let broken = leaves(parts).into_iter().find(has_tag);
        ensure!(broken.is_none(), "M10", "{agent} is shown {broken:?} in its own fence {tag}");
        let nested = parts.iter().any(|part| matches!(part, Part::Quoted { .. }));
        ensure!(!nested, "M10", "{agent} is shown a fence in a fence");
    }
    Ok(fences)
}

/// The messages of all turns of the episode.
fn messages(expected: &Expected) -> impl Iterator<Item = &Delivered> {
    expected.past.iter().flat_map(|past| &past.messages).chain(&expected.messages)
}

/// The pieces of all turns of the episode.
fn pieces(expected: &Expected) -> impl Iterator<Item = &Piece> {
    expected.past.iter().flat_map(|past| &past.spoken.pieces).chain(&expected.spoken.pieces)
}

/// Texts of operators.
fn operators(expected: &Expected) -> Vec<&Text> {
    let messages = messages(expected).map(|delivered| &delivered.message);
    let prompts = messages.filter(|message| message.kind == MessageKind::OperatorPrompt);
    let interjected = pieces(expected).filter_map(|piece| match piece {
        Piece::Interjection(message) => Some(message),
        Piece::Round(_) | Piece::Reminder(_) | Piece::Continuation | Piece::Hints(_) => None,
    });
    prompts.chain(interjected).map(|message| &message.body.text).collect()
}

/// Names that others chose.
fn names(expected: &Expected) -> BTreeSet<&str> {
    let hints = messages(expected).flat_map(|delivered| &delivered.hints);
    let shown = pieces(expected).filter_map(|piece| match piece {
        Piece::Hints(hints) => Some(hints),
        Piece::Round(_) | Piece::Reminder(_) | Piece::Continuation | Piece::Interjection(_) => None,
    });
    let hints = hints.chain(shown.flatten()).map(|hinted| &hinted.hint);
    let named = hints.flat_map(|hint| {
        [
            Some(hint.source.as_str()),
            Some(&hint.reason),
            hint.description.as_deref(),
            hint.resource.as_deref(),
        ]
    });
    named.flatten().filter(|name| name.len() >= NAME).collect()
}
