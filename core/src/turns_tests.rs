use alloc::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// A host as far as turns go, and what is on the way between it and the lender.
#[derive(Debug)]
struct Host {
    id: Borrower,
    used: TurnsUse,
    heard: VecDeque<u64>,
    reports: VecDeque<TurnsUse>,
    begun: u64,
}

/// Hosts that follow the rules of the core, with messages that take their time.
#[derive(Debug)]
struct World {
    limit: u64,
    lender: TurnLender,
    hosts: Vec<Host>,
    messages: u64,
    /// Turns that were in progress when a host began, beside all that may be.
    inherited: u64,
}

impl Host {
    fn step(&mut self, change: impl FnOnce(&mut TurnsUse)) {
        let before = self.used;
        change(&mut self.used);
        while self.used.waiting > 0 && self.used.running < self.used.lent {
            self.used.waiting -= 1;
            self.used.running += 1;
            self.begun += 1;
        }
        if self.used != before {
            self.reports.push_back(self.used);
        }
    }
}

impl World {
    fn new(limit: u64, hosts: usize) -> Self {
        let mut world =
            Self { limit, lender: TurnLender::new(limit), hosts: Vec::new(), messages: 0, inherited: 0 };
        (0..hosts).for_each(|_| world.join());
        world
    }

    fn join(&mut self) {
        let TurnsLent { to: id, turns } = self.lender.join(self.limit);
        let used = TurnsUse { lent: turns, ..TurnsUse::default() };
        self.hosts.push(Host { id, used, heard: VecDeque::new(), reports: VecDeque::new(), begun: 0 });
    }

    fn leave(&mut self, at: usize) {
        let gone = self.hosts.remove(at);
        let lent = self.lender.leave(gone.id);
        self.send(lent);
    }

    fn send(&mut self, lent: Vec<TurnsLent>) {
        for TurnsLent { to, turns } in lent {
            self.messages += 1;
            let host = self.hosts.iter_mut().find(|host| host.id == to).unwrap();
            host.heard.push_back(turns);
            assert_eq!(host.heard.len(), 1, "one at a time is on the way");
        }
    }

    fn asks(&mut self, at: usize, turns: u64) {
        self.hosts[at].step(|used| used.waiting += turns);
        self.holds();
    }

    fn ends(&mut self, at: usize) {
        self.hosts[at].step(|used| used.running = used.running.saturating_sub(1));
        self.holds();
    }

    fn hears(&mut self, at: usize) -> bool {
        let Some(turns) = self.hosts[at].heard.pop_front() else { return false };
        self.hosts[at].step(|used| used.lent = turns);
        self.holds();
        true
    }

    fn reports(&mut self, at: usize) -> bool {
        let Some(used) = self.hosts[at].reports.pop_front() else { return false };
        let lent = self.lender.report(self.hosts[at].id, used);
        self.send(lent);
        true
    }

    /// Everything that is on the way arrives.
    fn settle(&mut self) {
        let mut left = 100_000;
        while (0..self.hosts.len()).any(|at| self.reports(at) || self.hears(at)) {
            left -= 1;
            assert!(left > 0, "it never comes to rest: {self:?}");
        }
    }

    fn running(&self) -> u64 {
        self.hosts.iter().map(|host| host.used.running).sum()
    }

    fn waiting(&self) -> u64 {
        self.hosts.iter().map(|host| host.used.waiting).sum()
    }

    fn holds(&self) {
        assert!(self.running() <= self.limit + self.inherited, "{self:?}");
    }

    /// Nobody waits while there is a slot that nobody uses.
    fn is_used(&self) {
        assert!(self.waiting() == 0 || self.running() == self.limit, "{self:?}");
    }
}

#[test]
fn one_host_has_all_of_them_when_it_needs_them() {
    let mut world = World::new(64, 4);
    world.asks(2, 100);
    world.settle();
    assert_eq!((world.hosts[2].used.running, world.waiting()), (64, 36));
}

#[test]
fn first_turns_need_not_ask() {
    let mut world = World::new(64, 16);
    (0..16).for_each(|at| world.asks(at, 1));
    assert_eq!((world.running(), world.waiting()), (16, 0));
}

#[test]
fn what_nobody_uses_is_called_back_first() {
    let mut world = World::new(10, 2);
    world.asks(0, 8);
    world.settle();
    (0..6).for_each(|_| world.ends(0));
    world.settle();
    world.asks(1, 20);
    world.settle();
    assert_eq!((world.hosts[0].used.running, world.hosts[1].used.running), (2, 8));
}

#[test]
fn hosts_that_could_use_all_get_as_much_each() {
    let mut world = World::new(9, 3);
    for at in 0..3 {
        world.asks(at, 1_000);
        world.settle();
    }
    for at in (0..3).cycle().take(600) {
        world.ends(at);
        world.settle();
    }
    let begun: Vec<u64> = world.hosts.iter().map(|host| host.begun).collect();
    assert!(begun.iter().all(|begun| (190..=215).contains(begun)), "{begun:?}");
    // Once each has its part, its turns follow one another without a word.
    let before = world.messages;
    for at in (0..3).cycle().take(300) {
        world.ends(at);
        world.settle();
    }
    assert_eq!(world.messages, before, "{world:?}");
}

#[test]
fn hosts_beyond_the_limit_take_turns() {
    let mut world = World::new(2, 7);
    (0..7).for_each(|at| world.asks(at, 1_000));
    world.settle();
    for round in 0..350 {
        let order = (0..7).map(|at| (at + round) % 7);
        let at = order.into_iter().find(|at| world.hosts[*at].used.running > 0).unwrap();
        world.ends(at);
        world.settle();
        world.is_used();
    }
    let begun: Vec<u64> = world.hosts.iter().map(|host| host.begun).collect();
    assert!(begun.iter().all(|begun| (48..=53).contains(begun)), "{begun:?}");
}

#[test]
fn what_a_host_had_is_free_when_it_leaves() {
    let mut world = World::new(3, 2);
    world.asks(0, 3);
    world.settle();
    world.asks(1, 3);
    world.settle();
    world.leave(0);
    world.settle();
    assert_eq!(world.hosts[0].used, TurnsUse { lent: 3, running: 3, waiting: 0 });
}

#[test]
fn turns_that_went_on_after_a_start_count() {
    let mut world = World::new(4, 2);
    world.inherited = 4;
    world.hosts[0].step(|used| used.running = 4);
    world.settle();
    world.hosts[1].step(|used| used.waiting = 4);
    world.settle();
    assert_eq!(world.hosts[1].used.running, 1, "what it had in advance");
    world.hosts[0].step(|used| used.running = 1);
    world.settle();
    assert_eq!(world.hosts[1].used.running, 3);
}

#[test]
fn a_turn_that_went_on_beside_all_that_may_be_is_followed_by_none() {
    let mut world = World::new(1, 2);
    world.asks(0, 2);
    world.inherited = 1;
    world.hosts[1].step(|used| (used.running, used.waiting) = (1, 2));
    world.settle();
    world.ends(1);
    world.settle();
    world.inherited = 0;
    assert_eq!((world.hosts[0].used.running, world.hosts[1].used.running), (1, 0));
    world.ends(0);
    world.settle();
    assert_eq!(world.running(), 1);
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Join,
    Leave(usize),
    Asks(usize, u64),
    Ends(usize),
    Hears(usize),
    Reports(usize),
}

impl Act {
    /// To one of the hosts that there are.
    fn happens(self, world: &mut World) {
        let there = world.hosts.len();
        let at = |at: usize| (there > 0).then(|| at % there);
        match self {
            Self::Join if there < 6 => world.join(),
            Self::Join => {}
            Self::Leave(host) => drop(at(host).map(|at| world.leave(at))),
            Self::Asks(host, turns) => drop(at(host).map(|at| world.asks(at, turns))),
            Self::Ends(host) => drop(at(host).map(|at| world.ends(at))),
            Self::Hears(host) => drop(at(host).map(|at| world.hears(at))),
            Self::Reports(host) => drop(at(host).map(|at| world.reports(at))),
        }
    }
}

fn act() -> impl Strategy<Value = Act> {
    let at = || 0..6_usize;
    prop_oneof![
        1 => Just(Act::Join),
        1 => at().prop_map(Act::Leave),
        6 => (at(), 1..4_u64).prop_map(|(at, turns)| Act::Asks(at, turns)),
        8 => at().prop_map(Act::Ends),
        10 => at().prop_map(Act::Hears),
        10 => at().prop_map(Act::Reports),
    ]
}

proptest! {
    /// Whatever happens in whatever order: never more turns than there may be, and nobody waits in vain.
    #[test]
    fn together_they_never_exceed_the_limit(limit in 1..9_u64, acts in prop::collection::vec(act(), 1..200)) {
        let mut world = World::new(limit, 3);
        for act in acts {
            act.happens(&mut world);
        }
        world.settle();
        world.is_used();
        let mut rounds = world.waiting() + world.running();
        while world.running() > 0 {
            prop_assert!(rounds > 0, "{world:?}");
            rounds -= 1;
            let at = world.hosts.iter().position(|host| host.used.running > 0).unwrap();
            world.ends(at);
            world.settle();
            world.is_used();
        }
        prop_assert_eq!(world.waiting(), 0);
    }
}
