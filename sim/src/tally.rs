//! What a campaign of many runs amounts to: N1, N2. A swarm whose faults don't fire or whose laws have nothing
//! to say proves nothing.

use std::collections::BTreeMap;

use crate::fault::KINDS;
use crate::world::Report;

/// The laws of the world, beside those of records: judged by the disk, by clients, or over two runs.
pub const WORLD: [&str; 13] = ["D1", "D2", "D5", "D6", "D7", "G5", "P5", "Q6", "S3", "V2", "V5", "V6", "W1"];

#[derive(Debug, Default)]
pub struct Tally {
    pub runs: u64,
    pub steps: u64,
    pub records: u64,
    pub crashes: u64,
    pub failures: u64,
    /// Microseconds.
    pub virtual_time: u64,
    pub said: BTreeMap<&'static str, u64>,
    pub fired: BTreeMap<String, u64>,
}

impl Tally {
    pub fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.steps += report.steps;
        self.records += report.records;
        self.crashes += report.crashes;
        self.failures += u64::from(report.failure.is_some());
        self.virtual_time += report.virtual_time;
        let said = report.said.iter().map(|(law, times)| (*law, *times));
        for (law, times) in report.antecedents.iter().copied().chain(said) {
            *self.said.entry(law).or_default() += times;
        }
        for (fault, times) in &report.fired {
            *self.fired.entry(fault.clone()).or_default() += times;
        }
    }

    /// Laws that had nothing to say, and faults that never fired.
    pub fn silent(&self) -> Vec<&str> {
        let laws = self.said.iter().filter(|(_, times)| **times == 0).map(|(law, _)| *law);
        let world = WORLD.into_iter().filter(|law| !self.said.contains_key(law));
        let faults = KINDS.into_iter().filter(|kind| !self.fired.contains_key(*kind));
        laws.chain(world).chain(faults).collect()
    }
}
