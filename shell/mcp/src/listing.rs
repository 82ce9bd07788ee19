//! What servers listed last, kept for the next start: a server whose tools are known need not run to be offered.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use holon_facts::ContentId;
use serde::{Deserialize, Serialize};

use crate::connection::Tool;

/// A larger file is not one of ours.
const FILE_BYTES: u64 = 32 << 20;

/// What a server listed, under the definition that it had then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listing {
    pub(crate) definition: ContentId,
    pub(crate) revision: String,
    pub(crate) server: Option<String>,
    pub(crate) tools: Vec<Tool>,
}

impl Listing {
    /// The one of a server, where its definition is still the same. One that can't be read is none: it is asked for again.
    pub(crate) fn read(folder: &Path, name: &str, definition: ContentId) -> Option<Self> {
        let path = folder.join(format!("{name}.json"));
        let about = fs::metadata(&path).ok()?;
        if !about.is_file() || about.len() > FILE_BYTES {
            return None;
        }
        let listing: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (listing.definition == definition).then_some(listing)
    }

    /// Keeps it, whole or not at all.
    ///
    /// # Errors
    /// The folder can't be written to.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let draft = folder.join(format!(".{name}.json"));
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        serde_json::to_writer(io::BufWriter::new(file), self)?;
        fs::rename(draft, folder.join(format!("{name}.json")))
    }

    pub(crate) fn remove(folder: &Path, name: &str) -> io::Result<()> {
        match fs::remove_file(folder.join(format!("{name}.json"))) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_good_as_long_as_the_definition_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (ContentId([1; 32]), ContentId([2; 32]));
        assert_eq!(Listing::read(folder.path(), "files", one), None);
        let tools = vec![Tool { name: "read".into(), description: String::new(), schema: json!({}) }];
        let listing = Listing { definition: one, revision: "2025-11-25".into(), server: None, tools };
        listing.write(folder.path(), "files").unwrap();
        assert_eq!(Listing::read(folder.path(), "files", one), Some(listing));
        assert_eq!(Listing::read(folder.path(), "files", other), None);
        fs::write(folder.path().join("files.json"), "{").unwrap();
        assert_eq!(Listing::read(folder.path(), "files", one), None);
        Listing::remove(folder.path(), "files").unwrap();
        Listing::remove(folder.path(), "files").unwrap();
    }
}
