//! The exit record: what became of a plan. It is durable before its supervisor ends, and the only thing that
//! a runtime believes about the end of a command.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};

use super::capture::Kept;
use super::protocol::Plan;
use super::{RECORD, STARTED};

const DRAFT: &str = "exit.json.new";
/// Bytes that the end of a command takes without its output, its problems included.
const RESERVE_BYTES: u64 = 4 << 10;
/// Largest record that is read.
const BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// What was executed; none when the word to go was never given.
    pub plan: Option<Plan>,
    /// One for each item that had its turn, in order.
    pub items: Vec<ItemEnd>,
}

/// How one command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemEnd {
    pub end: End,
    pub duration_ms: u64,
    pub stdout: Kept,
    /// Empty for a command with a terminal.
    pub stderr: Kept,
    pub remains: Leftovers,
    /// Why the log is not the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// The status; 128 and the signal's number when a signal ended it.
    Exited { status: i32 },
    /// After so long.
    TimedOut { window_ms: u64 },
    /// Somebody asked for the end.
    Stopped,
    /// It could not be started.
    NotStarted { problem: String },
    /// An earlier item failed, or there was no time left.
    NotRun,
}

/// What a command left behind when it ended by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftovers {
    /// Processes that had to be ended.
    #[serde(default)]
    pub processes: bool,
    /// Somebody outside of its tree still held its output.
    #[serde(default)]
    pub output: bool,
    /// Something did not end even when it was killed.
    #[serde(default)]
    pub unkillable: bool,
}

impl ItemEnd {
    /// Of a command without output.
    pub(super) fn without_output(end: End) -> Self {
        Self {
            end,
            duration_ms: 0,
            stdout: Kept::default(),
            stderr: Kept::default(),
            remains: Leftovers::default(),
            log_problem: None,
        }
    }

    fn forget_output(&mut self, problem: &io::Error) {
        for kept in [&mut self.stdout, &mut self.stderr] {
            (kept.head, kept.tail) = (String::new(), String::new());
        }
        let why = || format!("the output is not shown, there was no space to keep it: {problem}");
        self.log_problem.get_or_insert_with(why);
    }

    pub fn succeeded(&self) -> bool {
        self.end == End::Exited { status: 0 }
    }
}

impl ExitRecord {
    /// Writes it so that it is there wholly or not at all for whoever looks. Where the disk has no room for all of it,
    /// without the output: how a command ended must not be lost to what it printed.
    pub(super) fn write(&mut self, folder: &Path) -> io::Result<()> {
        self.try_to_write(folder).or_else(|problem| {
            for item in &mut self.items {
                item.forget_output(&problem);
            }
            self.try_to_write(folder)
        })
    }

    fn try_to_write(&self, folder: &Path) -> io::Result<()> {
        let draft = folder.join(DRAFT);
        let json = serde_json::to_vec(self)?;
        let mut file = draft_at(&draft)?;
        file.write_all(&json)?;
        // Without what is left of the room that was kept.
        file.set_len(json.len() as u64)?;
        fs::rename(draft, folder.join(RECORD))
    }

    /// The record of a supervisor; none when it left none.
    ///
    /// # Errors
    /// When it can't be read: it is not believed in part.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(folder.join(RECORD)) {
            Ok(file) => file,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(problem) => return Err(problem),
        };
        let mut json = Vec::new();
        file.take(BYTES).read_to_end(&mut json)?;
        Ok(Some(holon_facts::json::read(&json)?))
    }
}

/// A record that was written outlives the machine. Where it is gone, somebody has read it and has it on record.
pub(super) fn keep(folder: &Path) -> io::Result<()> {
    let kept = File::open(folder.join(RECORD)).and_then(|file| {
        file.sync_data()?;
        File::open(folder)?.sync_all()
    });
    match kept {
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(()),
        kept => kept,
    }
}

/// Keeps room on the disk for a record of this plan without output: the command may be what fills it.
pub(super) fn reserve(folder: &Path, plan: &Plan) -> io::Result<()> {
    let plan_bytes = serde_json::to_vec(plan)?.len() as u64;
    let bytes = plan_bytes + RESERVE_BYTES * (plan.items.len() as u64 + 1);
    Ok(fallocate(&draft_at(&folder.join(DRAFT))?, FallocateFlags::empty(), 0, bytes)?)
}

fn draft_at(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Says that from now on something is executed.
pub(super) fn mark_started(folder: &Path) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.join(STARTED))
        .map(drop)
}

/// Says which process the command is.
pub(super) fn name_started(folder: &Path, pid: u32, started: u64) -> io::Result<()> {
    fs::write(folder.join(STARTED), format!("{pid} {started}"))
}

/// Whether a supervisor began to execute, and the process that its command became, where that is known.
pub fn started(folder: &Path) -> Option<Option<(u32, u64)>> {
    let text = fs::read_to_string(folder.join(STARTED)).ok()?;
    let (pid, started) = text.split_once(' ').unwrap_or_default();
    Some(pid.parse().ok().zip(started.parse().ok()))
}
