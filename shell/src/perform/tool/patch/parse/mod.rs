//! From the text of a unified diff to its files and hunks. What is read and what is refused is written down
//! in docs/patches.md.

mod envelope;
mod header;
mod hunk;
mod path;

use super::{Refusal, rejected};
use header::Header;

/// Largest patch, in bytes.
const PATCH_BYTES: usize = 8 << 20;
/// Most files of one patch.
const FILES: usize = 1_000;

/// What a patch says of one file.
#[derive(Debug)]
pub(super) struct FilePatch<'a> {
    /// Line of the patch where it begins, from 1.
    pub(super) line: usize,
    pub(super) action: Action,
    pub(super) hunks: Vec<Hunk<'a>>,
    /// Whether the file is to be executable, where the patch says so.
    pub(super) executable: Option<bool>,
    /// Whether a file is deleted whatever is in it.
    pub(super) whole: bool,
}

/// What happens to the file, with paths relative to the execution root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Create { path: String },
    Delete { path: String },
    Modify { path: String },
    Rename { from: String, to: String },
    Copy { from: String, to: String },
}

#[derive(Debug, Default)]
pub(super) struct Hunk<'a> {
    /// Line of the patch with its header, from 1.
    pub(super) header: usize,
    /// None for `@@` without ranges.
    pub(super) range: Option<Range>,
    /// Lines that stand before it, in order, where `@@` names them instead.
    pub(super) after: Vec<&'a str>,
    /// It is the end of the file.
    pub(super) at_end: bool,
    pub(super) lines: Vec<Line<'a>>,
    /// The old text ends with this hunk, without a newline.
    pub(super) old_unended: bool,
    /// So does the new one.
    pub(super) new_unended: bool,
}

/// First line of the old text, from 1, and how many lines there are of each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: usize,
    pub(super) old: usize,
    pub(super) new: usize,
}

/// A line without its sign and its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Context(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

impl Action {
    /// The same with other paths.
    pub(super) fn map(self, mut path_of: impl FnMut(String) -> String) -> Self {
        match self {
            Self::Create { path } => Self::Create { path: path_of(path) },
            Self::Delete { path } => Self::Delete { path: path_of(path) },
            Self::Modify { path } => Self::Modify { path: path_of(path) },
            Self::Rename { from, to } => Self::Rename { from: path_of(from), to: path_of(to) },
            Self::Copy { from, to } => Self::Copy { from: path_of(from), to: path_of(to) },
        }
    }

    /// The path that the file has afterwards; of a deleted one, the path that it had.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Create { path } | Self::Delete { path } | Self::Modify { path } => path,
            Self::Rename { to, .. } | Self::Copy { to, .. } => to,
        }
    }
}

/// Reads a whole patch.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch<'_>>, Refusal> {
    if patch.len() > PATCH_BYTES {
        let message = format!("the patch is {} bytes, the limit is {PATCH_BYTES}", patch.len());
        return Err(rejected(message).hint("send it in pieces, or create large files by a command"));
    }
    if let Some(at) = patch.find('\0') {
        let line = patch[..at].matches('\n').count() + 1;
        let message = format!("line {line} of the patch contains a NUL byte: it is no text");
        return Err(rejected(message).hint("create binary files by a command"));
    }
    let mut reader = Reader::new(patch);
    if envelope::is_meant(&reader.lines) {
        return envelope::parse(&reader.lines);
    }
    let mut files = Vec::new();
    while let Some(file) = reader.file()? {
        if files.len() == FILES {
            return Err(
                rejected(format!("the patch names more than {FILES} files")).hint("send it in pieces")
            );
        }
        files.push(file);
    }
    if files.is_empty() {
        return Err(rejected(reader.nothing()).hint(SHAPE));
    }
    Ok(files)
}

pub(super) const SHAPE: &str = "send a unified diff: --- a/path, +++ b/path, then @@ -start,count +start,count \
                                @@ with lines that begin with a space, - or +";

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// A file came already: what is signed as a change may not be passed over any more.
    begun: bool,
}

impl<'a> Reader<'a> {
    fn new(patch: &'a str) -> Self {
        let patch = patch.strip_prefix('\u{FEFF}').unwrap_or(patch);
        let mut lines: Vec<&str> = patch.split('\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        // A patch that itself has DOS line ends: they belong to its lines, not to their text.
        let of_patch = |line: &&str| line.starts_with("--- ") || line.starts_with("diff --git ");
        if lines.iter().any(|line| of_patch(line) && line.ends_with('\r')) {
            lines.iter_mut().for_each(|line| *line = line.strip_suffix('\r').unwrap_or(line));
        }
        Self { lines, at: 0, begun: false }
    }

    fn peek(&self, ahead: usize) -> &'a str {
        self.lines.get(self.at + ahead).copied().unwrap_or_default()
    }

    /// The number of the line that comes next, from 1.
    fn number(&self) -> usize {
        self.at + 1
    }

    fn file_begins(&self) -> bool {
        self.peek(0).starts_with("--- ") && self.peek(1).starts_with("+++ ")
    }

    /// Goes on to the next hunk of the file, past blank lines.
    fn hunk_begins(&mut self) -> bool {
        let blank = self.lines[self.at..].iter().take_while(|line| line.is_empty()).count();
        let begins = self.peek(blank).starts_with("@@");
        if begins {
            self.at += blank;
        }
        begins
    }

    /// The next file, or the end.
    fn file(&mut self) -> Result<Option<FilePatch<'a>>, Refusal> {
        let mut git: Option<Header> = None;
        while self.at < self.lines.len() && !self.file_begins() {
            let line = self.peek(0);
            if line.starts_with("diff --git ") {
                if let Some(header) = git {
                    return header.without_hunks().map(Some);
                }
                self.begun = true;
                git = Some(Header::named(line, self.number()));
            } else if line.starts_with("@@ ") || line == "@@" {
                let Some(header) = git else {
                    let message = format!("line {}: a hunk without --- and +++ before it", self.number());
                    return Err(rejected(message).hint(SHAPE));
                };
                let (line, executable) = (header.line, header.executable);
                let action = header.action()?;
                let hunks = self.hunks()?;
                return Ok(Some(FilePatch { line, action, hunks, executable, whole: false }));
            } else if self.begun && line.starts_with(['+', '-']) && !is_signature(line) {
                let message = format!("line {}: {line:?} belongs to no hunk", self.number());
                return Err(rejected(message).hint(
                    "every hunk begins with @@, and every line of it with a space, - or +; leave prose out",
                ));
            } else if self.begun && envelope::begins(line) {
                let message = format!("line {}: {line:?} begins a patch of another form", self.number());
                return Err(rejected(message).hint("send the unified diff and the other patch in two calls"));
            } else if let Some(header) = &mut git {
                header.read(line)?;
            }
            self.at += 1;
        }
        if self.at >= self.lines.len() {
            return git.map(Header::without_hunks).transpose();
        }
        self.signed_file(git).map(Some)
    }

    /// A file with `---` and `+++` lines.
    fn signed_file(&mut self, git: Option<Header>) -> Result<FilePatch<'a>, Refusal> {
        let line = git.as_ref().map_or(self.number(), |header| header.line);
        let (old, new) = (path::read(&self.peek(0)[4..])?, path::read(&self.peek(1)[4..])?);
        let (old, new) = path::without_prefixes(old, new, git.is_some());
        let git = match git {
            // Its file is done: what follows is another one, without a header of git.
            Some(header) if header.is_of_another(old.as_ref(), new.as_ref()) => {
                return header.without_hunks();
            }
            git => git,
        };
        if let Some(header) = &git {
            header.same_names(self.number(), old.as_ref(), new.as_ref())?;
        }
        self.at += 2;
        self.begun = true;
        let hunks = self.hunks()?;
        let executable = git.as_ref().and_then(|header| header.executable);
        let action = match git {
            Some(header) => header.agreed(old, new)?,
            None => action(old, new)?,
        };
        if hunks.is_empty() && !matches!(action, Action::Rename { .. } | Action::Copy { .. }) {
            let message = format!("{}: no hunk follows its +++ line (line {})", action.path(), self.at);
            return Err(rejected(message).hint(SHAPE));
        }
        Ok(FilePatch { line, action, hunks, executable, whole: false })
    }

    fn hunks(&mut self) -> Result<Vec<Hunk<'a>>, Refusal> {
        let mut hunks = Vec::new();
        while self.hunk_begins() {
            hunks.push(self.hunk()?);
        }
        Ok(hunks)
    }

    /// Why a patch without a file has none.
    fn nothing(&self) -> String {
        let half = self.lines.iter().position(|line| line.starts_with("--- ") || line.starts_with("+++ "));
        match half {
            Some(at) => format!(
                "the patch names no file: line {} is not one of a --- line with a +++ line right after it",
                at + 1
            ),
            None => "the patch names no file: there is no --- line followed by a +++ line".to_owned(),
        }
    }
}

/// What `---` and `+++` lines say without git's own headers.
fn action(old: Option<String>, new: Option<String>) -> Result<Action, Refusal> {
    match (old, new) {
        (None, None) => Err(rejected("both sides are /dev/null").hint(SHAPE)),
        (None, Some(path)) => Ok(Action::Create { path }),
        (Some(path), None) => Ok(Action::Delete { path }),
        (Some(old), Some(new)) if old == new => Ok(Action::Modify { path: new }),
        (Some(from), Some(to)) => Ok(Action::Rename { from, to }),
    }
}

/// The line with which mails end what is a patch.
fn is_signature(line: &str) -> bool {
    matches!(line, "-- " | "--")
}
