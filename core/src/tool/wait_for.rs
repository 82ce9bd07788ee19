//! Waiting for something.

use alloc::string::String;

use holon_facts::call::{WaitCall, Wake};
use holon_facts::ids::WorkItemId;
use holon_facts::receipt::{SelfCall, ToolError, Verdict};
use holon_facts::time::{Millis, Wall};
use holon_facts::timer::DURATION;
use holon_facts::wait::{REASON_BYTES, SUBJECT_BYTES};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;
use super::check::{self, invalid};

/// Wait for something.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitFor {
    reason: String,
    #[schemars(description = "")]
    wake: WakeOn,
    /// Of `task_result` the task; of timer a duration (`90s`, `1h30m`, `2d`) or a UTC time; of external the source or reference
    /// of the event.
    resource: Option<String>,
    /// Default: the item in focus.
    work_item_id: Option<WorkItemId>,
    /// When to check again, at least 60000.
    recheck_after_ms: Option<u64>,
}

impl BuiltIn for WaitFor {
    const DESCRIPTION: &'static str = "\
        End the turn after this round and wait; what you wait for begins the next turn. Use it when nothing else can \
        be done: to ask the operator (ask in the text of the same answer), for a task, an outside event or a time. Not for a \
        command that ends soon: TaskOutput waits for that. A new wait replaces the old one of the same work item. \
        Example: {\"reason\":\"tests of the branch\",\"wake\":\"task_result\",\"resource\":\"task_3\"}";

    fn check(&self) -> Result<(), ToolError> {
        check::filled("reason", &self.reason, REASON_BYTES, "say in a line what you wait for")?;
        check::recheck(self.recheck_after_ms)?;
        self.wakes().map(drop)
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        let wake = self.wakes()?;
        let recheck_after = self.recheck_after_ms.map(Millis);
        let call = WaitCall { reason: self.reason, wake, work_item: self.work_item_id, recheck_after };
        Ok(Verdict::OnSelf(SelfCall::Wait(call)))
    }
}

/// What ends a wait.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum WakeOn {
    OperatorInput,
    TaskResult,
    External,
    Timer,
}

impl WaitFor {
    fn wakes(&self) -> Result<Wake, ToolError> {
        let resource = self.resource.as_deref().map(str::trim).filter(|resource| !resource.is_empty());
        check::at_most("resource", resource, SUBJECT_BYTES, "name it shorter")?;
        let subject = resource.map(Into::into);
        match self.wake {
            WakeOn::OperatorInput => Ok(Wake::Operator { subject }),
            WakeOn::External => Ok(Wake::External { subject }),
            WakeOn::TaskResult => {
                let task = resource.and_then(|task| task.parse().ok());
                let hint = "name the task, for example task_3; TaskList shows them";
                task.map(|task| Wake::Task { task }).ok_or_else(|| invalid("resource", "is no task", hint))
            }
            WakeOn::Timer => timer(resource),
        }
    }
}

fn timer(resource: Option<&str>) -> Result<Wake, ToolError> {
    let hint =
        "send a duration of 1s or more, for example 90s, 10m or 1h30m, or a time like 2026-01-31T12:00:00Z";
    let Some(resource) = resource else { return Err(invalid("resource", "is missing", hint)) };
    if let Some(time) = Wall::parse(resource) {
        return Ok(Wake::At { time });
    }
    let duration = Millis::parse(resource).filter(|duration| (DURATION.0..=DURATION.1).contains(duration));
    duration
        .map(|duration| Wake::After { duration })
        .ok_or_else(|| invalid("resource", "is no duration and no time", hint))
}
