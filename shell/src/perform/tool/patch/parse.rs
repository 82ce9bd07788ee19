//! From the text of a unified diff to its files and hunks.

use super::{Refusal, rejected};

/// The hunks of one file.
#[derive(Debug)]
pub(super) struct FilePatch<'a> {
    /// None: the file is created.
    pub(super) old: Option<String>,
    /// None: the file is deleted.
    pub(super) new: Option<String>,
    pub(super) hunks: Vec<Hunk<'a>>,
    /// A created file can be executed.
    pub(super) executable: bool,
}

#[derive(Debug, Default)]
pub(super) struct Hunk<'a> {
    /// First line of the old text, from 1, and how many lines; none for `@@` without ranges.
    pub(super) range: Option<Range>,
    pub(super) lines: Vec<Line<'a>>,
    /// The old text ends with this hunk, without a newline.
    pub(super) old_unended: bool,
    /// So does the new one.
    pub(super) new_unended: bool,
}

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

impl<'a> Hunk<'a> {
    /// The lines that the file must have.
    pub(super) fn old(&self) -> impl Iterator<Item = &'a str> + Clone + '_ {
        self.lines.iter().filter_map(|line| match line {
            Line::Context(text) | Line::Removed(text) => Some(*text),
            Line::Added(_) => None,
        })
    }

    fn counts(&self) -> (usize, usize) {
        let added = self.lines.iter().filter(|line| matches!(line, Line::Added(_))).count();
        let removed = self.lines.iter().filter(|line| matches!(line, Line::Removed(_))).count();
        (self.lines.len() - added, self.lines.len() - removed)
    }

    /// Lines of the old and of the new text that the range still promises.
    fn missing(&self) -> Option<(usize, usize)> {
        let (old, new) = self.counts();
        self.range.map(|range| (range.old.saturating_sub(old), range.new.saturating_sub(new)))
    }
}

/// Reads a whole patch.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch<'_>>, Refusal> {
    if patch.trim_start().starts_with("*** Begin Patch") {
        return Err(rejected("the patch is in the *** Begin Patch form, which is not supported").hint(SHAPE));
    }
    let mut reader = Reader::new(patch);
    let mut files = Vec::new();
    while let Some(file) = reader.file()? {
        files.push(file);
    }
    if files.is_empty() {
        return Err(
            rejected("the patch names no file: there is no --- line followed by a +++ line").hint(SHAPE)
        );
    }
    Ok(files)
}

const SHAPE: &str = "send a unified diff: --- a/path, +++ b/path, then @@ -start,count +start,count @@ with \
                     lines that begin with a space, - or +";

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// A file came already: what is signed as a change may not be passed over any more.
    begun: bool,
}

/// What git says of a file before its hunks.
#[derive(Default)]
struct GitHeader {
    old: Option<String>,
    new: Option<String>,
    created: bool,
    deleted: bool,
    executable: bool,
}

impl<'a> Reader<'a> {
    fn new(patch: &'a str) -> Self {
        let mut lines: Vec<&str> = patch.split('\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        // A patch that itself has DOS line ends: they belong to its lines, not to their text.
        if lines.iter().any(|line| line.starts_with("--- ") && line.ends_with('\r')) {
            lines.iter_mut().for_each(|line| *line = line.strip_suffix('\r').unwrap_or(line));
        }
        Self { lines, at: 0, begun: false }
    }

    fn peek(&self, ahead: usize) -> &'a str {
        self.lines.get(self.at + ahead).copied().unwrap_or_default()
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
        let mut git: Option<GitHeader> = None;
        while self.at < self.lines.len() && !self.file_begins() {
            let line = self.peek(0);
            if line.starts_with("diff --git ") {
                if let Some(file) = git.take().and_then(GitHeader::without_hunks) {
                    return Ok(Some(file));
                }
                git = Some(GitHeader::named(line));
            } else if line.starts_with("@@ ") || line == "@@" {
                let message = format!("line {}: a hunk without --- and +++ before it", self.at + 1);
                return Err(rejected(message).hint(SHAPE));
            } else if self.begun && line.starts_with(['+', '-']) && !is_signature(line) {
                let message = format!("line {}: {line:?} belongs to no hunk", self.at + 1);
                return Err(rejected(message).hint("correct the counts of the @@ line before it"));
            } else if let Some(header) = &mut git {
                header.line(line)?;
            }
            self.at += 1;
        }
        if self.at >= self.lines.len() {
            return Ok(git.and_then(GitHeader::without_hunks));
        }
        let (old, new) = (path(&self.peek(0)[4..])?, path(&self.peek(1)[4..])?);
        self.at += 2;
        let (old, new) = without_prefixes(old, new, git.is_some());
        self.begun = true;
        let mut hunks = Vec::new();
        while self.hunk_begins() {
            hunks.push(self.hunk()?);
        }
        let name = new.as_deref().or(old.as_deref()).unwrap_or("/dev/null");
        if hunks.is_empty() {
            let message = format!("{name}: no hunk follows its +++ line (line {})", self.at);
            return Err(rejected(message).hint(SHAPE));
        }
        if let (Some(old), Some(new)) = (&old, &new)
            && old != new
        {
            let message = format!("{old} would become {new}: renames are not supported");
            return Err(rejected(message).hint("delete the one file and create the other"));
        }
        if old.is_none() && new.is_none() {
            return Err(rejected("both sides are /dev/null").hint(SHAPE));
        }
        Ok(Some(FilePatch { old, new, hunks, executable: git.is_some_and(|header| header.executable) }))
    }

    fn hunk(&mut self) -> Result<Hunk<'a>, Refusal> {
        let header = self.peek(0);
        let begins_at = self.at + 1;
        let range = range(header).map_err(|()| {
            rejected(format!("line {begins_at}: {header:?} is not a hunk header")).hint(SHAPE)
        })?;
        self.at += 1;
        let mut hunk = Hunk { range, ..Hunk::default() };
        // Blank lines without a sign, at the end so far: context, unless nothing else follows.
        let mut blanks = 0;
        while self.at < self.lines.len() {
            let line = self.peek(0);
            let missing = hunk.missing();
            let full = missing == Some((0, 0));
            if self.hunk_ends(missing) || (full && (line.is_empty() || is_signature(line))) {
                break;
            }
            let (sign, text) = line.split_at_checked(1).unwrap_or(("", line));
            match sign {
                " " => hunk.lines.push(Line::Context(text)),
                "-" => hunk.lines.push(Line::Removed(text)),
                "+" => hunk.lines.push(Line::Added(text)),
                "" | "\r" => hunk.lines.push(Line::Context(line)),
                "\\" => hunk.unended(),
                _ => break,
            }
            blanks = if matches!(sign, "" | "\r") { blanks + 1 } else { 0 };
            self.at += 1;
        }
        if hunk.missing() != Some((0, 0)) {
            hunk.lines.truncate(hunk.lines.len() - blanks);
        }
        if !hunk.lines.iter().any(|line| !matches!(line, Line::Context(_))) {
            let message = format!("line {begins_at}: the hunk changes nothing");
            return Err(rejected(message).hint("begin changed lines with - or + in the first column"));
        }
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

impl Hunk<'_> {
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

impl GitHeader {
    fn named(line: &str) -> Self {
        let names = line.strip_prefix("diff --git ").unwrap_or_default();
        // Both names are the same but for their prefix, so the one begins in the middle.
        let halves = names.split_at_checked(names.len() / 2);
        let (old, new) = match halves {
            Some((old, new)) => (old.strip_prefix("a/"), new.trim_start().strip_prefix("b/")),
            None => (None, None),
        };
        let plain = |name: Option<&str>| name.filter(|name| !name.starts_with('"')).map(ToOwned::to_owned);
        Self { old: plain(old), new: plain(new), ..Self::default() }
    }

    fn line(&mut self, line: &str) -> Result<(), Refusal> {
        if let Some(mode) = line.strip_prefix("new file mode ") {
            self.created = true;
            self.executable = mode.trim() == "100755";
            if mode.trim().starts_with("12") {
                return Err(rejected("symbolic links can't be created by a patch").hint("use ln -s"));
            }
        } else if line.starts_with("deleted file mode ") {
            self.deleted = true;
        } else if line.starts_with("new mode ") {
            return Err(rejected("a patch can't change the mode of a file").hint("use chmod"));
        } else if line.starts_with("rename ") || line.starts_with("copy ") {
            let message = format!("{line:?}: renames and copies are not supported");
            return Err(rejected(message).hint("use mv or cp, or delete the one file and create the other"));
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(rejected("binary patches are not supported").hint("create the file by a command"));
        }
        Ok(())
    }

    /// An empty file that is created or deleted has no hunks.
    fn without_hunks(self) -> Option<FilePatch<'static>> {
        let (old, new) = match (self.created, self.deleted) {
            (true, _) => (None, Some(self.new?)),
            (false, true) => (Some(self.old?), None),
            (false, false) => return None,
        };
        Some(FilePatch { old, new, hunks: Vec::new(), executable: self.executable })
    }
}

/// The line with which mails end what is a patch.
fn is_signature(line: &str) -> bool {
    matches!(line, "-- " | "--")
}

/// The ranges of a hunk header; none when it has none.
fn range(header: &str) -> Result<Option<Range>, ()> {
    let rest = header.trim_start_matches('@').trim_start();
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

/// The path of a `---` or `+++` line; none for `/dev/null`.
fn path(text: &str) -> Result<Option<String>, Refusal> {
    let text = text.split('\t').next().unwrap_or_default().trim_end();
    if text == "/dev/null" {
        return Ok(None);
    }
    let name = if text.starts_with('"') { unquote(text) } else { Some(text.to_owned()) };
    match name.filter(|name| !name.is_empty()) {
        Some(name) => Ok(Some(name)),
        None => Err(rejected(format!("{text:?} is not a path")).hint(SHAPE)),
    }
}

/// Undoes git's quoting.
fn unquote(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            high @ b'0'..=b'3' => {
                let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| byte - b'0');
                (high - b'0') * 64 + digit(rest.next()?)? * 8 + digit(rest.next()?)?
            }
            same => same,
        });
    }
    String::from_utf8(bytes).ok()
}

type Sides = (Option<String>, Option<String>);

/// Takes `a/` and `b/` away where they are prefixes rather than folders: git says so, or both sides (or the
/// only one) have theirs.
fn without_prefixes(old: Option<String>, new: Option<String>, git: bool) -> Sides {
    let cut = |name: &Option<String>, prefix: &str| match name {
        None => Some(None),
        Some(name) => name.strip_prefix(prefix).map(|rest| Some(rest.to_owned())),
    };
    match (cut(&old, "a/"), cut(&new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        (plain_old, plain_new) if git => (plain_old.unwrap_or(old), plain_new.unwrap_or(new)),
        (_, _) => (old, new),
    }
}
