//! Rules that a world drops on purpose, to show that a law notices.

/// One dropped rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sabotage {
    /// An append does not check the epoch of its cell.
    NoEpoch,
    /// An append does not check the head of its cell.
    NoHead,
    /// A batch whose outcome is unknown is taken for one that is not in the log: the host decides again.
    DecideAnew,
    /// A claim compares the time of the lease, and needs no burial.
    ClaimByTime,
    /// Effects begin at any time.
    NoDeadline,
    /// Effects begin until the first moment at which the node may be buried.
    LateDeadline,
    /// Effects begin before their step is in the log.
    BeginEarly,
    /// A new owner begins the effects of its log again.
    BeginAgain,
    /// Nobody buries a late node.
    NoBurial,
    /// Clocks of nodes are slower than the margin of a lease and the grace allow. Random worlds alone.
    SlowClock,
    /// Supervisors let commands run after the lease of their node. Random worlds alone.
    KeepCommands,
    /// A cell that is to be moved has no owner before its host has given its last batch. Random worlds alone.
    ReleaseEarly,
    /// An owner gives a second batch for a deposit. Random worlds alone.
    JudgeAgain,
    /// A deposit is marked once its batch is known to be durable, not with it. Random worlds alone.
    MarkLater,
}
