//! How a run is made, who judges it, and how its world is broken on purpose.

use crate::trace::Kept;

/// Who judges a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Judges {
    /// The laws of records, the reference model, the laws of the world, the replay.
    #[default]
    All,
    /// The laws of records and their fold: to measure what the others take.
    Laws,
}

/// How a run is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub judges: Judges,
    pub trace: Kept,
    pub sabotage: Option<Sabotage>,
    /// Leave out the replay of decisions at the end.
    pub no_replay: bool,
    /// Keep the moments of all steps.
    pub moments: bool,
}

/// A world that is broken on purpose, so that the laws can be seen to catch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// A crash loses a row that somebody was told about.
    LoseAcknowledged,
    /// Effects leave before their records are on the disk.
    ReleaseEarly,
    /// A record is written twice.
    DuplicateRecord,
    /// A caller is notified another message id.
    ChangeReply,
    /// The flight recorder loses a call.
    ForgetCall,
    /// The driver's timer never rings.
    LoseWake,
    /// A snapshot misses its last record.
    StaleSnapshot,
    /// An answer is never sent.
    SwallowReply,
    /// A stop is acknowledged long after it was durable.
    LateStop,
    /// A command that came to its end while the process was down is not asked for.
    ForgetEnd,
    /// A command is said to have ended with another status.
    MisreportEnd,
    /// Nobody tells the parent of a child that can't be brought into memory.
    SilentLoss,
    /// The parent of a child that completed is told that it failed.
    MistellChild,
    /// Whatever reports a task is taken for a second time.
    ForgetTold,
    /// Nobody is taken to know of a task.
    Unshown,
    /// Every timer is taken for overdue.
    LateTimers,
    /// No command may begin.
    FewCommands,
    /// Another command is asked to end.
    StopAnother,
    /// A supervisor says of its command that none stands in for it.
    HideTwins,
    /// A supervisor says of its command that any equal one stands in for it.
    ForceTwins,
    /// A caller gets another task than the one that runs already.
    AnotherTwin,
    /// Whoever has the number of a supervisor is taken for it.
    BelieveStrangers,
    /// The driver's timer oversleeps while something is to end.
    Oversleep,
    /// A parked agent is handed something without being brought in.
    ForgetParked,
    /// Nobody comes back into memory for what is due.
    ForgetDeadline,
    /// The driver's timer never rings for those who have left memory.
    ForgetAbsent,
    /// What a start reads of those who are not in memory says of nobody that something will be due.
    ForgetRows,
    /// A writer that has met a full disk never tries again.
    NeverWake,
    /// What piles up is written in the other order.
    NewestFirst,
    /// Whatever is handed over may use the room that is held back.
    OpenReserve,
    /// Nobody may use the room that is held back.
    ClosedReserve,
    /// A writer that waits for room does not notice what is handed over.
    DeafWriter,
    /// What a full disk refuses is thrown away.
    LoseGroup,
    /// Nobody hears what became durable once there was room.
    LoseReport,
    /// The ledger is read without looking at its links.
    TrustingReader,
    /// A reader gives up more than was damaged.
    TimidReader,
    /// A sync that fails is taken for one that does not.
    IgnoreFailure,
    /// A sync that lies is taken for an honest one.
    BelieveLies,
    /// A damaged snapshot is used as long as it can be read at all.
    TrustingGlance,
    /// Whoever follows the records misses some.
    LoseObserved,
    /// A recovery may take no step at all.
    Hasty,
    /// What is recovered at the end is not what was at rest.
    StaleRecovery,
    /// An operation is begun again by the next life of the process.
    BeginAgain,
    /// A shutdown is not believed.
    GoOn,
    /// A step may record nothing.
    NoCost,
    /// A state may have no size.
    NoSize,
    /// A bound of a turn is taken for a smaller one.
    SmallBounds,
    /// What was spent is counted twice.
    PaidTwice,
    /// A process is started with more children, and deeper ones, than there may be.
    Prolific,
    /// Of a step that stops a supervisor, the disk has nothing of those whom it supervises, and the process dies.
    HalfAStop,
    /// Who takes a folder is on record with one that somebody else has. A driver can't bring about more: whoever has a
    /// folder is in memory, so no start and no parking makes a host forget it.
    Crowded,
    /// There may be a worktree that nobody has made.
    Stray,
    /// A worktree is said to be removed, and its branch is there.
    KeepBranch,
    /// Nobody ends a command, whoever asks.
    LetRun,
    /// Of a step in which a child begins, the ledger has nothing of the child.
    Orphans,
    /// The queue is taken for a smaller one.
    SmallQueue,
    /// Nobody may be passed over.
    NoPatience,
    /// A message is shown with another authority.
    Promote,
    /// Of the effects of a step one never leaves.
    LoseEffect,
    /// The driver's timer is not believed to be armed for anything.
    NoAlarm,
    /// Who has taken a message of another agent has forgotten so.
    TakeAgain,
    /// The caller of a stop is told of less than it did.
    HalfTheStop,
    /// A request has lost the message that its turn is for.
    DropMessage,
    /// A request has lost what an operator interjected.
    DropInterjection,
    /// What stood in a conversation stands at the end of it.
    MoveInterjection,
    /// Two results of a round stand under each other's calls.
    SwapResults,
    /// A request has lost a round.
    DropRound,
    /// A call is executed with the arguments of another.
    AnotherCall,
    /// A request says something that nobody has said.
    AddWords,
    /// A request shows digests of earlier episodes out of order.
    SwapEarlier,
    /// What a request has shown is gone from the next one.
    AnotherPrefix,
    /// After a restart requests begin otherwise.
    AnotherLife,
    /// What a hint said is not shown.
    DropHint,
    /// A request has lost its first image.
    DropImage,
    /// A request has lost the skills that come with prompts.
    DropSkill,
    /// A request shows an image twice.
    TwiceTheImage,
    /// A request names an image that it has room for.
    NameImage,
    /// What a model made of an episode is not shown.
    DropSummary,
    /// A request has lost what changed of work items and waits.
    OldWork,
    /// A request has lost what changed of the environment and of instruction files.
    OldStanding,
    /// A request shows work items in another state.
    OtherWork,
    /// The caller of a stop is not told of a folder that was given up.
    HideRoot,
    /// Every slot for a turn is taken for a used one.
    NoSlots,
    /// What one agent has for another is taken for something else.
    OtherLetter,
    /// A request has lost its fences.
    Unfence,
    /// An agent's inputs reach its neighbour.
    Interfere,
    /// A caller is answered twice.
    AnswerTwice,
    /// Every deadline is taken for one that is over.
    NoWait,
    /// Nobody sees what is to come for those who wait.
    NobodyComes,
    /// No hold is believed.
    NoHold,
    /// The system may not take any time.
    Impatient,
    /// The ledger is not given the texts that records name.
    LoseTexts,
    /// Every queue is taken for an empty one.
    Blind,
    /// The last turn of an agent is taken for another.
    Misread,
    /// The world falls over.
    Panic,
}
