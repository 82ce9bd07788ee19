//! Turns that several hosts have together: how many each of them may have at once (contract: scale.md, Cells).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;

use serde::{Deserialize, Serialize};

/// A borrower has at most that part of what is free in advance.
const IN_ADVANCE: u64 = 8;

/// What a host has of them, and wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnsUse {
    /// As many may be in progress, as far as the host has heard.
    pub lent: u64,
    /// As many are; more than are lent where some were called back, or went on after a start.
    pub running: u64,
    /// Agents that are refused a turn for want of a slot.
    pub waiting: u64,
}

/// One start of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Borrower(u64);

/// So many turns may be in progress at a borrower from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnsLent {
    pub to: Borrower,
    pub turns: u64,
}

/// Lends the turns of one limit. A slot that becomes free goes to whoever has the fewest of those who wait, and has waited longest.
/// For whoever gets none, slots that nobody uses are called back, and else one of whoever has more. What was called back counts as lent until its
/// borrower has heard of it, and its turns have ended: together the borrowers never begin more than the limit.
#[derive(Debug, Clone)]
pub struct TurnLender {
    limit: u64,
    borrowers: BTreeMap<Borrower, Share>,
    next_borrower: u64,
    next_place: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Share {
    /// What its borrower was notified of last.
    lent: u64,
    used: TurnsUse,
    /// Its place in the line, while it waits.
    place: Option<u64>,
}

impl Share {
    /// As many may be in progress there, whatever it has heard.
    fn held(&self) -> u64 {
        self.lent.max(self.used.lent).max(self.used.running)
    }

    /// Whether it has heard of what was lent or called back last.
    fn is_settled(&self) -> bool {
        self.lent == self.used.lent
    }

    /// It can begin no turn, and has one to begin.
    fn is_in_want(&self) -> bool {
        self.is_settled() && self.used.waiting > 0 && self.used.running >= self.lent
    }

    fn idle(&self) -> u64 {
        self.lent.saturating_sub(self.used.running)
    }
}

impl TurnLender {
    pub fn new(limit: u64) -> Self {
        Self { limit, borrowers: BTreeMap::new(), next_borrower: 0, next_place: 0 }
    }

    /// One more borrower, and what it has to begin with: a part of what nobody has, so that its first turns need not ask.
    pub fn join(&mut self, limit: u64) -> TurnsLent {
        self.limit = limit;
        let to = Borrower(self.next_borrower);
        self.next_borrower += 1;
        let turns = in_advance(self.free());
        let used = TurnsUse { lent: turns, ..TurnsUse::default() };
        self.borrowers.insert(to, Share { lent: turns, used, place: None });
        TurnsLent { to, turns }
    }

    /// It is over: whatever it had is free.
    pub fn leave(&mut self, borrower: Borrower) -> Vec<TurnsLent> {
        self.borrowers.remove(&borrower);
        self.lend()
    }

    /// What a borrower uses now. Returns whoever is to be notified, each once.
    pub fn report(&mut self, borrower: Borrower, used: TurnsUse) -> Vec<TurnsLent> {
        let place = self.next_place;
        if let Some(share) = self.borrowers.get_mut(&borrower) {
            share.used = used;
            share.place = (used.waiting > 0).then(|| share.place.unwrap_or(place));
            self.next_place += 1;
        }
        self.lend()
    }

    fn held(&self) -> u64 {
        self.borrowers.values().map(Share::held).sum()
    }

    fn free(&self) -> u64 {
        self.limit.saturating_sub(self.held())
    }

    fn lend(&mut self) -> Vec<TurnsLent> {
        let before: Vec<u64> = self.borrowers.values().map(|share| share.lent).collect();
        let unserved = self.serve_the_line();
        if unserved.is_empty() {
            self.lend_in_advance();
        } else {
            self.call_back(&unserved);
        }
        let changed = self.borrowers.iter().zip(before).filter(|((_, share), before)| share.lent != *before);
        changed.map(|((to, share), _)| TurnsLent { to: *to, turns: share.lent }).collect()
    }

    /// Gives what is free to those in want, one slot at a time. Returns who got nothing.
    fn serve_the_line(&mut self) -> Vec<Borrower> {
        // Whoever has the fewest turns comes first, and of those who have as many whoever has waited longest.
        let mut line: BTreeSet<(u64, u64, Borrower)> = self
            .borrowers
            .iter()
            .filter(|(_, share)| share.is_in_want())
            .filter_map(|(to, share)| Some((share.used.running, share.place?, *to)))
            .collect();
        for _ in 0..self.free() {
            let Some((turns, _, to)) = line.pop_first() else { break };
            let Some(share) = self.borrowers.get_mut(&to) else { break };
            let place = self.next_place;
            self.next_place += 1;
            share.lent = turns + 1;
            share.place = Some(place);
            if share.lent < share.used.running + share.used.waiting {
                line.insert((share.lent, place, to));
            }
        }
        line.into_iter()
            .filter(|(turns, _, to)| self.borrowers[to].used.running == *turns)
            .map(|(_, _, to)| to)
            .collect()
    }

    /// Whoever uses all that it has gets more before it asks, as long as nobody waits.
    fn lend_in_advance(&mut self) {
        let mut free = self.free();
        let advance = in_advance(free);
        for share in self.borrowers.values_mut() {
            let uses_all = share.is_settled() && share.used.running > 0 && share.idle() == 0;
            if uses_all && free > 0 {
                let more = advance.min(share.used.running).min(free);
                share.lent = share.used.running + more;
                free -= more;
            }
        }
    }

    /// One slot for each of these: those that nobody uses, and else as many turns end at whoever has the most and begin here.
    fn call_back(&mut self, unserved: &[Borrower]) {
        let fewest =
            unserved.iter().filter_map(|to| self.borrowers.get(to)).map(|share| share.used.running).min();
        let fewest = fewest.unwrap_or(0);
        // More are in progress where some went on after a start: none of them begins another one.
        let too_many = self.held() > self.limit;
        let mut missing = unserved.len() as u64;
        let mut users: Vec<(u64, &mut Share)> = Vec::new();
        for share in self.borrowers.values_mut() {
            let (running, settled) = (share.used.running, share.is_settled());
            if !settled {
                // On its way: what nobody uses there.
                missing = missing.saturating_sub(share.held() - share.lent.max(running));
            }
            let back = if settled { share.idle().min(missing) } else { 0 };
            share.lent -= back;
            missing -= back;
            if settled && share.lent <= running {
                users.push((running - share.lent, share));
            } else if !settled {
                missing = missing.saturating_sub(running.saturating_sub(share.lent));
            }
        }
        // Those that were called back before come first, so that nobody hears of the same twice.
        users.sort_by_key(|(before, share)| Reverse((*before, share.used.running)));
        for (before, share) in &mut users {
            let back = (*before).min(missing).min(share.used.running.saturating_sub(fewest));
            let kept = share.used.running - back;
            share.lent = if too_many { share.lent.min(kept) } else { kept };
            missing -= back;
        }
        while missing > 0 {
            let most = users.iter_mut().max_by_key(|(_, share)| share.lent);
            let Some((_, share)) = most.filter(|(_, share)| share.lent > fewest) else { return };
            share.lent -= 1;
            missing -= 1;
        }
    }
}

/// What one borrower has before it asks, of so many that nobody has.
fn in_advance(free: u64) -> u64 {
    (free / IN_ADVANCE).max(1).min(free)
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
