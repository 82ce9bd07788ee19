//! Timers.

use holon_facts::event::TimerFact;
use holon_facts::event::timer::{TimerCreated, TimerFired, TimerSkipped};
use holon_text::time::{duration, exactly};

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &TimerFact) -> Rendered {
    let (visibility, summary) = match fact {
        TimerFact::TimerCreated(fact) => (Visibility::Info, created(fact)),
        TimerFact::TimerFired(fact) => (Visibility::Info, fired(fact)),
        TimerFact::TimerSkipped(fact) => (Visibility::Info, skipped(fact)),
        TimerFact::TimerTickQueued(fact) => {
            (Visibility::Debug, format!("{} reports {}", fact.message_id, fact.timer_id))
        }
        TimerFact::TimerCancelled(fact) => (Visibility::Info, format!("{} was cancelled", fact.timer_id)),
    };
    Rendered::new(visibility, Category::Waiting, "timer", &summary)
}

fn created(fact: &TimerCreated) -> String {
    let every = fact.interval_ms.map(|every| format!(", then every {}", exactly(every))).unwrap_or_default();
    let summary = fact.summary.as_ref().map(|summary| format!(": {summary}")).unwrap_or_default();
    format!("{} fires in {}{every}{summary}", fact.timer_id, exactly(fact.duration_ms))
}

fn fired(fact: &TimerFired) -> String {
    let times = if fact.occurrences > 1 { format!(" {} times", fact.occurrences) } else { String::new() };
    // What a busy machine takes to look at a clock is nothing to tell.
    let late =
        if fact.late_ms.0 < 1_000 { String::new() } else { format!(", {} late", duration(fact.late_ms)) };
    format!("{} fired{times}{late}", fact.timer_id)
}

fn skipped(fact: &TimerSkipped) -> String {
    let missed = if fact.occurrences == 1 { "one occurrence" } else { "occurrences" };
    let count = if fact.occurrences == 1 { String::new() } else { format!("{} ", fact.occurrences) };
    format!("{} skips {count}{missed} that it missed", fact.timer_id)
}
