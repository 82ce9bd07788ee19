//! The driver's end of the writing thread: it hands over batches, and hears what became of them.

use std::io;
use std::path::Path;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::view::View;
use holon_platform::spawn;
use holon_text::Texts;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::append::Ledger;
use super::reserve::Reserve;
use super::thread::{Disk, Thread};
use crate::error::LedgerError;
use crate::load::Load;
use crate::report::{Message, Report};
use crate::rows::batch::{Batch, EncodedCall};
#[cfg(any(test, feature = "testing"))]
use crate::store::Batch as _;
use crate::store::LedgerWriter;

/// Batches under way at most; the driver stays far below when it heeds its bounds.
const BATCHES: usize = 4 * Load::GROUP.calls;

/// The driver's end of the writing thread.
pub struct Writer {
    batches: SyncSender<Batch>,
    reports: UnboundedReceiver<Message<LedgerError>>,
    thread: JoinHandle<Result<(), LedgerError>>,
    texts: Texts,
    #[cfg(any(test, feature = "testing"))]
    still: Option<super::stand_still::StandStill>,
}

impl Writer {
    /// Starts the thread. Texts leave `texts`' memory as they become durable. A reserve of
    /// [`super::RESERVE_BYTES`] is kept in `home`; none for a run that takes no input after its first.
    pub fn start(ledger: Ledger, home: Option<&Path>, texts: Texts) -> io::Result<Self> {
        Self::start_on(ledger, Reserve::new(home), texts)
    }

    /// One that writes elsewhere than to a file of this machine; a reserve is not kept.
    #[cfg(feature = "postgres")]
    pub(crate) fn start_on_disk(disk: impl Disk, texts: Texts) -> io::Result<Self> {
        Self::start_on(disk, Reserve::new(None), texts)
    }

    fn start_on(disk: impl Disk, reserve: Reserve, texts: Texts) -> io::Result<Self> {
        let (batches, inbox) = sync_channel(BATCHES);
        let (outbox, reports) = unbounded_channel();
        let work = Thread::new(disk, reserve, texts.clone(), inbox, outbox);
        let thread = spawn::thread("ledger", move || work.run())?;
        Ok(Self {
            batches,
            reports,
            thread,
            texts,
            #[cfg(any(test, feature = "testing"))]
            still: None,
        })
    }

    /// The next report; dropping the future loses none.
    pub async fn report(&mut self) -> Message<LedgerError> {
        let message = self.reports.recv().await;
        self.take(message)
    }

    /// The next report, if there is one already.
    pub fn try_report(&mut self) -> Option<Message<LedgerError>> {
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

    fn take(&mut self, message: Option<Message<LedgerError>>) -> Message<LedgerError> {
        let ended = || Message { report: Report::Failed(LedgerError::WriterEnded), done: Load::GROUP };
        let message = message.unwrap_or_else(ended);
        #[cfg(any(test, feature = "testing"))]
        if let Some(still) = &mut self.still {
            still.done(message.done);
        }
        message
    }
}

#[cfg(any(test, feature = "testing"))]
impl Writer {
    /// The clock of a test stands still while something is under way.
    #[must_use]
    pub fn standing_still(self) -> Self {
        Self { still: Some(super::stand_still::StandStill::default()), ..self }
    }

    /// One whose disk is full as long as that is said; simulated time passes meanwhile.
    pub fn on_a_full_disk(
        ledger: Ledger,
        full: std::sync::Arc<std::sync::atomic::AtomicBool>,
        texts: Texts,
    ) -> io::Result<Self> {
        let disk = super::testing::FullDisk { ledger, full };
        Self::start_on(disk, Reserve::new(None), texts)
    }

    fn stand_still(&mut self, load: Load) {
        if let Some(still) = &mut self.still {
            still.begun(load.within(Load::GROUP));
        }
    }
}

impl LedgerWriter for Writer {
    type Error = LedgerError;
    type Call = EncodedCall;
    type Batch = Batch;

    fn encode(&self, call: &Call) -> Result<EncodedCall, LedgerError> {
        EncodedCall::new(call)
    }

    fn call(&self, batch: &mut Batch, call: EncodedCall) {
        batch.call(call);
    }

    fn step(
        &self,
        batch: &mut Batch,
        call: EncodedCall,
        step: &Step,
        view: View<'_>,
    ) -> Result<(), LedgerError> {
        batch.step(call, step, view, &self.texts)
    }

    fn send(&mut self, batch: Batch) -> Result<(), LedgerError> {
        #[cfg(any(test, feature = "testing"))]
        self.stand_still(batch.load());
        match self.batches.try_send(batch) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err(LedgerError::Overrun { limit: BATCHES }),
            Err(TrySendError::Disconnected(_)) => Err(LedgerError::WriterEnded),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use crate::error::AppendError;
    use holon_core::{Durable, Input};
    use holon_facts::trigger::TriggerChange;
    use holon_facts::{ReplyId, StepSeq};

    use super::super::testing::{Home, World, abort, created, id, stop};
    use super::*;
    use crate::read::verify;
    use crate::report::Stall;
    use crate::store::LedgerReader;

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

    fn next(writer: &mut Writer) -> Report<LedgerError> {
        for _ in 0..1_000 {
            if let Some(message) = writer.try_report() {
                return message.report;
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
            let now = holon_facts::Now::default();
            let input = created(&format!("agent-{number}"));
            let call = Call::Step { now, input: input.clone() };
            let call = EncodedCall::new(&call).unwrap();
            let step = host.step(now, input);
            let mut batch = Batch::default();
            batch.step(call, &step, host.view(), &texts).unwrap();
            last = step.seq();
            writer.send(batch).unwrap();
        }
        until(&mut writer, last);
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
            let (now, input) = (holon_facts::Now::default(), created(name));
            let call = Call::Step { now, input: input.clone() };
            let call = EncodedCall::new(&call).unwrap();
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
        assert!(batch.is_urgent());
        writer.send(batch).unwrap();
        // Nobody is notified that a stop waits which the reserve is for.
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
        assert!(world.step(abort("main")).0.is_urgent());
        for (change, urgent) in [(TriggerChange::Rotate, false), (TriggerChange::Revoke, true)] {
            let changed = Input::ChangeTrigger { agent: id("main"), change, reply: ReplyId(4) };
            assert_eq!(world.step(changed).0.is_urgent(), urgent);
        }
    }

    #[test]
    fn one_large_batch_leaves_the_room_of_a_stop() {
        let home = Home::new();
        let mut world = home.start();
        let (mut batch, _) = world.step(created("main"));
        for _ in 0..3 * Load::GROUP.calls {
            batch.merge(world.step(stop("main")).0);
        }
        let load = batch.load().within(Load::GROUP);
        assert_eq!(load.calls, Load::GROUP.calls);
        assert!(!load.is_below(Load::GROUP, 1) && load.is_below(Load::GROUP, 2));
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
        assert!(writer.close().is_err());
    }
}
