//! What a model is shown in the middle of a turn, by an operator or by the runtime.

use alloc::vec::Vec;

use holon_facts::fence::{Fence, Place};
use holon_facts::frame::Part;

use super::{changes, incoming, policy, worded_parts};
use crate::agent::turn::{About, Note};

/// What a note shows, which stands before that round, at that position.
pub(crate) fn parts(about: &About, (round, at): (usize, usize), note: &Note) -> Vec<Part> {
    let fence: Fence = about.fence;
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let place = Place::Note { round: number(round), index: number(at) };
    worded_parts(match note {
        Note::Interjection { message_id, text, images, skills, waits, .. } => {
            incoming::interjection(*message_id, (text, images, skills), waits, fence)
        }
        Note::Hints { hints } => incoming::hints(hints.iter(), fence, place),
        Note::Reminder { text } => {
            let text = alloc::vec![Part::Rendered(text.clone())];
            alloc::vec![Part::Rendered("[reminder by the runtime]\n".into()), fence.quoted(place, text)]
        }
        // What it says is worded already.
        Note::Changed { changes } => return changes::parts(changes, fence, about.incoming.id),
        Note::Continuation => alloc::vec![Part::Rendered(policy::CONTINUATION.into())],
    })
}
