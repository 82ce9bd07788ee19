//! Rest.

use alloc::string::String;

use holon_facts::receipt::{SelfCall, ToolError, Verdict};
use holon_facts::time::Millis;
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;
use super::check::{self, invalid};

/// Most bytes of what a sleep is for.
const REASON_BYTES: usize = 512;
/// Bounds of a sleep in milliseconds; the longest is a year.
const SHORTEST: u64 = 1_000;
const LONGEST: u64 = 365 * 86_400_000;

/// Rest.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sleep {
    reason: Option<String>,
    duration_ms: Option<u64>,
}

impl BuiltIn for Sleep {
    const DESCRIPTION: &'static str = "\
        End the turn after this round and rest until a message comes. With duration_ms (at least 1000) you are woken \
        after it, and due work items wait until then. Without it, it is refused while the item in focus can be worked on.";

    fn check(&self) -> Result<(), ToolError> {
        check::at_most("reason", self.reason.as_deref(), REASON_BYTES, "say it shorter")?;
        match self.duration_ms {
            None | Some(0 | SHORTEST..=LONGEST) => Ok(()),
            Some(duration) => {
                let problem = format!("is {duration}, expected {SHORTEST} to {LONGEST}, or 0");
                Err(invalid("duration_ms", &problem, "a shorter wait is a command of its own"))
            }
        }
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        let duration = self.duration_ms.filter(|duration| *duration > 0).map(Millis);
        Ok(Verdict::OnSelf(SelfCall::Sleep { reason: self.reason, duration }))
    }
}
