//! One command from its start to the end of everything that it has started.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use holon_facts::{Millis, Mono};
use holon_platform::{clock, process};
use holon_text::{Redactor, Secrets};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::Signal;

use super::child;
use super::control::{Control, Received, Wish};
use super::input::{self, Input};
use super::log::Log;
use super::phase::{DRAIN, KILLED, Phase, SHORT_GRACE};
use super::protocol::Item;
use super::record::{self, End, ItemEnd, Leftovers};
use super::stream::Stream;
use super::tree::Tree;
use crate::confine::Policy;

const CHUNK: usize = 64 << 10;
/// Small pieces of output come together for so long; a pipe takes what comes meanwhile.
const TOGETHER: Millis = Millis(3);
/// Bytes that are kept of head and tail of a stream: more than can be shown of it, in the widest characters.
const KEEP: std::ops::RangeInclusive<usize> = (4 << 10)..=(512 << 10);
/// While everybody is to end, those who have come up since are looked for so often; and those who have ended, where nothing
/// reports them.
const LOOK_AGAIN: Millis = Millis(100);

struct Run<'a> {
    control: &'a mut Control,
    /// Milliseconds that the items after this one may still take; none where they have no window.
    later: Option<u64>,
    tree: Tree,
    phase: Phase,
    /// Set when it did not end by itself.
    forced: Option<End>,
    window: Option<Millis>,
    grace: Millis,
    streams: [Stream; 2],
    input: Input,
    log: Log,
    remains: Leftovers,
    buffer: Vec<u8>,
    /// Until then little output comes together.
    together: Option<Mono>,
}

/// What one item is run with.
pub(super) struct Conditions<'a> {
    pub(super) folder: &'a Path,
    /// Time that it has; none: as long as it takes.
    pub(super) window: Option<Millis>,
    pub(super) grace: Millis,
    pub(super) later: Option<u64>,
    pub(super) confine: Option<&'a Policy>,
    /// What of the output reaches neither log nor record.
    pub(super) secrets: &'a Arc<Secrets>,
}

/// Runs it to its end.
pub(super) fn run(control: &mut Control, item: &Item, conditions: &Conditions<'_>) -> ItemEnd {
    let began = clock::now();
    if control.lease_left() == Some(Millis(0)) {
        let problem = "another node may own the ledger by now".to_owned();
        return ItemEnd::without_output(End::NotStarted { problem });
    }
    let started = match start(item, conditions) {
        Ok(started) => started,
        Err(problem) => {
            return ItemEnd::without_output(End::NotStarted { problem: problem.to_string() });
        }
    };
    let Started { main, stdout, stderr, input } = started;
    let keep = item.budget.saturating_mul(2).clamp(*KEEP.start(), *KEEP.end());
    let stream = |source| Stream::new(source, keep, item.tty, Redactor::new(conditions.secrets.clone()));
    let mut run = Run {
        control,
        later: conditions.later,
        tree: Tree::of(main),
        phase: Phase::Running { until: conditions.window.map(|window| began.mono.after(window)) },
        forced: None,
        window: conditions.window,
        grace: conditions.grace,
        streams: [stream(stdout), stream(stderr)],
        input,
        log: Log::new(&item.log, item.log_bytes),
        remains: Leftovers::default(),
        buffer: vec![0; CHUNK],
        together: None,
    };
    run.work();
    let duration_ms = clock::since(began).0;
    let Run { tree, forced, streams, mut log, remains, .. } = run;
    let end = forced.unwrap_or(End::Exited { status: tree.status.unwrap_or(-1) });
    let [stdout, stderr] = streams.map(|stream| stream.finish(&mut log));
    ItemEnd { end, duration_ms, stdout, stderr, remains, log_problem: log.finish() }
}

struct Started {
    main: rustix::process::Pid,
    stdout: Option<File>,
    stderr: Option<File>,
    input: Input,
}

/// Leaves a mark before anything is executed, so that its absence proves that nothing was.
fn start(item: &Item, conditions: &Conditions<'_>) -> io::Result<Started> {
    let folder = conditions.folder;
    record::mark_started(folder)?;
    let child::Started { pid, stdout, stderr, input } = child::start(item, conditions.confine)?;
    // From here on it runs, whatever else fails.
    if let Some(stat) = process::stat(pid) {
        // Without room on the disk the mark stays without a name.
        record::name_started(folder, stat.pid, stat.started).ok();
    }
    let main = process::pid(pid).ok_or_else(|| io::Error::other("the process has no id"))?;
    // None of them may ever hold up the others.
    let [stdout, stderr, input] =
        [stdout, stderr, input].map(|end| end.filter(|end| ioctl_fionbio(end, true).is_ok()).map(File::from));
    Ok(Started { main, stdout, stderr, input: Input::new(input) })
}

impl Run<'_> {
    fn work(&mut self) {
        loop {
            self.settle();
            if self.phase == Phase::Over {
                let unwritten = self.input.close(input::ENDED);
                return self.control.answer(unwritten);
            }
            self.tree.signal_newcomers();
            let lease = self.keep_to_lease();
            let spoken = self.wait(lease);
            self.read();
            self.receive(spoken);
        }
    }

    /// Ends the command with its lease; says when to look again.
    fn keep_to_lease(&mut self) -> Option<Mono> {
        let left = self.control.lease_left()?;
        match self.phase {
            Phase::Running { .. } | Phase::Draining { .. } if left == Millis(0) => {
                self.grace = self.grace.min(SHORT_GRACE);
                self.obey(Wish::Stop);
                None
            }
            Phase::Running { .. } | Phase::Draining { .. } => Some(clock::now().mono.after(left)),
            Phase::Ending { .. } | Phase::Killing { .. } | Phase::Flushing { .. } | Phase::Over => None,
        }
    }

    /// Takes note of what has happened, and goes as far as that leads.
    fn settle(&mut self) {
        self.tree.reap();
        while self.advance() {}
    }

    /// Takes the phase one step on; says whether it did.
    fn advance(&mut self) -> bool {
        let now = clock::now().mono;
        let silent = self.streams.iter().all(|stream| stream.source.is_none());
        let ended = self.tree.status.is_some();
        let empty = self.tree.empty;
        let before = self.phase;
        let over = before.until().is_some_and(|until| now >= until);
        self.phase = match before {
            Phase::Running { .. } if ended => Phase::Draining { until: now.after(DRAIN) },
            Phase::Running { .. } if over => {
                let window_ms = self.window.unwrap_or_default().0;
                self.force(End::TimedOut { window_ms }, now)
            }
            Phase::Draining { .. } if empty && silent => Phase::Over,
            Phase::Draining { .. } if over && empty => {
                self.remains.output = true;
                Phase::Over
            }
            Phase::Draining { .. } if over => {
                self.remains.processes = true;
                self.tree.signal(Signal::TERM);
                Phase::Ending { until: now.after(SHORT_GRACE.min(self.grace)) }
            }
            Phase::Ending { .. } | Phase::Killing { .. } if empty => {
                Phase::Flushing { until: now.after(DRAIN) }
            }
            Phase::Ending { .. } if over => self.kill(now),
            Phase::Killing { .. } if over => {
                self.remains.unkillable = true;
                Phase::Over
            }
            Phase::Killing { .. } => {
                self.tree.signal(Signal::KILL);
                before
            }
            Phase::Flushing { .. } if silent => Phase::Over,
            Phase::Flushing { .. } if over => {
                self.remains.output = true;
                Phase::Over
            }
            Phase::Running { .. }
            | Phase::Draining { .. }
            | Phase::Ending { .. }
            | Phase::Flushing { .. }
            | Phase::Over => before,
        };
        if ended && matches!(before, Phase::Running { .. }) {
            // Whoever it left gets no more input either.
            let unwritten = self.input.close(input::ENDED);
            self.control.answer(unwritten);
        }
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
            // It has ended by itself: that stays its end.
            Phase::Draining { .. } => {
                self.tree.signal(Signal::TERM);
                Phase::Ending { until: now.after(self.grace) }
            }
            Phase::Ending { .. } | Phase::Killing { .. } | Phase::Flushing { .. } | Phase::Over => self.phase,
        };
        self.phase = match stopped {
            Phase::Ending { .. } if wish == Wish::StopNow => self.kill(now),
            Phase::Flushing { .. } if wish == Wish::StopNow => Phase::Flushing { until: now },
            Phase::Running { .. }
            | Phase::Draining { .. }
            | Phase::Ending { .. }
            | Phase::Killing { .. }
            | Phase::Flushing { .. }
            | Phase::Over => stopped,
        };
    }

    /// Milliseconds after which everything is over, whatever the command does; none while only it knows.
    fn remaining(&self) -> Option<u64> {
        let phase = match self.phase {
            Phase::Running { until: None } => return None,
            Phase::Running { until: Some(until) }
            | Phase::Draining { until }
            | Phase::Ending { until }
            | Phase::Killing { until }
            | Phase::Flushing { until } => clock::now().mono.until(until).0,
            Phase::Over => 0,
        };
        Some(phase + self.grace.0 + 2 * DRAIN.0 + KILLED.0 + SHORT_GRACE.0 + self.later?)
    }

    /// Sleeps until something happens or is over; says whether a runtime may have spoken.
    fn wait(&self, lease: Option<Mono>) -> bool {
        let now = clock::now().mono;
        let looks = match self.phase {
            Phase::Ending { .. } | Phase::Killing { .. } => true,
            Phase::Running { .. } | Phase::Draining { .. } | Phase::Flushing { .. } | Phase::Over => false,
        };
        let again = (looks || self.tree.ends().is_none()).then(|| now.after(LOOK_AGAIN));
        // Once the command has ended nothing more is waited for.
        let running = matches!(self.phase, Phase::Running { .. });
        let together = self.together.filter(|until| running && now < *until);
        let until =
            [self.phase.until(), self.input.until(), again, together, lease].into_iter().flatten().min();
        let streams = self.streams.iter().filter_map(|stream| stream.source.as_ref());
        let streams = streams.filter(|_| together.is_none());
        let spoken: Vec<BorrowedFd<'_>> = self.control.watched().collect();
        let runtimes = spoken.len();
        let sources: Vec<BorrowedFd<'_>> = spoken
            .into_iter()
            .chain(streams.map(AsFd::as_fd))
            .chain(self.tree.ends().map(AsFd::as_fd))
            .collect();
        let readable = sources.iter().map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN));
        let writable = self.input.watched().map(|sink| PollFd::from_borrowed_fd(sink, PollFlags::OUT));
        let mut watched: Vec<PollFd<'_>> = readable.chain(writable).collect();
        let timeout = until.map(|until| {
            let wait = now.until(until).0;
            Timespec {
                tv_sec: i64::try_from(wait / 1_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(wait % 1_000 * 1_000_000).unwrap_or_default(),
            }
        });
        // An interruption is as good a reason to look as any.
        poll(&mut watched, timeout.as_ref()).is_err()
            || watched[..runtimes].iter().any(|source| !source.revents().is_empty())
    }

    /// Takes what has come, at most one chunk of each stream: endless output must not hold up the rest.
    fn read(&mut self) {
        let streams = self.streams.iter_mut();
        let small = streams.filter_map(|stream| stream.read(&mut self.buffer, &mut self.log));
        let together = small.reduce(|all, small| all && small) == Some(true);
        self.together = together.then(|| clock::now().mono.after(TOGETHER));
    }

    /// Does what runtimes have said. Endless output does not ask them each time.
    fn receive(&mut self, spoken: bool) {
        let received = if spoken { self.control.listen() } else { Received::default() };
        let now = clock::now().mono;
        let refused: Vec<_> =
            received.inputs.into_iter().filter_map(|given| self.input.take(given, now)).collect();
        self.control.answer(refused);
        let answers = self.input.write(now);
        self.control.answer(answers);
        if let Some(wish) = received.wish {
            // One that has ended in the meantime has its own end.
            self.settle();
            self.obey(wish);
        }
        if !received.asked.is_empty() {
            self.control.present(received.asked, self.remaining());
        }
    }
}
