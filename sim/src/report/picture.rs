//! The picture: which regions of the core were entered, which events followed each other, where decisions were taken,
//! and how often each fault struck.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::Event;
use holon_facts::lifecycle::Boundary;

use super::coverage::Coverage;
use super::svg::{Area, Svg, Words, heat, shade};
use crate::decisions::TABLE;
use crate::fault::kinds::{KINDS, PATTERNS};
use crate::tally::{Tally, declared};

const CELL: u32 = 16;
const MARGIN: u32 = 20;
/// Width of the names before a row.
const NAMES: u32 = 230;
/// Where the second column begins.
const BESIDE: u32 = 960;
/// Pixels of a bar for each factor of two.
const DOUBLING: u32 = 14;

/// The whole picture, as SVG.
pub fn picture(tally: &Tally, coverage: Option<&Coverage>) -> String {
    let mut svg = Svg::default();
    let mut y = MARGIN;
    if let Some(coverage) = coverage {
        y = regions(&mut svg, y, coverage);
    }
    y = pairs(&mut svg, y, tally);
    decisions(&mut svg, y, tally);
    faults(&mut svg, tally);
    svg.finish()
}

/// One bar for each file, with a length by its regions; the grey end was not entered.
fn regions(svg: &mut Svg, mut y: u32, coverage: &Coverage) -> u32 {
    svg.words(MARGIN, y, Words::Title, "Regions of the core that the simulator entered, by file");
    y += MARGIN;
    for (name, part) in &coverage.files {
        let (all, entered) = (length(part.count), length(part.covered));
        let title = format!("{name}: {} of {} regions", part.covered, part.count);
        svg.words(NAMES - 6, y + 12, Words::Left, name);
        let bar = |x: u32, width: u32| Area { x, y, width, height: CELL - 2 };
        svg.area(bar(NAMES, entered), heat(part.per_mille()), &title);
        svg.area(bar(NAMES + entered, all - entered), "#cccccc", &title);
        let share = part.per_mille();
        svg.words(NAMES + all + 6, y + 12, Words::Right, &format!("{}.{} %", share / 10, share % 10));
        y += CELL;
    }
    y + 2 * MARGIN
}

/// A number of regions in pixels.
fn length(regions: u64) -> u32 {
    u32::try_from(regions).unwrap_or(u32::MAX) * 6 / 5
}

/// Each kind of event by each that followed it.
fn pairs(svg: &mut Svg, y: u32, tally: &Tally) -> u32 {
    let kinds: Vec<&str> = Event::kinds().map(|(kind, _)| kind).collect();
    let declared = declared();
    let rows: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    let cell = |row: usize, column: usize| {
        let pair = (*kinds.get(row)?, *kinds.get(column)?);
        let times = tally.pairs.get(&pair).copied().unwrap_or(0);
        let title = format!("{}, then {}: {times}", pair.0, pair.1);
        let colour = if times == 0 && declared.contains_key(&pair) { "#d73027" } else { shade(times) };
        Some((colour, title))
    };
    let title = "Which event followed which (row, then column); red: declared and not seen";
    matrix(svg, y, title, (&rows, &kinds), &cell)
}

/// Each row of the decision table by the boundary of the decision.
fn decisions(svg: &mut Svg, y: u32, tally: &Tally) {
    let mut counts: BTreeMap<(usize, Boundary), u64> = BTreeMap::new();
    for (came, times) in &tally.decisions {
        if let Some(row) = TABLE.iter().position(|row| *row == came.row) {
            *counts.entry((row, came.boundary)).or_default() += times;
        }
    }
    let used: BTreeSet<Boundary> = counts.keys().map(|(_, boundary)| *boundary).collect();
    let used: Vec<Boundary> = used.into_iter().collect();
    let rows: Vec<String> =
        TABLE.iter().map(|(number, kind, reason)| format!("{number} {kind}: {reason}")).collect();
    let columns: Vec<&str> = used.iter().map(|boundary| boundary.name()).collect();
    let cell = |row: usize, column: usize| {
        let times = counts.get(&(row, *used.get(column)?)).copied().unwrap_or(0);
        Some((shade(times), format!("{} at {}: {times}", rows.get(row)?, columns.get(column)?)))
    };
    let title = "Which row of the decision table came up at which boundary";
    matrix(svg, y, title, (&rows, &columns), &cell);
}

/// The colour of a cell, and its tooltip.
type Cell<'a> = &'a dyn Fn(usize, usize) -> Option<(&'static str, String)>;

fn matrix(svg: &mut Svg, y: u32, title: &str, names: (&[String], &[&str]), cell: Cell<'_>) -> u32 {
    let (rows, columns) = names;
    svg.words(MARGIN, y, Words::Title, title);
    let longest = columns.iter().map(|name| name.len()).max().unwrap_or(0);
    let top = y + MARGIN + 7 * u32::try_from(longest).unwrap_or(0);
    for (x, name) in (NAMES..).step_by(CELL as usize).zip(columns) {
        svg.words(x + 12, top - 4, Words::Up, name);
    }
    for ((number, name), y) in rows.iter().enumerate().zip((top..).step_by(CELL as usize)) {
        svg.words(NAMES - 6, y + 12, Words::Left, name);
        for (column, x) in (0..columns.len()).zip((NAMES..).step_by(CELL as usize)) {
            if let Some((colour, title)) = cell(number, column) {
                svg.area(Area { x, y, width: CELL - 1, height: CELL - 1 }, colour, &title);
            }
        }
    }
    top + CELL * u32::try_from(rows.len()).unwrap_or(0) + 2 * MARGIN
}

/// How often each fault struck, by orders of magnitude, so that a single strike is visible.
fn faults(svg: &mut Svg, tally: &Tally) {
    let mut y = MARGIN;
    svg.words(BESIDE, y, Words::Title, "How often each fault struck, and met what its contract speaks of");
    y += MARGIN;
    let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).chain(PATTERNS).collect();
    for name in names {
        y = bar(svg, y, name, 0, tally);
        let meets: BTreeSet<&str> =
            KINDS.iter().filter(|kind| kind.name == name).filter_map(|kind| kind.meets).collect();
        for name in meets {
            y = bar(svg, y, name, MARGIN, tally);
        }
    }
}

fn bar(svg: &mut Svg, y: u32, name: &str, indent: u32, tally: &Tally) -> u32 {
    const WORDS: u32 = BESIDE + 290;
    let times = tally.fired.get(name).copied().unwrap_or(0);
    svg.words(BESIDE + indent, y + 12, Words::Right, name);
    let (width, colour) = match times {
        0 => (3, "#d73027"),
        times => {
            ((u64::BITS - times.leading_zeros()) * DOUBLING, if indent > 0 { "#9ecae1" } else { "#3182bd" })
        }
    };
    svg.area(Area { x: WORDS, y, width, height: CELL - 3 }, colour, &format!("{name}: {times}"));
    svg.words(WORDS + width + 6, y + 12, Words::Right, &times.to_string());
    y + CELL
}

#[cfg(test)]
mod tests {
    use super::super::coverage::Part;
    use super::*;

    #[test]
    fn a_picture_is_whole_and_says_what_was_seen() {
        let mut tally = Tally::default();
        tally.pairs.insert(("message_admitted", "scheduler_decision"), 12);
        tally.fired.insert("provider.fails".into(), 3);
        let files = BTreeMap::from([("a<b.rs".to_owned(), Part { count: 100, covered: 90 })]);
        let drawn = picture(&tally, Some(&Coverage { files }));
        assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"));
        for tag in ["text", "title", "svg", "style"] {
            let opened =
                drawn.matches(&format!("<{tag}>")).count() + drawn.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, drawn.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        for title in [
            "a&lt;b.rs: 90 of 100 regions",
            "message_admitted, then scheduler_decision: 12",
            "provider.fails: 3",
        ] {
            assert!(drawn.contains(title), "{title}");
        }
    }
}
