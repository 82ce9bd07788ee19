//! What a campaign has covered, as tables for a person and as one picture.

pub mod coverage;
mod picture;
mod svg;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::decisions::{Came, Row, TABLE};
use crate::fault::kinds::{KINDS, PATTERNS};
use crate::tally::{Tally, declared, errors};
use coverage::Coverage;
pub use picture::picture;

/// The tables, in Markdown.
pub fn page(tally: &Tally, coverage: Option<&Coverage>) -> String {
    let mut page = format!(
        "# What the simulator has seen\n\n{} seeds, {} steps, {} records, {} crashes, {} s of virtual time, {} \
         failures; {} of 1000 runs end in a turn of their own.\n\n",
        tally.runs,
        tally.steps,
        tally.records,
        tally.crashes,
        tally.virtual_time / 1_000_000,
        tally.failures,
        tally.worth()
    );
    faults(&mut page, tally);
    laws(&mut page, tally);
    decisions(&mut page, tally);
    pairs(&mut page, tally);
    returned(&mut page, tally);
    if let Some(coverage) = coverage {
        regions(&mut page, coverage);
    }
    page
}

fn table(page: &mut String, title: &str, about: &str, columns: &[&str]) {
    let dashes = vec!["---"; columns.len()];
    *page += &format!("## {title}\n\n{about}\n\n| {} |\n| {} |\n", columns.join(" | "), dashes.join(" | "));
}

fn line(page: &mut String, cells: &[&str]) {
    // Writing to a string can't fail.
    writeln!(page, "| {} |", cells.join(" | ")).unwrap_or_default();
}

fn faults(page: &mut String, tally: &Tally) {
    let times = |name: &str| tally.fired.get(name).copied().unwrap_or(0);
    let columns = ["catalogue", "fault", "struck", "meets", "met"];
    table(page, "Faults", "How often each struck, and met what its contract speaks of.", &columns);
    for kind in KINDS {
        let (meets, met) = match kind.meets {
            Some(meets) => (meets, times(meets).to_string()),
            None => ("the same", String::new()),
        };
        line(page, &[kind.rows, kind.name, &times(kind.name).to_string(), meets, &met]);
    }
    for pattern in PATTERNS {
        line(page, &["together", pattern, &times(pattern).to_string(), "the same", ""]);
    }
    *page += "\n";
}

fn laws(page: &mut String, tally: &Tally) {
    let about = "How often each law had something to say.";
    table(page, "Laws", about, &["law", "times"]);
    for (law, times) in &tally.checked {
        line(page, &[law, &times.to_string()]);
    }
    *page += "\n";
}

fn decisions(page: &mut String, tally: &Tally) {
    let (missing, strange) = tally.rows();
    let about = format!(
        "{} of {} rows of the scheduler's table came up, {} of them with other facts.",
        TABLE.len() - missing.len(),
        TABLE.len(),
        tally.decisions.len()
    );
    let columns = ["row", "decision", "reason", "times", "at", "for"];
    table(page, "Decisions", &about, &columns);
    for row in TABLE {
        decision(page, row, tally);
    }
    *page += "\n";
    for came in strange {
        writeln!(page, "**The table has no such row:** {came:?}\n").unwrap_or_default();
    }
}

fn decision(page: &mut String, row: Row, tally: &Tally) {
    let came: Vec<(&Came, u64)> = tally
        .decisions
        .iter()
        .filter(|(came, _)| came.row == row)
        .map(|(came, times)| (came, *times))
        .collect();
    let mut at: BTreeMap<&str, u64> = BTreeMap::new();
    let mut heads: BTreeMap<String, u64> = BTreeMap::new();
    for (came, times) in &came {
        *at.entry(came.boundary.name()).or_default() += times;
        if let Some((priority, class)) = came.head {
            *heads.entry(format!("{priority} {class}")).or_default() += times;
        }
    }
    let all: u64 = came.iter().map(|(_, times)| times).sum();
    let at: Vec<String> = at.iter().map(|(name, times)| format!("{name} {times}")).collect();
    let heads: Vec<String> = heads.iter().map(|(name, times)| format!("{name} {times}")).collect();
    let (number, kind, reason) = row;
    line(
        page,
        &[
            &number.to_string(),
            kind.name(),
            reason.name(),
            &all.to_string(),
            &at.join(", "),
            &heads.join(", "),
        ],
    );
}

fn pairs(page: &mut String, tally: &Tally) {
    let (missing, new) = tally.adjacency();
    let declared = declared().len();
    let kinds: BTreeSet<&str> = tally.pairs.keys().flat_map(|(one, other)| [*one, *other]).collect();
    writeln!(
        page,
        "## Pairs of events\n\n{} kinds of events, {} pairs that followed each other; {} of {declared} declared \
         ones, {} that nobody declared.\n",
        kinds.len(),
        tally.pairs.len(),
        declared - missing.len(),
        new.len()
    )
    .unwrap_or_default();
    if !missing.is_empty() {
        table(page, "Declared, not seen", "In `sim/adjacency.txt`.", &["event", "followed by"]);
        missing.iter().for_each(|(one, other)| line(page, &[one, other]));
        *page += "\n";
    }
}

fn returned(page: &mut String, tally: &Tally) {
    let about = "How often each error was returned: refusals of callers, failures of models and of tools.";
    table(page, "Errors", about, &["family", "error", "times"]);
    for error in errors() {
        let times = tally.errors.get(&error).copied().unwrap_or(0);
        line(page, &[error.0, error.1, &times.to_string()]);
    }
    *page += "\n";
}

fn regions(page: &mut String, coverage: &Coverage) {
    let percent = |per_mille: u64| format!("{}.{} %", per_mille / 10, per_mille % 10);
    let about = "Of the core, entered by the simulator alone; what judges ledgers is counted apart.";
    table(page, "Regions", about, &["file", "regions", "not entered", "share"]);
    let groups = coverage.groups().into_iter().map(|(name, part)| (format!("**{name}**"), part));
    let files = coverage.files.iter().map(|(name, part)| (format!("`{name}`"), *part));
    for (name, part) in groups.chain(files) {
        let left = (part.count - part.covered).to_string();
        line(page, &[&name, &part.count.to_string(), &left, &percent(part.per_mille())]);
    }
}
