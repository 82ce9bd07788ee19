//! One hunk: its header, and the lines that belong to it.

use super::{Hunk, Line, Range, Reader, Refusal, SHAPE, is_signature, rejected};

impl<'a> Reader<'a> {
    pub(super) fn hunk(&mut self) -> Result<Hunk<'a>, Refusal> {
        let (text, header) = (self.peek(0), self.number());
        let Header { range, after } = self::header(text)
            .map_err(|()| rejected(format!("line {header}: {text:?} is not a hunk header")).hint(SHAPE))?;
        self.at += 1;
        let mut hunk = Hunk { header, range, after: after.into_iter().collect(), ..Hunk::default() };
        let mut missing = range.map(|range| (range.old, range.new));
        // Blank lines without a sign, at the end so far: context, unless nothing else follows.
        let mut blanks = 0;
        while self.at < self.lines.len() {
            let line = self.peek(0);
            let full = missing == Some((0, 0));
            if self.hunk_ends(missing) || (full && (line.is_empty() || is_signature(line))) {
                break;
            }
            let (sign, text) = line.split_at_checked(1).unwrap_or(("", line));
            match sign {
                " " => hunk.push(Line::Context(text), &mut missing),
                "-" => hunk.push(Line::Removed(text), &mut missing),
                "+" => hunk.push(Line::Added(text), &mut missing),
                "" | "\r" => hunk.push(Line::Context(line), &mut missing),
                // One that has lost its leading space.
                "\t" if !full => hunk.push(Line::Context(line), &mut missing),
                "\\" => hunk.unended(),
                _ => break,
            }
            blanks = if matches!(sign, "" | "\r") { blanks + 1 } else { 0 };
            self.at += 1;
        }
        if missing != Some((0, 0)) {
            hunk.lines.truncate(hunk.lines.len() - blanks);
        }
        hunk.check()?;
        Ok(hunk)
    }

    /// Whether the line is no part of the hunk before it. A removed line may look like the beginning of a
    /// file: it is one where the hunk has all its lines, or would get other ones than it was promised.
    fn hunk_ends(&self, missing: Option<(usize, usize)>) -> bool {
        let line = self.peek(0);
        if line.starts_with("@@") || line.starts_with("diff --git ") {
            return true;
        }
        self.file_begins()
            && match missing {
                Some((0, 0)) | None => true,
                Some((1, 1)) => false,
                Some(_) => self.peek(2).starts_with("@@ -"),
            }
    }
}

impl<'a> Hunk<'a> {
    /// The lines that the file must have.
    pub(crate) fn old(&self) -> impl Iterator<Item = &'a str> + Clone + '_ {
        self.lines.iter().filter_map(|line| match line {
            Line::Context(text) | Line::Removed(text) => Some(*text),
            Line::Added(_) => None,
        })
    }

    /// Refuses one that changes nothing.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.lines.iter().any(|line| !matches!(line, Line::Context(_))) {
            return Ok(());
        }
        let message = format!("line {}: the hunk changes nothing", self.header);
        Err(rejected(message).hint("begin changed lines with - or + in the first column"))
    }

    /// Adds a line. `missing` is how many lines of the old and of the new text the range still promises.
    fn push(&mut self, line: Line<'a>, missing: &mut Option<(usize, usize)>) {
        let (old, new) = match line {
            Line::Context(_) => (1, 1),
            Line::Removed(_) => (1, 0),
            Line::Added(_) => (0, 1),
        };
        *missing = missing.map(|left| (left.0.saturating_sub(old), left.1.saturating_sub(new)));
        self.lines.push(line);
    }

    /// The line before has no newline in the file.
    fn unended(&mut self) {
        match self.lines.last() {
            Some(Line::Context(_)) => (self.old_unended, self.new_unended) = (true, true),
            Some(Line::Removed(_)) => self.old_unended = true,
            Some(Line::Added(_)) => self.new_unended = true,
            None => {}
        }
    }
}

/// What a hunk header says.
pub(super) struct Header<'a> {
    pub(super) range: Option<Range>,
    /// A line that stands before the hunk, where there are no ranges.
    pub(super) after: Option<&'a str>,
}

/// Reads a hunk header: with ranges, with a line of the file, or bare.
pub(super) fn header(text: &str) -> Result<Header<'_>, ()> {
    let rest = text.trim_start_matches('@').trim();
    if let Some(range) = range(rest)? {
        return Ok(Header { range: Some(range), after: None });
    }
    let named = rest.strip_suffix("@@").unwrap_or(rest).trim_end();
    Ok(Header { range: None, after: Some(named).filter(|named| !named.is_empty()) })
}

/// The ranges of a hunk header; none when it has none.
fn range(rest: &str) -> Result<Option<Range>, ()> {
    if !rest.starts_with('-') {
        return Ok(None);
    }
    let one = |word: Option<&str>, sign: char| -> Option<(usize, usize)> {
        let word = word?.strip_prefix(sign)?;
        match word.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((word.parse().ok()?, 1)),
        }
    };
    let mut words = rest.split_whitespace();
    let old = one(words.next(), '-').ok_or(())?;
    let new = one(words.next(), '+').ok_or(())?;
    Ok(Some(Range { start: old.0, old: old.1, new: new.1 }))
}
