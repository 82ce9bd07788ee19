//! A change of files.

use alloc::string::String;

use holon_facts::receipt::{ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::invalid;
use super::{BuiltIn, Tool};

/// Change files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyPatch {
    /// A unified diff over one or more files.
    pub patch: String,
}

impl BuiltIn for ApplyPatch {
    const DESCRIPTION: &'static str = "\
        Create, change, rename or delete files with one unified diff (---/+++ headers with paths \
        relative to the execution root; /dev/null for a file that is created or deleted; git's \
        rename and mode headers). All files of the patch change, or none does.";

    fn check(&self) -> Result<(), ToolError> {
        if self.patch.trim().is_empty() {
            return Err(invalid("patch", "is empty", "send a unified diff with ---, +++ and @@ lines"));
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::Accepted(Tool::ApplyPatch.into()))
    }
}
