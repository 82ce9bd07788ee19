//! The parts of the runtime that a message may come from, by name.

/// An agent that supervises: what it sends to its child counts as an operator's.
pub const SUPERVISOR: &str = "supervisor";
/// A tick about what children need.
pub const CHILD_NEEDS: &str = "child_needs_parent";
/// A tick about tasks that ended while their agent was stopped.
pub const TASK_RESTART: &str = "task_restart";
/// A message that an agent sent to itself.
pub const FOLLOW_UP: &str = "follow_up";
/// The end of a sleep that an agent asked for.
pub const SLEEP_ELAPSED: &str = "sleep_elapsed";
/// A tick about wake hints.
pub const WAKE_HINT: &str = "wake_hint";
/// A tick about blockers and waits that are due for another look.
pub const RECHECK: &str = "recheck";
