//! M13: each image of a message or a result is shown with it, once, in its place; images beyond the limits of a request
//! are named instead, each by itself, and no others.

use holon_facts::AgentId;
use holon_facts::frame::Part;
use holon_facts::image::Image;
use holon_facts::message::Message;
use holon_facts::model::{Item, ModelRequest};

use crate::failure::{Failure, ensure};

/// The limits of one request, as users know them.
const IMAGES: usize = 20;
const BYTES: u64 = 20_000_000;

/// Checks that a message is shown with its images.
pub(super) fn with(agent: &AgentId, message: &Message, parts: &[Part]) -> Result<(), Failure> {
    let shown = parts.iter().filter_map(|part| match part {
        Part::Image(shown) => Some(&shown.image),
        Part::Rendered(_) | Part::Given(_) | Part::Excerpt { .. } | Part::Quoted { .. } => None,
    });
    let same = shown.clone().eq(&message.images);
    let names: Vec<&str> = shown.map(|image| image.name.as_str()).collect();
    ensure!(
        same,
        "M13",
        "{} of {agent} has the images {:?}, shown are {names:?}",
        message.id,
        message.images
    );
    Ok(())
}

/// Checks a request; returns how many images it has.
pub(super) fn check(request: &ModelRequest) -> Result<u64, Failure> {
    let agent = &request.agent;
    let (mut shown, mut bytes, mut all) = (0_usize, 0_u64, 0_u64);
    for (images, named) in request.conversation.iter().flat_map(groups) {
        let more: u64 = images.iter().map(|image| image.bytes).sum();
        let fits = shown + images.len() <= IMAGES && bytes.saturating_add(more) <= BYTES;
        ensure!(
            fits != named,
            "M13",
            "{agent} has {shown} images of {bytes} bytes, then {images:?}: named is {named}"
        );
        if fits {
            (shown, bytes) = (shown + images.len(), bytes + more);
        }
        all += images.len() as u64;
    }
    Ok(all)
}

/// Images that are shown or named together.
fn groups(item: &Item) -> Vec<(&[Image], bool)> {
    match item {
        Item::User { parts } => parts
            .iter()
            .filter_map(|part| match part {
                Part::Image(shown) => Some((std::slice::from_ref(&shown.image), shown.named_only)),
                Part::Rendered(_) | Part::Given(_) | Part::Excerpt { .. } | Part::Quoted { .. } => None,
            })
            .collect(),
        Item::Assistant { .. } => Vec::new(),
        Item::ToolResults { results } => {
            let with_images = results.iter().filter(|result| !result.receipt.images.is_empty());
            with_images.map(|result| (result.receipt.images.as_slice(), result.named_only)).collect()
        }
    }
}
