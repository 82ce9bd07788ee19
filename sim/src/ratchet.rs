//! The coverage ratchet: what campaigns have reached stays reached. The floors are in a file, and only rise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::decisions::Row;
use crate::report::coverage::Coverage;
use crate::tally::{ELSEWHERE, Tally, errors, faults};

/// The file, as it is committed.
pub const WRITTEN: &str = include_str!("../floors.txt");
/// Seeds of the short campaign in every test build, and of the one of `sim report`.
pub const SHORT: u64 = 200;
pub const LONG: u64 = 2_000;

/// Figures by name: how many different things were covered.
pub type Figures = BTreeMap<String, u64>;

/// The figures of a campaign.
pub fn reached(tally: &Tally) -> Figures {
    if tally.runs == 0 {
        return Figures::new();
    }
    let of = |name: &str, count: usize| (format!("{name}.{}", tally.runs), count as u64);
    let rows: BTreeSet<Row> = tally.decisions.keys().map(|came| came.row).collect();
    let here = |law: &&str| !ELSEWHERE.contains(law);
    let laws =
        tally.checked.iter().filter(|(_, times)| **times > 0).map(|(law, _)| *law).filter(here).count();
    Figures::from([
        of("faults", faults().iter().filter(|fault| tally.fired.contains_key(**fault)).count()),
        of("laws", laws),
        of("errors", errors().iter().filter(|error| tally.errors.contains_key(error)).count()),
        of("decision_rows", rows.len()),
        of("decisions", tally.decisions.len()),
        of("event_pairs", tally.pairs.len()),
    ])
}

/// Regions of the core that the simulator alone entered, per thousand. Coverage of the laws is no measure: part of
/// their code runs for broken laws only.
pub fn covered(coverage: &Coverage) -> Figures {
    let core = coverage.groups().remove("core");
    core.into_iter().map(|part| ("regions.core".into(), part.per_mille())).collect()
}

/// Reads a file of floors.
///
/// # Errors
/// With the first invalid line.
pub fn read(text: &str) -> Result<Figures, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, figure) = line.split_once(' ').ok_or_else(|| format!("{line:?} is no floor"))?;
            let figure = figure.parse().map_err(|_| format!("{line:?} has no number"))?;
            Ok((name.into(), figure))
        })
        .collect()
}

/// The figures below their floors, one line each. A figure that was not measured is ignored.
pub fn below(floors: &Figures, figures: &Figures) -> Vec<String> {
    let low = |(name, floor): (&String, &u64)| {
        let figure = figures.get(name)?;
        (figure < floor).then(|| format!("{name} is {figure}, its floor is {floor}"))
    };
    floors.iter().filter_map(low).collect()
}

/// The file with every exceeded floor raised; none if no floor was exceeded.
pub fn raised(floors: &Figures, figures: &Figures) -> Option<String> {
    let mut all = floors.clone();
    for (name, figure) in figures {
        let floor = all.entry(name.clone()).or_default();
        *floor = (*floor).max(*figure);
    }
    (all != *floors).then(|| text(&all))
}

fn text(floors: &Figures) -> String {
    let mut text = String::from(
        "# What the simulator has reached, by measure and seeds or group; see docs/simulation.md. Floors only \
         rise:\n# sim report prints them when they are beaten.\n",
    );
    for (name, floor) in floors {
        // Writing to a string can't fail.
        writeln!(text, "{name} {floor}").unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(text: &str) -> Figures {
        read(text).unwrap()
    }

    #[test]
    fn the_file_reads_back_what_is_written() {
        let floors = figures(WRITTEN);
        assert!(floors.len() > 6, "{floors:?}");
        assert_eq!(text(&floors), WRITTEN);
        assert!(read("faults").is_err() && read("faults many").is_err());
    }

    #[test]
    fn floors_only_rise() {
        let floors = figures("a 10\nb 5\n");
        assert_eq!(below(&floors, &figures("a 9\nb 5\n")), ["a is 9, its floor is 10"]);
        assert!(below(&floors, &figures("b 7\n")).is_empty());
        let raised = raised(&floors, &figures("a 9\nb 7\nc 1\n")).unwrap();
        assert_eq!(figures(&raised), figures("a 10\nb 7\nc 1\n"));
        assert_eq!(super::raised(&floors, &figures("a 10\nb 4\n")), None);
    }
}
