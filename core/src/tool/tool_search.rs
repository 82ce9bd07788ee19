//! A search of the tools of other programs, where requests don't have all of them.

use alloc::string::String;

use holon_facts::receipt::{ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::invalid;
use super::{BuiltIn, Tool};

/// Longest query, in characters.
const QUERY_CHARS: usize = 500;
/// Most tools of one answer.
const RESULTS: u32 = 10;

/// Find tools of other programs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSearch {
    pub query: String,
    /// Search one server.
    #[serde(default)]
    pub server: Option<String>,
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 10))]
    pub limit: u32,
}

impl BuiltIn for ToolSearch {
    const DESCRIPTION: &'static str = "\
        Find tools of other programs by a few words: their names, what they do and the schema of their arguments. Call \
        what is found with ToolCall.";

    fn check(&self) -> Result<(), ToolError> {
        let hint = "search for a few words that say what the tool is to do";
        if self.query.trim().is_empty() {
            return Err(invalid("query", "is empty", hint));
        }
        if self.query.chars().nth(QUERY_CHARS).is_some() {
            return Err(invalid("query", &format!("has more than {QUERY_CHARS} characters"), hint));
        }
        if !(1..=RESULTS).contains(&self.limit) {
            let problem = format!("is {}, expected 1 to {RESULTS}", self.limit);
            return Err(invalid("limit", &problem, "ask for fewer"));
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::Accepted(Tool::ToolSearch.into()))
    }
}

fn default_results() -> u32 {
    5
}
