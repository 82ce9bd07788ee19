//! Time in whole milliseconds that is divided into parts without remainder.

use holon_facts::time::{Millis, Wall};

use super::LatencyParts;

/// What time belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    QueueWait,
    ContextBuild,
    Provider,
    Backoff,
    Tool,
    Settlement,
    Other,
}

/// Each moment is rounded to a whole millisecond after the first one, and not each part: so parts add up.
#[derive(Debug)]
pub(super) struct Clock {
    since: Wall,
    /// So much is divided.
    so_far: Millis,
    parts: LatencyParts,
}

impl Clock {
    pub(super) fn new(since: Wall) -> Self {
        Self { since, so_far: Millis(0), parts: LatencyParts::default() }
    }

    /// What has passed until that moment belongs to a part; nothing when the moment is not later.
    pub(super) fn until(&mut self, at: Wall, part: Part) -> Millis {
        let now = at.since(self.since).max(self.so_far);
        let took = Millis(now.0 - self.so_far.0);
        self.so_far = now;
        let parts = &mut self.parts;
        let sum = match part {
            Part::QueueWait => &mut parts.queue_wait_ms,
            Part::ContextBuild => &mut parts.context_build_ms,
            Part::Provider => &mut parts.provider_ms,
            Part::Backoff => &mut parts.backoff_ms,
            Part::Tool => &mut parts.tool_ms,
            Part::Settlement => &mut parts.settlement_ms,
            Part::Other => &mut parts.other_ms,
        };
        sum.0 += took.0;
        took
    }

    pub(super) fn parts(&self) -> LatencyParts {
        self.parts
    }

    pub(super) fn total(&self) -> Millis {
        self.so_far
    }
}
