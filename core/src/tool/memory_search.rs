//! A search of what an agent remembers.

use alloc::string::String;

use holon_facts::receipt::{ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::invalid;
use super::{BuiltIn, Tool};

/// Longest query, in characters.
const QUERY_CHARS: usize = 1_000;
/// Most results of one search.
const RESULTS: u32 = 50;

/// Search memory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearch {
    pub query: String,
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 50))]
    pub limit: u32,
    #[serde(default)]
    pub include_all_workspaces: bool,
}

impl BuiltIn for MemorySearch {
    const DESCRIPTION: &'static str = "\
        Search what you remember: your memory and notes, earlier requests, answers, episodes and work items. A few \
        words, no operators. Read a result in full with MemoryGet.";

    fn check(&self) -> Result<(), ToolError> {
        let hint = "search for a few words that stand in what you look for";
        if self.query.trim().is_empty() {
            return Err(invalid("query", "is empty", hint));
        }
        if self.query.len() > 4 * QUERY_CHARS || self.query.chars().count() > QUERY_CHARS {
            let problem = format!("has {} bytes, expected at most {QUERY_CHARS} characters", self.query.len());
            return Err(invalid("query", &problem, hint));
        }
        if !(1..=RESULTS).contains(&self.limit) {
            let problem = format!("is {}, expected 1 to {RESULTS}", self.limit);
            return Err(invalid("limit", &problem, "ask for fewer"));
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::Accepted(Tool::MemorySearch.into()))
    }
}

fn default_results() -> u32 {
    10
}
