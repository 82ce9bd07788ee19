//! Waiting for providers that are away, or for a budget (contract: scheduler.md, Hold).

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::budget::Budget;
use holon_facts::event::scheduling::{HoldCause, HoldSet};
use holon_facts::ids::MessageId;
use holon_facts::message::Message;
use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Set by a turn that met an outage or an exhausted budget, ended by one that succeeds. Between its deadline and the
/// next trial the queue runs as always: whatever is first is the trial.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    pub cause: HoldCause,
    pub since: Wall,
    pub step: u32,
    /// Without one, the budget has to be raised.
    pub until: Option<Wall>,
    /// What is exhausted.
    pub budget: Option<Budget>,
    /// Providers whose keys or logins are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_by: Vec<String>,
    /// The first operator prompt admitted since the step began, and after it the next one. After one that was aborted
    /// the next that comes.
    pub trial: Option<MessageId>,
}

impl Hold {
    pub(super) fn new(fact: &HoldSet) -> Self {
        let HoldSet { cause, since, step, until, budget, .. } = *fact;
        Self { cause, since, step, until, budget, refused_by: fact.refused_by.clone(), trial: None }
    }

    /// Whether the queue waits.
    pub fn holds(&self, now: Wall) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    pub(super) fn admitted(&mut self, message: &Message) {
        if self.trial.is_none() && message.is_by_operator() {
            self.trial = Some(message.id);
        }
    }

    pub(super) fn aborted(&mut self, message: MessageId) {
        self.trial.take_if(|trial| *trial == message);
    }

    /// Every wait moves with the clock. For a reset time of a provider that may be too early, which costs one
    /// trial; left where it was, a clock that had been years ahead would hold the agent for years.
    pub(super) fn clock_stepped(&mut self, from: Wall, to: Wall) {
        self.since = self.since.shifted(from, to);
        self.until = self.until.map(|until| until.shifted(from, to));
    }
}

/// How long the given step of the ladder lasts; the last one repeats.
pub(crate) fn step_length(steps: &[holon_facts::time::Millis], step: u32) -> holon_facts::time::Millis {
    let at = (step as usize).min(steps.len().saturating_sub(1));
    steps.get(at).copied().unwrap_or(holon_facts::time::Millis::hours(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use holon_facts::time::Millis;

    #[test]
    fn the_last_step_repeats() {
        let steps: Vec<_> = [30, 120, 600].map(Millis::seconds).into();
        let lengths: Vec<_> = (0..5).map(|step| step_length(&steps, step).0 / 1_000).collect();
        assert_eq!(lengths, [30, 120, 600, 600, 600]);
    }
}
