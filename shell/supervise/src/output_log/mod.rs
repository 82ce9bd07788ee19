//! What a command has printed, read from its log while it runs and afterwards (contract: tasks.md, Command
//! tasks). Only the parts that are shown are read, secrets are redacted before anything is cut, and no character
//! is split. It writes nothing: logs are their supervisor's ([`crate`]).
//!
//! Positions are bytes of output since the command's beginning. What a log had to leave out is counted.

mod parts;
mod window;

use std::io;
use std::path::Path;

use holon_text::Texts;
use parts::{Output, Stretch};
use window::{Unit, Window};

pub use crate::log_files::{is_there, remove};

/// Most characters of a preview.
pub const PREVIEW: usize = 256 << 10;
/// Most bytes of a chunk.
const CHUNK: usize = 1 << 20;
/// Bytes that are looked at together for a preview: what is known of each character takes many times its room.
const STEP: u64 = 64 << 10;
/// Room for the marker in a preview.
const MARKER: usize = 52;
/// Bytes of the longest character.
const WIDEST: u64 = 4;

/// Head and tail of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// At most the characters that were asked for.
    pub text: String,
    /// Whether something between is missing.
    pub truncated: bool,
    /// Bytes of the whole output.
    pub bytes: u64,
}

impl Preview {
    /// Without the carriage returns that a terminal puts before line feeds.
    pub fn shown(self, tty: bool) -> String {
        if tty { self.text.replace("\r\n", "\n") } else { self.text }
    }
}

/// A part of an output, for who follows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Where the text begins: as asked, or behind what is lost.
    pub offset: u64,
    /// Where the next one begins.
    pub next_offset: u64,
    pub text: String,
    /// Bytes that were asked for, before the text, and that the log does not have.
    pub lost_bytes: u64,
}

/// Head and tail around a marker that counts the bytes between. `ended` says that nothing more will come: until
/// then what may be the beginning of a secret is not shown at the end. A command without output has no log.
///
/// # Errors
/// When the log is there and can't be read.
pub fn preview(texts: &Texts, log: &Path, characters: usize, ended: bool) -> io::Result<Preview> {
    let characters = characters.min(PREVIEW);
    let output = Output::open(log)?;
    let bytes = output.bytes();
    let (Some(first), Some(last)) = (output.stretches.first(), output.stretches.last()) else {
        return Ok(Preview { text: String::new(), truncated: false, bytes });
    };
    let window = |stretch| Window { stretch, bytes, ended };
    if first.begins == last.begins && bytes <= characters as u64 * WIDEST {
        let all = head(texts, &window(first), characters)?;
        if all.whole {
            return Ok(Preview { text: all.text, truncated: false, bytes });
        }
    }
    let room = characters.saturating_sub(MARKER);
    let (for_head, for_tail) = (room / 2, room - room / 2);
    let head = head(texts, &window(first), for_head)?;
    let tail = tail(texts, &window(last), head.ends, for_tail)?;
    let missing = tail.begins.unwrap_or(bytes).saturating_sub(head.ends);
    let text = format!("{}… [{missing} bytes left out] …{}", head.text, tail.text);
    Ok(Preview { text, truncated: true, bytes })
}

/// The beginning of a stretch as it is shown.
struct Head {
    text: String,
    ends: u64,
    /// Whether nothing was too much.
    whole: bool,
}

/// The end of a stretch as it is shown.
struct Tail {
    text: String,
    /// None when nothing of it fits.
    begins: Option<u64>,
}

/// As much as so many characters hold, of so many bytes as they may have.
fn head(texts: &Texts, window: &Window<'_>, characters: usize) -> io::Result<Head> {
    let Stretch { begins, ends, .. } = *window.stretch;
    let mut head = Head { text: String::new(), ends: begins, whole: true };
    let to = ends.min(begins + characters as u64 * WIDEST);
    let mut room = characters;
    while head.ends < to {
        let units = window.read(texts, head.ends, to.min(head.ends + STEP))?;
        if units.is_empty() {
            // The rest may become a secret.
            break;
        }
        for unit in &units {
            let Some(left) = room.checked_sub(unit.characters()) else {
                return Ok(Head { whole: false, ..head });
            };
            room = left;
            unit.show(&mut head.text);
            head.ends = unit.range.end;
        }
    }
    Ok(head)
}

/// The same of what begins at `from` or later.
fn tail(texts: &Texts, window: &Window<'_>, from: u64, characters: usize) -> io::Result<Tail> {
    let Stretch { begins: first, ends: mut to, .. } = *window.stretch;
    let from = to.saturating_sub(characters as u64 * WIDEST).max(first).max(from);
    let (mut room, mut begins) = (characters, None);
    let mut last_first = Vec::new();
    while to > from {
        let step = from.max(to.saturating_sub(STEP));
        let units = window.read(texts, step, to)?;
        let fits = fitting(&units, room);
        room -= fits.iter().map(Unit::characters).sum::<usize>();
        last_first.push(shown(fits));
        begins = fits.first().map_or(begins, |unit| Some(unit.range.start));
        if fits.len() < units.len() {
            break;
        }
        to = step.min(begins.unwrap_or(step));
    }
    last_first.reverse();
    Ok(Tail { text: last_first.concat(), begins })
}

/// At most `max_bytes` of output from `offset` on, rounded up to a whole character or secret. `ended` as for
/// [`preview`].
///
/// # Errors
/// When the log is there and can't be read.
pub fn from(texts: &Texts, log: &Path, offset: u64, max_bytes: usize, ended: bool) -> io::Result<Chunk> {
    // Fewer could all be inside of one character.
    let most = (max_bytes as u64).clamp(WIDEST, CHUNK as u64);
    let output = Output::open(log)?;
    let bytes = output.bytes();
    let mut chunk = Chunk { offset, next_offset: offset, ..Chunk::default() };
    for stretch in output.stretches.iter().filter(|stretch| stretch.ends > offset) {
        if stretch.begins > chunk.offset {
            chunk.lost_bytes += stretch.begins - chunk.offset;
            (chunk.offset, chunk.next_offset) = (stretch.begins, stretch.begins);
        }
        let to = stretch.ends.min(chunk.offset + most);
        let units = Window { stretch, bytes, ended }.read(texts, chunk.offset, to)?;
        if let (Some(first), Some(last)) = (units.first(), units.last()) {
            if chunk.offset == stretch.begins {
                // What a gap has left of a character or a secret.
                chunk.lost_bytes += first.range.start - chunk.offset;
                chunk.offset = first.range.start;
            }
            (chunk.next_offset, chunk.text) = (last.range.end, shown(&units));
            return Ok(chunk);
        }
        // Nothing but the beginning of what a gap has the rest of, or of what is still to come.
    }
    if ended {
        // What is left is the rest of a character in which nobody should have begun.
        chunk.next_offset = chunk.next_offset.max(bytes);
    }
    Ok(chunk)
}

/// At most so many characters of the end of an output that goes on.
///
/// # Errors
/// When the log is there and can't be read.
pub fn newest(texts: &Texts, log: &Path, characters: usize) -> io::Result<String> {
    let output = Output::open(log)?;
    let Some(last) = output.stretches.last() else { return Ok(String::new()) };
    let window = Window { stretch: last, bytes: output.bytes(), ended: false };
    Ok(tail(texts, &window, 0, characters.min(PREVIEW))?.text)
}

/// The last ones that have so many characters together.
fn fitting(units: &[Unit], characters: usize) -> &[Unit] {
    let mut used = 0;
    let fits = units.iter().rev().take_while(|unit| {
        used += unit.characters();
        used <= characters
    });
    &units[units.len() - fits.count()..]
}

fn shown(units: &[Unit]) -> String {
    let mut text = String::new();
    for unit in units {
        unit.show(&mut text);
    }
    text
}

#[cfg(test)]
mod tests;
