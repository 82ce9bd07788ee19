//! The driver's end of the writing thread: it hands over batches, and hears what became of them.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use holon_core::{AgentId, Durable, StepSeq};
use holon_platform::spawn;
use holon_text::Texts;
use tokio::sync::mpsc::{UnboundedReceiver, error::TryRecvError, unbounded_channel};

use super::append::Ledger;
use super::batch::Batch;
use super::error::LedgerError;
use super::locked::Holders;
use super::reserve::Reserve;
use super::thread::{Disk, Thread};

/// Calls of the host that one transaction takes at most, and that may be under way before the driver waits.
pub const GROUP_STEPS: usize = 256;

/// Bytes that one transaction takes at most, and that may be under way before the driver waits.
pub const GROUP_BYTES: usize = 8 << 20;

/// Batches under way at most; the driver stays far below when it heeds [`Writer::has_room`].
const BATCHES: usize = 4 * GROUP_STEPS;

/// What the writer has to say.
#[derive(Debug)]
pub enum Report {
    /// Every step through this one is on disk.
    Durable(Durable),
    /// Nothing can be written; the writer goes on trying. New input is to be refused until
    /// [`Report::Recovered`]; on a full disk a batch that is [`Batch::urgent`] still finds room.
    Stalled(Stall),
    /// The steps through this one were handed over, and there is no room for them: they wait.
    Waits(StepSeq),
    /// The state of an agent goes to the disk, which takes so many bytes as text.
    Packed { agent: AgentId, bytes: usize },
    /// It can be written again, and the reserve is back.
    Recovered,
    /// The ledger takes nothing more; the runtime ends. Nothing that was not reported is durable for sure.
    Failed(LedgerError),
}

/// Why nothing can be written for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stall {
    /// The disk has no room.
    Full,
    /// Other processes hold locks on the ledger.
    Locked { by: Holders },
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the disk of the ledger is full; waiting for room"),
            Self::Locked { by } => write!(f, "the ledger is locked by {by}; waiting until it lets go of it"),
        }
    }
}

/// The driver's end of the writing thread.
#[derive(Debug)]
pub struct Writer {
    batches: SyncSender<Batch>,
    reports: UnboundedReceiver<Message>,
    thread: JoinHandle<Result<(), LedgerError>>,
    under_way: Load,
    #[cfg(test)]
    still: Option<super::stand_still::StandStill>,
}

/// A measure of batches: calls of the host, and bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    pub(super) calls: usize,
    pub(super) bytes: usize,
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) report: Report,
    pub(super) done: Load,
}

impl Writer {
    /// Starts the thread. Texts leave `texts`' memory as they become durable. A reserve of
    /// [`super::RESERVE_BYTES`] is kept in `home`; none for a run that takes no input after its first.
    pub fn start(ledger: Ledger, home: Option<&Path>, texts: Texts) -> io::Result<Self> {
        Self::start_on(ledger, Reserve::new(home), texts)
    }

    fn start_on(disk: impl Disk, reserve: Reserve, texts: Texts) -> io::Result<Self> {
        let (batches, inbox) = sync_channel(BATCHES);
        let (outbox, reports) = unbounded_channel();
        let work = Thread::new(disk, reserve, texts, inbox, outbox);
        let thread = spawn::thread("ledger", move || work.run())?;
        Ok(Self {
            batches,
            reports,
            thread,
            under_way: Load::default(),
            #[cfg(test)]
            still: Some(super::stand_still::StandStill::default()),
        })
    }

    /// Whether the driver may make another step. An urgent one may go twice as far ahead of the disk.
    pub fn has_room(&self, urgent: bool) -> bool {
        let times = if urgent { 2 } else { 1 };
        self.under_way.calls < times * GROUP_STEPS && self.under_way.bytes < times * GROUP_BYTES
    }

    /// Hands a batch over; batches become durable in the order in which they are sent. Never blocks.
    ///
    /// # Errors
    /// When the writer has ended, or the driver did not heed [`Writer::has_room`].
    pub fn send(&mut self, batch: Batch) -> Result<(), LedgerError> {
        let load = Load::of(&batch);
        match self.batches.try_send(batch) {
            Ok(()) => {
                self.under_way.calls += load.calls;
                self.under_way.bytes += load.bytes;
                #[cfg(test)]
                self.stand_still(true);
                Ok(())
            }
            Err(TrySendError::Full(_)) => Err(LedgerError::Overrun { limit: BATCHES }),
            Err(TrySendError::Disconnected(_)) => Err(LedgerError::WriterEnded),
        }
    }

    /// The next report; dropping the future loses none.
    pub async fn report(&mut self) -> Report {
        let message = self.reports.recv().await;
        self.take(message)
    }

    /// The next report, if there is one already.
    pub fn try_report(&mut self) -> Option<Report> {
        match self.reports.try_recv() {
            Ok(message) => Some(self.take(Some(message))),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(self.take(None)),
        }
    }

    /// Writes what is under way, and closes the ledger. Blocks until that is done; meant for the end of the
    /// process.
    ///
    /// # Errors
    /// When something that was sent could not be written.
    pub fn close(self) -> Result<(), LedgerError> {
        let Self { batches, reports, thread, .. } = self;
        drop(batches);
        let ended = thread.join().unwrap_or(Err(LedgerError::WriterEnded));
        drop(reports);
        ended
    }

    fn take(&mut self, message: Option<Message>) -> Report {
        let Some(Message { report, done }) = message else {
            #[cfg(test)]
            self.stand_still(false);
            return Report::Failed(LedgerError::WriterEnded);
        };
        self.under_way.calls = self.under_way.calls.saturating_sub(done.calls);
        self.under_way.bytes = self.under_way.bytes.saturating_sub(done.bytes);
        #[cfg(test)]
        self.stand_still(self.under_way.calls > 0);
        report
    }
}

#[cfg(test)]
impl Writer {
    /// One whose disk is full as long as that is said; simulated time passes meanwhile.
    pub(crate) fn on_a_full_disk(
        ledger: Ledger,
        full: std::sync::Arc<std::sync::atomic::AtomicBool>,
        texts: Texts,
    ) -> io::Result<Self> {
        let disk = super::testing::FullDisk { ledger, full };
        Ok(Self { still: None, ..Self::start_on(disk, Reserve::new(None), texts)? })
    }

    fn stand_still(&mut self, under_way: bool) {
        if let Some(still) = &mut self.still {
            still.during(under_way);
        }
    }
}

impl Load {
    /// One batch is one transaction, however large: it takes the room of one group, and leaves that of a stop.
    pub(super) fn of(batch: &Batch) -> Self {
        Self { calls: batch.calls.len().min(GROUP_STEPS), bytes: batch.bytes().min(GROUP_BYTES) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::super::error::AppendError;
    use holon_core::agent::external_trigger::TriggerChange;
    use holon_core::{Input, ReplyId};

    use super::super::testing::{Home, World, abort, created, id, stop};
    use super::super::verify;
    use super::*;

    /// A disk that is full as long as a condition holds, and breaks on demand.
    #[derive(Default, Clone)]
    struct Fake {
        full: Arc<AtomicBool>,
        /// Full as long as this exists.
        in_the_way: Option<PathBuf>,
        broken: Arc<AtomicBool>,
        appended: Arc<AtomicUsize>,
    }

    impl Disk for Fake {
        #[expect(clippy::disallowed_methods, reason = "a test plays the disk")]
        fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError> {
            if self.broken.load(Ordering::Relaxed) {
                let source = rusqlite::Error::InvalidQuery;
                return Err(LedgerError::Sqlite { doing: "committing a batch", source }.into());
            }
            if self.full.load(Ordering::Relaxed) || self.in_the_way.as_ref().is_some_and(|path| path.exists())
            {
                return Err(AppendError::Full);
            }
            self.appended.fetch_add(batch.steps(), Ordering::Relaxed);
            Ok(Durable::attest(batch.through.unwrap_or_default()))
        }

        fn tend(&mut self) -> Result<(), LedgerError> {
            Ok(())
        }

        fn close(self) -> Result<(), LedgerError> {
            Ok(())
        }
    }

    fn next(writer: &mut Writer) -> Report {
        for _ in 0..1_000 {
            if let Some(report) = writer.try_report() {
                return report;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no report");
    }

    fn until(writer: &mut Writer, through: StepSeq) {
        loop {
            match next(writer) {
                Report::Durable(durable) if durable.through() == through => return,
                Report::Durable(_)
                | Report::Stalled(_)
                | Report::Waits(_)
                | Report::Packed { .. }
                | Report::Recovered => {}
                Report::Failed(error) => panic!("{error}"),
            }
        }
    }

    fn start(home: &Home, world: &World, disk: &Fake) -> Writer {
        let reserve = Reserve::new(Some(home.folder.path()));
        Writer::start_on(disk.clone(), reserve, world.texts.clone()).unwrap()
    }

    #[test]
    fn what_piles_up_becomes_durable_in_order() {
        let home = Home::new();
        let World { mut host, ledger, reader, texts, .. } = home.start();
        let mut writer = Writer::start(ledger, Some(home.folder.path()), texts.clone()).unwrap();
        let mut last = StepSeq(0);
        for number in 0..100 {
            let now = holon_core::Now::default();
            let input = created(&format!("agent-{number}"));
            let call = holon_core::replay::Call::Step { now, input: input.clone() };
            let call = super::super::EncodedCall::new(&call).unwrap();
            let step = host.step(now, input);
            let mut batch = Batch::default();
            batch.step(call, &step, host.view(), &texts).unwrap();
            last = step.seq();
            assert!(writer.has_room(false));
            writer.send(batch).unwrap();
        }
        until(&mut writer, last);
        assert_eq!((writer.under_way.calls, writer.under_way.bytes), (0, 0));
        writer.close().unwrap();
        let report = verify(&reader, &mut |_| Ok(())).unwrap();
        assert_eq!(report.agents, 100);
        assert!(report.batches < 100, "{} batches", report.batches);
    }

    /// Without a further write, and nothing after it: states are compressed, stored, and the write-ahead log is cut.
    #[test]
    fn a_home_that_rests_is_tidied_once() {
        let home = Home::new();
        let World { mut host, ledger, reader, texts, .. } = home.start();
        let log = super::super::wal::path_of(&home.ledger());
        let mut writer = Writer::start(ledger, Some(home.folder.path()), texts.clone()).unwrap();
        for name in ["main", "other"] {
            let (now, input) = (holon_core::Now::default(), created(name));
            let call = holon_core::replay::Call::Step { now, input: input.clone() };
            let call = super::super::EncodedCall::new(&call).unwrap();
            let step = host.step(now, input);
            let mut batch = Batch::default();
            batch.step(call, &step, host.view(), &texts).unwrap();
            batch.snapshot(host.snapshot(&id(name)).unwrap());
            writer.send(batch).unwrap();
            until(&mut writer, step.seq());
            assert!(std::fs::metadata(&log).unwrap().len() > 0);
            let Report::Packed { agent, bytes } = next(&mut writer) else { panic!("no state") };
            assert_eq!(agent, id(name));
            for _ in 0..500 {
                if std::fs::metadata(&log).unwrap().len() == 0 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(std::fs::metadata(&log).unwrap().len(), 0, "it is cut again");
            assert_eq!(reader.load(&id(name)).unwrap().state_bytes, bytes, "the state is there");
        }
        assert!(writer.try_report().is_none());
        writer.close().unwrap();
        verify(&reader, &mut |_| Ok(())).unwrap();
    }

    /// A state goes with a later batch, or with the end.
    #[test]
    fn a_state_that_no_batch_came_for_is_stored_at_the_end() {
        let home = Home::new();
        let mut world = home.start();
        let (mut batch, step) = world.step(created("main"));
        batch.snapshot(world.host.snapshot(&id("main")).unwrap());
        let mut writer = Writer::start(world.ledger, None, world.texts.clone()).unwrap();
        writer.send(batch).unwrap();
        until(&mut writer, step.seq());
        writer.close().unwrap();
        assert!(world.reader.load(&id("main")).unwrap().snapshot.is_some());
    }

    #[test]
    fn a_full_disk_is_waited_out() {
        let home = Home::new();
        let mut world = home.start();
        let disk = Fake::default();
        disk.full.store(true, Ordering::Relaxed);
        let mut writer = start(&home, &world, &disk);
        let (batch, step) = world.step(created("main"));
        writer.send(batch).unwrap();
        assert!(matches!(next(&mut writer), Report::Stalled(Stall::Full)));
        assert!(matches!(next(&mut writer), Report::Waits(through) if through == step.seq()));
        std::thread::sleep(Duration::from_millis(250));
        assert!(writer.try_report().is_none());
        disk.full.store(false, Ordering::Relaxed);
        assert!(matches!(next(&mut writer), Report::Durable(durable) if durable.through() == step.seq()));
        assert!(matches!(next(&mut writer), Report::Recovered));
        writer.close().unwrap();
    }

    #[test]
    fn a_stop_finds_room_on_a_full_disk_and_takes_what_is_before_it_along() {
        let home = Home::new();
        let mut world = home.start();
        let reserve = home.folder.path().join("ledger.reserve");
        let disk = Fake { in_the_way: Some(reserve.clone()), ..Fake::default() };
        let mut writer = start(&home, &world, &disk);
        let (batch, first) = world.step(created("main"));
        writer.send(batch).unwrap();
        assert!(matches!(next(&mut writer), Report::Stalled(Stall::Full)));
        assert!(matches!(next(&mut writer), Report::Waits(through) if through == first.seq()));
        assert!(reserve.exists());
        let (batch, step) = world.step(stop("main"));
        assert!(batch.urgent());
        writer.send(batch).unwrap();
        // Nobody is told that a stop waits which the reserve is for.
        assert!(matches!(next(&mut writer), Report::Durable(durable) if durable.through() == step.seq()));
        assert!(matches!(next(&mut writer), Report::Recovered));
        assert!(reserve.exists(), "the reserve is back");
        writer.close().unwrap();
        assert_eq!(disk.appended.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn an_abort_and_a_revocation_find_room_as_a_stop_does() {
        let mut world = Home::new().start();
        drop(world.step(created("main")));
        assert!(world.step(abort("main")).0.urgent());
        for (change, urgent) in [(TriggerChange::Rotate, false), (TriggerChange::Revoke, true)] {
            let changed = Input::ChangeTrigger { agent: id("main"), change, reply: ReplyId(4) };
            assert_eq!(world.step(changed).0.urgent(), urgent);
        }
    }

    #[test]
    fn one_large_batch_leaves_the_room_of_a_stop() {
        let home = Home::new();
        let mut world = home.start();
        let (mut batch, _) = world.step(created("main"));
        for _ in 0..3 * GROUP_STEPS {
            batch.merge(world.step(stop("main")).0);
        }
        assert_eq!(Load::of(&batch).calls, GROUP_STEPS);
    }

    #[test]
    fn a_failure_ends_the_writer() {
        let home = Home::new();
        let mut world = home.start();
        let disk = Fake::default();
        disk.broken.store(true, Ordering::Relaxed);
        let mut writer = start(&home, &world, &disk);
        writer.send(world.step(created("main")).0).unwrap();
        assert!(matches!(next(&mut writer), Report::Failed(LedgerError::Sqlite { .. })));
        assert!(matches!(next(&mut writer), Report::Failed(LedgerError::WriterEnded)));
        disk.broken.store(false, Ordering::Relaxed);
        assert!(writer.send(world.step(created("other")).0).is_err());
        assert!(writer.close().is_err());
        assert_eq!(disk.appended.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_end_on_a_full_disk_says_that_something_is_lost() {
        let home = Home::new();
        let mut world = home.start();
        let disk = Fake::default();
        disk.full.store(true, Ordering::Relaxed);
        let mut writer = start(&home, &world, &disk);
        writer.send(world.step(created("main")).0).unwrap();
        let sooner = Writer { under_way: Load { calls: GROUP_STEPS, bytes: 0 }, ..writer };
        assert!(!sooner.has_room(false) && sooner.has_room(true));
        drop(sooner.batches);
        drop(sooner.reports);
        assert!(sooner.thread.join().unwrap().is_err());
    }
}
