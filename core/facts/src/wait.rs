//! What is waited for, by kind.

use crate::time::Millis;

/// Longest word of what is waited for, in bytes.
pub const REASON_BYTES: usize = 512;

/// Longest name of what an external event has to be about, in bytes.
pub const SUBJECT_BYTES: usize = 256;

names! {
    /// What a wait is for; their order in reports (contract: scheduler.md, row 12).
    WaitKind { Operator "operator", Task "task", External "external", Timer "timer" }
}

names! { WaitStatus { Active "active", Resolved "resolved", Cancelled "cancelled" } }

/// The shortest that may be asked for.
pub const LEAST: Millis = Millis::minutes(1);

/// The longest that may be asked for.
pub const MOST: Millis = Millis::hours(24 * 365);

/// So many rechecks in a row that change nothing are an operator's business.
pub const IN_A_ROW: u32 = 7;
