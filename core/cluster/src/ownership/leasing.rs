//! The node's own row: registering, renewing, and what a lost lease means.

use alloc::vec::Vec;

use super::{Intent, Life, Ownership};
use crate::ask::{Ask, Dropped, Slot, Statement};
use crate::ids::NodeId;
use crate::lease::Lease;
use crate::time::{Mono, Wall};

impl Ownership {
    pub(super) fn on_registered(&mut self, node: NodeId, wall: Wall, sent: Mono) {
        if self.life == Life::Nobody {
            self.life = Life::Node(Lease::new(node, wall, sent, self.now));
            self.lease_at = sent.after(self.terms.renew_every);
            self.poll_at = self.now;
        }
    }

    pub(super) fn on_renewed(&mut self, wall: Wall, sent: Mono) {
        if let Life::Node(lease) = &mut self.life {
            lease.renew(wall, sent, self.now);
            self.lease_at = sent.after(self.terms.renew_every);
        }
    }

    /// The node is late or buried: everything that it owned may be another's, so it owns nothing, and begins anew as another node.
    /// What it still has in flight names its old epochs.
    pub(super) fn lose_lease(&mut self, asks: &mut Vec<Ask>) {
        self.hold_effects(asks);
        let cells: Vec<_> = self.cells.keys().copied().collect();
        for cell in cells {
            self.drop_cell(cell, Dropped::LeaseLost, asks);
        }
        asks.extend(self.asked.take_all().into_iter().map(|id| Ask::Abandon { id }));
        self.routes.clear();
        match &mut self.intent {
            Intent::Work => {}
            Intent::Drain { mark_from } => *mark_from = Some(self.now),
            Intent::Stop { .. } => {
                self.life = Life::Ended;
                asks.push(Ask::Ended);
                return;
            }
        }
        self.life = Life::Nobody;
        self.lease_at = self.now;
    }

    pub(super) fn look_after_lease(&mut self, asks: &mut Vec<Ask>) {
        match self.life {
            Life::Ended => {}
            Life::Nobody if matches!(self.intent, Intent::Stop { .. }) => self.end(asks),
            Life::Nobody => {
                if self.asked.is_free(Slot::Lease) && self.now >= self.lease_at {
                    let labels = self.labels.clone();
                    self.query(Slot::Lease, Statement::Register { labels }, asks);
                }
            }
            Life::Node(lease) => {
                self.limit_effects(lease.until(&self.terms), asks);
                if self.asked.is_free(Slot::Lease) && self.now >= self.lease_at {
                    self.query(Slot::Lease, Statement::Renew { node: lease.node }, asks);
                }
            }
        }
    }

    fn limit_effects(&mut self, until: Mono, asks: &mut Vec<Ask>) {
        if self.now >= until {
            self.hold_effects(asks);
        } else if self.effects != Some(until) {
            self.effects = Some(until);
            asks.push(Ask::Effects { until });
        }
    }

    fn hold_effects(&mut self, asks: &mut Vec<Ask>) {
        if self.effects.take().is_some() {
            asks.push(Ask::HoldEffects);
        }
    }

    pub(super) fn end(&mut self, asks: &mut Vec<Ask>) {
        self.hold_effects(asks);
        self.life = Life::Ended;
        self.cells.clear();
        asks.extend(self.asked.take_all().into_iter().map(|id| Ask::Abandon { id }));
        asks.push(Ask::Ended);
    }
}
