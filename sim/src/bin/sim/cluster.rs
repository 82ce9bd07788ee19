//! Small worlds of two nodes over one database, exhaustively.

use std::time::{Duration, Instant};

use sim::cluster::small::search::{Options, explore as search};
use sim::cluster::small::{SmallWorld, worlds};
use sim::failure::Kind;
use sim::trace::seconds;

use crate::progress::{Bound, Progress};
use crate::words::{duration, number, word};

pub(crate) fn explore(rest: &[&str]) -> Result<u8, String> {
    let began = Instant::now();
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let lasts = duration(rest)?;
    let states =
        number(rest, "--states")?.map_or(usize::MAX, |states| usize::try_from(states).unwrap_or(usize::MAX));
    let progress = Progress::new("states", lasts.map_or(Bound::None, Bound::Time));
    let (mut all, mut failures, mut code) = (0_u64, 0, 0);
    for world in chosen(rest)? {
        let from = Instant::now();
        let goes_on = |states: usize| {
            progress.at(all + states as u64, failures);
            lasts.is_none_or(|lasts| began.elapsed() < lasts)
        };
        let report = search(&world, &Options { states, goes_on: &goes_on, sabotage: None });
        progress.clear();
        println!("{}", report.lines(micros(from.elapsed())));
        all += report.states as u64;
        if let Some(found) = &report.found {
            failures += 1;
            println!("FAIL {} — world {}", found.failure, world.name);
            for step in &found.path {
                println!("    {step:?}");
            }
        }
        // A failure has a higher priority than an exhausted budget.
        if code == 0 || (report.exit_code() != 0 && code == Kind::Budget.exit_code()) {
            code = report.exit_code();
        }
    }
    println!("{all} states in {} s", seconds(micros(began.elapsed())));
    Ok(code)
}

/// The worlds that the options name, with their bounds.
fn chosen(rest: &[&str]) -> Result<Vec<SmallWorld>, String> {
    let wider = number(rest, "--wider")?.and_then(|by| u8::try_from(by).ok()).unwrap_or(0);
    let name = word(rest, "--world");
    let chosen: Vec<_> =
        worlds().into_iter().filter(|world| name.is_none_or(|name| name == world.name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = worlds().iter().map(|world| world.name).collect();
        return Err(format!("there is no such world; the worlds are {}", names.join(", ")));
    }
    Ok(chosen.into_iter().map(|world| world.wider(wider)).collect())
}
