//! M13: each image of a message or a result is shown with it, once, in its place; where a request has as many as it may,
//! those that follow are named, each by itself, and no others.

use holon_facts::AgentId;
use holon_facts::frame::Part;
use holon_facts::image::Image;
use holon_facts::message::Message;
use holon_facts::model::{Item, ModelRequest};

use crate::failure::{Failure, ensure};

/// The most of one request, as users are notified.
const IMAGES: usize = 20;
const BYTES: u64 = 20_000_000;

/// The images of a message, with it.
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

/// Says how many images there were.
pub(super) fn judge(request: &ModelRequest) -> Result<u64, Failure> {
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
            let seen = results.iter().filter(|result| !result.receipt.images.is_empty());
            seen.map(|result| (result.receipt.images.as_slice(), result.named_only)).collect()
        }
    }
}
