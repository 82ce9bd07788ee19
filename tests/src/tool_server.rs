//! A server of tools that tests start: `fixtures/mcp/server.py`, which answers as it should and in every way it should not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Holon;

/// Where the program is.
pub fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/mcp/server.py")
        .canonicalize()
        .expect("the program")
}

/// What a server has noted.
pub struct Marks(PathBuf);

impl Marks {
    /// In the folder of a home.
    pub fn of(holon: &Holon, name: &str) -> Self {
        Self(holon.folder().join(format!("{name}.marks")))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The lines that begin so.
    pub fn lines(&self, beginning: &str) -> Vec<String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().filter(|line| line.starts_with(beginning)).map(ToOwned::to_owned).collect()
    }

    pub fn count(&self, beginning: &str) -> usize {
        self.lines(beginning).len()
    }

    /// The processes of all that were started.
    pub fn processes(&self) -> Vec<u32> {
        self.lines("start ").iter().map(|line| line["start ".len()..].parse().expect("a process")).collect()
    }
}

/// Adds the server under a name, with further words of its command line.
///
/// # Panics
/// When it can't be added.
pub fn add(holon: &Holon, name: &str, words: &[&str]) -> Marks {
    let marks = Marks::of(holon, name);
    let program = program();
    let mut arguments = vec!["mcp", "add", name, "--", "python3"];
    arguments.push(program.to_str().expect("a path in UTF-8"));
    arguments.extend(["--marks", marks.path().to_str().expect("a path in UTF-8")]);
    arguments.extend(words);
    let added = holon.run(&arguments);
    assert_eq!(added.code, Some(0), "{added:?}");
    marks
}

/// Whether a server, or what it has started beside itself, is there and has not ended. Whoever has its number by now is somebody
/// else.
pub fn lives(process: u32) -> bool {
    let about = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
    let command = about("cmdline");
    let stat = about("stat");
    let ended = stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('Z'));
    !ended && (command.contains("mcp/server.py") || command.starts_with("sleep\u{0}600"))
}
