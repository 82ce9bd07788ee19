//! A campaign, in tables and a picture, compared with its floors.

use sim::explore::search::{Options, explore};
use sim::explore::worlds;
use sim::ratchet::{self, Figures, LONG};
use sim::report::coverage::Coverage;
use sim::report::{page, picture};

use crate::swarm::{Campaign, verdict};
use crate::words::{number, word};

/// States of each small world that a report visits.
const STATES: u64 = 2_000;
/// Exit code of a report with a figure below its floor.
const LOW: u8 = 16;

pub(crate) fn report(rest: &[&str]) -> Result<u8, String> {
    let campaign = Campaign::of(rest, Some(LONG))?;
    let coverage = match word(rest, "--coverage") {
        Some(file) => Some(Coverage::from_text(&read(file)?).map_err(|error| format!("{file}: {error}"))?),
        None => None,
    };
    let (mut code, tally) = campaign.run();
    let mut text = page(&tally, coverage.as_ref());
    if tally.runs > 0 {
        let states = number(rest, "--states")?.unwrap_or(STATES);
        let failed = small_worlds(usize::try_from(states).unwrap_or(usize::MAX), &mut text);
        code = if code == 0 { failed } else { code };
    }
    match word(rest, "--out") {
        Some(file) => write(file, &text)?,
        None => print!("{text}"),
    }
    if let Some(file) = word(rest, "--picture") {
        write(file, &picture(&tally, coverage.as_ref()))?;
    }
    let mut figures = ratchet::reached(&tally);
    figures.extend(coverage.iter().flat_map(ratchet::covered));
    let code = verdict(code, &tally);
    let low = is_below_floors(&figures)?;
    Ok(if code == 0 && low { LOW } else { code })
}

/// Adds the first states of each small world as a table; returns the exit code of the first failure.
fn small_worlds(states: usize, text: &mut String) -> u8 {
    let mut code = 0;
    *text += "\n## Small worlds\n\nThe first states of each; `sim explore` visits all.\n\n| world | states | transitions |\n\
              | --- | --- | --- |\n";
    for world in worlds() {
        let report = explore(&world, &Options { states, patient: &|_| true, sabotage: None });
        *text += &format!("| {} | {} | {} |\n", world.name, report.states, report.transitions);
        if let Some(found) = &report.found {
            eprintln!("FAIL {}: sim explore --world {}", found.failure, world.name);
            code = if code == 0 { found.failure.kind.exit_code() } else { code };
        }
    }
    code
}

/// Prints figures below their floors, and floors that could rise; returns whether any figure is below.
fn is_below_floors(figures: &Figures) -> Result<bool, String> {
    let floors = ratchet::read(ratchet::WRITTEN)?;
    let below = ratchet::below(&floors, figures);
    below.iter().for_each(|line| eprintln!("FAIL {line}"));
    if let Some(raised) = ratchet::raised(&floors, figures) {
        eprintln!("floors are beaten; sim/floors.txt may be:\n{raised}");
    }
    Ok(!below.is_empty())
}

fn read(file: &str) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))
}

fn write(file: &str, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))
}
