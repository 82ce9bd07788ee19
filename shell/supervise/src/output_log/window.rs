//! A part of an output as what may be shown of it: characters, and names in the place of secrets.

use std::io;
use std::ops::Range;

use holon_text::{Secrets, Texts};

use super::parts::Stretch;

/// Bytes of a character beyond its first one.
const CONTINUATION: u64 = 3;

/// What is shown together or not at all.
pub(super) struct Unit {
    /// Its bytes in the output.
    pub(super) range: Range<u64>,
    what: What,
}

enum What {
    Character(char),
    Secret(String),
}

impl Unit {
    pub(super) fn characters(&self) -> usize {
        match &self.what {
            What::Character(_) => 1,
            What::Secret(shown) => shown.chars().count(),
        }
    }

    pub(super) fn show(&self, text: &mut String) {
        match &self.what {
            What::Character(character) => text.push(*character),
            What::Secret(shown) => text.push_str(shown),
        }
    }
}

/// Where is looked.
pub(super) struct Window<'a> {
    pub(super) stretch: &'a Stretch,
    /// Of the whole output.
    pub(super) bytes: u64,
    /// Whether nothing more will come.
    pub(super) ended: bool,
}

/// Text with the positions that its characters have in the output.
struct Decoded {
    text: String,
    /// Position in the text, position in the output.
    positions: Vec<(usize, u64)>,
    ends: u64,
}

impl Window<'_> {
    /// Everything that begins in this range, and a secret that goes through its beginning.
    pub(super) fn read(&self, texts: &Texts, from: u64, to: u64) -> io::Result<Vec<Unit>> {
        let secrets = texts.secrets();
        let Stretch { begins, ends, .. } = *self.stretch;
        // So far one must look to know whether something there is part of a secret.
        let margin = secrets.reach() as u64 + CONTINUATION;
        let first = from.saturating_sub(margin).max(begins);
        let last = to.saturating_add(margin).min(ends);
        let mut bytes = self.stretch.read(first, last)?;
        // Beyond a gap, or in the future, a secret may go on.
        let cut = (first == begins && begins > 0, last == ends && !(last == self.bytes && self.ended));
        if first > 0 {
            let rest = bytes.iter().take(CONTINUATION as usize).take_while(|byte| !starts(**byte)).count();
            bytes.drain(..rest);
        }
        let first = last - bytes.len() as u64;
        if last < ends || cut.1 {
            bytes.truncate(without_part_of_a_character(&bytes));
        }
        let decoded = decode(&bytes, first);
        let from_cut = if cut.0 { secrets.ended_at_start(&decoded.text) } else { 0 };
        let to_cut = if cut.1 { secrets.begun_at_end(&decoded.text) } else { 0 };
        let visible = from_cut..decoded.text.len() - to_cut;
        let mut units = decoded.units(secrets, &visible);
        units.retain(|unit| {
            let begins = (from..to).contains(&unit.range.start);
            begins || (matches!(unit.what, What::Secret(_)) && unit.range.contains(&from))
        });
        Ok(units)
    }
}

impl Decoded {
    /// Those that begin in the visible part of the text.
    fn units(&self, secrets: &Secrets, visible: &Range<usize>) -> Vec<Unit> {
        let mut found = secrets.find(&self.text).into_iter().peekable();
        let mut units: Vec<Unit> = Vec::with_capacity(self.positions.len());
        let mut hidden = 0;
        let ends = self.positions.iter().skip(1).map(|(_, at)| *at).chain([self.ends]);
        for ((&(at, begins), character), ends) in self.positions.iter().zip(self.text.chars()).zip(ends) {
            if at < hidden {
                if let Some(secret) = units.last_mut().filter(|unit| unit.range.end == begins) {
                    secret.range.end = ends;
                }
                continue;
            }
            let secret = found.next_if(|(range, _)| range.start == at);
            if let Some((range, _)) = &secret {
                hidden = range.end;
            }
            if !visible.contains(&at) {
                continue;
            }
            let what = match secret {
                Some((_, name)) => What::Secret(format!("[redacted:{name}]")),
                None => What::Character(character),
            };
            units.push(Unit { range: begins..ends, what });
        }
        units
    }
}

fn decode(bytes: &[u8], begins: u64) -> Decoded {
    let mut decoded = Decoded { text: String::new(), positions: Vec::new(), ends: begins };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            decoded.push(character, character.len_utf8());
        }
        if !chunk.invalid().is_empty() {
            decoded.push(char::REPLACEMENT_CHARACTER, chunk.invalid().len());
        }
    }
    decoded
}

impl Decoded {
    fn push(&mut self, character: char, bytes: usize) {
        self.positions.push((self.text.len(), self.ends));
        self.text.push(character);
        self.ends += bytes as u64;
    }
}

/// Bytes without a character at the end that is not all there.
fn without_part_of_a_character(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(CONTINUATION as usize).position(|byte| starts(*byte));
    let Some(begins) = last.map(|back| bytes.len() - 1 - back) else { return bytes.len() };
    match std::str::from_utf8(&bytes[begins..]) {
        Err(problem) if problem.error_len().is_none() => begins,
        Ok(_) | Err(_) => bytes.len(),
    }
}

/// Whether a byte begins a character of UTF-8.
fn starts(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}
