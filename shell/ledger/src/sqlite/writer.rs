//! The writing thread on a file.

use std::io;
use std::path::Path;

use holon_core::Durable;
use holon_text::Texts;

use super::append::Ledger;
use super::reserve::Reserve;
use crate::error::{AppendError, LedgerError};
use crate::quiet::Tidied;
use crate::report::Holders;
use crate::rows::batch::Batch;
use crate::rows::packed::Packed;
use crate::write::{Disk, Writer};

impl Writer {
    /// Starts the thread. Texts leave `texts`' memory as they become durable. A reserve of
    /// [`super::RESERVE_BYTES`] is kept in `home`; none for a run that takes no input after its first.
    pub fn start(ledger: Ledger, home: Option<&Path>, texts: Texts) -> io::Result<Self> {
        Self::start_on(ledger, Reserve::new(home), texts)
    }
}

impl Disk for Ledger {
    fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError> {
        self.append(batch)
    }

    fn tend(&mut self) -> Result<(), LedgerError> {
        self.tend()
    }

    fn close(self) -> Result<(), LedgerError> {
        self.close()
    }

    fn keep(&mut self, packed: &[Packed]) -> Result<(), AppendError> {
        self.keep(packed)
    }

    fn tidy(&mut self) -> Result<Tidied, LedgerError> {
        Self::tidy(self)
    }

    fn holders(&self) -> Holders {
        self.holders()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use holon_core::Input;
    use holon_core::replay::Call;
    use holon_facts::trigger::TriggerChange;
    use holon_facts::{ReplyId, StepSeq};

    use super::super::testing::{Home, World, abort, created, id, stop};
    use super::*;
    use crate::load::Load;
    use crate::read::verify;
    use crate::report::{Report, Stall};
    use crate::rows::batch::EncodedCall;
    use crate::store::{Batch as _, LedgerReader, LedgerWriter as _};

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
