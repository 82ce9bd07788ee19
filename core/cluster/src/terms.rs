//! The terms on which nodes share one database. All nodes of a database use the same lease and grace.

use crate::time::Span;

/// Spans and limits. [`Terms::check`] reports the first that can't be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Terms {
    /// How long a renewal lets a node own its cells.
    pub lease: Span,
    /// What a node takes off its lease for clocks that run at another rate than the database's: a tenth covers a tenth.
    pub margin: Span,
    /// How long a lease has been over before its node is buried: the time that supervisors have to end their commands.
    /// The machine does not read it; it is a parameter of the statement that buries.
    pub grace: Span,
    /// From one renewal to the next.
    pub renew_every: Span,
    /// From one look at nodes and cells to the next.
    pub poll_every: Span,
    /// Who buries or claims has sent a renewal that went through within this span.
    pub fresh_within: Span,
    /// How long the answer to a statement is waited for, appends left out.
    pub answer_within: Span,
    /// How long the answer to an append is waited for before its connection is given up and its outcome is settled.
    pub append_within: Span,
    /// From a statement that failed to its repetition.
    pub retry_after: Span,
    /// How long a host may take from its claim to its first batch.
    pub take_over_within: Span,
    /// How long a host may take to give its last batch.
    pub drain_within: Span,
    /// How long a cell stays offered to one node before anybody may claim it.
    pub offer_within: Span,
    /// Connections for appends; each has at most one statement in flight.
    pub append_connections: u8,
    /// Cells in one append.
    pub cells_per_append: usize,
    /// Batches of one cell that are not durable yet.
    pub batches_per_cell: usize,
    /// Cells whose outcome is settled at the same time.
    pub settles: usize,
    /// Appends in a row that wrote nothing although the head was the expected one, before the cell stops.
    pub refusals: u8,
    /// Cells of one node.
    pub cells: usize,
    /// Cells whose last head is remembered.
    pub remembered: usize,
}

/// Terms under which ownership is not safe, or never comes about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTerms {
    pub field: &'static str,
    pub problem: &'static str,
}

impl core::fmt::Display for BadTerms {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "{}: {}", self.field, self.problem)
    }
}

impl core::error::Error for BadTerms {}

impl Default for Terms {
    fn default() -> Self {
        Self {
            lease: Span::millis(3_000),
            margin: Span::millis(300),
            grace: Span::millis(500),
            renew_every: Span::millis(1_000),
            poll_every: Span::millis(250),
            fresh_within: Span::millis(1_000),
            answer_within: Span::millis(1_000),
            append_within: Span::millis(10_000),
            retry_after: Span::millis(100),
            take_over_within: Span::millis(60_000),
            drain_within: Span::millis(30_000),
            offer_within: Span::millis(2_000),
            append_connections: 2,
            cells_per_append: 64,
            batches_per_cell: 2,
            settles: 2,
            refusals: 5,
            cells: 4_096,
            remembered: 65_536,
        }
    }
}

impl Terms {
    /// Refuses terms whose lease can't be kept, whose margin covers no clock, or that have a limit of nothing.
    pub fn check(&self) -> Result<(), BadTerms> {
        let bad = |field, problem| Err(BadTerms { field, problem });
        if self.margin.0 < self.lease.0 / 10 {
            return bad("margin", "is less than a tenth of the lease: a slow clock would outlive it");
        }
        if self.renew_every.0.saturating_mul(2) > self.lease.less(self.margin).0 {
            return bad("renew_every", "leaves no time for a second renewal within the lease");
        }
        if self.fresh_within > self.lease.less(self.margin) {
            return bad("fresh_within", "is longer than the lease without its margin");
        }
        let spans = [
            (self.renew_every, "renew_every"),
            (self.poll_every, "poll_every"),
            (self.fresh_within, "fresh_within"),
            (self.answer_within, "answer_within"),
            (self.append_within, "append_within"),
            (self.retry_after, "retry_after"),
            (self.take_over_within, "take_over_within"),
            (self.drain_within, "drain_within"),
            (self.offer_within, "offer_within"),
        ];
        if let Some((_, field)) = spans.iter().find(|(span, _)| span.0 == 0) {
            return bad(field, "must not be zero");
        }
        let limits = [
            (usize::from(self.append_connections), "append_connections"),
            (self.cells_per_append, "cells_per_append"),
            (self.batches_per_cell, "batches_per_cell"),
            (self.settles, "settles"),
            (usize::from(self.refusals), "refusals"),
            (self.cells, "cells"),
        ];
        if let Some((_, field)) = limits.iter().find(|(limit, _)| *limit == 0) {
            return bad(field, "must be at least one");
        }
        if self.remembered < self.cells {
            return bad("remembered", "is less than the cells of one node");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_terms_are_good() {
        assert_eq!(Terms::default().check(), Ok(()));
    }

    #[test]
    fn each_bad_term_is_named() {
        let cases: [(Terms, &str); 6] = [
            (Terms { margin: Span::millis(299), ..Terms::default() }, "margin"),
            (Terms { renew_every: Span::millis(1_400), ..Terms::default() }, "renew_every"),
            (Terms { fresh_within: Span::millis(2_800), ..Terms::default() }, "fresh_within"),
            (Terms { poll_every: Span(0), ..Terms::default() }, "poll_every"),
            (Terms { settles: 0, ..Terms::default() }, "settles"),
            (Terms { remembered: 1, ..Terms::default() }, "remembered"),
        ];
        for (terms, field) in cases {
            assert_eq!(terms.check().map_err(|bad| bad.field), Err(field));
        }
    }
}
