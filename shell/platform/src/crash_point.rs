//! Named moments at which a test may let the process die, as `kill -9` would. Only builds with debug assertions have them;
//! in what users get, [`reached`] is nothing.
//!
//! `HOLON_CRASH_AT=committed:2` ends the process when that point is reached for the second time. The tests go
//! through [`Point::ALL`], so a new point is tested by being named here and reached somewhere.

use std::future::Future;
#[cfg(not(debug_assertions))]
use std::path::Path;

macro_rules! points {
    ($($(#[$doc:meta])* $point:ident $name:literal),+ $(,)?) => {
        /// Where a process may die.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Point { $($(#[$doc])* $point),+ }

        impl Point {
            pub const ALL: &[Self] = &[$(Self::$point),+];

            pub fn name(self) -> &'static str {
                match self { $(Self::$point => $name),+ }
            }
        }
    };
}

points! {
    // A start.
    SocketClaimed "socket_claimed",
    LedgerMade "ledger_made",
    SchemaChanged "schema_changed",
    TakenOver "taken_over",
    ReserveFilled "reserve_filled",
    AgentBroughtIn "agent_brought_in",
    CommandsProbed "commands_probed",
    AgentRecovered "agent_recovered",
    AllRecovered "all_recovered",
    Listening "listening",
    Announced "announced",
    // A step on its way to the disk.
    Decided "decided",
    BatchWritten "batch_written",
    SnapshotWritten "snapshot_written",
    SnapshotsPruned "snapshots_pruned",
    Committed "committed",
    Durable "durable",
    SettledIsDurable "settled_is_durable",
    // The write-ahead log on its way into the file.
    CheckpointBegins "checkpoint_begins",
    CheckpointHalf "checkpoint_half",
    CheckpointEnded "checkpoint_ended",
    // The same when nobody writes any more, and its cut.
    LogCutBegins "log_cut_begins",
    LogCutHalf "log_cut_half",
    LogCutEnded "log_cut_ended",
    // An effect, before it is performed and after it was, when nobody has heard of its outcome yet.
    ContextBegins "context_begins",
    ContextEnded "context_ended",
    ModelBegins "model_begins",
    ModelEnded "model_ended",
    ToolBegins "tool_begins",
    ToolEnded "tool_ended",
    PrepareBegins "prepare_begins",
    PrepareEnded "prepare_ended",
    CommandBegins "command_begins",
    CommandEnded "command_ended",
    WatchBegins "watch_begins",
    WatchEnded "watch_ended",
    StopBegins "stop_begins",
    TaskCallBegins "task_call_begins",
    TaskCallEnded "task_call_ended",
    TaskIsDurable "task_is_durable",
    OutcomeTaken "outcome_taken",
    // A patch.
    PatchJournalled "patch_journalled",
    FileSwapped "file_swapped",
    PatchDone "patch_done",
    // The acknowledgement of a message.
    ReplyReleased "reply_released",
    MessageAcknowledged "message_acknowledged",
    AnswerSent "answer_sent",
    // A fork.
    CopyDrafted "copy_drafted",
    ForkDecided "fork_decided",
    ForkDurable "fork_durable",
    // An end.
    LeaveBegins "leave_begins",
    DrainDurable "drain_durable",
    WorkStopped "work_stopped",
    LedgerCloses "ledger_closes",
    LedgerClosed "ledger_closed",
    LeftInGoodOrder "left_in_good_order",
}

/// Ends the process here if this is where it shall end.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn reached(_: Point) {}

/// Whether a test uses them with this process: what is rare has to come often then.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn in_use() -> bool {
    false
}

/// Does work that changes a file, and ends the process in the middle of it if it shall end there.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn half_of<T>(_: Point, _: &Path, work: impl FnOnce() -> T) -> T {
    work()
}

/// Does the work between two points.
pub async fn between<T>(begins: Point, work: impl Future<Output = T>, ended: Point) -> T {
    reached(begins);
    let done = work.await;
    reached(ended);
    done
}

#[cfg(debug_assertions)]
pub use armed::{half_of, in_use, reached};

#[cfg(debug_assertions)]
mod armed {
    use std::path::Path;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::SystemTime;

    use rustix::process::{Signal, getpid, kill_process};

    use super::Point;
    use crate::{Environment, spawn};

    /// Where this process dies.
    struct Armed {
        point: Point,
        /// Times that it is still passed before.
        left: AtomicU32,
    }

    /// The name of the variable.
    const VARIABLE: &str = "HOLON_CRASH_AT";

    /// Whether a test uses them with this process: what is rare has to come often then.
    pub fn in_use() -> bool {
        static IN_USE: OnceLock<bool> = OnceLock::new();
        *IN_USE.get_or_init(|| Environment::of_process().get(VARIABLE).is_some())
    }

    fn armed() -> Option<&'static Armed> {
        static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
        let read = || {
            let environment = Environment::of_process();
            let (name, times) = environment.get(VARIABLE)?.split_once(':')?;
            let point = *Point::ALL.iter().find(|point| point.name() == name)?;
            Some(Armed { point, left: AtomicU32::new(times.parse().ok()?) })
        };
        ARMED.get_or_init(read).as_ref()
    }

    /// Ends the process here if this is where it shall end.
    pub fn reached(point: Point) {
        if let Some(armed) = armed().filter(|armed| armed.point == point)
            && armed.left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            die();
        }
    }

    /// Ends the process at that point once a file has changed while the work goes on.
    pub fn half_of<T>(point: Point, file: &Path, work: impl FnOnce() -> T) -> T {
        let Some(armed) = armed().filter(|armed| armed.point == point) else { return work() };
        if armed.left.fetch_sub(1, Ordering::Relaxed) != 1 {
            return work();
        }
        let (file, before) = (file.to_owned(), changed(file));
        let watching = spawn::thread("crash-point", move || watch(&file, before));
        let done = work();
        // Nothing was to be changed: the process dies at the end of it.
        drop(watching);
        die();
        done
    }

    fn watch(file: &Path, before: Option<SystemTime>) {
        while changed(file) == before {}
        die();
    }

    fn changed(file: &Path) -> Option<SystemTime> {
        file.metadata().and_then(|file| file.modified()).ok()
    }

    fn die() {
        // Nothing that is dropped or flushed may run, so this is no exit.
        kill_process(getpid(), Signal::KILL).unwrap_or_default();
    }
}
