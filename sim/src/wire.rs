//! What a transport makes of a request (P7): every text that it names is on the disk, and every result can be rendered
//! for a model.

use std::collections::BTreeSet;

use holon_facts::frame::Part;
use holon_facts::model::{Block, Item, ModelRequest};
use holon_facts::{ContentId, Text};
use serde_json::Value;

use crate::failure::{Failure, ensure, safety};

/// Longest rendering of an error: its message, its details, its hint.
const RENDERED: usize = 40_000;

/// Checks a request against the texts that are on the disk.
pub(crate) fn lowered(request: &ModelRequest, kept: &BTreeSet<ContentId>) -> Result<(), Failure> {
    let model = &request.model;
    let parts = format!("{}/{}", model.provider(), model.model());
    ensure!(parts == model.as_str(), "P7", "{model} is made of {parts}");
    let frame = &request.frame;
    let blocks = frame.system_blocks.iter().chain(&frame.context_blocks);
    blocks.flat_map(|block| &block.parts).try_for_each(|given| part(given, kept))?;
    for item in &request.conversation {
        match item {
            Item::User { parts } => parts.iter().try_for_each(|given| part(given, kept))?,
            Item::Assistant { blocks } => {
                for block in blocks.iter() {
                    match block {
                        Block::Text { text } => resolved(text, kept)?,
                        Block::ToolCall { arguments, .. } => resolved(arguments, kept)?,
                        Block::Reasoning { content, .. } => resolved(content, kept)?,
                    }
                }
            }
            Item::ToolResults { results } => {
                for result in results {
                    result.receipt.texts().try_for_each(|text| resolved(text, kept))?;
                    if let Some(error) = &result.receipt.error {
                        let whole = "x".repeat(usize::try_from(error.message.bytes()).unwrap_or(RENDERED));
                        readable(&error.render("ExecCommand", &whole))?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn part(given: &Part, kept: &BTreeSet<ContentId>) -> Result<(), Failure> {
    match given {
        Part::Rendered(_) => Ok(()),
        Part::Image(shown) => resolved(&shown.image.data, kept),
        Part::Given(text) | Part::Excerpt { text, .. } => resolved(text, kept),
        Part::Quoted { parts, .. } => parts.iter().try_for_each(|quoted| part(quoted, kept)),
    }
}

fn resolved(text: &Text, kept: &BTreeSet<ContentId>) -> Result<(), Failure> {
    let known = text.content().is_none_or(|content| kept.contains(&content.id));
    ensure!(known, "P7", "a request names a text that no step has handed to the ledger: {text:?}");
    Ok(())
}

/// A rendered error is one JSON object, whatever its content.
fn readable(rendered: &str) -> Result<(), Failure> {
    let json: Value =
        serde_json::from_str(rendered).map_err(|error| safety("P7", format!("{rendered}: {error}")))?;
    let named = json["ok"] == false && json["kind"].is_string() && json["message"].is_string();
    ensure!(named && rendered.len() <= RENDERED, "P7", "an error reads {rendered}");
    Ok(())
}
