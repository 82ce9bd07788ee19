//! The lease of one node, and how long it can be proven.

use crate::ids::NodeId;
use crate::terms::Terms;
use crate::time::{Mono, Offset, Wall};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Lease {
    pub(crate) node: NodeId,
    /// When the newest renewal that went through was sent. The database counts from later, so what is counted from here ends first.
    renewed: Mono,
    offset: Offset,
}

impl Lease {
    pub(crate) fn new(node: NodeId, wall: Wall, sent: Mono, answered: Mono) -> Self {
        Self { node, renewed: sent, offset: Offset::of(wall, sent, answered) }
    }

    pub(crate) fn renew(&mut self, wall: Wall, sent: Mono, answered: Mono) {
        self.renewed = self.renewed.max(sent);
        self.offset = Offset::of(wall, sent, answered);
    }

    /// No effect begins at this moment or later.
    pub(crate) fn until(&self, terms: &Terms) -> Mono {
        self.renewed.after(terms.lease.less(terms.margin))
    }

    /// A node that has just shown that it reaches the database, and in time: it may bury and claim.
    pub(crate) fn is_fresh(&self, terms: &Terms, now: Mono) -> bool {
        now.since(self.renewed) <= terms.fresh_within && now < self.until(terms)
    }

    pub(crate) fn wall(&self, now: Mono) -> Wall {
        self.offset.wall(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    #[test]
    fn it_is_counted_from_before_the_renewal_was_sent() {
        let terms = Terms { lease: Span(100), margin: Span(10), fresh_within: Span(30), ..Terms::default() };
        let mut lease = Lease::new(NodeId(1), Wall(1_000), Mono(0), Mono(50));
        assert_eq!(lease.until(&terms), Mono(90));
        lease.renew(Wall(1_040), Mono(40), Mono(85));
        assert_eq!(lease.until(&terms), Mono(130));
        lease.renew(Wall(1_030), Mono(30), Mono(86));
        assert_eq!(lease.until(&terms), Mono(130), "an older one takes nothing back");
        assert!(lease.is_fresh(&terms, Mono(70)) && !lease.is_fresh(&terms, Mono(71)));
    }
}
