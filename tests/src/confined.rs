//! An agent that is held back, and what lies beside it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::obedient::{asks, folder, git, obedient};
use crate::provider::Provider;

/// An agent `a` that is confined to a folder, and what lies beside that.
pub struct Scene {
    pub daemon: Daemon,
    pub root: PathBuf,
    pub outside: PathBuf,
}

/// Every file below a folder, with its content and its links' number.
pub type Kept = BTreeMap<PathBuf, (Vec<u8>, u64)>;

impl Scene {
    pub fn new(network: &str) -> Self {
        let daemon = Daemon::confined(&Provider::answering(obedient), network);
        let (root, outside) = (folder(daemon.0.folder(), "root"), folder(daemon.0.folder(), "outside"));
        // Whatever the place is part of, this folder is a project of its own.
        git(&root, &["init", "-q"]);
        for name in ["kept", "kept.log"] {
            fs::write(outside.join(name), "as it was\n").expect("a file");
        }
        daemon.start();
        daemon.ok(&["agent", "create", "a", "--workspace-root", text(&root)]);
        Self { daemon, root, outside }
    }

    /// What became of a command, with `$out` for the folder outside.
    pub fn runs(&self, cmd: &str) -> String {
        self.calls(&[("ExecCommand", json!({ "cmd": self.meant(cmd), "login": false }))])
    }

    pub fn calls(&self, calls: &[(&str, Value)]) -> String {
        asks(&self.daemon, "a", calls)
    }

    pub fn meant(&self, cmd: &str) -> String {
        let runtime = self.daemon.metadata().map(|about| about["pid"].to_string()).unwrap_or_default();
        format!("out='{}'; runtime={runtime}; {cmd}", text(&self.outside))
    }

    pub fn home(&self) -> PathBuf {
        self.daemon.0.home().join("agents/a").canonicalize().expect("a home")
    }

    pub fn kept(&self) -> Kept {
        below(&self.outside)
    }
}

fn below(folder: &Path) -> Kept {
    let mut found = Kept::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, about) = (entry.path(), entry.metadata().expect("a file"));
        if about.is_dir() {
            found.extend(below(&path));
        }
        let content = if about.is_file() { fs::read(&path).expect("a file") } else { Vec::new() };
        found.insert(path, (content, if about.is_dir() { 0 } else { about.nlink() }));
    }
    found
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}
