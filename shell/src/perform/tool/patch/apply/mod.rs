//! Hunks onto the rows of one file, in memory (rules: docs/patches.md).

mod find;
mod rows;

use super::parse::{Hunk, Line};
use find::Search;
use rows::{How, Row, Rows};

/// What some editors begin a file with.
const BOM: &[u8] = "\u{FEFF}".as_bytes();

/// Why a hunk doesn't apply.
#[derive(Debug, Default)]
pub(super) struct Mismatch {
    /// Number of the hunk, from 1, and the line of the patch where it begins.
    pub(super) hunk: usize,
    pub(super) header: usize,
    pub(super) problem: String,
    pub(super) hint: &'static str,
    /// Line of the file that is not as expected, from 1.
    pub(super) line: Option<usize>,
    pub(super) expected: Option<String>,
    pub(super) found: Option<String>,
    /// Lines of the file where the hunk could stand, when there are several.
    pub(super) candidates: Vec<usize>,
}

/// The new text of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) text: Vec<u8>,
    /// What the patch said otherwise, for whoever sent it.
    pub(super) notes: Vec<String>,
}

/// Applies the hunks of one file in their order.
pub(super) fn apply(old: &[u8], hunks: &[Hunk<'_>]) -> Result<Applied, Mismatch> {
    // A patch that does not show it means the text behind it.
    let (mark, old) = match old.strip_prefix(BOM) {
        Some(rest) if !hunks.iter().any(shows_mark) => (BOM, rest),
        Some(_) | None => (&[][..], old),
    };
    let rows = Rows::new(old, hunks);
    let mut search = Search::new(&rows);
    let mut new = Composed { rows: Vec::new(), copied: 0, ended: rows.ended };
    let mut notes = Notes::default();
    for (index, hunk) in hunks.iter().enumerate() {
        let number = index + 1;
        let named = |mismatch| Mismatch { hunk: number, header: hunk.header, ..mismatch };
        let position = search.position(hunk, new.copied).map_err(named)?;
        notes.take(number, hunk, &position);
        let end = new.take(&rows, hunk, position.at);
        new.ended = rows.ending(hunk, end, new.ended).map_err(named)?;
    }
    new.rows.extend(&rows.rows[new.copied..]);
    let mut text = rows::text(&new.rows, new.ended);
    if !text.is_empty() {
        text.splice(0..0, mark.iter().copied());
    }
    Ok(Applied { text, notes: notes.said() })
}

fn shows_mark(hunk: &Hunk<'_>) -> bool {
    hunk.lines.iter().any(|line| match line {
        Line::Context(text) | Line::Removed(text) | Line::Added(text) => text.starts_with('\u{FEFF}'),
    })
}

/// Hunks that did not stand quite as they said.
#[derive(Default)]
struct Notes {
    unspaced: Vec<String>,
    loose: Vec<String>,
    moved: Vec<String>,
}

impl Notes {
    fn take(&mut self, number: usize, hunk: &Hunk<'_>, position: &find::Position) {
        match position.how {
            How::Exact => {}
            How::Unspaced => self.unspaced.push(number.to_string()),
            How::Loose => self.loose.push(number.to_string()),
        }
        if position.chosen {
            let why = match hunk.range {
                Some(range) => format!("not at line {}: the nearest of several places", range.start),
                None => "the first of several places after what its @@ names".to_owned(),
            };
            self.moved.push(format!("hunk {number} was applied at line {}, {why}", position.at + 1));
        }
    }

    fn said(self) -> Vec<String> {
        let Self { unspaced, loose, mut moved } = self;
        if !unspaced.is_empty() {
            moved.push(format!(
                "unchanged lines of hunk {} had lost their leading space",
                unspaced.join(", ")
            ));
        }
        if !loose.is_empty() {
            let hunks = loose.join(", ");
            moved.push(format!("white space at the ends of lines differed from hunk {hunks}; it was kept"));
        }
        moved
    }
}

/// The new text so far.
struct Composed<'a> {
    rows: Vec<Row<'a>>,
    /// How many of the old rows are in it, or removed from it. Unchanged lines at the end of a hunk are not:
    /// the next hunk may begin with them.
    copied: usize,
    ended: bool,
}

impl<'a> Composed<'a> {
    /// Takes a hunk in that stands at row `at`; returns the row after it.
    fn take(&mut self, old: &Rows<'a>, hunk: &Hunk<'a>, mut at: usize) -> usize {
        // Rows that were removed and not replaced yet: what replaces one gets its line end.
        let mut replaced = at..at;
        for line in &hunk.lines {
            match line {
                Line::Context(_) => {
                    at += 1;
                    replaced = at..at;
                }
                Line::Removed(_) => {
                    self.rows.extend(&old.rows[self.copied..at]);
                    at += 1;
                    (self.copied, replaced.end) = (at, at);
                }
                Line::Added(text) => {
                    self.rows.extend(&old.rows[self.copied..at]);
                    self.copied = at;
                    let end = match replaced.next() {
                        Some(row) => old.end(row),
                        None => old.end_near(at),
                    };
                    self.rows.push(Row { text: text.as_bytes(), end });
                }
            }
        }
        at
    }
}
