//! Appending to a ledger on the disk under the system's temporary folder: one batch of so many records of
//! about 600 bytes, with full durability and without; and what a driver waits for, in a file and in a PostgreSQL that is
//! started there with its own defaults.

#![expect(clippy::unwrap_used, reason = "a bench has nobody to tell")]

use std::os::unix::fs::PermissionsExt;

use holon_core::replay::Call;
use holon_core::{Host, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::message::Ingress;
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, Mono, Now, ReplyId, Seed, Wall};
use holon_ledger::postgres::Server;
use holon_ledger::postgres::local::LocalServer;
use holon_ledger::rows::{Batch, EncodedCall};
use holon_ledger::sqlite::{FILE_NAME, Ledger};
use holon_ledger::write::Writer;
use holon_ledger::{Durability, LedgerPlace, LedgerReader, LedgerWriter, Report};
use holon_text::{Secrets, Texts};
use tempfile::TempDir;

const SIZES: [usize; 4] = [1, 8, 64, 512];
/// Steps that become durable together.
const STEPS: [usize; 3] = [1, 10, 100];

fn main() {
    divan::main();
}

/// A host that admits prompts to a stopped agent: a record each, and nothing else.
struct World {
    host: Host,
    texts: Texts,
    now: Now,
}

impl World {
    /// With what it begins with.
    fn new() -> (Self, Batch) {
        let mut config = Config::new(vec![ModelRef::new("local/bench").unwrap()]);
        config.while_stopped = holon_facts::config::WhileStopped::Queue;
        config.queue.entries = 10_000_000;
        config.queue.bytes = 1 << 40;
        let host = Host::new(config, Seed(1)).unwrap();
        let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
        let now = Now { mono: Mono(0), wall: Wall(1_700_000_000_000_000) };
        let mut world = Self { host, texts, now };
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
        (world, batch)
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
}

/// A ledger in a file, without the thread that writes it.
struct File {
    world: World,
    ledger: Ledger,
    home: TempDir,
}

impl File {
    fn new(durability: Durability) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (world, begins) = World::new();
        let mut ledger = Ledger::open(&home.path().join(FILE_NAME), durability).unwrap().ledger;
        ledger.append(&begins).unwrap();
        Self { world, ledger, home }
    }

    fn appends(self, bencher: divan::Bencher<'_, '_>, records: usize) {
        let file = std::cell::RefCell::new(self);
        bencher
            .counter(divan::counter::ItemsCount::new(records))
            .with_inputs(|| file.borrow_mut().world.prompts(records))
            .bench_local_values(|batch| {
                let mut file = file.borrow_mut();
                file.ledger.append(&batch).unwrap();
                file.ledger.tend().unwrap();
            });
    }
}

/// Each batch is durable before the next one is handed over.
fn hands_over(place: &LedgerPlace, bencher: divan::Bencher<'_, '_>, steps: usize) {
    let (world, begins) = World::new();
    let store = place.open(Durability::Full).unwrap().store;
    let writer = store.start(None, world.texts.clone()).unwrap();
    let both = std::cell::RefCell::new((world, writer));
    durable(&mut both.borrow_mut().1, begins);
    bencher
        .counter(divan::counter::ItemsCount::new(steps))
        .with_inputs(|| both.borrow_mut().0.prompts(steps))
        .bench_local_values(|batch| durable(&mut both.borrow_mut().1, batch));
    both.into_inner().1.close().unwrap();
}

fn durable(writer: &mut Writer, batch: Batch) {
    writer.send(batch).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    while !matches!(runtime.block_on(writer.report()).report, Report::Durable(_)) {}
}

fn agent() -> AgentId {
    AgentId::new("main").unwrap()
}

#[divan::bench(args = SIZES, sample_count = 200)]
fn append_full(bencher: divan::Bencher<'_, '_>, records: usize) {
    File::new(Durability::Full).appends(bencher, records);
}

#[divan::bench(args = SIZES, sample_count = 200)]
fn append_process(bencher: divan::Bencher<'_, '_>, records: usize) {
    File::new(Durability::Process).appends(bencher, records);
}

#[divan::bench(args = STEPS, sample_count = 300)]
fn durable_in_a_file(bencher: divan::Bencher<'_, '_>, steps: usize) {
    let home = tempfile::tempdir().unwrap();
    hands_over(&LedgerPlace::File(home.path().join(FILE_NAME)), bencher, steps);
}

/// Nothing is measured where this machine has no PostgreSQL.
#[divan::bench(args = STEPS, sample_count = 300)]
fn durable_in_a_database(bencher: divan::Bencher<'_, '_>, steps: usize) {
    let home = tempfile::tempdir().unwrap();
    // The server of a superuser is somebody else's.
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let Some(local) = LocalServer::find(&home.path().join("server")) else { return };
    local.make().unwrap();
    local.start(&[]).unwrap();
    let server = Server::new(&local.url()).unwrap();
    hands_over(&LedgerPlace::Cell { server, cell: 1, head: home.path().join("head") }, bencher, steps);
    local.stop().unwrap();
}

/// Creating a ledger, a batch, and closing it: what a one-shot run pays.
#[divan::bench(sample_count = 50)]
fn open_append_close() {
    let File { ledger, home, .. } = File::new(Durability::Full);
    ledger.close().unwrap();
    drop(home);
}

/// Opening what is there already, and loading its one agent from its whole log.
#[divan::bench(args = [100, 10_000], sample_count = 20)]
fn open_and_load(bencher: divan::Bencher<'_, '_>, records: usize) {
    let mut file = File::new(Durability::Process);
    for _ in 0..records / 100 {
        let batch = file.world.prompts(100);
        file.ledger.append(&batch).unwrap();
    }
    let File { ledger, home, .. } = file;
    ledger.close().unwrap();
    let path = home.path().join(FILE_NAME);
    bencher.bench_local(|| {
        let opened = Ledger::open(&path, Durability::Full).unwrap();
        let loaded = LedgerReader::load(&opened.reader, &agent()).unwrap();
        (opened, loaded)
    });
}
