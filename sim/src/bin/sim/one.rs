//! One scenario: run it, shrink it, run it without its last agent.

use sim::failure::Failure;
use sim::isolation;
use sim::options::Options;
use sim::scenario::Scenario;
use sim::shrink::shrink;
use sim::trace::{Kept, seconds, timeline};
use sim::verdict::guarded;
use sim::world::Report;

use crate::words::word;

pub(crate) fn run(what: &str, scenario: &Scenario, rest: &[&str]) -> u8 {
    if rest.contains(&"--scenario") {
        print!("{}", scenario.to_pretty_text());
    }
    let trace = if rest.contains(&"--trace") { Kept::Lines } else { Kept::Hash };
    let report = guarded(scenario, Options { trace, ..Options::default() });
    for line in report.trace.lines.iter().flatten() {
        println!("{line}");
    }
    if let Some(failure) = &report.failure {
        return failed(what, failure);
    }
    println!("pass: {what}, {}", line(&report));
    0
}

fn line(report: &Report) -> String {
    format!(
        "{} steps, {} records, {} crashes, {} boundaries, {} s, trace {:016x}",
        report.steps,
        report.records,
        report.crashes,
        report.boundaries,
        seconds(report.virtual_time),
        report.trace.hash
    )
}

/// Prints a failure; returns its exit code.
pub(crate) fn failed(what: &str, failure: &Failure) -> u8 {
    println!("FAIL {failure} — {what}, reproduce: cargo run -p sim -- run {what} --trace");
    failure.kind.exit_code()
}

/// Writes the shrunk scenario, and shows what happens in it.
pub(crate) fn shrunk(what: &str, scenario: &Scenario, rest: &[&str]) -> Result<u8, String> {
    let whole = Options { trace: Kept::Lines, ..Options::default() };
    let Some(shrunk) = shrink(scenario, |candidate| guarded(candidate, Options::default())) else {
        println!("{what} passes: there is nothing to shrink");
        return Ok(0);
    };
    let report = guarded(&shrunk, whole);
    let law = report.failure.as_ref().map_or("", |failure| &failure.law);
    let name = std::path::Path::new(what).file_stem().unwrap_or_default().to_string_lossy();
    let out = word(rest, "--out").map_or_else(
        || std::env::temp_dir().join(format!("sim-{}-{name}.json", law.to_lowercase())),
        Into::into,
    );
    std::fs::write(&out, shrunk.to_pretty_text()).map_err(|error| format!("{}: {error}", out.display()))?;
    println!("{}", timeline(&report.trace.moments, 60));
    let faults = shrunk.faults.strikes.iter().flatten().count() + shrunk.faults.crashes.len();
    println!("shrunk to {} inputs and {faults} faults: {}", shrunk.inputs.len(), out.display());
    Ok(report.failure.map_or(0, |failure| failed(&out.display().to_string(), &failure)))
}

/// D12 of one scenario.
pub(crate) fn apart(what: &str, scenario: &Scenario) -> u8 {
    match isolation::check(scenario, None) {
        Some(Err(failure)) => failed(what, &failure),
        Some(Ok(())) => {
            println!("pass: {what}");
            0
        }
        None => {
            println!("{what} has but one agent");
            0
        }
    }
}
