//! A folder whose files can't be read. Landlock knows what is allowed alone: everything that lies beside the folder, or
//! beside one that it lies in, is. What comes to lie there later can't be read either by whoever was confined before.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// Names beside a folder and beside those above it: more would make each command slow to begin.
const NAMES: usize = 16_384;

/// The runtime's own files, which hold its secrets and those of its operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// As it really is.
    pub folder: PathBuf,
    /// Folders below it that can be read all the same.
    pub shown: Vec<PathBuf>,
}

impl Hidden {
    /// Everything that can be read, as paths of which each stands for all below it.
    ///
    /// # Errors
    /// A folder above can't be listed, or there are too many names.
    pub(super) fn readable(&self) -> io::Result<Vec<PathBuf>> {
        let mut readable = siblings(&self.folder)?;
        readable.extend(self.shown.iter().cloned());
        Ok(readable)
    }
}

/// What lies beside a folder, and beside each one above it.
pub(super) fn siblings(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for below in folder.ancestors() {
        let Some(above) = below.parent() else { break };
        for entry in fs::read_dir(above)? {
            let path = entry?.path();
            if path != below {
                found.push(path);
            }
            if found.len() > NAMES {
                let text = format!("more than {NAMES} names lie around {}", folder.display());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_folder_and_what_is_above_it_lies_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap();
        let home = folder.join("a/home");
        for name in ["a/home/agents/x", "a/other", "b"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let shown = vec![home.join("agents/x")];
        let hidden = Hidden { folder: home.clone(), shown: shown.clone() };
        let readable = hidden.readable().unwrap();
        for name in ["a/other", "b", "a/home/agents/x"] {
            assert!(readable.contains(&folder.join(name)), "{name}");
        }
        assert!(!readable.iter().any(|path| home.starts_with(path)));
        assert!(Hidden { folder: folder.join("none/there"), shown }.readable().is_err());
    }
}
