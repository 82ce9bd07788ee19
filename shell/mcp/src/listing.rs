//! What servers listed last, kept for the next start: a server whose tools are known need not run to be offered.

use std::io;
use std::path::Path;

use holon_facts::ContentId;
use serde::{Deserialize, Serialize};

use crate::connection::Tool;
use crate::kept;

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
        let listing: Self = kept::read(&folder.join(format!("{name}.json")), FILE_BYTES)?;
        (listing.definition == definition).then_some(listing)
    }

    /// Keeps it, whole or not at all.
    ///
    /// # Errors
    /// The folder can't be written to.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> io::Result<()> {
        kept::replace(&folder.join(format!("{name}.json")), self)
    }

    pub(crate) fn remove(folder: &Path, name: &str) -> io::Result<()> {
        kept::remove(&folder.join(format!("{name}.json"))).map(drop)
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
        std::fs::write(folder.path().join("files.json"), "{").unwrap();
        assert_eq!(Listing::read(folder.path(), "files", one), None);
        Listing::remove(folder.path(), "files").unwrap();
        Listing::remove(folder.path(), "files").unwrap();
    }
}
