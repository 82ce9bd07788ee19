//! A TOML file as it stands: bounded, with a line for every value, so that an error can say where to look.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use toml_edit::{Document, Item, Table, TableLike, Value};

/// Most bytes of a file; a larger one was not written for this.
const FILE_BYTES: u64 = 1 << 20;

/// A file that can't be read as TOML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("{} can't be read: {problem}", path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("{} is {what}, not a file", path.display())]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("{} is larger than {FILE_BYTES} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} is not UTF-8: byte {at} is wrong", path.display())]
    NotText { path: PathBuf, at: usize },
    #[error("{}:{line}:{column} is not TOML: {problem}", path.display())]
    Syntax { path: PathBuf, line: usize, column: usize, problem: String },
}

/// The text of a file, without a byte-order mark.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// The permission bits of the file; none where there is no file.
    pub(super) mode: Option<u32>,
}

/// A value of a file under its dotted name. Tables that nobody knows are leaves too.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) line: usize,
}

impl Source {
    /// Reads a file; one that does not exist is empty.
    pub(super) fn read(path: &Path) -> Result<Self, SourceError> {
        let unreadable =
            |error: io::Error| SourceError::Unreadable { path: path.to_owned(), problem: error.to_string() };
        // Without the flag a named pipe would be waited for.
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
        let file = match File::options().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path: path.to_owned(), ..Self::default() });
            }
            Err(error) => return Err(unreadable(error)),
        };
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() {
            let what = if about.is_dir() { "a folder" } else { "something else" };
            return Err(SourceError::NotAFile { path: path.to_owned(), what });
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > FILE_BYTES {
            return Err(SourceError::TooLarge { path: path.to_owned() });
        }
        let mut text = String::from_utf8(bytes).map_err(|error| SourceError::NotText {
            path: path.to_owned(),
            at: error.utf8_error().valid_up_to() + 1,
        })?;
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Ok(Self { path: path.to_owned(), text, mode: Some(about.permissions().mode() & 0o7777) })
    }

    /// Parses the text. The error says where, and repeats nothing of the file: it may hold keys.
    pub(super) fn parse(&self) -> Result<Document<&str>, SourceError> {
        Document::parse(self.text.as_str()).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(self.text.len());
            let before = self.text.get(..at).unwrap_or_default();
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let problem = error.message().to_owned();
            SourceError::Syntax {
                path: self.path.clone(),
                line: Lines::of(&self.text).line(at),
                column,
                problem,
            }
        })
    }

    /// Every value, in the order of the file. Tables are entered where `is_group` knows their name.
    pub(super) fn leaves(&self, is_group: &dyn Fn(&str) -> bool) -> Result<Vec<Leaf>, SourceError> {
        let document = self.parse()?;
        let mut leaves = Vec::new();
        let lines = Lines::of(&self.text);
        walk("", document.as_table(), 1, &Walk { lines, is_group }, &mut leaves);
        leaves.sort_by_key(|leaf| leaf.line);
        Ok(leaves)
    }
}

/// Where the lines of a text end.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line of a byte, counted from 1.
    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|end| *end < at) + 1
    }
}

struct Walk<'a> {
    lines: Lines,
    is_group: &'a dyn Fn(&str) -> bool,
}

fn walk(prefix: &str, table: &dyn TableLike, line: usize, about: &Walk<'_>, leaves: &mut Vec<Leaf>) {
    for (name, item) in table.iter() {
        let span = table.key(name).and_then(toml_edit::Key::span).or(item.span());
        let line = span.map_or(line, |span| about.lines.line(span.start));
        let name = join(prefix, name);
        match item.as_table_like() {
            Some(inner) if (about.is_group)(&name) => walk(&name, inner, line, about, leaves),
            Some(_) | None => leaves.extend(plain(item).map(|value| Leaf { name, value, line })),
        }
    }
}

/// An item as a value; arrays of tables become arrays.
fn plain(item: &Item) -> Option<Value> {
    item.clone().into_value().ok()
}

/// A dotted name; parts that are not bare keys stay in quotes, so that no two names are the same.
pub(super) fn join(prefix: &str, name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let name = if bare { name.to_owned() } else { toml_edit::Key::new(name).display_repr().into_owned() };
    if prefix.is_empty() { name } else { format!("{prefix}.{name}") }
}

/// The parts of a dotted name, as [`join`] writes it.
pub(super) fn split(name: &str) -> Option<Vec<String>> {
    let keys = toml_edit::Key::parse(name).ok()?;
    Some(keys.into_iter().map(|key| key.get().to_owned()).collect())
}

/// A table, for a document that has none there yet.
pub(super) fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { path: "config.toml".into(), text: text.to_owned(), mode: None }
    }

    #[test]
    fn every_value_has_its_line() {
        let text = "a.b = 1\n\n[limits] # bounds\n# more\nrounds = 2\n\"x y\" = [\n 1,\n]\n[other]\nz = 1\n";
        let leaves = source(text).leaves(&|name| ["a", "limits"].contains(&name)).unwrap();
        let found: Vec<_> = leaves.iter().map(|leaf| (leaf.name.as_str(), leaf.line)).collect();
        assert_eq!(found, [("a.b", 1), ("limits.rounds", 5), ("limits.\"x y\"", 6), ("other", 9)]);
        assert_eq!(split("limits.\"x y\"").unwrap(), ["limits", "x y"]);
    }

    #[test]
    fn a_syntax_error_has_a_place_and_repeats_nothing() {
        let error = source("a = 1\nkey = sk-canary-123\n").parse().unwrap_err().to_string();
        assert!(error.starts_with("config.toml:2:") && error.contains("is not TOML"), "{error}");
        assert!(!error.contains("canary"), "{error}");
    }

    #[test]
    fn what_is_no_text_file_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        assert!(Source::read(&path).unwrap().text.is_empty());
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Source::read(&path).map(|source| source.text).map_err(|error| error.to_string())
        };
        assert_eq!(read(b"\xef\xbb\xbfa = 1"), Ok("a = 1".to_owned()));
        assert!(read(b"a = \xff").unwrap_err().contains("not UTF-8: byte 5"));
        assert!(read(&vec![b'#'; (1 << 20) + 1]).unwrap_err().contains("larger than 1048576"));
        assert!(Source::read(folder.path()).unwrap_err().to_string().contains("is a folder"));
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from(0o600),
            0,
        )
        .unwrap();
        assert!(Source::read(&pipe).unwrap_err().to_string().contains("not a file"));
    }
}
