//! Small worlds, exhaustively.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sim::explore::campaign::{Campaign, Explored, explore_all};
use sim::explore::path::{scenario as written, shorten, with_crashes};
use sim::explore::search::Found;
use sim::explore::{Move, SmallWorld, worlds};
use sim::failure::Kind;
use sim::trace::seconds;

use crate::progress::{Bound, Progress};
use crate::words::{duration, number, word};

/// The progress of the searches, one thread each.
struct Course {
    progress: Progress,
    states: Mutex<BTreeMap<&'static str, usize>>,
    code: AtomicU8,
    failures: AtomicU64,
}

pub(crate) fn explore(rest: &[&str]) -> Result<u8, String> {
    let began = Instant::now();
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let elapsed = || micros(began.elapsed());
    let lasts = duration(rest)?;
    let until = lasts.map_or(u64::MAX, micros);
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let states = number(rest, "--states")?.map_or(usize::MAX, size);
    let worlds = chosen(rest)?;
    let course = Course {
        progress: Progress::new("states", bound(lasts, states, worlds.len())),
        states: Mutex::default(),
        code: AtomicU8::new(0),
        failures: AtomicU64::new(0),
    };
    let campaign = Campaign {
        worlds,
        workers: number(rest, "--workers")?.map_or(2, size),
        states,
        elapsed: &elapsed,
        patient: &|world, states| {
            course.reached(world, states);
            elapsed() < until
        },
    };
    explore_all(campaign, &|explored| course.done(explored));
    course.progress.clear();
    println!("{} states in {} s", course.total(), seconds(elapsed()));
    Ok(course.code.into_inner())
}

/// The worlds that the options name, with their bounds.
fn chosen(rest: &[&str]) -> Result<Vec<SmallWorld>, String> {
    let wider = number(rest, "--wider")?.and_then(|by| u8::try_from(by).ok()).unwrap_or(0);
    let name = word(rest, "--world");
    let all = worlds().into_iter();
    let chosen: Vec<SmallWorld> = all.filter(|world| name.is_none_or(|name| name == world.name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = worlds().iter().map(|world| world.name).collect();
        return Err(format!("there is no such world; the worlds are {}", names.join(", ")));
    }
    Ok(chosen.into_iter().map(|world| world.wider(wider)).collect())
}

/// The number of states is known only afterwards, unless an option bounds it.
fn bound(lasts: Option<Duration>, states: usize, worlds: usize) -> Bound {
    match lasts {
        Some(lasts) => Bound::Time(lasts),
        None if states == usize::MAX => Bound::None,
        None => Bound::Count(u64::try_from(states.saturating_mul(worlds)).unwrap_or(u64::MAX)),
    }
}

impl Course {
    fn reached(&self, world: &'static str, states: usize) {
        if let Ok(mut all) = self.states.lock() {
            all.insert(world, states);
        }
        self.progress.at(self.total(), self.failures.load(Ordering::Relaxed));
    }

    fn total(&self) -> u64 {
        self.states.lock().map_or(0, |all| all.values().map(|states| *states as u64).sum())
    }

    fn done(&self, explored: &Explored) {
        self.reached(explored.world.name, explored.report.states);
        self.progress.clear();
        println!("{}", explored.line());
        if let Some(found) = &explored.report.found {
            self.failures.fetch_add(1, Ordering::Relaxed);
            show_failure(explored, found);
        }
        // A failure has a higher priority than an exhausted budget.
        let (now, before) = (explored.report.exit_code(), self.code.load(Ordering::Relaxed));
        if before == 0 || (now != 0 && before == Kind::Budget.exit_code()) {
            self.code.store(now, Ordering::Relaxed);
        }
    }
}

/// Shows a failure: its path, and the equivalent scenario.
fn show_failure(explored: &Explored, found: &Found) {
    let world = &explored.world;
    println!("FAIL {} — world {}", found.failure, world.name);
    let path = shorten(world, None, found);
    for step in &path {
        println!("    {}", step.line(world));
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
