//! A look at an image.

use alloc::string::String;

use holon_facts::receipt::{ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::invalid;
use super::{BuiltIn, Tool};

/// Longest path, in bytes: the kernel's own limit.
const PATH_BYTES: usize = 4_096;

/// See an image.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewImage {
    /// Relative to the current folder, or absolute.
    pub path: String,
}

impl BuiltIn for ViewImage {
    const DESCRIPTION: &'static str = "\
        See an image file: a screenshot, a diagram, a chart that a command has drawn. PNG, JPEG, WebP or GIF, at most \
        5 MB and 8000 pixels a side. Make a smaller copy of a larger one with a command first. Not for text files.";

    fn check(&self) -> Result<(), ToolError> {
        if self.path.is_empty() {
            return Err(invalid("path", "is empty", "name an image file"));
        }
        if self.path.len() > PATH_BYTES || self.path.contains('\0') {
            let problem = "is longer than 4096 bytes, or has a zero byte";
            return Err(invalid("path", problem, "name an image file"));
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::Accepted(Tool::ViewImage.into()))
    }
}
