//! What a campaign of many runs amounts to: N1 to N6. A swarm whose faults don't strike, whose laws have nothing
//! to say, or whose runs end in nothing proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::Reject;
use holon_core::model::FailureKind;
use holon_core::tool::ToolErrorKind;

use crate::decisions::{Came, Row, TABLE};
use crate::fault::kinds::{KINDS, PATTERNS};
use crate::laws::WORLD;
use crate::witness::Pair;
use crate::world::Report;

/// Runs from which on a campaign must have seen everything.
pub const ENOUGH: u64 = 1_000;
/// Of a thousand runs, so many must end with a turn that came to an end.
const WORTHWHILE: u64 = 900;
/// Which kinds of events follow each other, as `sim pairs` has seen them.
const DECLARED: &str = include_str!("../adjacency.txt");
/// Laws that `sim run` can't judge: they take another kind of run.
const ELSEWHERE: [&str; 2] = ["D12", "G1"];

#[derive(Debug, Default)]
pub struct Tally {
    pub runs: u64,
    pub steps: u64,
    pub records: u64,
    pub crashes: u64,
    pub failures: u64,
    /// Runs in which a turn came to an end of its own.
    pub worthwhile: u64,
    /// Microseconds.
    pub virtual_time: u64,
    pub said: BTreeMap<&'static str, u64>,
    pub fired: BTreeMap<String, u64>,
    pub pairs: BTreeMap<Pair, u64>,
    pub errors: BTreeMap<(&'static str, &'static str), u64>,
    pub decisions: BTreeMap<Came, u64>,
}

impl Tally {
    pub fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.steps += report.steps;
        self.records += report.records;
        self.crashes += report.crashes;
        self.failures += u64::from(report.failure.is_some());
        self.worthwhile += u64::from(report.turns > 0);
        self.virtual_time = self.virtual_time.saturating_add(report.virtual_time);
        let said = report.said.iter().map(|(law, times)| (*law, *times));
        for (law, times) in report.antecedents.iter().copied().chain(said) {
            *self.said.entry(law).or_default() += times;
        }
        for (fault, times) in &report.fired {
            match self.fired.get_mut(fault) {
                Some(all) => *all += times,
                None => drop(self.fired.insert(fault.clone(), *times)),
            }
        }
        for (pair, times) in &report.pairs {
            *self.pairs.entry(*pair).or_default() += times;
        }
        for (error, times) in &report.errors {
            *self.errors.entry(*error).or_default() += times;
        }
        for (came, times) in &report.decisions {
            *self.decisions.entry(*came).or_default() += times;
        }
    }

    /// Takes over what another part of the campaign has seen.
    pub fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.steps += other.steps;
        self.records += other.records;
        self.crashes += other.crashes;
        self.failures += other.failures;
        self.worthwhile += other.worthwhile;
        self.virtual_time = self.virtual_time.saturating_add(other.virtual_time);
        fn add<K: Ord>(all: &mut BTreeMap<K, u64>, more: BTreeMap<K, u64>) {
            more.into_iter().for_each(|(key, times)| *all.entry(key).or_default() += times);
        }
        add(&mut self.said, other.said);
        add(&mut self.fired, other.fired);
        add(&mut self.pairs, other.pairs);
        add(&mut self.errors, other.errors);
        add(&mut self.decisions, other.decisions);
    }

    /// N1, N2, N5: faults that never struck or met nothing, laws that had nothing to say, errors that nobody
    /// was told.
    pub fn silent(&self) -> Vec<String> {
        let laws = self.said.iter().filter(|(_, times)| **times == 0).map(|(law, _)| *law);
        let world = WORLD.iter().map(|law| law.id);
        let world = world.filter(|law| !self.said.contains_key(law) && !ELSEWHERE.contains(law));
        let fault = |name: &&str| !self.fired.contains_key(*name);
        let errors = errors().into_iter().filter(|error| !self.errors.contains_key(error));
        let named = laws.chain(world).chain(faults().into_iter().filter(fault)).map(String::from);
        named.chain(errors.map(|(family, name)| format!("{family} {name}"))).collect()
    }

    /// N4: declared pairs that were not seen, and pairs that nobody declared.
    pub fn adjacency(&self) -> (Vec<Pair>, Vec<Pair>) {
        let declared = declared();
        let unseen = declared.iter().filter(|pair| !self.pairs.contains_key(*pair)).copied().collect();
        let new = self.pairs.keys().filter(|pair| !declared.contains(*pair)).copied().collect();
        (unseen, new)
    }

    /// Rows of the decision table that did not come up, and decisions that the table does not have.
    pub fn rows(&self) -> (Vec<Row>, Vec<Came>) {
        let came: BTreeSet<Row> = self.decisions.keys().map(|came| came.row).collect();
        let unseen = TABLE.into_iter().filter(|row| !came.contains(row)).collect();
        let strange = self.decisions.keys().filter(|came| !came.declared()).copied().collect();
        (unseen, strange)
    }

    /// N6: the share of runs that end in something, in a thousand.
    pub fn worth(&self) -> u64 {
        self.worthwhile * 1_000 / self.runs.max(1)
    }

    /// Whether a campaign of this size proves something.
    pub fn vacuous(&self) -> bool {
        self.runs >= ENOUGH && (!self.silent().is_empty() || self.worth() < WORTHWHILE)
    }
}

/// The pairs of events that are expected.
pub fn declared() -> BTreeSet<Pair> {
    DECLARED.lines().filter_map(|line| line.split_once(' ')).collect()
}

/// Everything that is counted when a fault strikes, or meets what its contract speaks of.
pub fn faults() -> BTreeSet<&'static str> {
    KINDS.iter().flat_map(|kind| [Some(kind.name), kind.meets]).flatten().chain(PATTERNS).collect()
}

/// Every error that somebody can be given, by its family and name.
pub fn errors() -> Vec<(&'static str, &'static str)> {
    let rejects = Reject::CODES.iter().map(|code| ("reject", *code));
    let models = FailureKind::ALL.iter().map(|kind| ("model", kind.name()));
    let tools = ToolErrorKind::ALL.iter().map(|kind| ("tool", kind.name()));
    rejects.chain(models).chain(tools).collect()
}
