//! Appending to a ledger on the disk under the system's temporary folder: one batch of so many records of
//! about 600 bytes, with full durability and without.

#![expect(clippy::unwrap_used, reason = "a bench has nobody to tell")]

use holon_core::replay::Call;
use holon_core::{Host, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::message::Ingress;
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, Mono, Now, ReplyId, Seed, Wall};
use holon_ledger::LedgerReader;
use holon_ledger::sqlite::{Batch, Durability, EncodedCall, FILE_NAME, Ledger};
use holon_text::{Secrets, Texts};
use tempfile::TempDir;

const SIZES: [usize; 4] = [1, 8, 64, 512];

fn main() {
    divan::main();
}

/// A host that admits prompts to a stopped agent: a record each, and nothing else.
struct World {
    host: Host,
    ledger: Ledger,
    texts: Texts,
    now: Now,
    home: TempDir,
}

impl World {
    fn new(durability: Durability) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut config = Config::new(vec![ModelRef::new("local/bench").unwrap()]);
        config.while_stopped = holon_facts::config::WhileStopped::Queue;
        config.queue.entries = 10_000_000;
        config.queue.bytes = 1 << 40;
        let host = Host::new(config, Seed(1)).unwrap();
        let ledger = Ledger::open(&home.path().join(FILE_NAME), durability).unwrap().ledger;
        let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
        let now = Now { mono: Mono(0), wall: Wall(1_700_000_000_000_000) };
        let mut world = Self { host, ledger, texts, now, home };
        let execution = ExecutionBinding::project("/w", "/w");
        let spec = AgentSpec::named(AgentKind::Named, execution);
        let mut batch = Batch::default();
        world.step(
            &mut batch,
            Input::CreateAgent {
                agent: agent(),
                spec,
                settings: InitialSettings::default(),
                reply: ReplyId(0),
            },
        );
        let request = holon_core::input::ControlRequest::Stop;
        world.step(&mut batch, Input::Control { agent: agent(), request, reply: ReplyId(0) });
        world.ledger.append(&batch).unwrap();
        world
    }

    fn step(&mut self, batch: &mut Batch, input: Input) {
        self.now.mono.0 += 1_000;
        self.now.wall.0 += 1_000;
        let call = EncodedCall::new(&Call::Step { now: self.now, input: input.clone() }).unwrap();
        let step = self.host.step(self.now, input);
        batch.step(call, &step, self.host.view(), &self.texts).unwrap();
        drop(step);
    }

    fn prompts(&mut self, count: usize) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..count {
            let text = self.texts.take(&"word ".repeat(40));
            let ingress = Ingress::prompt(text, Surface::CliPrompt, AdmissionContext::LocalProcess);
            self.step(&mut batch, Input::Ingress { agent: agent(), ingress, reply: ReplyId(0) });
        }
        batch
    }

    fn appends(self, bencher: divan::Bencher<'_, '_>, records: usize) {
        let world = std::cell::RefCell::new(self);
        bencher
            .counter(divan::counter::ItemsCount::new(records))
            .with_inputs(|| world.borrow_mut().prompts(records))
            .bench_local_values(|batch| {
                let mut world = world.borrow_mut();
                world.ledger.append(&batch).unwrap();
                world.ledger.tend().unwrap();
            });
    }
}

fn agent() -> AgentId {
    AgentId::new("main").unwrap()
}

#[divan::bench(args = SIZES, sample_count = 200)]
fn append_full(bencher: divan::Bencher<'_, '_>, records: usize) {
    World::new(Durability::Full).appends(bencher, records);
}

#[divan::bench(args = SIZES, sample_count = 200)]
fn append_process(bencher: divan::Bencher<'_, '_>, records: usize) {
    World::new(Durability::Process).appends(bencher, records);
}

/// Creating a ledger, a batch, and closing it: what a one-shot run pays.
#[divan::bench(sample_count = 50)]
fn open_append_close() {
    let World { ledger, home, .. } = World::new(Durability::Full);
    ledger.close().unwrap();
    drop(home);
}

/// Opening what is there already, and loading its one agent from its whole log.
#[divan::bench(args = [100, 10_000], sample_count = 20)]
fn open_and_load(bencher: divan::Bencher<'_, '_>, records: usize) {
    let mut world = World::new(Durability::Process);
    for _ in 0..records / 100 {
        let batch = world.prompts(100);
        world.ledger.append(&batch).unwrap();
    }
    let World { ledger, home, .. } = world;
    ledger.close().unwrap();
    let path = home.path().join(FILE_NAME);
    bencher.bench_local(|| {
        let opened = Ledger::open(&path, Durability::Full).unwrap();
        let loaded = LedgerReader::load(&opened.reader, &agent()).unwrap();
        (opened, loaded)
    });
}
