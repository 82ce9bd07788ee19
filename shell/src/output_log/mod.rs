//! What a command has printed, read from its log while it runs and afterwards (contract: tasks.md, Command
//! tasks). Only the parts that are shown are read, secrets are redacted before anything is cut, and no character
//! is split. It writes nothing: logs are their supervisor's (`crate::supervise`).
//!
//! Positions are bytes of output since the command's beginning. What a log had to leave out is counted.

mod parts;
mod window;

use std::io;
use std::path::Path;

use crate::text::Texts;
use parts::{Output, Stretch};
use window::{Unit, Window};

pub use crate::supervise::log_files::remove;

/// Most that is shown at a time, in characters of a preview and bytes of a chunk.
const MOST: usize = 1 << 20;
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
    let characters = characters.min(MOST);
    let output = Output::open(log)?;
    let bytes = output.bytes();
    let whole = Preview { text: String::new(), truncated: false, bytes };
    let (Some(first), Some(last)) = (output.stretches.first(), output.stretches.last()) else {
        return Ok(whole);
    };
    let window = |stretch: &Stretch, from, to| Window { stretch, bytes, ended }.read(texts, from, to);
    if first.begins == last.begins && bytes <= characters as u64 * WIDEST {
        let units = window(first, 0, bytes)?;
        if units.iter().map(Unit::characters).sum::<usize>() <= characters {
            return Ok(Preview { text: shown(&units), ..whole });
        }
    }
    let room = characters.saturating_sub(MARKER);
    let (for_head, for_tail) = (room / 2, room - room / 2);
    let mut head = window(first, 0, first.ends.min(for_head as u64 * WIDEST))?;
    head.truncate(fitting(head.iter(), for_head));
    let head_ends = head.last().map_or(0, |unit| unit.range.end);
    let from = last.ends.saturating_sub(for_tail as u64 * WIDEST).max(last.begins).max(head_ends);
    let mut tail = window(last, from, last.ends)?;
    tail.drain(..tail.len() - fitting(tail.iter().rev(), for_tail));
    let missing = tail.first().map_or(bytes, |unit| unit.range.start).saturating_sub(head_ends);
    let marker = format!("… [{missing} bytes left out] …");
    Ok(Preview { text: shown(&head) + &marker + &shown(&tail), truncated: true, bytes })
}

/// At most `max_bytes` of output from `offset` on, rounded up to a whole character or secret. `ended` as for
/// [`preview`].
///
/// # Errors
/// When the log is there and can't be read.
pub fn from(texts: &Texts, log: &Path, offset: u64, max_bytes: usize, ended: bool) -> io::Result<Chunk> {
    // Fewer could all be inside of one character.
    let most = (max_bytes as u64).clamp(WIDEST, MOST as u64);
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

/// How many of them have so many characters together.
fn fitting<'a>(units: impl Iterator<Item = &'a Unit>, characters: usize) -> usize {
    let mut used = 0;
    let fits = units.take_while(|unit| {
        used += unit.characters();
        used <= characters
    });
    fits.count()
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
