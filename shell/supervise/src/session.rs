//! The life of a supervisor: it says who it is, waits for the word, works its plan off, and leaves a record.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use holon_facts::Millis;
use holon_platform::{clock, open_files, process, shield};
use holon_text::Secrets;
use rustix::process::{getpid, set_child_subreaper, setsid};

use super::control::{Control, Word};
use super::protocol::Plan;
use super::record::{self, End, ExitRecord, ItemEnd};
use super::run::{Conditions, run};
use crate::confine::{self, ConfineError};

/// Beyond its window a command may take so long to be ended, its grace aside.
const OVERTIME: u64 = 10_000;
/// How often, and in which distance, the record is tried to be written.
const ATTEMPTS: usize = 600;
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(1);

/// Supervises in this folder, with the runtime at standard input.
pub(super) fn supervise(folder: &Path) -> ExitCode {
    // Nobody is there who could be told: a runtime learns of a failure by the end of the connection.
    match try_to(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn try_to(folder: &Path) -> io::Result<()> {
    // It will be told what is secret: its own commands must not look it up.
    shield::hide_memory()?;
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    let runtime = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut control = Control::new(runtime, folder, process::own_identity()?)?;
    let mut record = match control.wait_for_go()? {
        Word::Go(plan, hidden) => {
            plan.open_files.map_or(Ok(()), open_files::lower)?;
            if plan.tied {
                control.tie();
            }
            if let Some(lease) = plan.lease.clone() {
                control.lease(lease);
            }
            // Where there is none to keep, the record tries to do without.
            record::reserve(folder, &plan).ok();
            let items = match hold_back(&plan, folder) {
                Ok(()) => work_off(&mut control, &plan, &Arc::new(hidden.secrets()), folder),
                Err(problem) => not_started(&plan, &problem),
            };
            ExitRecord { plan: Some(*plan), items }
        }
        // Nobody will ask.
        Word::Dismissed => return fs::remove_dir_all(folder),
        Word::Silence => ExitRecord { plan: None, items: Vec::new() },
    };
    write(&mut record, folder, &mut control)?;
    // Whoever waits need not wait for the disk, too: what it has been told it puts on record itself.
    control.send_end();
    record::keep(folder)
}

/// A supervisor writes into folders that its commands can put links into: it can write no more than they can, its own
/// folder aside.
fn hold_back(plan: &Plan, folder: &Path) -> Result<(), ConfineError> {
    let Some(policy) = &plan.confine else { return Ok(()) };
    let own = folder.canonicalize()?;
    let writable: Vec<PathBuf> = policy.writable.iter().cloned().chain([own]).collect();
    confine::hold_back_writes(&writable)
}

fn not_started(plan: &Plan, problem: &ConfineError) -> Vec<ItemEnd> {
    let end = || ItemEnd::without_output(End::NotStarted { problem: problem.to_string() });
    plan.items.iter().map(|_| end()).collect()
}

/// Nothing but the record knows how the command ended: a disk without room for it is waited for. Any other
/// problem stays one; where the folder is gone, nobody wants to know any more.
fn write(record: &mut ExitRecord, folder: &Path, control: &mut Control) -> io::Result<()> {
    for _ in 0..ATTEMPTS {
        match record.write(folder) {
            Err(problem) if matches!(problem.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {}
            written => return written,
        }
        control.wait_after_the_end(BETWEEN_ATTEMPTS);
    }
    record.write(folder)
}

fn work_off(control: &mut Control, plan: &Plan, secrets: &Arc<Secrets>, folder: &Path) -> Vec<ItemEnd> {
    let began = clock::now();
    let mut ends: Vec<ItemEnd> = Vec::with_capacity(plan.items.len());
    let mut over = false;
    for (at, item) in plan.items.iter().enumerate() {
        let left = plan.total_ms.map(|total| total.saturating_sub(clock::since(began).0));
        let end = if over || (at > 0 && left == Some(0)) {
            ItemEnd::without_output(End::NotRun)
        } else if let Some(refused) = &item.refused {
            ItemEnd::without_output(End::NotStarted { problem: refused.message.clone() })
        } else {
            let later = &plan.items[at + 1..];
            let later = later.iter().map(|item| Some(item.window_ms? + plan.grace_ms + OVERTIME)).sum();
            let window = item.window_ms.into_iter().chain(left).min().map(Millis);
            let (grace, confine) = (Millis(plan.grace_ms), plan.confine.as_ref());
            let conditions = Conditions { folder, window, grace, later, confine, secrets };
            run(control, item, &conditions)
        };
        over |= end.end == End::Stopped || (plan.stop_on_error && !end.succeeded());
        ends.push(end);
    }
    ends
}
