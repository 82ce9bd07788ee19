//! One command from its start to the end of everything that it has started.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use holon_core::{Millis, Mono};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::capture::Capture;
use super::control::{Control, Wish};
use super::log::{self, Log};
use super::protocol::Item;
use super::record::{End, ItemEnd, Remains};
use super::tree::Tree;
use super::{child, process, record};
use crate::clock;

/// How long output and what was left behind is waited for after the command itself has ended.
const DRAIN: Millis = Millis::seconds(2);
/// Time for what was left behind to end, once it is asked to.
const SHORT_GRACE: Millis = Millis::seconds(1);
/// Time for the kernel to end what was killed.
const KILLED: Millis = Millis::seconds(5);
const CHUNK: usize = 64 << 10;
/// Bytes that are kept of head and tail of a stream: more than can be shown of it, in the widest characters.
const KEEP: std::ops::RangeInclusive<usize> = (4 << 10)..=(512 << 10);

/// Where a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running {
        until: Mono,
    },
    /// It has ended; its output and those whom it left behind may still end by themselves.
    Draining {
        until: Mono,
    },
    /// Everybody was asked to end.
    Ending {
        until: Mono,
    },
    /// Everybody who comes up is killed.
    Killing {
        until: Mono,
    },
    /// Nobody is left; what they wrote is still read.
    Flushing {
        until: Mono,
    },
    Over,
}

struct Run<'a> {
    control: &'a mut Control,
    /// Milliseconds that the items after this one may still take.
    later: u64,
    tree: Tree,
    phase: Phase,
    /// Set when it did not end by itself.
    forced: Option<End>,
    window: Millis,
    grace: Millis,
    streams: [Stream; 2],
    log: Log,
    remains: Remains,
    buffer: Vec<u8>,
}

struct Stream {
    source: Option<File>,
    capture: Capture,
}

/// What one item is run with.
pub(super) struct Conditions<'a> {
    pub(super) folder: &'a Path,
    pub(super) window: Millis,
    pub(super) grace: Millis,
    pub(super) later: u64,
}

/// Runs it to its end.
pub(super) fn run(control: &mut Control, item: &Item, conditions: &Conditions<'_>) -> ItemEnd {
    let began = clock::now();
    let started = match start(item, conditions.folder) {
        Ok(started) => started,
        Err(problem) => {
            return ItemEnd::without_output(End::NotStarted { problem: problem.to_string() });
        }
    };
    let (main, child::Started { stdout, stderr, .. }) = started;
    let keep = item.budget.saturating_mul(2).clamp(*KEEP.start(), *KEEP.end());
    let stream = |source: Option<OwnedFd>| Stream {
        source: source.map(File::from),
        capture: Capture::new(keep, item.tty),
    };
    let mut run = Run {
        control,
        later: conditions.later,
        tree: Tree::of(main),
        phase: Phase::Running { until: began.mono.after(conditions.window) },
        forced: None,
        window: conditions.window,
        grace: conditions.grace,
        streams: [stream(stdout), stream(stderr)],
        log: Log::new(&item.log, conditions.folder, log::LIMIT),
        remains: Remains::default(),
        buffer: vec![0; CHUNK],
    };
    run.work();
    let duration_ms = clock::since(began).0;
    let Run { tree, forced, streams, log, remains, .. } = run;
    let end = forced.unwrap_or(End::Exited { status: tree.status.unwrap_or(-1) });
    let [stdout, stderr] = streams.map(|stream| stream.capture.finish());
    ItemEnd { end, duration_ms, stdout, stderr, remains, log_problem: log.finish() }
}

/// Leaves a mark before anything is executed, so that its absence proves that nothing was.
fn start(item: &Item, folder: &Path) -> io::Result<(rustix::process::Pid, child::Started)> {
    record::mark_started(folder)?;
    let started = child::start(item)?;
    if let Some(stat) = process::stat(started.pid) {
        record::name_started(folder, stat.pid, stat.started)?;
    }
    let main = process::pid(started.pid).ok_or_else(|| io::Error::other("the process has no id"))?;
    Ok((main, started))
}

impl Run<'_> {
    fn work(&mut self) {
        loop {
            self.tree.reap();
            while self.advance() {}
            if self.phase == Phase::Over {
                return;
            }
            self.tree.watch_all();
            self.wait();
            self.read();
            if let Some(wish) = self.control.listen(self.remaining()) {
                self.obey(wish);
            }
        }
    }

    /// Takes the phase one step on; says whether it did.
    fn advance(&mut self) -> bool {
        let now = clock::now().mono;
        let silent = self.streams.iter().all(|stream| stream.source.is_none());
        let ended = self.tree.status.is_some();
        let empty = self.tree.empty;
        let before = self.phase;
        self.phase = match before {
            Phase::Running { .. } if ended => Phase::Draining { until: now.after(DRAIN) },
            Phase::Running { until } if now >= until => {
                self.force(End::TimedOut { window_ms: self.window.0 }, now)
            }
            Phase::Draining { .. } if empty && silent => Phase::Over,
            Phase::Draining { until } if now >= until && empty => {
                self.remains.output = true;
                Phase::Over
            }
            Phase::Draining { until } if now >= until => {
                self.remains.processes = true;
                self.tree.signal(Signal::TERM);
                Phase::Ending { until: now.after(SHORT_GRACE.min(self.grace)) }
            }
            Phase::Ending { .. } | Phase::Killing { .. } if empty => {
                Phase::Flushing { until: now.after(DRAIN) }
            }
            Phase::Ending { until } if now >= until => self.kill(now),
            Phase::Killing { until } if now >= until => {
                self.remains.unkillable = true;
                Phase::Over
            }
            Phase::Killing { .. } => {
                self.tree.signal(Signal::KILL);
                before
            }
            Phase::Flushing { .. } if silent => Phase::Over,
            Phase::Flushing { until } if now >= until => Phase::Over,
            Phase::Running { .. }
            | Phase::Draining { .. }
            | Phase::Ending { .. }
            | Phase::Flushing { .. }
            | Phase::Over => before,
        };
        self.phase != before
    }

    fn force(&mut self, end: End, now: Mono) -> Phase {
        self.forced = Some(end);
        self.tree.signal(Signal::TERM);
        Phase::Ending { until: now.after(self.grace) }
    }

    fn kill(&mut self, now: Mono) -> Phase {
        self.tree.signal(Signal::KILL);
        Phase::Killing { until: now.after(KILLED) }
    }

    fn obey(&mut self, wish: Wish) {
        let now = clock::now().mono;
        let stopped = match self.phase {
            Phase::Running { .. } => self.force(End::Stopped, now),
            Phase::Draining { .. } => {
                self.tree.signal(Signal::TERM);
                Phase::Ending { until: now.after(self.grace) }
            }
            Phase::Ending { .. } | Phase::Killing { .. } | Phase::Flushing { .. } | Phase::Over => self.phase,
        };
        self.phase = match stopped {
            Phase::Ending { .. } if wish == Wish::StopNow => self.kill(now),
            Phase::Running { .. }
            | Phase::Draining { .. }
            | Phase::Ending { .. }
            | Phase::Killing { .. }
            | Phase::Flushing { .. }
            | Phase::Over => stopped,
        };
    }

    fn until(&self) -> Option<Mono> {
        match self.phase {
            Phase::Running { until }
            | Phase::Draining { until }
            | Phase::Ending { until }
            | Phase::Killing { until }
            | Phase::Flushing { until } => Some(until),
            Phase::Over => None,
        }
    }

    /// Milliseconds after which everything is over, whatever the command does.
    fn remaining(&self) -> u64 {
        let phase = self.until().map_or(0, |until| clock::now().mono.until(until).0);
        phase + self.grace.0 + 2 * DRAIN.0 + KILLED.0 + SHORT_GRACE.0 + self.later
    }

    /// Sleeps until something happens or the phase is over.
    fn wait(&self) {
        let wait = self.until().map_or(0, |until| clock::now().mono.until(until).0);
        let streams = self.streams.iter().filter_map(|stream| stream.source.as_ref());
        let watched: Vec<BorrowedFd<'_>> = streams
            .map(AsFd::as_fd)
            .chain(self.tree.watched().map(AsFd::as_fd))
            .chain(self.control.watched())
            .collect();
        let mut watched: Vec<PollFd<'_>> =
            watched.iter().map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN)).collect();
        let timeout = Timespec {
            tv_sec: i64::try_from(wait / 1_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(wait % 1_000 * 1_000_000).unwrap_or_default(),
        };
        // An interruption is as good a reason to look as any.
        poll(&mut watched, Some(&timeout)).ok();
    }

    /// Takes what has come, at most one chunk of each stream: endless output must not hold up the rest.
    fn read(&mut self) {
        for stream in &mut self.streams {
            let Some(source) = &mut stream.source else { continue };
            if !readable(source) {
                continue;
            }
            match source.read(&mut self.buffer) {
                Ok(count @ 1..) => {
                    let bytes = &self.buffer[..count];
                    self.log.push(bytes);
                    stream.capture.push(bytes);
                }
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                // A terminal whose other side is closed fails; a pipe ends.
                Ok(0) | Err(_) => stream.source = None,
            }
        }
    }
}

fn readable(source: &File) -> bool {
    let mut polled = [PollFd::new(source, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0)
}
