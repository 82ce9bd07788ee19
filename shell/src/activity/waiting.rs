//! What a run waits for at this moment, as the line below tells it.

use holon_facts::event::operation::OpKind;
use holon_facts::event::{Event, OperationFact, TurnFact};
use holon_facts::{Millis, Now, Record};
use holon_text::time;

use super::steps::Steps;
use holon_present as present;

/// Characters of a model's text that are kept to be shown.
const TAIL: usize = 160;

/// What is waited for, and since when.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    what: What,
    since: Now,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Instructions,
    Model,
    /// A wait before the next attempt.
    Backoff(Millis),
    Call(String),
    End,
}

/// The end of what a model has said so far.
#[derive(Debug, Default)]
pub(super) struct Partial {
    tail: String,
}

impl Partial {
    pub(super) fn clear(&mut self) {
        self.tail.clear();
    }

    pub(super) fn push(&mut self, piece: &str) {
        self.tail.push_str(piece);
        let surplus = self.tail.chars().count().saturating_sub(TAIL);
        if surplus > 0 {
            self.tail = self.tail.chars().skip(surplus).collect();
        }
    }
}

impl Waiting {
    /// What is waited for after this record, where it changes that.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn from(record: &Record, steps: &Steps, now: Now) -> Option<Self> {
        let what = match &record.event {
            Event::Operation(OperationFact::OperationOpened(fact)) => match fact.kind {
                OpKind::LoadContext => What::Instructions,
                OpKind::CallModel => What::Model,
                // Its start names the call.
                _ => return None,
            },
            Event::Turn(TurnFact::ToolStarted(fact)) => What::Call(steps.title(&fact.call_id).to_owned()),
            Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) => What::Backoff(fact.attempt.backoff_ms?),
            Event::Turn(TurnFact::TurnTerminal(_)) => What::End,
            _ => return None,
        };
        Some(Self { what, since: now })
    }

    pub(super) fn is_model(&self) -> bool {
        self.what == What::Model
    }

    /// The line: time of the run, what is waited for, and how long that has taken or will take.
    pub(super) fn line(&self, now: Now, began: Now, partial: &Partial) -> String {
        let since = |earlier: Now| now.mono.since(earlier.mono);
        let waited = since(self.since);
        let for_long = if waited.0 < 2_000 { String::new() } else { format!(" {}", time::clock(waited)) };
        let what = match &self.what {
            What::Instructions => format!("reading the instructions{for_long}"),
            What::Model if partial.tail.is_empty() => format!("waiting for the model{for_long}"),
            What::Model => present::one_line_from_end(&partial.tail),
            What::Backoff(wait) => {
                let left = Millis(wait.0.saturating_sub(waited.0).div_ceil(1_000) * 1_000);
                format!("next attempt in {}", time::clock(left))
            }
            What::Call(title) => format!("{title}{for_long}"),
            What::End => "finishing".to_owned(),
        };
        format!("{} {what}", time::clock(since(began)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_facts::{Mono, Wall};

    fn at(seconds: u64) -> Now {
        Now { mono: Mono(seconds * 1_000_000), wall: Wall(0) }
    }

    #[test]
    fn a_wait_is_counted_and_a_backoff_counted_down() {
        let line = |what: What, partial: &str| {
            let mut tail = Partial::default();
            tail.push(partial);
            Waiting { what, since: at(10) }.line(at(75), at(5), &tail)
        };
        assert_eq!(line(What::Model, ""), "1:10 waiting for the model 1:05");
        assert_eq!(line(What::Model, "I look\nat it"), "1:10 I look at it");
        assert_eq!(line(What::Call("cargo test".into()), "old"), "1:10 cargo test 1:05");
        assert_eq!(line(What::Backoff(Millis(70_200)), ""), "1:10 next attempt in 0:06");
        assert_eq!(line(What::Backoff(Millis(1)), ""), "1:10 next attempt in 0:00");
    }

    #[test]
    fn only_the_end_of_a_long_text_is_kept() {
        let mut partial = Partial::default();
        (0..1_000).for_each(|_| partial.push("ä"));
        assert_eq!(partial.tail.chars().count(), TAIL);
    }
}
