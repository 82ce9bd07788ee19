//! Guarded runs: a panic is a failure, too.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::{Failure, Kind};
use crate::options::Options;
use crate::scenario::Scenario;
use crate::trace::Kept;
use crate::world::{Report, run};

/// One line about a seed that differs whenever its run differs.
pub fn pinned(seed: u64) -> String {
    let options = Options { no_replay: true, trace: Kept::Hash, ..Options::default() };
    let report = guarded(&crate::swarm::scenario(seed), options);
    format!("{seed} {:016x} {} steps", report.trace.hash, report.steps)
}

/// Runs a scenario; G1: nothing panics.
pub fn guarded(scenario: &Scenario, options: Options) -> Report {
    caught(|| run(scenario, options)).unwrap_or_else(Report::of_failure)
}

/// The result of the work; a panic is a failure.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("a panic without words");
        Failure { kind: Kind::Panic, law: "G1".into(), problem: text.into() }
    })
}
