//! How to make a run, which checks it gets, and how its world is sabotaged.

use crate::trace::Kept;

/// The checks of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Judges {
    /// The laws of records, the reference model, the laws of the world, the replay.
    #[default]
    All,
    /// The laws of records and their fold only: to measure the cost of the others.
    Laws,
}

/// How to make a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub judges: Judges,
    pub trace: Kept,
    pub sabotage: Option<Sabotage>,
    /// Skip the replay of decisions at the end.
    pub no_replay: bool,
    /// Keep the moments of all steps.
    pub moments: bool,
}

/// How a world is sabotaged, to show that the laws catch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// A crash loses an acknowledged row.
    LoseAcknowledged,
    /// Effects leave before their records are on the disk.
    ReleaseEarly,
    /// A record is written twice.
    DuplicateRecord,
    /// A caller is answered another message id.
    ChangeReply,
    /// The flight recorder loses a call.
    ForgetCall,
    /// The driver's timer never rings.
    LoseWake,
    /// A snapshot differs from its agent in one field.
    StaleSnapshot,
    /// An answer is never sent.
    SwallowReply,
    /// A stop is acknowledged long after it is durable.
    LateStop,
    /// A command that ended while the process was down is not probed.
    ForgetEnd,
    /// A command is reported to have ended with another status.
    MisreportEnd,
    /// The parent of a child that can't be loaded is not notified.
    SilentLoss,
    /// The parent of a child that completed is notified of a failure.
    MistellChild,
    /// Every report of a task is taken for a second one.
    ForgetTold,
    /// No agent is taken to know of a task.
    Unshown,
    /// Every timer is taken for overdue.
    LateTimers,
    /// No command may begin.
    FewCommands,
    /// Another command is asked to end.
    StopAnother,
    /// A supervisor reports that its command never reuses a running one.
    HideTwins,
    /// A supervisor reports that its command reuses any running equal.
    ForceTwins,
    /// A caller gets another task than the running one.
    AnotherTwin,
    /// A process with the process id of a supervisor is taken for it.
    BelieveStrangers,
    /// The driver's timer rings late while a task is to end.
    Oversleep,
    /// An evicted agent is handed an input without being loaded.
    ForgetParked,
    /// No agent is loaded when something is due for it.
    ForgetDeadline,
    /// The driver's timer never rings for evicted agents.
    ForgetAbsent,
    /// The rows that a start reads have no deadlines of evicted agents.
    ForgetRows,
    /// A writer that has met a full disk never tries again.
    NeverWake,
    /// Waiting groups are written in reverse order.
    NewestFirst,
    /// Every group may use the reserved disk space.
    OpenReserve,
    /// No group may use the reserved disk space.
    ClosedReserve,
    /// A writer that waits for space does not notice new groups.
    DeafWriter,
    /// Groups that a full disk refuses are dropped.
    LoseGroup,
    /// The driver never learns what became durable once there was space.
    LoseReport,
    /// The ledger is read without checking its links.
    TrustingReader,
    /// A reader drops more than was damaged.
    TimidReader,
    /// A failed sync is taken for a successful one.
    IgnoreFailure,
    /// A lost sync is taken for an honest one.
    BelieveLies,
    /// A damaged snapshot is used whenever it can be parsed.
    TrustingGlance,
    /// A follower of the records misses some.
    LoseObserved,
    /// A recovery may take no step at all.
    Hasty,
    /// The state that is recovered at the end differs from the state at rest.
    StaleRecovery,
    /// The next life of the process begins an operation again.
    BeginAgain,
    /// A shutdown is ignored.
    GoOn,
    /// No step may record anything.
    NoCost,
    /// No state may have any size.
    NoSize,
    /// Bounds of a turn are taken for smaller ones.
    SmallBounds,
    /// Spending is counted twice.
    PaidTwice,
    /// A process starts with higher limits of children and depth than configured.
    Prolific,
    /// When a step stops a supervisor, the records of its children are lost, and the process dies.
    HalfAStop,
    /// An agent that takes a folder is recorded with one that another agent has. A driver can't cause more: agents with
    /// folders are in memory, so no start and no eviction makes a host forget a folder.
    Crowded,
    /// A worktree exists that no agent has made.
    Stray,
    /// A worktree is reported as removed, but its branch is left.
    KeepBranch,
    /// No command is ended, however it is asked.
    LetRun,
    /// When a step begins a child, the ledger loses the child's records.
    Orphans,
    /// The queue is taken for a smaller one.
    SmallQueue,
    /// No agent may be passed over.
    NoPatience,
    /// A message is shown with another authority.
    Promote,
    /// One effect of a step never leaves.
    LoseEffect,
    /// The driver's timer is taken to be armed for nothing.
    NoAlarm,
    /// A process starts with half of the time that a turn may take.
    ShortTurns,
    /// A process starts with half of the time that a request may take.
    ShortRequests,
    /// A process starts with half of the grace of a stop.
    ShortGrace,
    /// A record promises a longer wait for the next attempt.
    LongWaits,
    /// The receiver of an outbox message has forgotten that it took the message.
    TakeAgain,
    /// The caller of a stop is notified of less than it did.
    HalfTheStop,
    /// A request lacks the message of its turn.
    DropMessage,
    /// A request lacks an operator's interjection.
    DropInterjection,
    /// An interjection is moved to the end of the conversation.
    MoveInterjection,
    /// Two results of a round are swapped.
    SwapResults,
    /// A request lacks a round.
    DropRound,
    /// A call is executed with the arguments of another one.
    AnotherCall,
    /// A request has text that no record has.
    AddWords,
    /// A request shows digests of earlier episodes out of order.
    SwapEarlier,
    /// The next request lacks something that a request has shown.
    AnotherPrefix,
    /// After a restart requests begin differently.
    AnotherLife,
    /// The body of a hint is not shown.
    DropHint,
    /// A request lacks its first image.
    DropImage,
    /// A request lacks the skills of its prompts.
    DropSkill,
    /// A request shows an image twice.
    TwiceTheImage,
    /// A request names an image that would fit.
    NameImage,
    /// A model's summary of an episode is not shown.
    DropSummary,
    /// A request lacks changes of work items and waits.
    OldWork,
    /// A request lacks changes of the environment and of instruction files.
    OldStanding,
    /// A request shows work items in another state.
    OtherWork,
    /// The caller of a stop is not notified of a released folder.
    HideRoot,
    /// Every slot for a turn is taken for a used one.
    NoSlots,
    /// An outbox message is expected with another text.
    OtherLetter,
    /// A request lacks its fences.
    Unfence,
    /// An agent's inputs affect its neighbour.
    Interfere,
    /// A caller is answered twice.
    AnswerTwice,
    /// Every deadline is taken for an expired one.
    NoWait,
    /// Messages that could end a wait are ignored.
    NobodyComes,
    /// Every hold is ignored.
    NoHold,
    /// No time may pass in the quiet phase.
    Impatient,
    /// The ledger does not get the texts that records name.
    LoseTexts,
    /// Every queue is taken for an empty one.
    Blind,
    /// The last turn of an agent is taken for another one.
    Misread,
    /// The world panics.
    Panic,
}
