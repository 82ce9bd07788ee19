//! The result of a campaign of many runs: N1 to N6. A swarm whose faults don't strike, whose laws are not checked, or
//! whose runs end in nothing proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::Reject;
use holon_facts::model::FailureKind;
use holon_facts::receipt::ToolErrorKind;

use crate::decisions::{Came, Row, TABLE};
use crate::fault::kinds::{KINDS, PATTERNS};
use crate::laws::{Broken, WORLD};
use crate::witness::Pair;
use crate::world::Report;

/// Runs from which on a campaign must have covered everything.
pub const ENOUGH: u64 = 1_000;
/// Of a thousand runs, so many must end with a turn that ended by itself.
const WORTHWHILE: u64 = 900;
/// Runs from which on a campaign must have covered rare events, too.
const PLENTY: u64 = 5_000;
/// Events in fewer than ten of a thousand runs, which may be missing now and then.
const SELDOM: [&str; 10] = [
    "command found not started",
    "tool command_timed_out",
    "tool execution_root_violation",
    "tool memory_source_not_found",
    "tool patch_rejected",
    "tool policy_denied",
    "tool tool_not_exposed",
    "tool unknown_agent",
    "tool unknown_task",
    "tool unknown_work_item",
];
/// Which kinds of events follow each other, and in how many of [`SHARE`] runs, by `sim pairs`.
const DECLARED: &str = include_str!("../adjacency.txt");
const SHARE: u64 = 10_000;
/// A campaign must cover a pair once its size should bring so many runs with it: then chance alone hides the pair less
/// than once in a hundred million campaigns.
const EXPECTED: u64 = 20;
/// A pair is declared if one run in so many brings it.
const RARE: u64 = 250;
/// Laws that `sim run` can't check: they need another kind of run.
pub const ELSEWHERE: [&str; 6] = ["CX33", "CX35", "CX37", "D12", "G1", "V10"];

#[derive(Debug, Default)]
pub struct Tally {
    pub runs: u64,
    pub steps: u64,
    pub records: u64,
    pub crashes: u64,
    pub turns: u64,
    pub failures: u64,
    /// Runs in which a turn ended by itself.
    pub worthwhile: u64,
    /// Microseconds.
    pub virtual_time: u64,
    pub checked: BTreeMap<&'static str, u64>,
    pub fired: BTreeMap<String, u64>,
    /// In how many runs each pair of events occurred.
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
        self.turns += report.turns;
        self.failures += u64::from(report.failure.is_some());
        self.worthwhile += u64::from(report.turns > 0);
        self.virtual_time = self.virtual_time.saturating_add(report.virtual_time);
        let checked = report.checked.iter().map(|(law, times)| (*law, *times));
        for (law, times) in report.antecedents.iter().copied().chain(checked) {
            *self.checked.entry(law).or_default() += times;
        }
        for (fault, times) in &report.fired {
            match self.fired.get_mut(fault) {
                Some(all) => *all += times,
                None => drop(self.fired.insert(fault.clone(), *times)),
            }
        }
        for pair in report.pairs.keys() {
            *self.pairs.entry(*pair).or_default() += 1;
        }
        for (error, times) in &report.errors {
            *self.errors.entry(*error).or_default() += times;
        }
        for (came, times) in &report.decisions {
            *self.decisions.entry(*came).or_default() += times;
        }
    }

    /// Adds another part of the campaign.
    pub fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.steps += other.steps;
        self.records += other.records;
        self.crashes += other.crashes;
        self.turns += other.turns;
        self.failures += other.failures;
        self.worthwhile += other.worthwhile;
        self.virtual_time = self.virtual_time.saturating_add(other.virtual_time);
        fn add<K: Ord>(all: &mut BTreeMap<K, u64>, more: BTreeMap<K, u64>) {
            more.into_iter().for_each(|(key, times)| *all.entry(key).or_default() += times);
        }
        add(&mut self.checked, other.checked);
        add(&mut self.fired, other.fired);
        add(&mut self.pairs, other.pairs);
        add(&mut self.errors, other.errors);
        add(&mut self.decisions, other.decisions);
    }

    /// N1, N2, N4, N5: faults that never struck or met nothing, laws that were never checked, errors that were never
    /// returned, pairs of events that never occurred.
    pub fn silent(&self) -> Vec<String> {
        let laws = self.checked.iter().filter(|(_, times)| **times == 0).map(|(law, _)| *law);
        let laws = laws.filter(|law| !ELSEWHERE.contains(law));
        // Laws of several nodes are checked in worlds of their own.
        let world = WORLD.iter().filter(|law| !matches!(law.broken, Broken::Nodes(..))).map(|law| law.id);
        let world = world.filter(|law| !self.checked.contains_key(law) && !ELSEWHERE.contains(law));
        let fault = |name: &&str| !self.fired.contains_key(*name);
        let errors = errors().into_iter().filter(|error| !self.errors.contains_key(error));
        let named = laws.chain(world).chain(faults().into_iter().filter(fault)).map(String::from);
        let errors = errors.map(|(family, name)| format!("{family} {name}"));
        let pairs = self.adjacency().0.into_iter().map(|(one, other)| format!("{one}, then {other}"));
        let due = |name: &String| self.runs >= PLENTY || !SELDOM.contains(&name.as_str());
        named.chain(errors).chain(pairs).filter(due).collect()
    }

    /// N4: declared pairs that a campaign of this size must have covered and has not, and undeclared pairs.
    pub fn adjacency(&self) -> (Vec<Pair>, Vec<Pair>) {
        let declared = declared();
        let due = |share: u64| self.runs.saturating_mul(share) >= EXPECTED * SHARE;
        let missing = declared.iter().filter(|(pair, share)| due(**share) && !self.pairs.contains_key(*pair));
        let missing = missing.map(|(pair, _)| *pair).collect();
        let new = self.pairs.keys().filter(|pair| !declared.contains_key(*pair)).copied().collect();
        (missing, new)
    }

    /// Rows of the decision table that did not occur, and decisions that are not in the table.
    pub fn rows(&self) -> (Vec<Row>, Vec<Came>) {
        let came: BTreeSet<Row> = self.decisions.keys().map(|came| came.row).collect();
        let missing = TABLE.into_iter().filter(|row| !came.contains(row)).collect();
        let strange = self.decisions.keys().filter(|came| !came.declared()).copied().collect();
        (missing, strange)
    }

    /// The lines of `sim/adjacency.txt`, as this campaign declares them.
    pub fn declaration(&self) -> Vec<String> {
        let common = self.pairs.iter().filter(|(_, runs)| **runs * RARE >= self.runs);
        common
            .map(|((one, other), runs)| format!("{one} {other} {}", runs * SHARE / self.runs.max(1)))
            .collect()
    }

    /// N6: the share of runs that end in something, per thousand.
    pub fn worth(&self) -> u64 {
        self.worthwhile * 1_000 / self.runs.max(1)
    }

    /// Whether a campaign of this size proves nothing. The share of worthwhile runs may be three standard deviations
    /// low by chance.
    pub fn vacuous(&self) -> bool {
        let chance = (9 * WORTHWHILE * (1_000 - WORTHWHILE) / self.runs.max(1)).isqrt();
        self.runs >= ENOUGH && (!self.silent().is_empty() || self.worth() + chance < WORTHWHILE)
    }
}

/// The pairs of events that are expected, with the share of runs that see each.
pub fn declared() -> BTreeMap<Pair, u64> {
    DECLARED.lines().filter_map(pair).collect()
}

/// Every name that is counted when a fault strikes, or meets what its contract is about.
pub fn faults() -> BTreeSet<&'static str> {
    KINDS.iter().flat_map(|kind| [Some(kind.name), kind.meets]).flatten().chain(PATTERNS).collect()
}

/// A line of the declaration.
fn pair(line: &'static str) -> Option<(Pair, u64)> {
    let (one, rest) = line.split_once(' ')?;
    let (other, share) = rest.split_once(' ')?;
    Some(((one, other), share.parse().ok()?))
}

/// Every error that can be returned, by its group and name.
pub fn errors() -> Vec<(&'static str, &'static str)> {
    let rejects = Reject::CODES.iter().map(|code| ("reject", *code));
    let models = FailureKind::ALL.iter().map(|kind| ("model", kind.name()));
    let tools = ToolErrorKind::ALL.iter().map(|kind| ("tool", kind.name()));
    rejects.chain(models).chain(tools).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A campaign of so many runs with every declared pair but one.
    fn without(gone: Pair, runs: u64) -> Tally {
        let pairs = declared().into_iter().filter(|(pair, _)| *pair != gone);
        Tally { runs, pairs: pairs.map(|(pair, _)| (pair, 1)).collect(), ..Tally::default() }
    }

    #[test]
    fn a_pair_is_due_from_the_size_on_at_which_it_should_come() {
        let lines: Vec<(Pair, u64)> = DECLARED.lines().filter_map(pair).collect();
        assert!(lines.len() == DECLARED.lines().count() && lines.len() > 100, "{} pairs", lines.len());
        let all = without(("nothing", "nothing"), PLENTY);
        assert_eq!(all.adjacency(), (Vec::new(), Vec::new()));
        for (pair, share) in lines {
            let due = (EXPECTED * SHARE).div_ceil(share);
            assert!(due <= PLENTY, "{pair:?} is due at {due} runs only");
            assert_eq!(without(pair, due).adjacency().0, [pair]);
            assert!(without(pair, due).silent().contains(&format!("{}, then {}", pair.0, pair.1)));
            assert_eq!(without(pair, due - 1).adjacency().0, []);
        }
    }

    #[test]
    fn a_campaign_declares_what_it_has_seen_often_enough() {
        let pairs = [(("a", "b"), 500), (("a", "c"), 4), (("b", "c"), 3)].into();
        let tally = Tally { runs: 1_000, pairs, ..Tally::default() };
        assert_eq!(tally.declaration(), ["a b 5000", "a c 40"]);
    }
}
