//! `sim run SEED [--trace] [--scenario]`, `sim swarm --seeds N [--from S]`, `sim crash`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its caller")]

use std::collections::BTreeMap;
use std::process::ExitCode;

use sim::crash;
use sim::failure::Failure;
use sim::swarm;
use sim::trace::seconds;
use sim::verdict::guarded;
use sim::world::{Options, Report};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let code = match words.as_slice() {
        ["run", seed, rest @ ..] => seed.parse().map_or(2, |seed| run(seed, rest)),
        ["swarm", rest @ ..] => swarm(number(rest, "--from").unwrap_or(1), number(rest, "--seeds")),
        ["crash"] => crash_everywhere(),
        _ => usage(),
    };
    ExitCode::from(code)
}

fn usage() -> u8 {
    eprintln!("usage: sim run SEED [--trace] [--scenario] | sim swarm --seeds N [--from SEED] | sim crash");
    2
}

fn number(words: &[&str], name: &str) -> Option<u64> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1)?.parse().ok()
}

fn run(seed: u64, rest: &[&str]) -> u8 {
    let scenario = swarm::scenario(seed);
    if rest.contains(&"--scenario") {
        println!("{}", scenario.to_text());
    }
    let readable = rest.contains(&"--trace");
    let report = guarded(&scenario, Options { readable, ..Options::default() });
    for line in report.trace.lines.iter().flatten() {
        println!("{line}");
    }
    if let Some(failure) = &report.failure {
        return failed(seed, failure);
    }
    println!("pass: {}", line(seed, &report));
    0
}

fn line(seed: u64, report: &Report) -> String {
    format!(
        "seed {seed}, {} steps, {} records, {} crashes, {} boundaries, {} s, trace {:016x}",
        report.steps,
        report.records,
        report.crashes,
        report.boundaries,
        seconds(report.virtual_time),
        report.trace.hash
    )
}

fn failed(seed: u64, failure: &Failure) -> u8 {
    println!("FAIL {failure} — seed {seed}, reproduce: cargo run -p sim -- run {seed} --trace");
    failure.kind.exit_code()
}

fn swarm(from: u64, seeds: Option<u64>) -> u8 {
    let Some(seeds) = seeds else { return usage() };
    let (mut code, mut steps, mut records, mut crashes, mut failures) = (0, 0, 0, 0, 0_u64);
    let mut said: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in from..from.saturating_add(seeds) {
        let report = guarded(&swarm::scenario(seed), Options::default());
        steps += report.steps;
        records += report.records;
        crashes += report.crashes;
        for (law, times) in &report.antecedents {
            *said.entry(law).or_default() += times;
        }
        if let Some(failure) = &report.failure {
            code = failed(seed, failure);
            failures += 1;
        }
        if (seed - from + 1).is_multiple_of(1_000) {
            eprintln!("{} seeds, {steps} steps, {crashes} crashes, {failures} failures", seed - from + 1);
        }
    }
    println!("laws that had something to say: {said:?}");
    println!("{seeds} seeds, {steps} steps, {records} records, {crashes} crashes, {failures} failures");
    code
}

fn crash_everywhere() -> u8 {
    let (mut code, mut runs) = (0, 0_u64);
    for (name, scenario) in crash::scripts() {
        let boundaries = crash::everywhere(&scenario, |boundary, report| {
            runs += 1;
            if let Some(failure) = &report.failure {
                println!("FAIL {failure} — {name}, crash at boundary {boundary}");
                code = failure.kind.exit_code();
            }
        });
        println!("{name}: {boundaries} boundaries");
    }
    println!("{runs} runs");
    code
}
