//! What names a template.

use std::fmt;
use std::path::{Path, PathBuf};

use holon_facts::ids::TemplateId;

use super::TemplateError;

/// What an address on GitHub begins with.
pub(super) const GITHUB: &str = "https://github.com/";

/// What names a template (contract: context.md, Templates and agent home).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// A folder of the user's templates, or one of this build.
    Id(TemplateId),
    /// A folder, from the root.
    Folder(PathBuf),
    /// A folder of a repository.
    GitHub(String),
}

impl Selector {
    /// # Errors
    /// For what has none of the forms.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        // No path has a zero byte.
        if Path::new(text).is_absolute() && !text.contains('\0') {
            return Ok(Self::Folder(PathBuf::from(text)));
        }
        if text.starts_with(GITHUB) {
            return Ok(Self::GitHub(text.to_owned()));
        }
        let no_selector = |_| TemplateError::NoSelector { got: text.chars().take(200).collect() };
        TemplateId::new(text).map(Self::Id).map_err(no_selector)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::GitHub(address) => f.write_str(address),
        }
    }
}
