//! The drawn setting of a world. Each fault is present in half of the worlds, at a drawn rate.

use holon_cluster::Terms;

use super::draw::Draw;
use crate::cluster::rules::Sabotage;

pub(super) const MS: u64 = 1_000;
pub(super) const SECOND: u64 = 1_000 * MS;

#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) terms: Terms,
    pub(super) nodes: usize,
    pub(super) cells: u64,
    /// Number of cells that only nodes with a label may own.
    pub(super) labelled: u64,
    /// How long faults last, in microseconds.
    pub(super) chaos: u64,
    /// Time between two requests for a cell.
    pub(super) requests: [u64; 2],
    /// The longest run of a command.
    pub(super) commands: u64,
    pub(super) rates: Rates,
}

/// Rates of faults: per thousand statements, or per thousand seconds of each node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    pub(super) request_lost: u32,
    pub(super) answer_lost: u32,
    pub(super) late: u32,
    pub(super) slow_commit: u32,
    pub(super) pause: u32,
    pub(super) crash: u32,
    pub(super) cut: u32,
    pub(super) restart_database: u32,
    pub(super) moves: u32,
    /// An agent gets a folder of the machine: its cell is bound to the label of its owner.
    pub(super) binds: u32,
    pub(super) drains: u32,
    pub(super) stops: u32,
    pub(super) slow_load: u32,
    pub(super) slow_begin: u32,
    /// How far the rates of clocks differ, in millionths.
    pub(super) clocks: u32,
}

impl Setting {
    pub(super) fn draw(draw: &mut Draw, sabotage: Option<Sabotage>) -> Self {
        let mut rate = |what, most: u32| {
            let there = draw.below(what, 0, 2) == 1;
            let rate = 1 + draw.below(what, 1, most);
            if there { rate } else { 0 }
        };
        let rates = Rates {
            request_lost: rate("request_lost", 60),
            answer_lost: rate("answer_lost", 60),
            late: rate("late", 40),
            slow_commit: rate("slow_commit", 40),
            pause: rate("pause", 60),
            crash: rate("crash", 40),
            cut: rate("cut", 50),
            restart_database: rate("restart_database", 20),
            moves: rate("moves", 60),
            binds: rate("binds", 30),
            drains: rate("drains", 15),
            stops: rate("stops", 20),
            slow_load: rate("slow_load", 100),
            slow_begin: rate("slow_begin", 100),
            clocks: rate("clocks", 50_000),
        };
        let rates =
            if sabotage == Some(Sabotage::SlowClock) { Rates { clocks: 400_000, ..rates } } else { rates };
        let cells = 1 + u64::from(draw.below("cells", 0, 12));
        let pace = 10 + u64::from(draw.below("requests", 0, 400));
        Self {
            terms: Terms::default(),
            nodes: 2 + draw.below("nodes", 0, 4) as usize,
            cells,
            labelled: u64::from(draw.below("labelled", 0, 4)).min(cells - 1),
            chaos: draw.span("chaos", 0, [20 * SECOND, 90 * SECOND]),
            requests: [pace * MS / 2, pace * MS * 2],
            commands: draw.span("commands", 0, [0, 8 * SECOND]),
            rates,
        }
    }

    /// The time from the last fault until one node serves every cell: earlier statements are given up, a lease and the
    /// grace pass, the node polls twice, and offers to a node that is gone end. Clocks may be slow.
    pub(super) fn quiet_within(&self) -> u64 {
        let terms = &self.terms;
        let before = terms.answer_within.0.max(terms.append_within.0) + terms.retry_after.0;
        let cells = 2 * SECOND;
        (before + terms.lease.0 + terms.grace.0 + 4 * terms.poll_every.0 + terms.offer_within.0 + cells) * 12
            / 10
    }

    pub(super) fn line(&self) -> String {
        let Self { nodes, cells, labelled, chaos, rates, .. } = self;
        format!(
            "{nodes} nodes, {cells} cells, {labelled} of them with a label, {} s, {rates:?}",
            chaos / SECOND
        )
    }
}
