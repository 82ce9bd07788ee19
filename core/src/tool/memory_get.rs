//! A text that an agent remembers, in full.

use alloc::string::String;

use holon_facts::receipt::{ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{filled, invalid};
use super::{BuiltIn, Tool};

/// Longest reference, in bytes.
const REF_BYTES: usize = 256;
/// Most characters of a text.
const TEXT_CHARS: u32 = 50_000;

/// Read a result of a search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryGet {
    pub source_ref: String,
    #[serde(default = "default_chars")]
    #[schemars(range(min = 1, max = 50_000))]
    pub max_chars: u32,
}

impl BuiltIn for MemoryGet {
    const DESCRIPTION: &'static str = "Read the text behind a source_ref of MemorySearch.";

    fn check(&self) -> Result<(), ToolError> {
        filled("source_ref", &self.source_ref, REF_BYTES, "copy it from a result of MemorySearch")?;
        if !(1..=TEXT_CHARS).contains(&self.max_chars) {
            let problem = format!("is {}, expected 1 to {TEXT_CHARS}", self.max_chars);
            return Err(invalid("max_chars", &problem, "ask for less"));
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::Accepted(Tool::MemoryGet.into()))
    }
}

fn default_chars() -> u32 {
    12_000
}
