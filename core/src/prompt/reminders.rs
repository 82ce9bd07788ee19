//! Sentences of the runtime in the middle of a turn. Handlers record them as they are: the transcript of a turn repeats what
//! its model read, and the item that a reminder describes changes after it.

use alloc::string::String;

use holon_facts::content::clip;
use holon_facts::model::RoundEnd;
use holon_facts::work::TodoState;

use super::worded;
use super::work::{LINE_BYTES, described};
use crate::agent::turn::Round;
use crate::agent::work::WorkItem;

/// The last calls were equal, and so were their results.
pub(crate) fn repeated_calls(count: u32) -> String {
    worded(format!(
        "The last {count} tool calls were the same call with the same result. Do something else, or say what stands in \
         the way."
    ))
}

/// A long turn has not changed its item. At most so many bytes.
pub(crate) fn unchanged_item(item: &WorkItem, rounds: u32, bytes: usize) -> String {
    let text = format!(
        "No work item has changed for {rounds} rounds. Note with UpdateWorkItem what is done, or complete it.\n{}",
        described("This turn is about", item, |todo| todo.state != TodoState::Completed)
    );
    worded(clip(text.trim_end(), bytes))
}

/// An operator has written while the item needs input.
pub(crate) fn needs_input(item: &WorkItem) -> String {
    worded(format!(
        "{} still says that it needs input, and the operator has said something: {}\nIf that answers it, set its \
         plan_status with UpdateWorkItem, else it goes on waiting.",
        item.id,
        clip(&item.objective, LINE_BYTES)
    ))
}

/// The answer of that round was cut off, and goes on in the next one.
pub(crate) fn continuation(round: &Round) -> String {
    let text = match (round.end, round.texts().next()) {
        (Some(RoundEnd::OutputLimit), None) => {
            "Your last answer reached the output limit before it had any text or tool call. Think less this \
             time: call a tool or answer at once."
        }
        (Some(RoundEnd::OutputLimit), Some(_)) => {
            "Your last answer reached the output limit and was cut off. Continue exactly where it stopped and \
             repeat nothing: what you write now is appended to it."
        }
        (_, _) => {
            "You paused your last answer. Continue where it stopped: what you write now is appended to it."
        }
    };
    worded(text.into())
}
