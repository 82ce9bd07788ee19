//! Images that a provider has refused: lines stand for them in later requests to the same model, so that each is sent in
//! vain once. What is refused without them too was not refused for them. Which of the images of a request was meant no refusal names, so all of them are. Kept in memory alone: another
//! process sends them once again.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use holon_facts::content::ContentId;
use holon_facts::model::{Item, ModelRequest};
use holon_facts::model_ref::ModelRef;

/// Most that are kept; then they are forgotten together.
const MOST: usize = 4_096;

#[derive(Default)]
pub(super) struct RefusedImages(Mutex<BTreeSet<(ModelRef, ContentId)>>);

impl RefusedImages {
    /// Those of a request.
    pub(super) fn of(&self, request: &ModelRequest) -> BTreeSet<ContentId> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() {
            return BTreeSet::new();
        }
        images(request).filter(|image| kept.contains(&(request.model.clone(), *image))).collect()
    }

    /// These are refused: the request was taken without them.
    pub(super) fn keep(&self, model: &ModelRef, refused: &BTreeSet<ContentId>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs = refused.iter().map(|image| (model.clone(), *image));
        let new: Vec<_> = pairs.filter(|pair| !kept.contains(pair)).collect();
        if kept.len() + new.len() > MOST {
            kept.clear();
        }
        kept.extend(new);
    }
}

/// The images of a request.
pub(super) fn images(request: &ModelRequest) -> impl Iterator<Item = ContentId> {
    request.conversation.iter().flat_map(Item::images).map(|image| image.sha256)
}
