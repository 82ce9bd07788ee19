//! Where a hunk stands. Exactly where it says, or nearby, or at the only place that there is; never at one
//! of several that are as good.

use holon_facts::content::clip;

use super::super::parse::{Hunk, Line};
use super::rows::{How, Old};
use super::{Mismatch, Rows};

/// Rows that are compared for one file when hunks are not where they say. Enough for every honest patch.
const TRIES: usize = 20_000_000;
/// Most places that a refusal names.
const CANDIDATES: usize = 5;

/// Index of the row that a hunk begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) at: usize,
    pub(super) how: How,
    /// Its lines stand elsewhere, too: this place was the nearest, or the first that could be meant.
    pub(super) chosen: bool,
}

pub(super) struct Search<'r, 'a> {
    rows: &'r Rows<'a>,
    /// By how much the last hunk stood later than it said: the next one is expected with the same shift.
    shift: isize,
    tries: usize,
}

/// A hunk, and the lines that it expects to find.
struct Expected<'h> {
    hunk: &'h Hunk<'h>,
    lines: Vec<Old<'h>>,
    /// An `@@` named a line before it, and that was found.
    found_after: bool,
}

/// Index of the row that a hunk begins with. One without old lines stands after the line that it names.
fn index(start: usize, old: usize) -> usize {
    if old == 0 { start } else { start.saturating_sub(1) }
}

impl<'r, 'a> Search<'r, 'a> {
    pub(super) fn new(rows: &'r Rows<'a>) -> Self {
        Self { rows, shift: 0, tries: TRIES }
    }

    /// The place of a hunk, at or after row `from`.
    pub(super) fn position(&mut self, hunk: &Hunk<'_>, from: usize) -> Result<Position, Mismatch> {
        let said = hunk.range.map(|range| index(range.start, range.old));
        let wanted = said.map(|said| said.saturating_add_signed(self.shift).max(from));
        let named = self.named_before(hunk, from);
        let expected = Expected { hunk, lines: old(hunk).collect(), found_after: named.is_some() };
        let position = match expected.lines[..] {
            [_, ..] => self.among_lines(&expected, named.unwrap_or(from), wanted)?,
            [] => {
                let end = hunk.at_end.then_some(self.rows.rows.len());
                let at = self.insertion(end.or(wanted).or(named.map(|named| named + 1)))?;
                Position { at, how: How::Exact, chosen: false }
            }
        };
        if let Some(said) = said {
            self.shift = position.at.cast_signed() - said.cast_signed();
        }
        Ok(position)
    }

    /// The row of the last line that `@@` names, after those before it; none where they are not all there.
    fn named_before(&self, hunk: &Hunk<'_>, from: usize) -> Option<usize> {
        let mut found = None;
        for named in &hunk.after {
            let is = |row: &&super::Row<'_>| row.text.trim_ascii() == named.trim().as_bytes();
            let from = found.map_or(from, |at: usize| at + 1);
            found = Some(from + self.rows.rows.get(from..)?.iter().position(|row| is(&row))?);
        }
        found
    }

    /// A hunk that only adds lines stands where it says.
    fn insertion(&self, wanted: Option<usize>) -> Result<usize, Mismatch> {
        let problem = match wanted {
            Some(at) if at <= self.rows.rows.len() => return Ok(at),
            None if self.rows.rows.is_empty() => return Ok(0),
            Some(at) => {
                format!("it adds lines after line {at}, and the file has {} lines", self.rows.rows.len())
            }
            None => "it only adds lines and names no position".to_owned(),
        };
        Err(Mismatch { problem, hint: "give unchanged lines around the added ones", ..Mismatch::default() })
    }

    fn among_lines(
        &mut self,
        hunk: &Expected<'_>,
        from: usize,
        wanted: Option<usize>,
    ) -> Result<Position, Mismatch> {
        for how in [How::Exact, How::Unspaced, How::Loose] {
            let row = |at| Position { at, how, chosen: false };
            if let Some(at) = wanted.filter(|&at| self.stands(hunk, at, how)) {
                return Ok(row(at));
            }
            let starts = self.starts(hunk, from, how)?;
            let several = match starts[..] {
                [] => continue,
                [at] => return Ok(row(at)),
                [first, ..] if hunk.found_after && how == How::Exact => Some(first),
                [..] => wanted.filter(|_| how == How::Exact).and_then(|wanted| nearest(&starts, wanted)),
            };
            return several.map(|at| Position { chosen: true, ..row(at) }).ok_or_else(|| ambiguous(&starts));
        }
        Err(self.explain(hunk, from, wanted.unwrap_or(from)))
    }

    /// Every place at or after `from`.
    fn starts(&mut self, hunk: &Expected<'_>, from: usize, how: How) -> Result<Vec<usize>, Mismatch> {
        let Some(last) = self.rows.rows.len().checked_sub(hunk.lines.len()).filter(|&last| last >= from)
        else {
            return Ok(Vec::new());
        };
        let mut starts = Vec::new();
        for at in from..=last {
            let agreeing = self.agreeing(hunk, at, how);
            let Some(left) = self.tries.checked_sub(1 + agreeing) else {
                let problem =
                    "its lines are not at the line that it names, and the file is too long to search"
                        .to_owned();
                return Err(Mismatch { problem, hint: LOOK, ..Mismatch::default() });
            };
            self.tries = left;
            if agreeing == hunk.lines.len() && self.ends(hunk, at) {
                starts.push(at);
            }
        }
        Ok(starts)
    }

    fn stands(&self, hunk: &Expected<'_>, at: usize, how: How) -> bool {
        self.agreeing(hunk, at, how) == hunk.lines.len() && self.ends(hunk, at)
    }

    /// Whether the file ends where the hunk says that it does, if it says so.
    fn ends(&self, hunk: &Expected<'_>, at: usize) -> bool {
        let at_end = at + hunk.lines.len() == self.rows.rows.len();
        (!hunk.hunk.old_unended || (at_end && !self.rows.ended)) && (!hunk.hunk.at_end || at_end)
    }

    /// How many of a hunk's old lines agree with the rows from `at` on, until one does not.
    fn agreeing(&self, hunk: &Expected<'_>, at: usize, how: How) -> usize {
        let agrees = |(offset, old): &(usize, &Old<'_>)| self.rows.matches(at + offset, **old, how);
        hunk.lines.iter().enumerate().take_while(agrees).count()
    }

    /// Says where the hunk comes closest to standing, and what is different there.
    fn explain(&self, hunk: &Expected<'_>, from: usize, wanted: usize) -> Mismatch {
        if let Some(at) = (0..from).find(|&at| self.stands(hunk, at, How::Exact)) {
            let problem = format!("its lines are at line {}, before the end of the hunk before it", at + 1);
            let hint = "put the hunks in the order of their lines, each line in one hunk only";
            return Mismatch { problem, hint, line: Some(at + 1), ..Mismatch::default() };
        }
        let rows = &self.rows.rows;
        // Far away only the first lines are compared: a file may be long.
        let best = (from..rows.len())
            .take(TRIES / 100)
            .max_by_key(|&at| (self.agreeing(hunk, at, How::Exact), std::cmp::Reverse(at.abs_diff(wanted))))
            .filter(|&at| self.agreeing(hunk, at, How::Exact) > 0)
            .unwrap_or(wanted.max(from));
        let differs = self.agreeing(hunk, best, How::Exact);
        let Some(Old { text, .. }) = hunk.lines.get(differs).copied() else {
            let problem = "it ends the file there, and the file does not end so";
            return Mismatch { problem: problem.to_owned(), hint: NO_MARKER, ..Mismatch::default() };
        };
        let line = best + differs + 1;
        let expected = clip(text, SHOWN);
        let found = rows.get(best + differs).map(|row| String::from_utf8_lossy(row.text));
        let problem = match &found {
            Some(found) => {
                format!("line {line} was expected to be {expected:?}, found {:?}", clip(found, SHOWN))
            }
            None => format!(
                "line {line} was expected to be {expected:?}, found the end of the file (it has {} lines)",
                rows.len()
            ),
        };
        let hint = if self.stands_already(hunk, wanted) {
            "the change seems to be there already: read the file"
        } else if found.as_deref().is_some_and(|found| blank(found) == blank(text)) {
            "only white space differs: copy the line exactly, tabs and spaces as they are"
        } else {
            LOOK
        };
        let found = found.map(|found| clip(&found, SHOWN));
        Mismatch { problem, hint, line: Some(line), expected: Some(expected), found, ..Mismatch::default() }
    }

    fn stands_already(&self, hunk: &Expected<'_>, at: usize) -> bool {
        let mut lines = hunk.hunk.lines.iter().filter_map(|line| match line {
            Line::Context(text) | Line::Added(text) => Some(Old { text, unchanged: true }),
            Line::Removed(_) => None,
        });
        lines.by_ref().enumerate().all(|(offset, old)| self.rows.matches(at + offset, old, How::Exact))
    }
}

/// The lines that the file must have.
fn old<'h>(hunk: &'h Hunk<'h>) -> impl Iterator<Item = Old<'h>> {
    hunk.lines.iter().filter_map(|line| match line {
        Line::Context(text) => Some(Old { text, unchanged: true }),
        Line::Removed(text) => Some(Old { text, unchanged: false }),
        Line::Added(_) => None,
    })
}

/// The nearest of several places, when every other one is at least twice as far away.
fn nearest(starts: &[usize], wanted: usize) -> Option<usize> {
    let mut near: Vec<_> = starts.iter().map(|&at| (at.abs_diff(wanted), at)).collect();
    near.sort_unstable();
    match near[..] {
        [(first, at), (second, _), ..] if first * 2 <= second => Some(at),
        [..] => None,
    }
}

fn ambiguous(starts: &[usize]) -> Mismatch {
    let candidates: Vec<usize> = starts.iter().take(CANDIDATES).map(|at| at + 1).collect();
    let shown: Vec<_> = candidates.iter().map(ToString::to_string).collect();
    let more = if starts.len() > CANDIDATES {
        format!(" and {} more", starts.len() - CANDIDATES)
    } else {
        String::new()
    };
    let problem = format!("its lines are in several places, lines {}{more}", shown.join(", "));
    let hint = "give more unchanged lines, or the right line number after @@ -";
    Mismatch { problem, hint, candidates, ..Mismatch::default() }
}

fn blank(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Longest part of a line that a refusal shows, in bytes.
const SHOWN: usize = 160;
const LOOK: &str = "read the lines as they are now and send a patch made from them";
pub(super) const NO_MARKER: &str = "leave the line \\ No newline at end of file out";
