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
    /// The diff, without a code fence.
    pub patch: String,
}

impl BuiltIn for ApplyPatch {
    const DESCRIPTION: &'static str = "\
        Create, edit, rename or delete text files with one unified diff; all of it applies, or nothing. Paths are \
        relative to the execution root. Give each hunk about three unchanged lines around the change, as they \
        stand in the file. /dev/null as the old or new path creates or deletes a file; git's rename headers \
        rename one. Example:\n\
        --- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,3 +1,3 @@\n fn main() {\n-    old();\n+    new();\n }";

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
