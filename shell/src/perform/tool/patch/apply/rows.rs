//! The rows of a file, each with its own line end.

use super::super::parse::{Hunk, Line};
use super::{Mismatch, find};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Lf,
    CrLf,
    /// The last row of a file that does not end with a newline.
    Bare,
}

/// One line; a carriage return before its newline belongs to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) text: &'a [u8],
    pub(super) end: End,
}

/// A line that the file must have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Old<'h> {
    pub(super) text: &'h str,
    pub(super) unchanged: bool,
}

/// What may differ between a line of a patch and a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Exact,
    /// Unchanged lines may have lost the space that they begin with in a patch: then their own was taken for it.
    Unspaced,
    /// White space at their ends.
    Loose,
}

/// The text of a file.
pub(super) struct Rows<'a> {
    pub(super) rows: Vec<Row<'a>>,
    /// The last line ends with a newline.
    pub(super) ended: bool,
    /// The patch has no carriage returns: its lines take the line ends of the file.
    adapted: bool,
}

impl<'a> Rows<'a> {
    pub(super) fn new(text: &'a [u8], hunks: &[Hunk<'_>]) -> Self {
        let ended = text.is_empty() || text.ends_with(b"\n");
        let mut lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        let adapted = lines.all(|line| match line {
            Line::Context(text) | Line::Removed(text) | Line::Added(text) => !text.ends_with('\r'),
        });
        Self { rows: text.split_inclusive(|&byte| byte == b'\n').map(row).collect(), ended, adapted }
    }

    /// Whether a row is the old line of a patch.
    pub(super) fn matches(&self, at: usize, old: Old<'_>, how: How) -> bool {
        let Some(row) = self.rows.get(at) else { return false };
        let line = old.text.as_bytes();
        if row.end == End::CrLf && !self.adapted {
            return line.strip_suffix(b"\r") == Some(row.text);
        }
        match how {
            How::Exact => row.text == line,
            How::Unspaced => row.text == line || (old.unchanged && row.text.strip_prefix(b" ") == Some(line)),
            How::Loose => trimmed(row.text) == trimmed(line),
        }
    }

    /// The line end of a row, for a line that takes its place.
    pub(super) fn end(&self, at: usize) -> End {
        match self.rows.get(at).map(|row| row.end) {
            Some(end @ (End::Lf | End::CrLf)) if self.adapted => end,
            Some(End::Bare) if self.adapted && at > 0 => self.end(at - 1),
            Some(End::Lf | End::CrLf | End::Bare) | None => End::Lf,
        }
    }

    /// The line end for a line that is added before row `at`: that of the line above it, or of the first one.
    pub(super) fn end_near(&self, at: usize) -> End {
        self.end(at.saturating_sub(1))
    }

    /// Whether the new text ends with a newline, as far as a hunk says that ends before row `at`.
    pub(super) fn ending(&self, hunk: &Hunk<'_>, at: usize, ended: bool) -> Result<bool, Mismatch> {
        let reaches_end = at == self.rows.len();
        if hunk.new_unended {
            if !reaches_end {
                let problem = format!("it ends the new file here, and line {} follows", at + 1);
                return Err(Mismatch { problem, hint: find::NO_MARKER, ..Mismatch::default() });
            }
            return Ok(false);
        }
        Ok(ended || hunk.old_unended || (reaches_end && self.rows.is_empty()))
    }
}

fn row(line: &[u8]) -> Row<'_> {
    match (line.strip_suffix(b"\r\n"), line.strip_suffix(b"\n")) {
        (Some(text), _) => Row { text, end: End::CrLf },
        (None, Some(text)) => Row { text, end: End::Lf },
        (None, None) => Row { text: line, end: End::Bare },
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
    &text[..end]
}

/// Puts rows together. Only the last one may be without a newline.
pub(super) fn text(rows: &[Row<'_>], ended: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(rows.iter().map(|row| row.text.len() + 2).sum());
    let mut before = End::Lf;
    for (at, row) in rows.iter().enumerate() {
        text.extend_from_slice(row.text);
        let end = if row.end == End::Bare { before } else { row.end };
        if ended || at + 1 < rows.len() {
            text.extend_from_slice(if end == End::CrLf { b"\r\n" } else { b"\n" });
        }
        before = end;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_give_back_the_text_that_they_were_made_of() {
        for sample in ["", "a", "a\n", "\n\n", "a\r\nb\n\r\nc\r", "a\r\nb"] {
            let rows = Rows::new(sample.as_bytes(), &[]);
            assert_eq!(text(&rows.rows, rows.ended), sample.as_bytes(), "{sample:?}");
        }
    }
}
