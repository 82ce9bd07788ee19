//! The worlds and their bounds.

use super::{Bounds, SmallWorld};

const NOTHING: Bounds = Bounds { ticks: 0, requests: 0, losses: 0, crashes: 0, lags: 0, moves: 0, stops: 0 };

/// Every small world of two nodes.
pub fn worlds() -> Vec<SmallWorld> {
    let world =
        |name, [prompt, looks]: [bool; 2], about, bounds| SmallWorld { name, about, prompt, looks, bounds };
    vec![
        world(
            "takeover",
            [true, false],
            "the owner is silent past its lease, and the other node takes over, with a request on its way",
            Bounds { ticks: 6, requests: 1, ..NOTHING },
        ),
        world(
            "unknown",
            [true, true],
            "answers are lost, while requests go on within a lease",
            Bounds { ticks: 2, requests: 2, losses: 2, ..NOTHING },
        ),
        world(
            "start",
            [false, true],
            "both nodes start, both slow and unlucky, and want one cell",
            Bounds { ticks: 1, losses: 1, ..NOTHING },
        ),
        world(
            "clocks",
            [true, false],
            "the owner's clock runs slow",
            Bounds { ticks: 6, lags: 1, requests: 1, ..NOTHING },
        ),
        world(
            "crash",
            [true, false],
            "the owner's process dies and starts again",
            Bounds { ticks: 5, requests: 1, crashes: 1, ..NOTHING },
        ),
        world(
            "handover",
            [true, true],
            "an operator moves the cell to the other node",
            Bounds { ticks: 2, requests: 1, losses: 1, moves: 1, ..NOTHING },
        ),
        world(
            "stop",
            [true, false],
            "the owner is stopped in good order",
            Bounds { ticks: 2, requests: 1, losses: 1, stops: 1, ..NOTHING },
        ),
    ]
}

impl SmallWorld {
    /// Whether the search begins when one node serves and the other one watches, not at the very beginning.
    pub(super) fn begins_served(&self) -> bool {
        self.name != "start"
    }
}
