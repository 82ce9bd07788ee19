//! Which files an output lies in, at one moment: in its log, or also in the pieces beside it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::log_files::{Joined, PIECE_HEAD_BYTES, PieceHead, open, pieces};

/// Looks again so often when the pieces have only just appeared.
const LOOKS: usize = 3;

/// An output as far as it is kept. The files stay open: what is written or removed meanwhile changes nothing.
pub(super) struct Output {
    /// In order, with a gap before each but the first.
    pub(super) stretches: Vec<Stretch>,
}

/// Output without a gap.
pub(super) struct Stretch {
    pub(super) begins: u64,
    pub(super) ends: u64,
    parts: Vec<Part>,
}

/// Output that lies in one file.
struct Part {
    begins: u64,
    ends: u64,
    file: File,
    /// Where in the file it begins.
    at: u64,
}

impl Output {
    pub(super) fn open(log: &Path) -> io::Result<Self> {
        for _ in 1..LOOKS {
            if let Some(output) = Self::look(log, false)? {
                return Ok(output);
            }
        }
        Ok(Self::look(log, true)?.unwrap_or(Self { stretches: Vec::new() }))
    }

    /// Bytes of output, with those that are left out.
    pub(super) fn bytes(&self) -> u64 {
        self.stretches.last().map_or(0, |last| last.ends)
    }

    /// None when the files have changed in between, unless it is the last look: a piece that still has no head then
    /// never got one, and the log is all there is. The pieces are opened before it is looked whether they were
    /// joined: then either they are there, or what they were joined to is.
    fn look(log: &Path, last: bool) -> io::Result<Option<Self>> {
        let Some(file) = there(open(log))? else { return Ok(Some(Self { stretches: Vec::new() })) };
        let mut opened = Vec::new();
        for path in pieces(log) {
            if let Some(piece) = there(open(&path))?
                && let Some(head) = head(&piece)?
            {
                opened.push((head, piece));
            }
        }
        // Afterwards: a piece before another one is complete.
        let length = file.metadata()?.len();
        let mut parts = Vec::new();
        if let Some(Joined { head_bytes, left_out_bytes, marker_bytes }) = Joined::read(log)? {
            let length = file.metadata()?.len();
            let at = head_bytes + marker_bytes;
            parts.push(Part { begins: 0, ends: head_bytes.min(length), file: file.try_clone()?, at: 0 });
            let begins = head_bytes + left_out_bytes;
            parts.push(Part { begins, ends: begins + length.saturating_sub(at), file, at });
        } else if opened.is_empty() {
            if !last && pieces(log).iter().any(|piece| piece.exists()) {
                return Ok(None);
            }
            parts.push(Part { begins: 0, ends: length, file, at: 0 });
        } else {
            opened.sort_by_key(|(head, _)| head.begins);
            let head_bytes = opened.first().map_or(length, |(head, _)| head.head_bytes.min(length));
            parts.push(Part { begins: 0, ends: head_bytes, file, at: 0 });
            for (PieceHead { begins, .. }, file) in opened {
                let at = PIECE_HEAD_BYTES as u64;
                let ends = begins + file.metadata()?.len().saturating_sub(at);
                parts.push(Part { begins, ends, file, at });
            }
        }
        Ok(Some(Self::of(parts)))
    }

    fn of(parts: Vec<Part>) -> Self {
        let mut stretches: Vec<Stretch> = Vec::new();
        for part in parts.into_iter().filter(|part| part.ends > part.begins) {
            match stretches.last_mut() {
                Some(last) if last.ends == part.begins => {
                    last.ends = part.ends;
                    last.parts.push(part);
                }
                Some(_) | None => {
                    stretches.push(Stretch { begins: part.begins, ends: part.ends, parts: vec![part] });
                }
            }
        }
        Self { stretches }
    }
}

impl Stretch {
    /// These bytes of output, which lie in this stretch.
    pub(super) fn read(&self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            let (from, to) = (from.max(part.begins), to.min(part.ends));
            let Some(length) = to.checked_sub(from).and_then(|length| usize::try_from(length).ok()) else {
                continue;
            };
            let filled = bytes.len();
            bytes.resize(filled + length, 0);
            part.file.read_exact_at(&mut bytes[filled..], part.at + (from - part.begins))?;
        }
        Ok(bytes)
    }
}

fn head(piece: &File) -> io::Result<Option<PieceHead>> {
    let mut bytes = [0; PIECE_HEAD_BYTES];
    match piece.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(PieceHead::decode(&bytes)),
        Err(problem) if problem.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(problem) => Err(problem),
    }
}

fn there(opened: io::Result<File>) -> io::Result<Option<File>> {
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(problem),
    }
}
