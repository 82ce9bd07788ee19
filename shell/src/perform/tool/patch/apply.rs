//! Hunks onto the lines of one file, in memory.

use holon_core::content::clip;

use super::parse::{Hunk, Line};

/// Why a hunk doesn't apply.
#[derive(Debug)]
pub(super) struct Mismatch {
    /// Number of the hunk, from 1.
    pub(super) hunk: usize,
    pub(super) problem: String,
    pub(super) hint: &'static str,
}

/// The text of a file as lines without their newlines.
struct Old<'a> {
    lines: Vec<&'a [u8]>,
    /// The last line ends with a newline.
    ended: bool,
    /// A carriage return is taken off when comparing, and put on what is added.
    dos: bool,
}

/// The new text of a file.
pub(super) fn apply(old: &[u8], hunks: &[Hunk<'_>]) -> Result<Vec<u8>, Mismatch> {
    let old = Old::new(old, hunks);
    let mut new: Vec<&[u8]> = Vec::new();
    let mut ended = old.ended;
    // What is copied already, and by how much hunks stood later than they said.
    let (mut copied, mut shift) = (0_usize, 0_isize);
    let mut fresh: Vec<Vec<u8>> = Vec::new();
    let mut plan: Vec<Piece> = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let mismatch = |(problem, hint)| Mismatch { hunk: index + 1, problem, hint };
        let place = old.find(hunk, copied, shift).map_err(mismatch)?;
        if let Some(range) = hunk.range {
            shift = place.cast_signed() - expected(range.start, range.old).cast_signed();
        }
        plan.push(Piece::Kept(copied..place));
        copied = place;
        for line in &hunk.lines {
            match line {
                Line::Context(_) => {
                    plan.push(Piece::Kept(copied..copied + 1));
                    copied += 1;
                }
                Line::Removed(_) => copied += 1,
                Line::Added(text) => {
                    plan.push(Piece::Fresh(fresh.len()));
                    fresh.push(old.added(text));
                }
            }
        }
        ended = old.ending(hunk, copied, ended).map_err(mismatch)?;
    }
    plan.push(Piece::Kept(copied..old.lines.len()));
    for piece in plan {
        match piece {
            Piece::Kept(range) => new.extend(&old.lines[range]),
            Piece::Fresh(at) => new.push(&fresh[at]),
        }
    }
    let mut text = new.join(&b'\n');
    if ended && !new.is_empty() {
        text.push(b'\n');
    }
    Ok(text)
}

enum Piece {
    Kept(std::ops::Range<usize>),
    Fresh(usize),
}

/// Index of the line that a hunk begins with. One without old lines stands after the line that it names.
fn expected(start: usize, old: usize) -> usize {
    if old == 0 { start } else { start.saturating_sub(1) }
}

impl<'a> Old<'a> {
    fn new(text: &'a [u8], hunks: &[Hunk<'_>]) -> Self {
        let ended = text.is_empty() || text.ends_with(b"\n");
        let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        if ended {
            lines.pop();
        }
        let patched = hunks.iter().flat_map(|hunk| &hunk.lines);
        let plain = patched.into_iter().all(|line| match line {
            Line::Context(text) | Line::Removed(text) | Line::Added(text) => !text.ends_with('\r'),
        });
        let ending = &lines[..lines.len() - usize::from(!ended)];
        let dos = plain && !ending.is_empty() && ending.iter().all(|line| line.ends_with(b"\r"));
        Self { lines, ended, dos }
    }

    fn matches(&self, at: usize, text: &str) -> bool {
        let Some(&line) = self.lines.get(at) else { return false };
        line == text.as_bytes() || (self.dos && line.strip_suffix(b"\r") == Some(text.as_bytes()))
    }

    fn added(&self, text: &str) -> Vec<u8> {
        let mut line = text.as_bytes().to_vec();
        if self.dos {
            line.push(b'\r');
        }
        line
    }

    fn stands(&self, at: usize, hunk: &Hunk<'_>) -> bool {
        let count = hunk.old().count();
        hunk.old().enumerate().all(|(offset, text)| self.matches(at + offset, text))
            && (!hunk.old_unended || (at + count == self.lines.len() && !self.ended))
    }

    /// The place of a hunk, at or after line `from`.
    fn find(&self, hunk: &Hunk<'_>, from: usize, shift: isize) -> Result<usize, (String, &'static str)> {
        let wanted =
            hunk.range.map(|range| expected(range.start, range.old).saturating_add_signed(shift).max(from));
        let count = hunk.old().count();
        if count == 0 {
            return match wanted {
                Some(at) if at <= self.lines.len() => Ok(at),
                None if self.lines.is_empty() => Ok(0),
                Some(_) | None => Err((
                    format!("it only adds lines, and the file has no line {}", wanted.unwrap_or_default()),
                    "give unchanged lines around the added ones",
                )),
            };
        }
        let last = self.lines.len().checked_sub(count).filter(|&last| last >= from);
        let places = last.map(|last| from..=last).into_iter().flatten().filter(|&at| self.stands(at, hunk));
        match wanted {
            Some(wanted) => places.min_by_key(|&at| (at.abs_diff(wanted), at < wanted)),
            None => {
                let places: Vec<usize> = places.take(2).collect();
                if let [first, second] = places[..] {
                    let problem =
                        format!("its lines stand in several places, lines {} and {}", first + 1, second + 1);
                    return Err((problem, "give more unchanged lines, or a range after @@"));
                }
                places.first().copied()
            }
        }
        .ok_or_else(|| self.explain(hunk, from, wanted.unwrap_or(from)))
    }

    /// Says where the hunk comes closest to standing, and what is different there.
    fn explain(&self, hunk: &Hunk<'_>, from: usize, wanted: usize) -> (String, &'static str) {
        let agreeing = |at: usize| {
            hunk.old().enumerate().take_while(|(offset, text)| self.matches(at + offset, text)).count()
        };
        let best = (from..self.lines.len())
            .max_by_key(|&at| (agreeing(at), std::cmp::Reverse(at.abs_diff(wanted))))
            .unwrap_or(from);
        let at = if agreeing(best) == 0 { wanted.max(from) } else { best };
        let differs = agreeing(at);
        let Some(text) = hunk.old().nth(differs) else {
            let problem = "it says that the file ends without a newline, and the file does not end so there";
            return (problem.to_owned(), "leave the line \\ No newline at end of file out");
        };
        let line = at + differs + 1;
        let expected = clip(text, 160);
        let Some(found) = self.lines.get(at + differs) else {
            let problem = format!(
                "line {line} was expected to be {expected:?}, found the end of the file (it has {} lines)",
                self.lines.len()
            );
            return (problem, LOOK);
        };
        let found = String::from_utf8_lossy(found);
        let problem = format!("line {line} was expected to be {expected:?}, found {:?}", clip(&found, 160));
        let blank = |text: &str| text.split_whitespace().collect::<String>();
        let hint = if self.stands_already(hunk, wanted) {
            "the change seems to be there already: read the file"
        } else if blank(&found) == blank(text) {
            "only white space differs: copy the line exactly, tabs and spaces as they are"
        } else {
            LOOK
        };
        (problem, hint)
    }

    fn stands_already(&self, hunk: &Hunk<'_>, at: usize) -> bool {
        let mut lines = hunk.lines.iter().filter_map(|line| match line {
            Line::Context(text) | Line::Added(text) => Some(text),
            Line::Removed(_) => None,
        });
        lines.by_ref().enumerate().all(|(offset, text)| self.matches(at + offset, text))
    }

    /// Whether the new text ends with a newline, as far as this hunk says.
    fn ending(&self, hunk: &Hunk<'_>, copied: usize, ended: bool) -> Result<bool, (String, &'static str)> {
        let reaches_end = copied == self.lines.len();
        if hunk.new_unended {
            if !reaches_end {
                let problem = "it says that the new file ends here, and more lines follow".to_owned();
                return Err((problem, "leave the line \\ No newline at end of file out"));
            }
            return Ok(false);
        }
        Ok(ended || hunk.old_unended || (reaches_end && self.lines.is_empty()))
    }
}

const LOOK: &str = "read the lines as they are now and send a patch made from them";
