//! A run under guard: a panic is a verdict, too.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::{Failure, Kind};
use crate::scenario::Scenario;
use crate::world::{Options, Report, run};

/// Runs a scenario; G1: nothing panics.
pub fn guarded(scenario: &Scenario, options: Options) -> Report {
    catch_unwind(AssertUnwindSafe(|| run(scenario, options))).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("a panic without words");
        Report::of_failure(Failure { kind: Kind::Panic, law: "G1".into(), problem: text.into() })
    })
}
