//! Turns under a limit that the host shares with another host, which is simulated here: it begins and ends turns at
//! random, and learns of its loans late. A crash of the host returns its loans.

use holon_core::turns::{Borrower, TurnLender, TurnsLent, TurnsUse};

/// The lender and the two borrowers.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    lender: Option<TurnLender>,
    own: Option<TurnsLent>,
    other: Option<Other>,
    /// Whether the other host has a planned happening.
    pub moves: bool,
}

/// What is lent to the host from now on.
#[derive(Debug, Clone, Copy)]
pub struct Lent {
    pub turns: u64,
    pub fewer: bool,
}

#[derive(Debug, Clone)]
struct Other {
    id: Borrower,
    used: TurnsUse,
    new_loan: Option<u64>,
}

impl Turns {
    /// Begins a life of the host; returns its first loan.
    pub fn begin(&mut self, limit: u64) -> u64 {
        self.end();
        let lender = self.lender.get_or_insert_with(|| TurnLender::new(limit));
        let own = lender.join(limit);
        self.own = Some(own);
        if self.other.is_none() {
            let TurnsLent { to: id, turns } = lender.join(limit);
            self.other =
                Some(Other { id, used: TurnsUse { lent: turns, ..TurnsUse::default() }, new_loan: None });
        }
        own.turns
    }

    /// Ends a life of the host.
    pub fn end(&mut self) {
        if let (Some(lender), Some(own)) = (&mut self.lender, self.own.take()) {
            let lent = lender.leave(own.to);
            self.send(lent);
        }
    }

    /// Reports what the host uses; returns its loan if that has changed.
    pub fn report(&mut self, used: TurnsUse) -> Option<Lent> {
        let lent = self.lender.as_mut()?.report(self.own?.to, used);
        self.send(lent)
    }

    /// The other host learns of its loan, ends some turns, and wants some more.
    pub fn other_moves(&mut self, ends: u64, wants: u64) -> Option<Lent> {
        let (lender, other) = (self.lender.as_mut()?, self.other.as_mut()?);
        let used = &mut other.used;
        used.lent = other.new_loan.take().unwrap_or(used.lent);
        used.running = used.running.saturating_sub(ends);
        used.waiting += wants;
        let begins = used.waiting.min(used.lent.saturating_sub(used.running));
        used.running += begins;
        used.waiting -= begins;
        let lent = lender.report(other.id, *used);
        self.send(lent)
    }

    /// Turns in progress at the other host.
    pub fn of_other(&self) -> u64 {
        self.other.as_ref().map_or(0, |other| other.used.running)
    }

    /// Whether the other host has a loan to learn of or turns to end.
    pub fn is_busy(&self) -> bool {
        self.other.as_ref().is_some_and(|other| other.new_loan.is_some() || other.used.running > 0)
    }

    fn send(&mut self, lent: Vec<TurnsLent>) -> Option<Lent> {
        let mut new = None;
        for TurnsLent { to, turns } in lent {
            if let Some(own) = self.own.as_mut().filter(|own| own.to == to) {
                new = Some(Lent { turns, fewer: turns < own.turns });
                own.turns = turns;
            } else if let Some(other) = &mut self.other {
                other.new_loan = Some(turns);
            }
        }
        new
    }
}
