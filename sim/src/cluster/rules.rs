//! Rules that a world drops on purpose, to see that a law notices.

/// One dropped rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sabotage {
    /// An append does not look at the epoch of its cell.
    NoEpoch,
    /// An append does not look at the head of its cell.
    NoHead,
    /// A batch whose outcome is unknown is taken as one that is not in the log: the host decides anew.
    DecideAnew,
    /// A claim compares the time of the lease, and needs no burial.
    ClaimByTime,
    /// Effects begin whatever the clock says.
    NoDeadline,
    /// Effects begin until the first moment at which the node may be buried.
    LateDeadline,
    /// Effects begin before their step is in the log.
    BeginEarly,
    /// A new owner begins the effects of its log again.
    BeginAgain,
    /// Nobody buries a node that is late.
    NoBurial,
    /// Clocks of nodes are slower than the margin of a lease and the grace allow. Random worlds alone.
    SlowClock,
    /// Supervisors let commands run when the lease of their node is over. Random worlds alone.
    KeepCommands,
    /// A cell that is to be moved is nobody's before its owner has given its last batch. Random worlds alone.
    ReleaseEarly,
    /// An owner gives another batch for a deposit that it has given one for. Random worlds alone.
    JudgeAgain,
    /// A deposit is marked once its batch is known to be durable, not with it. Random worlds alone.
    MarkLater,
}
