//! `sim run`, `sim swarm`, `sim shrink`, `sim crash`, `sim explore`: see `docs/simulation.md`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its caller")]
#![expect(clippy::disallowed_types, reason = "a campaign takes real time; the worlds in it don't")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sim::crash;
use sim::explore::campaign::{Campaign as Exploration, Explored, explore_all};
use sim::explore::path::{scenario as written, shorten, with_crashes};
use sim::explore::search::Found;
use sim::explore::{Move, SmallWorld, worlds};
use sim::failure::{Failure, Kind};
use sim::isolation;
use sim::scenario::Scenario;
use sim::shrink::shrink;
use sim::swarm;
use sim::tally::Tally;
use sim::trace::{seconds, timeline};
use sim::verdict::{guarded, pinned};
use sim::world::{Options, Report};

const USAGE: &str = "usage: sim run SEED|FILE.json [--trace] [--scenario]
       sim swarm --seeds N | --for 30m [--from SEED] [--jobs N]
       sim shrink SEED|FILE.json [--out FILE.json]
       sim crash [--jobs N]
       sim explore [--world NAME] [--states N] [--for SECONDS|10m] [--wider N] [--workers N]
       sim apart SEED|FILE.json
       sim traces [--from SEED] [--seeds N]
       sim pairs [--from SEED] [--seeds N]
       sim laws";
/// Exit code of a campaign in which a law or a fault was silent.
const VACUOUS: u8 = 13;
/// Between two lines that tell how far a swarm has come.
const TELL_EVERY: u64 = 2_000;
/// Every so many seeds a scenario runs again without one of its agents.
const APART_EVERY: u64 = 20;
/// Failures that a swarm shrinks; the others are only told.
const SHRUNK: u64 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["run", what, rest @ ..] => scenario(what).map(|scenario| run(what, &scenario, rest)),
        ["shrink", what, rest @ ..] => scenario(what).and_then(|scenario| smaller(what, &scenario, rest)),
        ["swarm", rest @ ..] => {
            Campaign::of(rest).map(|campaign| swarm(&campaign)).ok_or_else(|| USAGE.into())
        }
        ["traces", rest @ ..] => {
            Ok(traces(number(rest, "--from").unwrap_or(1), number(rest, "--seeds").unwrap_or(64)))
        }
        ["pairs", rest @ ..] => {
            Ok(pairs(number(rest, "--from").unwrap_or(1), number(rest, "--seeds").unwrap_or(1_000)))
        }
        ["laws"] => {
            print!("{}", sim::laws::page());
            Ok(0)
        }
        ["crash", rest @ ..] => Ok(crash_everywhere(rest)),
        ["explore", rest @ ..] => explore(rest),
        ["apart", what] => scenario(what).map(|scenario| apart(what, &scenario)),
        _ => Err(USAGE.into()),
    };
    ExitCode::from(done.unwrap_or_else(|problem| {
        eprintln!("{problem}");
        2
    }))
}

/// A seed, or a file.
fn scenario(what: &str) -> Result<Scenario, String> {
    if let Ok(seed) = what.parse() {
        return Ok(swarm::scenario(seed));
    }
    let text = std::fs::read_to_string(what).map_err(|error| format!("{what}: {error}"))?;
    Scenario::from_text(&text).map_err(|error| format!("{what}: {error}"))
}

fn word<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1).copied()
}

fn number(words: &[&str], name: &str) -> Option<u64> {
    word(words, name)?.parse().ok()
}

fn run(what: &str, scenario: &Scenario, rest: &[&str]) -> u8 {
    if rest.contains(&"--scenario") {
        print!("{}", scenario.to_pretty_text());
    }
    let readable = rest.contains(&"--trace");
    let report = guarded(scenario, Options { readable, ..Options::default() });
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

fn failed(what: &str, failure: &Failure) -> u8 {
    println!("FAIL {failure} — {what}, reproduce: cargo run -p sim -- run {what} --trace");
    failure.kind.exit_code()
}

/// Writes the shrunk scenario, and shows what happens in it.
fn smaller(what: &str, scenario: &Scenario, rest: &[&str]) -> Result<u8, String> {
    let whole = Options { readable: true, ..Options::default() };
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

/// A campaign: seeds from one on, for so many or so long, by so many jobs.
struct Campaign {
    from: u64,
    seeds: u64,
    until: Option<Instant>,
    jobs: u64,
}

impl Campaign {
    fn of(rest: &[&str]) -> Option<Self> {
        let until = word(rest, "--for").map(duration);
        let seeds = number(rest, "--seeds");
        let (from, jobs) = (number(rest, "--from").unwrap_or(1), number(rest, "--jobs").unwrap_or(1));
        let seeds = if until.is_some() { seeds.unwrap_or(u64::MAX) } else { seeds? };
        let until = match until {
            Some(duration) => Some(Instant::now() + duration?),
            None => None,
        };
        Some(Self { from, seeds, until, jobs: jobs.clamp(1, 64) })
    }

    /// Each job takes the next seed until there is none; one in so many tells how far all have come.
    fn run(&self) -> (u8, Tally) {
        let (next, began) = (AtomicU64::new(0), Instant::now());
        let mut all = (0, Tally::default());
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs).map(|_| scope.spawn(|| self.work(&next, began))).collect();
            for job in jobs {
                let (code, tally) = job.join().unwrap_or((14, Tally::default()));
                all.0 = if all.0 == 0 { code } else { all.0 };
                all.1.merge(tally);
            }
        });
        all
    }

    fn work(&self, next: &AtomicU64, began: Instant) -> (u8, Tally) {
        let (mut code, mut tally) = (0, Tally::default());
        loop {
            let done = next.fetch_add(1, Ordering::Relaxed);
            if done >= self.seeds || self.until.is_some_and(|until| Instant::now() >= until) {
                return (code, tally);
            }
            if done > 0 && done.is_multiple_of(TELL_EVERY) {
                let rate = done as f64 / began.elapsed().as_secs_f64();
                eprintln!("{done} seeds, {rate:.0} seeds/s, {} failures in this job", tally.failures);
            }
            let failed = self.one(self.from + done, &mut tally);
            code = if code == 0 { failed } else { code };
        }
    }

    fn one(&self, seed: u64, tally: &mut Tally) -> u8 {
        let scenario = swarm::scenario(seed);
        let mut report = guarded(&scenario, Options::default());
        if report.failure.is_none() && seed.is_multiple_of(APART_EVERY) {
            match isolation::check(&scenario, None) {
                Some(Ok(())) => *report.said.entry("D12").or_default() += 1,
                Some(Err(failure)) => report.failure = Some(failure),
                None => {}
            }
        }
        tally.add(&report);
        let Some(failure) = &report.failure else { return 0 };
        let code = failed(&seed.to_string(), failure);
        if tally.failures <= SHRUNK
            && let Err(problem) = smaller(&seed.to_string(), &scenario, &[])
        {
            eprintln!("{problem}");
        }
        code
    }
}

/// `90`, `90s`, `30m` or `8h`.
fn duration(text: &str) -> Option<Duration> {
    let unit = |end: char, seconds: u64| {
        let number: u64 = text.strip_suffix(end)?.parse().ok()?;
        Some(Duration::from_secs(number * seconds))
    };
    let plain = text.parse().ok().map(Duration::from_secs);
    plain.or_else(|| unit('s', 1)).or_else(|| unit('m', 60)).or_else(|| unit('h', 3_600))
}

fn swarm(campaign: &Campaign) -> u8 {
    let began = Instant::now();
    let (code, tally) = campaign.run();
    println!("what laws had to say: {:?}", tally.said);
    println!("faults that struck, and what they met: {:?}", tally.fired);
    println!("errors that were returned: {:?}", tally.errors);
    let (unseen, new) = tally.adjacency();
    println!("{} pairs of events, {} that were due are unseen: {unseen:?}", tally.pairs.len(), unseen.len());
    if !new.is_empty() {
        println!("pairs that nobody declared: {new:?}");
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{} seeds, {} steps, {} records, {} crashes, {} s of virtual time, {} failures, {} of 1000 end in a turn",
        tally.runs,
        tally.steps,
        tally.records,
        tally.crashes,
        tally.virtual_time / 1_000_000,
        tally.failures,
        tally.worth()
    );
    println!(
        "{:.0} seeds/s, {:.0} steps/s, {} steps a seed",
        tally.runs as f64 / seconds,
        tally.steps as f64 / seconds,
        tally.steps / tally.runs.max(1)
    );
    let silent = tally.silent();
    if !silent.is_empty() {
        println!("silent: {silent:?}");
    }
    if code == 0 && tally.vacuous() { VACUOUS } else { code }
}

/// D12 of one scenario.
fn apart(what: &str, scenario: &Scenario) -> u8 {
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

/// The trace of each seed, for a comparison of two processes, two builds, two machines.
fn traces(from: u64, seeds: u64) -> u8 {
    for seed in from..from.saturating_add(seeds) {
        println!("{}", pinned(seed));
    }
    0
}

/// Every pair of events that the seeds bring, for `sim/adjacency.txt`; the rarest are left out.
fn pairs(from: u64, seeds: u64) -> u8 {
    let mut tally = Tally::default();
    for seed in from..from.saturating_add(seeds) {
        tally.add(&guarded(&swarm::scenario(seed), Options { no_replay: true, ..Options::default() }));
    }
    for line in tally.declaration() {
        println!("{line}");
    }
    0
}

/// Crashes at every boundary, pair and triple of the scripts. A failure is written as a scenario.
fn crash_everywhere(rest: &[&str]) -> u8 {
    #[expect(clippy::disallowed_types, reason = "a campaign tells its speed; no run reads a clock")]
    let began = Instant::now();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = number(rest, "--jobs").and_then(|jobs| usize::try_from(jobs).ok()).unwrap_or(cores);
    let (scripts, code) = (crash::scripts(), AtomicU8::new(0));
    let tolls = crash::everywhere(&scripts, jobs.clamp(1, 64), &|script, scenario, report| {
        if let Some(failure) = &report.failure {
            code.store(dead(&script.name, scenario, failure), Ordering::Relaxed);
        }
    });
    let mut all = crash::Toll::default();
    for (script, toll) in scripts.iter().zip(&tolls) {
        println!("{:<20} {}", script.name, toll.told());
        all.merge(toll);
    }
    println!("{} scenarios: {}", scripts.len(), all.told());
    let seconds = began.elapsed().as_secs_f64();
    println!("{jobs} jobs, {seconds:.1} s, {:.0} crashes/s", all.crashes as f64 / seconds);
    code.into_inner()
}

fn dead(name: &str, scenario: &Scenario, failure: &Failure) -> u8 {
    let crashes: Vec<String> = scenario.faults.crashes.iter().map(u64::to_string).collect();
    let file = format!("sim-crash-{}-{}.json", name.replace([' ', ','], "-"), crashes.join("-"));
    let out = std::env::temp_dir().join(file);
    match std::fs::write(&out, scenario.to_pretty_text()) {
        Ok(()) => failed(&out.display().to_string(), failure),
        Err(problem) => {
            eprintln!("{}: {problem}", out.display());
            failed(&format!("{name}, crashes at {crashes:?}"), failure)
        }
    }
}

/// Small worlds, exhaustively.
fn explore(rest: &[&str]) -> Result<u8, String> {
    #[expect(
        clippy::disallowed_types,
        reason = "a campaign ends by the clock and tells its speed; no search does"
    )]
    let began = Instant::now();
    let elapsed = || u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let wider = number(rest, "--wider").and_then(|by| u8::try_from(by).ok()).unwrap_or(0);
    let name = word(rest, "--world");
    let chosen: Vec<SmallWorld> =
        worlds().into_iter().filter(|world| name.is_none_or(|name| name == world.name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = worlds().iter().map(|world| world.name).collect();
        return Err(format!("there is no such world; the worlds are {}", names.join(", ")));
    }
    let campaign = Exploration {
        worlds: chosen.into_iter().map(|world| world.wider(wider)).collect(),
        workers: number(rest, "--workers").and_then(|count| usize::try_from(count).ok()).unwrap_or(2),
        states: number(rest, "--states").and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX),
        elapsed: &elapsed,
        until: word(rest, "--for").map_or(Ok(u64::MAX), micros)?,
    };
    let (code, states) = (AtomicU8::new(0), AtomicUsize::new(0));
    explore_all(campaign, &|explored| {
        println!("{}", explored.told());
        states.fetch_add(explored.report.states, Ordering::Relaxed);
        if let Some(found) = &explored.report.found {
            tell(explored, found);
        }
        // A failure says more than a budget that ran out.
        let (now, before) = (explored.report.exit_code(), code.load(Ordering::Relaxed));
        if before == 0 || (now != 0 && before == Kind::Budget.exit_code()) {
            code.store(now, Ordering::Relaxed);
        }
    });
    println!("{} states in {} s", states.into_inner(), seconds(elapsed()));
    Ok(code.into_inner())
}

/// A failure: its path, and the scenario that says the same.
fn tell(explored: &Explored, found: &Found) {
    let world = &explored.world;
    println!("FAIL {} — world {}", found.failure, world.name);
    let path = shorten(world, None, found);
    for step in &path {
        println!("    {}", step.told(world));
    }
    let Some(mut scenario) = written(world, &path) else {
        println!("no scenario has words for this");
        return;
    };
    let crashes = path.iter().filter(|step| matches!(step, Move::Crash(_))).count();
    let placed = with_crashes(&scenario, crashes, &found.failure);
    let fails = placed.is_some();
    scenario = placed.unwrap_or(scenario);
    scenario.about = format!("Found in the small world {}: {}", world.name, found.failure.law);
    let out = std::env::temp_dir().join(format!("sim-explore-{}.json", world.name));
    match std::fs::write(&out, scenario.to_pretty_text()) {
        Ok(()) if fails => println!("it fails in {}, too", out.display()),
        Ok(()) => println!("as far as a scenario can say it (all laws hold there): {}", out.display()),
        Err(error) => eprintln!("{}: {error}", out.display()),
    }
}

/// Seconds, or minutes with an `m` or hours with an `h` behind them.
fn micros(text: &str) -> Result<u64, String> {
    let (count, unit) = match text.as_bytes().last() {
        Some(b'h') => (&text[..text.len() - 1], 3_600),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(_) | None => (text, 1),
    };
    let count: u64 =
        count.parse().map_err(|_| format!("--for {text}: expected a time like 90, 10m or 8h"))?;
    Ok(count.saturating_mul(unit * 1_000_000))
}
