//! The other form in which models write patches: between `*** Begin Patch` and `*** End Patch`, with a line that names
//! each file, and hunks without numbers of lines.

use super::{Action, FILES, FilePatch, Hunk, Line, Range, Refusal, hunk, path, rejected};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
const SHAPE: &str = "after *** Begin Patch name each file: *** Add File: path, *** Update File: path (then @@ and lines that \
                     begin with a space, - or +) or *** Delete File: path; *** End Patch is the last line";

/// How lines begin that can be a part of a patch, in whichever form.
const SIGNS: [&str; 5] = ["+", "-", "@@", "*** ", "diff --git"];

/// Whether the text is of this form: it begins so, or names a file so, before any file of a unified diff.
pub(super) fn is_meant(lines: &[&str]) -> bool {
    let of_diff = |line: &&&str| line.starts_with("--- ") || line.starts_with("diff --git ");
    lines.iter().take_while(|line| !of_diff(line)).any(|line| begins(line))
}

/// Whether a patch of this form, or a file of one, begins with the line.
pub(super) fn begins(line: &str) -> bool {
    line.trim() == BEGIN || [ADD, DELETE, UPDATE].iter().any(|word| line.starts_with(word))
}

/// Reads all files.
pub(super) fn parse<'a>(lines: &[&'a str]) -> Result<Vec<FilePatch<'a>>, Refusal> {
    let plain = lines.iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let at = lines.iter().position(|line| begins(line)).unwrap_or(0);
    let mut reader = Reader { lines: plain, at };
    let mut files = Vec::new();
    loop {
        while let Some(file) = reader.file()? {
            if files.len() == FILES {
                let message = format!("the patch names more than {FILES} files");
                return Err(rejected(message).hint("send it in pieces"));
            }
            files.push(file);
        }
        if !reader.begins_again()? {
            break;
        }
    }
    if files.is_empty() {
        return Err(rejected("the patch names no file").hint(SHAPE));
    }
    Ok(files)
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The line that comes next; none at the end. Behind a space, the words of the end are a line of a file.
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied().filter(|line| line.trim_end() != END)
    }

    /// Goes on behind an end to where a patch begins again. Nothing that may be a change is passed over.
    fn begins_again(&mut self) -> Result<bool, Refusal> {
        while let Some(line) = self.lines.get(self.at).copied() {
            let word = line.trim();
            if word == BEGIN {
                return Ok(true);
            }
            if word != END && SIGNS.iter().any(|sign| line.starts_with(sign)) {
                let message = format!("line {}: {line:?} comes after {END}", self.number());
                return Err(rejected(message).hint(format!(
                    "write {END} once, as the last line, and put all files before it; leave prose out"
                )));
            }
            self.at += 1;
        }
        Ok(false)
    }

    /// The number of the line that comes next, from 1.
    fn number(&self) -> usize {
        self.at + 1
    }

    /// Whether nothing more of a file follows.
    fn file_ends(&self) -> bool {
        let next = [ADD, DELETE, UPDATE];
        let begins = |line: &str| next.iter().any(|word| line.starts_with(word));
        self.peek().is_none_or(|line| begins(line) || line.trim_end() == BEGIN)
    }

    fn file(&mut self) -> Result<Option<FilePatch<'a>>, Refusal> {
        while let Some(line) = self.peek() {
            if line.trim() == END {
                break;
            }
            let number = self.number();
            self.at += 1;
            if let Some(name) = line.strip_prefix(ADD) {
                return self.added(number, path::name(name.trim())?).map(Some);
            }
            if let Some(name) = line.strip_prefix(DELETE) {
                let action = Action::Delete { path: path::name(name.trim())? };
                let deleted =
                    FilePatch { line: number, action, hunks: Vec::new(), executable: None, whole: true };
                return Ok(Some(deleted));
            }
            if let Some(name) = line.strip_prefix(UPDATE) {
                return self.updated(number, path::name(name.trim())?).map(Some);
            }
            if !line.trim().is_empty() && line.trim() != BEGIN {
                let message = format!("line {number}: {line:?} belongs to no file");
                return Err(rejected(message).hint(SHAPE));
            }
        }
        Ok(None)
    }

    fn added(&mut self, line: usize, path: String) -> Result<FilePatch<'a>, Refusal> {
        let mut lines = Vec::new();
        let mut blanks = 0;
        let of_frame = |line: &str| [BEGIN, END].contains(&line.trim());
        while let Some(text) = self.peek().filter(|text| !self.file_ends() && !of_frame(text)) {
            match text.strip_prefix('+') {
                Some(text) => {
                    lines.extend(std::iter::repeat_n(Line::Added(""), std::mem::take(&mut blanks)));
                    lines.push(Line::Added(text));
                }
                None if text.is_empty() => blanks += 1,
                None => {
                    let message =
                        format!("line {}: {text:?} is no line of the new file {path}", self.number());
                    return Err(rejected(message).hint("begin every line of a new file with +"));
                }
            }
            self.at += 1;
        }
        let range = Some(Range { start: 0, old: 0, new: lines.len() });
        let hunk = Hunk { header: line, range, lines, ..Hunk::default() };
        let hunks = if hunk.lines.is_empty() { Vec::new() } else { vec![hunk] };
        Ok(FilePatch { line, action: Action::Create { path }, hunks, executable: None, whole: false })
    }

    fn updated(&mut self, line: usize, path: String) -> Result<FilePatch<'a>, Refusal> {
        let to = self
            .peek()
            .and_then(|line| line.strip_prefix(MOVE))
            .map(|to| path::name(to.trim()))
            .transpose()?;
        self.at += usize::from(to.is_some());
        let mut hunks = Vec::new();
        while !self.file_ends() {
            match self.peek() {
                Some("") => self.at += 1,
                Some(_) => hunks.push(self.hunk()?),
                None => break,
            }
        }
        let action = match to {
            Some(to) if to != path => Action::Rename { from: path, to },
            Some(_) | None if hunks.is_empty() => {
                let message = format!("{path}: no change follows line {line}");
                return Err(rejected(message).hint(SHAPE));
            }
            Some(_) | None => Action::Modify { path },
        };
        Ok(FilePatch { line, action, hunks, executable: None, whole: false })
    }

    /// The lines up to the next `@@`. Each `@@` may name a line that stands before them.
    fn hunk(&mut self) -> Result<Hunk<'a>, Refusal> {
        let mut hunk = Hunk { header: self.number(), ..Hunk::default() };
        while let Some(line) = self.peek().filter(|line| line.starts_with("@@")) {
            let header = hunk::header(line).map_err(|()| {
                rejected(format!("line {}: {line:?} is not a hunk header", self.number())).hint(SHAPE)
            })?;
            hunk.range = header.range.or(hunk.range);
            hunk.after.extend(header.after);
            self.at += 1;
        }
        let mut blanks = 0;
        while let Some(line) = self.peek().filter(|line| !(self.file_ends() || line.starts_with("@@"))) {
            self.at += 1;
            if line.trim_end() == END_OF_FILE {
                hunk.at_end = true;
                break;
            }
            let (sign, text) = line.split_at_checked(1).unwrap_or(("", line));
            hunk.lines.push(match sign {
                " " => Line::Context(text),
                "-" => Line::Removed(text),
                "+" => Line::Added(text),
                // It has lost its leading space.
                _ => Line::Context(line),
            });
            blanks = if line.is_empty() { blanks + 1 } else { 0 };
        }
        hunk.lines.truncate(hunk.lines.len() - blanks);
        hunk.check()?;
        Ok(hunk)
    }
}
