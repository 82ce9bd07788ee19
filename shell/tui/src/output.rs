//! What a task writes while it runs, as the lines that a terminal would show: the last ones of them, and the one that
//! is not finished.

use holon_present::terminal_line;

use crate::entry::Entry;
use crate::text::clean;

/// Most lines of an output in memory; `holon task output` has all of it.
const LINES: usize = 2_000;
/// Lines that are dropped at once.
const DROPPED: usize = 250;
/// Most bytes of a line that is not finished: its end.
const UNFINISHED: usize = 16 << 10;

/// One piece of what is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text {
        offset: u64,
        next_offset: u64,
        text: String,
        lost_bytes: u64,
    },
    /// How the task ended.
    End(String),
    /// Why nothing comes at this moment; it is tried again.
    Problem(String),
}

/// Where the output of a task stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Output {
    /// Which request this is the answer to: what is left of an earlier one is not taken.
    pub(crate) serial: u64,
    next_offset: u64,
    unfinished: String,
    pub(crate) ended: bool,
}

impl Output {
    pub(crate) fn new(serial: u64) -> Self {
        Self { serial, ..Self::default() }
    }

    /// Adds a piece to the lines so far, each byte once; says how many lines were dropped at the beginning.
    pub(crate) fn take(&mut self, piece: Piece, lines: &mut Vec<Entry>) -> usize {
        match piece {
            Piece::Text { offset, next_offset, text, lost_bytes } => {
                if offset < self.next_offset {
                    return 0;
                }
                self.next_offset = next_offset;
                self.close(lines, lost_bytes > 0);
                if lost_bytes > 0 {
                    lines.push(Entry::line(format!("── {lost_bytes} bytes are missing here")));
                }
                self.written(&text, lines);
            }
            Piece::End(how) => {
                self.close(lines, true);
                self.ended = true;
                lines.push(Entry::line(format!("── {how}")));
            }
            Piece::Problem(problem) => {
                self.close(lines, true);
                lines.push(Entry::line(format!("── {problem}")));
            }
        }
        if lines.len() <= LINES + DROPPED {
            return 0;
        }
        let dropped = lines.len() - LINES;
        lines.drain(..dropped);
        dropped
    }

    /// Takes the unfinished line off the others, where it does not stay as it is.
    fn close(&mut self, lines: &mut Vec<Entry>, stays: bool) {
        if stays {
            self.unfinished.clear();
        } else if !self.unfinished.is_empty() {
            lines.pop();
        }
    }

    fn written(&mut self, text: &str, lines: &mut Vec<Entry>) {
        self.unfinished.push_str(text);
        let whole = self.unfinished.rfind('\n').map_or(0, |at| at + 1);
        let rest = self.unfinished.split_off(whole);
        let finished = std::mem::replace(&mut self.unfinished, rest);
        let skipped = finished.lines().count().saturating_sub(LINES);
        lines.extend(finished.lines().skip(skipped).map(shown));
        let begin = self.unfinished.len().saturating_sub(UNFINISHED);
        self.unfinished.drain(..self.unfinished.ceil_char_boundary(begin));
        if !self.unfinished.is_empty() {
            lines.push(shown(&self.unfinished));
        }
    }
}

fn shown(line: &str) -> Entry {
    Entry::line(clean(&terminal_line(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(offset: u64, text: &str) -> Piece {
        Piece::Text { offset, next_offset: offset + text.len() as u64, text: text.to_owned(), lost_bytes: 0 }
    }

    fn lines(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.text.as_str()).collect()
    }

    #[test]
    fn lines_grow_and_each_byte_comes_once() {
        let (mut output, mut shown) = (Output::new(1), Vec::new());
        for piece in [text(0, "one\ntw"), text(6, "o\n"), text(6, "o\n"), text(8, "50 %\r100 %")] {
            output.take(piece, &mut shown);
        }
        assert_eq!(lines(&shown), ["one", "two", "100 %"]);
        output.take(text(19, "\n\u{1b}[31mred\u{1b}[0m\u{7}\n"), &mut shown);
        output.take(Piece::End("task_1 is completed".to_owned()), &mut shown);
        assert_eq!(lines(&shown), ["one", "two", "100 %", "red", "── task_1 is completed"]);
        assert!(output.ended);
    }

    #[test]
    fn a_long_output_keeps_its_end() {
        let (mut output, mut shown) = (Output::new(1), Vec::new());
        let mut offset = 0;
        for number in 0..10_000 {
            let line = format!("line {number}\n");
            output.take(text(offset, &line), &mut shown);
            offset += line.len() as u64;
        }
        assert!(shown.len() <= LINES + DROPPED, "{}", shown.len());
        assert_eq!(lines(&shown).last(), Some(&"line 9999"));
        output.take(text(offset, &"x".repeat(10 * UNFINISHED)), &mut shown);
        assert_eq!(output.unfinished.len(), UNFINISHED);
    }
}
