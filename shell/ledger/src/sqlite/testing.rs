//! A real host whose effects are performed by hand, and the batches that it makes.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holon_core::input::ControlRequest;
use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::{Durable, Effect, Host, Input};
use holon_facts::config::Config;
use holon_facts::model_ref::ModelRef;
use holon_facts::{Millis, Mono, Now, ReplyId, Seed, StepSeq, Wall};
use holon_text::{Secrets, Texts};
use rusqlite::Connection;
use tempfile::TempDir;

use super::reserve::Reserve;
use super::{FILE_NAME, Ledger, Opened};
use crate::durability::Durability;
use crate::error::{AppendError, LedgerError};
use crate::read::{Reader, text_reader};
use crate::rows::batch::{Batch, EncodedCall};
use crate::store::{Batch as _, LedgerReader as _};
use crate::suite;
use crate::write::{Disk, Writer};

pub use crate::suite::{created, id};

pub const BUILD: &str = "test-build";

/// A home with a ledger in it.
pub struct Home {
    pub folder: TempDir,
}

/// A driver that appends every step at once.
pub struct World {
    pub host: Host,
    pub ledger: Ledger,
    pub reader: Arc<Reader>,
    pub texts: Texts,
    now: Now,
}

/// A ledger on a disk that is full as long as that is said.
#[derive(Debug)]
struct FullDisk {
    ledger: Ledger,
    full: Arc<AtomicBool>,
}

impl Disk for FullDisk {
    fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError> {
        if self.full.load(Ordering::Relaxed) { Err(AppendError::Full) } else { self.ledger.append(batch) }
    }

    fn tend(&mut self) -> Result<(), LedgerError> {
        self.ledger.tend()
    }

    fn close(self) -> Result<(), LedgerError> {
        self.ledger.close()
    }
}

impl Writer {
    /// One whose disk is full as long as that is said; simulated time passes meanwhile.
    pub fn on_a_full_disk(ledger: Ledger, full: Arc<AtomicBool>, texts: Texts) -> io::Result<Self> {
        let disk = FullDisk { ledger, full };
        Self::start_on(disk, Reserve::new(None), texts)
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.path().join(FILE_NAME)
    }

    /// The newest stored state of an agent, as text.
    #[cfg(test)]
    pub(crate) fn state(&self, agent: &str) -> String {
        let kept = self.reader().read(|source| {
            let columns = crate::rows::packed::Kept::columns(source).unwrap();
            let sql =
                format!("SELECT {columns} FROM snapshots WHERE agent = ?1 ORDER BY event_seq DESC LIMIT 1");
            source.one(&sql, &[agent.into()], |row| crate::rows::packed::Kept::read(row, 0))
        });
        kept.unwrap().text().unwrap()
    }

    /// All stored states become this one, as builds before compression stored it.
    #[cfg(test)]
    pub(crate) fn store_as_text(&self, state: &str) {
        let sum: String =
            holon_text::hash(state.as_bytes()).0.iter().map(|byte| format!("{byte:02x}")).collect();
        self.vandal(&format!("UPDATE snapshots SET state = '{state}', packed = NULL, hash = x'{sum}'"));
    }

    pub fn open(&self) -> Opened {
        Ledger::open(&self.ledger(), Durability::Process).unwrap()
    }

    pub fn reader(&self) -> Reader {
        Reader::open(&self.ledger()).unwrap()
    }

    /// Another program that works on the file.
    pub fn vandal(&self, sql: &str) {
        Connection::open(self.ledger()).unwrap().execute_batch(sql).unwrap();
    }

    /// Starts a runtime and brings every agent in.
    pub fn start(&self) -> World {
        let Opened { ledger, reader, last_step, .. } = self.open();
        World::start(ledger, reader, last_step)
    }

    /// A home in which an agent has had `turns` turns.
    pub fn with_turns(turns: usize) -> Self {
        let home = Self::new();
        let mut world = home.start();
        world.create("main");
        for turn in 0..turns {
            world.prompt("main", &format!("prompt {turn} {}", "long ".repeat(100)));
        }
        world.ledger.close().unwrap();
        home
    }
}

/// A call that is no step.
pub fn encoded(call: &Call) -> EncodedCall {
    EncodedCall::new(call).unwrap()
}

impl World {
    fn start(ledger: Ledger, reader: Reader, last_step: StepSeq) -> Self {
        let config = Config::new(vec![ModelRef::new("local/test").unwrap()]);
        let mut host = Host::new(config.clone(), Seed(7)).unwrap();
        host.resume_after(last_step);
        let reader = Arc::new(reader);
        let texts = Texts::new(Secrets::default(), text_reader(reader.clone()));
        let wall = Wall(1_700_000_000_000_000 + i64::try_from(last_step.0).unwrap() * 1_000_000);
        let now = Now { mono: Mono(0), wall };
        let mut world = Self { host, ledger, reader, texts, now };
        let mut batch = Batch::default();
        batch.call(encoded(&Call::RuntimeStarted {
            build: BUILD.into(),
            config,
            seed: Seed(7),
            after: last_step,
        }));
        world.ledger.append(&batch).unwrap();
        world.bring_in();
        world
    }

    fn bring_in(&mut self) {
        for row in self.reader.agents().unwrap() {
            let restored = self.reader.load(&row.agent).unwrap();
            self.host.admit(restored.snapshot, restored.tail).unwrap();
            let mut batch = Batch::default();
            let admit = Call::Admit { agent: row.agent.clone(), through: row.event_seq };
            batch.call(encoded(&admit));
            let recover =
                Call::Recover { now: self.now, agent: row.agent.clone(), report: Default::default() };
            let call = encoded(&recover);
            let step = self.host.recover(self.now, &row.agent, Default::default());
            batch.step(call, &step, self.host.view(), &self.texts).unwrap();
            self.append(batch, step);
        }
    }

    /// Recovers an agent, and does what that brings.
    pub fn recover(&mut self, agent: &str) {
        let call = encoded(&Call::Recover { now: self.now, agent: id(agent), report: Default::default() });
        let step = self.host.recover(self.now, &id(agent), Default::default());
        let mut batch = Batch::default();
        batch.step(call, &step, self.host.view(), &self.texts).unwrap();
        for effect in self.append(batch, step) {
            if let Some(input) = self.perform(effect) {
                self.run(input);
            }
        }
    }

    /// A step, as a batch of its own that is not appended yet.
    pub fn step(&mut self, input: Input) -> (Batch, Step) {
        self.now.mono = self.now.mono.after(Millis(10));
        self.now.wall = self.now.wall.after(Millis(10));
        let call = encoded(&Call::Step { now: self.now, input: input.clone() });
        let step = self.host.step(self.now, input);
        let mut batch = Batch::default();
        batch.step(call, &step, self.host.view(), &self.texts).unwrap();
        (batch, step)
    }

    fn append(&mut self, batch: Batch, step: Step) -> Vec<Effect> {
        let durable = self.ledger.append(&batch).unwrap();
        self.texts.stored(batch.contents.keys().copied());
        step.release(durable)
    }

    /// Steps until nothing is left to perform.
    pub fn run(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let (batch, step) = self.step(input);
            let effects = self.append(batch, step);
            inputs.extend(effects.into_iter().filter_map(|effect| self.perform(effect)));
        }
    }

    fn perform(&self, effect: Effect) -> Option<Input> {
        suite::perform(effect, |text| self.texts.take(text))
    }

    pub fn create(&mut self, agent: &str) {
        let input = created(agent);
        self.run(input);
    }

    /// A prompt and the whole turn that it brings.
    pub fn prompt(&mut self, agent: &str, text: &str) {
        let input = self.prompted(agent, text);
        self.run(input);
    }

    pub fn prompted(&self, agent: &str, text: &str) -> Input {
        suite::prompted(agent, self.texts.take(text))
    }

    /// Stores the agent's state as it is now.
    pub fn snapshot(&mut self, agent: &str) {
        let mut batch = Batch::default();
        batch.snapshot(self.host.snapshot(&id(agent)).unwrap());
        batch.pack();
        self.ledger.append(&batch).unwrap();
    }
}

pub fn abort(agent: &str) -> Input {
    let request = ControlRequest::Abort { run_id: None, stop_after_abort: false };
    Input::Control { agent: id(agent), request, reply: ReplyId(3) }
}

pub fn stop(agent: &str) -> Input {
    Input::Control { agent: id(agent), request: ControlRequest::Stop, reply: ReplyId(2) }
}
