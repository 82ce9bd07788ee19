//! Backups of a home: its ledger as it is at one moment with the files that belong to it, in one archive; and homes that were
//! restored from one ([docs/backup.md]).
//!
//! [docs/backup.md]: ../../../docs/backup.md

mod make;
mod restore;
mod restored;

use std::path::Path;

use holon_facts::Wall;
use holon_facts::content::clip;
use holon_ledger::sqlite::Copied;
use serde::{Deserialize, Serialize};

pub use make::{LeftOut, Made, MakeError, Request, make};
pub use restore::{RestoreError, Restored, restore};
pub use restored::{Unaccepted, accept, may_start};

/// What stands first in a backup.
const DESCRIPTION: &str = "backup.json";

/// The folder of an archive that holds what belongs into a home.
const HOME: &str = "home";

/// How a backup is laid out. Another number is another layout.
const FORMAT: u32 = 1;

const LEDGER: &str = "ledger.sqlite3";
const CREDENTIALS: &str = "credentials.toml";

const CONFIG: &str = "config.toml";
const MEMORY_KEY: &str = "memory.key";
const AGENTS: &str = "agents";

/// Files of a home that are kept beside its ledger.
const FILES: [&str; 3] = [CONFIG, MEMORY_KEY, "trigger.key"];

/// Folders of a home that are kept with everything in them.
const FOLDERS: [&str; 2] = [AGENTS, "templates"];

/// Longest path in a message, in bytes.
const SHOWN_BYTES: usize = 300;

/// A path as messages show it.
fn shown(path: &Path) -> String {
    clip(&path.display().to_string(), SHOWN_BYTES)
}

/// What a backup says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Description {
    pub format: u32,
    /// The build that made it.
    pub build: String,
    pub made_at: Wall,
    /// The folder of the home that it is of.
    pub home_dir: String,
    pub ledger: Copied,
    /// Whether `credentials.toml` is in it, as far as there was one.
    pub credentials: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;

    #[test]
    fn what_is_kept_is_where_a_home_has_it() {
        let home = Home::at("/home");
        for (path, name) in [
            (home.config(), FILES[0]),
            (home.memory_key(), FILES[1]),
            (home.trigger_key(), FILES[2]),
            (home.agents(), FOLDERS[0]),
            (home.ledger_file(), LEDGER),
            (home.credentials(), CREDENTIALS),
        ] {
            assert_eq!(path, home.root().join(name));
        }
    }
}
