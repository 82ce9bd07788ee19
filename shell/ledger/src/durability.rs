//! What a ledger promises of what it has acknowledged.

/// What a batch survives once it is acknowledged (`runtime.durability`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Power loss.
    Full,
    /// The end of the process, not of the machine.
    Process,
}
