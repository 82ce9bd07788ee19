//! `skills.lock.json` of a root: what was installed there, and from where.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use holon_facts::Wall;
use holon_facts::content::ContentId;
use holon_platform::regular;
use serde::{Deserialize, Serialize};

use super::InstallError;

/// More than the entries of a root take.
const BYTES: u64 = 4 << 20;
const VERSION: u32 = 1;

/// What was installed in a root, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    version: u32,
    pub skills: BTreeMap<String, Entry>,
}

/// Where a skill comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// As it was named.
    pub source: String,
    /// Of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// SHA-256 of names, modes and bytes of its files.
    pub digest: ContentId,
    pub installed_at: Wall,
}

impl Lock {
    pub fn path(root: &Path) -> PathBuf {
        root.join("skills.lock.json")
    }

    /// The one of a root; without entries where there is none.
    ///
    /// # Errors
    /// A file that is something else.
    pub fn read(root: &Path) -> Result<Self, InstallError> {
        let path = Self::path(root);
        let damaged = |problem: String| InstallError::File { path: path.clone(), problem };
        let mut text = String::new();
        match regular::open(&path) {
            Ok(file) => file
                .take(BYTES)
                .read_to_string(&mut text)
                .map_err(|problem| InstallError::read(&path, &problem))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { version: VERSION, skills: BTreeMap::new() });
            }
            Err(problem) => return Err(InstallError::read(&path, &problem)),
        };
        let lock: Self = serde_json::from_str(&text).map_err(|error| {
            damaged(format!(
                "it is no list of installed skills ({error}); move it away and install them again"
            ))
        })?;
        if lock.version > VERSION {
            return Err(damaged(format!("a newer build has written it (version {})", lock.version)));
        }
        Ok(lock)
    }

    /// Puts it into place, whole.
    pub(super) fn write(&self, root: &Path) -> Result<(), InstallError> {
        let (path, draft) = (Self::path(root), root.join(".skills.lock.draft"));
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&draft)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(root)?.sync_all()
        };
        write().map_err(|problem| InstallError::write(&path, &problem))
    }
}
