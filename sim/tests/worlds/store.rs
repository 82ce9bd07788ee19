//! The simulated disk passes the same suite as SQLite, so experiments on it are valid.

use holon_core::Durable;
use holon_core::replay::Call;
use holon_facts::{AgentId, StepSeq, Text};
use holon_ledger::Batch as _;
use holon_ledger::suite::Store;
use sim::choices::hash;
use sim::disk::batch_writer::BatchWriter;
use sim::disk::group::Group;
use sim::disk::shared::SharedDisk;
use sim::disk::snapshots::Harm;
use sim::performer;

/// A disk that writes when a caller waits for it.
#[derive(Default)]
struct Simulated {
    pen: BatchWriter,
    disk: SharedDisk,
}

impl Simulated {
    /// Moves what was sent onto the disk.
    fn accept(&mut self) -> Group {
        let mut group = Group::default();
        self.pen.sent.drain(..).for_each(|sent| group.merge(sent));
        let mut disk = self.disk.get_mut();
        disk.keep_texts(std::mem::take(&mut group.texts));
        std::mem::take(&mut group.fresh).into_iter().for_each(|row| disk.accept(row));
        group
    }
}

impl Store for Simulated {
    type Writer = BatchWriter;
    type Reader = SharedDisk;

    fn writer(&mut self) -> &mut BatchWriter {
        &mut self.pen
    }

    fn reader(&self) -> &SharedDisk {
        &self.disk
    }

    fn durable(&mut self, _: StepSeq) -> Durable {
        let mut group = self.accept();
        self.disk.get_mut().write(&mut group, false)
    }

    fn die(&mut self) {}

    fn reopen(mut self) -> Self {
        self.accept();
        self.disk.get_mut().crash(0);
        self
    }

    fn damage_state(&mut self, agent: &AgentId) {
        assert!(self.disk.get_mut().snapshots.suffer(agent, Harm::Flipped { bit: 724 }));
    }

    fn text(&self, text: &str) -> Text {
        performer::stored(hash(text.as_bytes()), text.len() as u64)
    }

    fn texts(&self) -> usize {
        self.disk.get().texts().len()
    }

    fn calls(&self) -> Vec<Call> {
        self.disk.get().rows().iter().map(|row| row.call.clone()).collect()
    }
}

holon_ledger::ledger_suite!(Simulated);
