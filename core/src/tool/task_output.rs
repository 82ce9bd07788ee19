//! What a background task has written.


use holon_facts::ids::TaskId;
use holon_facts::receipt::{TaskCall, ToolError, Verdict};
use holon_facts::time::Millis;
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;
use super::check::{invalid, yes};

/// Longest wait for the end of a task, in milliseconds.
const LONGEST_WAIT: u64 = 600_000;

/// Read the output of a background task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskOutput {
    task_id: TaskId,
    #[serde(default = "yes")]
    block: bool,
    #[serde(default = "default_wait")]
    #[schemars(range(max = 600_000))]
    timeout_ms: u64,
}

impl BuiltIn for TaskOutput {
    const DESCRIPTION: &'static str = "\
        Read the output of a background task; of long output, the beginning and the end. Waits up to timeout_ms for \
        the task to end, unless block is false. Don't poll: the result comes as a message anyway.";

    fn check(&self) -> Result<(), ToolError> {
        if self.timeout_ms > LONGEST_WAIT {
            let problem = format!("is {}, the most is {LONGEST_WAIT}", self.timeout_ms);
            return Err(invalid("timeout_ms", &problem, "wait less: the result comes as a message anyway"));
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        let wait = self.block.then_some(Millis(self.timeout_ms));
        Ok(Verdict::OnTask(TaskCall::Output { task: self.task_id, wait }))
    }
}

fn default_wait() -> u64 {
    30_000
}
