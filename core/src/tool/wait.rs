//! The argument type of `WaitFor`, and what it asks for.

use alloc::format;
use alloc::string::String;

use holon_facts::call::{WaitCall, Wake};
use holon_facts::ids::WorkItemId;
use holon_facts::receipt::ToolError;
use holon_facts::time::{Millis, Wall};
use holon_facts::timer::DURATION;
use holon_facts::wait::{REASON_BYTES, SUBJECT_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{Check, invalid};

/// Wait for something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitFor {
    /// What you wait for; at most 512 bytes.
    pub reason: String,
    /// What ends it.
    pub wake: WakeOn,
    /// `task_result`: the task. timer: a duration (`90s`, `10m`, `1h30m`, 2d) or a time in UTC. external: what the event is
    /// about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Whose wait it is; the item in focus when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// When to look again by itself, in milliseconds, at least 60000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_after_ms: Option<u64>,
}

/// What ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WakeOn {
    OperatorInput,
    TaskResult,
    External,
    Timer,
}

impl Check for WaitFor {
    fn check(&self) -> Result<(), ToolError> {
        let bytes = self.reason.len();
        if self.reason.trim().is_empty() || bytes > REASON_BYTES {
            let problem = format!("has {bytes} bytes, expected 1 to {REASON_BYTES}");
            return Err(invalid("reason", &problem, "say in a line what you wait for"));
        }
        check_recheck(self.recheck_after_ms)?;
        self.wakes().map(drop)
    }
}

/// When something is looked at again.
pub(super) fn check_recheck(after_ms: Option<u64>) -> Result<(), ToolError> {
    let (least, most) = (holon_facts::wait::LEAST.0, holon_facts::wait::MOST.0);
    match after_ms {
        Some(after) if !(least..=most).contains(&after) => {
            let problem = format!("is {after}, expected {least} to {most}");
            Err(invalid("recheck_after_ms", &problem, "for a shorter wait, wait for a timer"))
        }
        Some(_) | None => Ok(()),
    }
}

impl WaitFor {
    /// What it asks for.
    ///
    /// # Errors
    /// A resource that is none for such a wait.
    pub fn call(self) -> Result<WaitCall, ToolError> {
        let wake = self.wakes()?;
        let recheck_after = self.recheck_after_ms.map(Millis);
        Ok(WaitCall { reason: self.reason, wake, work_item: self.work_item_id, recheck_after })
    }

    fn wakes(&self) -> Result<Wake, ToolError> {
        let resource = self.resource.as_deref().map(str::trim).filter(|resource| !resource.is_empty());
        let bytes = resource.map_or(0, str::len);
        if bytes > SUBJECT_BYTES {
            let problem = format!("has {bytes} bytes, the most is {SUBJECT_BYTES}");
            return Err(invalid("resource", &problem, "name it shorter"));
        }
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
