//! What every store of a ledger has to do: one suite of tests, which SQLite and the simulated disk both pass.

use std::collections::VecDeque;
use std::fmt::Debug;

use holon_core::effect::Work;
use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::snapshot::AgentSnapshot;
use holon_core::{Durable, Effect, Host, Input};
use holon_facts::config::Config;
use holon_facts::execution::ExecutionSnapshot;
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::message::Ingress;
use holon_facts::model::{AnswerBlock, ModelAnswer, StopReason, Timing};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::LoadedContext;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::usage::TokenUsage;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{
    AgentId, EventSeq, Millis, Mono, Now, Outcome, Record, ReplyId, Seed, StepSeq, Text, Wall,
};

use crate::store::{AgentRow, Batch, LedgerReader, LedgerWriter, Restored, State, StoreError};

/// A store under test, with an empty ledger at first.
pub trait Store: Default {
    type Writer: LedgerWriter<Error: Debug>;
    type Reader: LedgerReader<Error: Debug>;

    fn writer(&mut self) -> &mut Self::Writer;
    fn reader(&self) -> &Self::Reader;
    /// Waits until everything through a step is durable.
    fn durable(&mut self, through: StepSeq) -> Durable;
    /// From now on nothing reaches the disk.
    fn die(&mut self);
    /// The next life of the process.
    #[must_use]
    fn reopen(self) -> Self;
    /// Damages the newest stored state of an agent.
    fn damage_state(&mut self, agent: &AgentId);
    /// A text as records name it.
    fn text(&self, text: &str) -> Text;
    /// How many texts the ledger holds.
    fn texts(&self) -> usize;
    fn calls(&self) -> Vec<Call>;
}

/// Makes the suite the tests of a store.
#[macro_export]
macro_rules! ledger_suite {
    ($store:ty) => {
        $crate::ledger_suite! {
            $store:
            what_is_sent_is_durable_in_its_order
            what_is_restored_is_what_was
            a_state_that_is_no_good_gives_way_to_the_older_one_and_then_to_the_log
            an_agent_that_is_not_there_is_absent
            equal_texts_are_stored_once
            calls_are_read_back_in_their_order
            a_crash_takes_what_was_not_durable_and_nothing_else
        }
    };
    ($store:ty: $($test:ident)+) => {
        $(
            #[test]
            fn $test() {
                $crate::suite::$test::<$store>();
            }
        )+
    };
}

/// A host over a store, as a driver has them.
struct Runtime<S> {
    store: S,
    host: Host,
    now: Now,
    calls: Vec<Call>,
    records: Vec<Record>,
}

impl<S: Store> Runtime<S> {
    fn start(store: S) -> Self {
        let config = Config::new(vec![ModelRef::new("local/test").unwrap()]);
        let mut host = Host::new(config.clone(), Seed(7)).unwrap();
        let after = store.reader().last_step().unwrap();
        host.resume_after(after);
        let now =
            Now { mono: Mono(0), wall: store.reader().newest_record().unwrap().unwrap_or(Wall(1_000_000)) };
        let mut runtime = Self { store, host, now, calls: Vec::new(), records: Vec::new() };
        runtime.call(Call::RuntimeStarted { build: "test-build".into(), config, seed: Seed(7), after });
        for row in runtime.rows() {
            let Restored { snapshot, tail, .. } = runtime.store.reader().load(&row.agent).unwrap();
            runtime.host.admit(snapshot, tail).unwrap();
            runtime.call(Call::Admit { agent: row.agent, through: row.event_seq });
        }
        runtime
    }

    fn restart(self) -> Self {
        Self::start(self.store.reopen())
    }

    fn call(&mut self, call: Call) {
        let mut batch = <S::Writer as LedgerWriter>::Batch::default();
        let writer = self.store.writer();
        writer.call(&mut batch, writer.encode(&call).unwrap());
        writer.send(batch).unwrap();
        self.calls.push(call);
    }

    /// Makes a step and hands it over.
    fn send(&mut self, input: Input) -> Step {
        self.now = Now { mono: self.now.mono.after(Millis(10)), wall: self.now.wall.after(Millis(10)) };
        let call = Call::Step { now: self.now, input: input.clone() };
        let step = self.host.step(self.now, input);
        let writer = self.store.writer();
        let mut batch = <S::Writer as LedgerWriter>::Batch::default();
        let encoded = writer.encode(&call).unwrap();
        writer.step(&mut batch, encoded, &step, self.host.view()).unwrap();
        assert_eq!(batch.through(), Some(step.seq()));
        writer.send(batch).unwrap();
        self.calls.push(call);
        self.records.extend(step.records().iter().cloned());
        step
    }

    /// Steps until nothing is left to perform.
    fn run(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let step = self.send(input);
            let durable = self.store.durable(step.seq());
            let store = &self.store;
            inputs.extend(
                step.release(durable).into_iter().filter_map(|e| perform(e, |text| store.text(text))),
            );
        }
    }

    fn prompt(&mut self, agent: &str, text: &str) {
        let text = self.store.text(text);
        self.run(prompted(agent, text));
    }

    /// Stores the state of an agent as it is now.
    fn keep_state(&mut self, agent: &str) {
        let mut batch = <S::Writer as LedgerWriter>::Batch::default();
        batch.snapshot(self.state(agent));
        let states = batch.take_snapshots();
        batch.add_states(states.values().filter_map(State::of).collect());
        self.store.writer().send(batch).unwrap();
        // Durable with the next step at the latest.
        self.prompt(agent, "what comes next");
    }

    fn state(&self, agent: &str) -> AgentSnapshot {
        self.host.snapshot(&id(agent)).unwrap()
    }

    fn rows(&self) -> Vec<AgentRow> {
        let mut rows = Vec::new();
        self.store.reader().each_agent(|row| rows.push(row.without_standing())).unwrap();
        rows
    }

    /// What the ledger holds of an agent through an event.
    fn log(&self, agent: &str, through: EventSeq) -> Vec<Record> {
        let mut log = Vec::new();
        self.store.reader().each_record(&id(agent), through, |record| log.push(record)).unwrap();
        log
    }

    fn whole_log(&self, agent: &str) -> Vec<Record> {
        let row = self.rows().into_iter().find(|row| row.agent == id(agent)).unwrap();
        self.log(agent, row.event_seq)
    }

    /// The state that a load brings.
    fn folded(&self, restored: Restored) -> AgentSnapshot {
        let mut host = Host::new(self.host.config().clone(), Seed(7)).unwrap();
        let agent = host.admit(restored.snapshot, restored.tail).unwrap();
        host.snapshot(&agent).unwrap()
    }
}

pub fn what_is_sent_is_durable_in_its_order<S: Store>() {
    let mut runtime = Runtime::start(S::default());
    let mut last = StepSeq(0);
    for number in 0..20 {
        last = runtime.send(created(&format!("agent-{}", number % 10))).seq();
        let text = runtime.store.text(&format!("prompt {number}"));
        last = last.max(runtime.send(prompted("agent-3", text)).seq());
    }
    assert_eq!(runtime.store.durable(last).through(), last);
    assert_eq!(runtime.store.reader().last_step().unwrap(), last);
    let newest = runtime.records.last().map(|record| record.at);
    assert_eq!(runtime.store.reader().newest_record().unwrap(), newest);
    let live: Vec<_> = runtime
        .host
        .view()
        .agent_ids()
        .filter_map(|id| runtime.host.view().agent(id))
        .map(|agent| AgentRow::of(agent).without_standing())
        .collect();
    assert_eq!((runtime.rows(), live.len()), (live, 10));
    for row in runtime.rows() {
        let of = |record: &&Record| record.agent == row.agent;
        let sent: Vec<Record> = runtime.records.iter().filter(of).cloned().collect();
        assert_eq!(runtime.log(row.agent.as_str(), row.event_seq), sent);
        assert_eq!(runtime.log(row.agent.as_str(), EventSeq(1)), sent[..1]);
    }
}

pub fn what_is_restored_is_what_was<S: Store>() {
    let mut runtime = Runtime::start(S::default());
    for agent in ["main", "other"] {
        runtime.run(created(agent));
        runtime.prompt(agent, &"a long prompt ".repeat(100));
    }
    runtime.keep_state("main");
    let before = ["main", "other"].map(|agent| runtime.state(agent));
    let accounts = runtime.store.reader().accounts().unwrap();

    let runtime = runtime.restart();
    assert_eq!(["main", "other"].map(|agent| runtime.state(agent)), before);
    assert_eq!(runtime.store.reader().accounts().unwrap(), accounts);
    let loaded = ["main", "other"].map(|agent| runtime.store.reader().load(&id(agent)).unwrap());
    let [main, other] = &loaded;
    let kept = main.snapshot.as_ref().unwrap().agent.event_seq;
    assert!(
        main.tail
            .iter()
            .map(|record| record.event_seq)
            .eq((kept.0 + 1..=main.tail.last().unwrap().event_seq.0).map(EventSeq))
    );
    assert!(other.snapshot.is_none() && other.tail == runtime.whole_log("other"));
    assert!(loaded.iter().all(|restored| restored.unusable.is_empty()));
}

/// The newest two, and the oldest of a long stretch.
const STATES: usize = 3;

pub fn a_state_that_is_no_good_gives_way_to_the_older_one_and_then_to_the_log<S: Store>() {
    let mut runtime = Runtime::start(S::default());
    let main = id("main");
    runtime.run(created("main"));
    (0..4).for_each(|_| runtime.keep_state("main"));
    let state = runtime.state("main");
    let whole = runtime.store.reader().load(&main).unwrap();
    let newest = whole.snapshot.as_ref().unwrap().agent.event_seq;
    assert_eq!(runtime.folded(whole), state);

    runtime.store.damage_state(&main);
    let older = runtime.store.reader().load(&main).unwrap();
    assert!(older.unusable.iter().map(|(at, _)| *at).eq([newest]));
    assert!(older.snapshot.as_ref().is_some_and(|snapshot| snapshot.agent.event_seq < newest));
    assert_eq!(runtime.folded(older), state);

    // What a start has rejected is not found again; those before it are damaged in their turn.
    let mut damaged = newest;
    for _ in 0..STATES {
        let mut batch = <S::Writer as LedgerWriter>::Batch::default();
        batch.reject_snapshot(main.clone(), damaged);
        runtime.store.writer().send(batch).unwrap();
        runtime.prompt("main", "it goes on");
        let log = runtime.store.reader().load(&main).unwrap();
        assert_eq!(log.unusable.len(), 0);
        damaged = log.snapshot.as_ref().unwrap().agent.event_seq;
        runtime.store.damage_state(&main);
        let log = runtime.store.reader().load(&main).unwrap();
        assert!(log.unusable.iter().map(|(at, _)| *at).eq([damaged]));
        let whole = log.snapshot.is_none().then(|| log.tail.clone());
        assert_eq!(runtime.folded(log), runtime.state("main"));
        if let Some(tail) = whole {
            assert_eq!(tail, runtime.records);
            return;
        }
    }
    panic!("no more than {STATES} states are kept of so short a log");
}

pub fn an_agent_that_is_not_there_is_absent<S: Store>() {
    let mut runtime = Runtime::start(S::default());
    runtime.run(created("main"));
    let error = runtime.store.reader().load(&id("nobody")).unwrap_err();
    assert!(error.is_absent() && !error.is_temporary(), "{error}");
    assert!(runtime.store.reader().load(&id("main")).is_ok());
}

pub fn equal_texts_are_stored_once<S: Store>() {
    let mut runtime = Runtime::start(S::default());
    runtime.run(created("main"));
    for _ in 0..3 {
        let text = runtime.store.text(&"the same ".repeat(100));
        let step = runtime.send(prompted("main", text));
        runtime.store.durable(step.seq());
        assert_eq!(runtime.store.texts(), 1);
    }
}

/// For stores that remove texts; `remove` removes all of them.
pub fn a_text_that_was_removed_is_stored_when_it_is_named_again<S: Store>(
    remove: impl Fn(&S),
    stored: impl Fn(&S) -> Option<String>,
) {
    let mut runtime = Runtime::start(S::default());
    runtime.run(created("main"));
    let long = "the same ".repeat(100);
    for _ in 0..2 {
        let text = runtime.store.text(&long);
        let step = runtime.send(prompted("main", text));
        runtime.store.durable(step.seq());
        assert_eq!(stored(&runtime.store).as_ref(), Some(&long));
        remove(&runtime.store);
        assert_eq!(stored(&runtime.store), None);
        runtime = runtime.restart();
    }
}

pub fn calls_are_read_back_in_their_order<S: Store>() {
    let mut runtime = Runtime::start(S::default());
    runtime.run(created("main"));
    runtime.prompt("main", "a prompt");
    let first = runtime.calls.clone();
    assert_eq!(runtime.store.calls(), first);
    let mut runtime = runtime.restart();
    runtime.prompt("main", "another");
    assert_eq!(runtime.store.calls(), [first, runtime.calls].concat());
}

pub fn a_crash_takes_what_was_not_durable_and_nothing_else<S: Store>() {
    let mut runtime = Runtime::start(S::default());
    runtime.run(created("main"));
    runtime.prompt("main", "a prompt");
    let (held, rows, state) = (runtime.now, runtime.rows(), runtime.state("main"));
    let (last, log) = (runtime.store.reader().last_step().unwrap(), runtime.records.clone());
    runtime.store.die();
    drop(runtime.send(created("other")));
    let lost = runtime.send(prompted("main", Text::short("it is lost")));
    let lost = lost.records().last().unwrap().event_seq;
    assert_eq!(runtime.store.reader().last_step().unwrap(), last);
    assert_eq!((runtime.rows(), runtime.whole_log("main")), (rows.clone(), log.clone()));
    assert!(runtime.store.reader().each_record(&id("main"), lost, |_| {}).is_err(), "it is not durable");
    let mut runtime = runtime.restart();
    assert_eq!(runtime.store.reader().last_step().unwrap(), last);
    assert_eq!((runtime.rows(), runtime.whole_log("main")), (rows, log));
    assert_eq!((runtime.state("main"), runtime.now.wall <= held.wall), (state, true));
    // The numbers of what is lost are used again.
    let step = runtime.send(prompted("main", Text::short("it goes on")));
    assert_eq!((step.seq(), runtime.store.durable(step.seq()).through()), (last.next(), last.next()));
}

pub fn id(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

pub fn created(agent: &str) -> Input {
    let execution = ExecutionBinding::project("/work", "/work");
    let spec = AgentSpec::named(AgentKind::Named, execution);
    Input::CreateAgent { agent: id(agent), spec, settings: InitialSettings::default(), reply: ReplyId(0) }
}

pub fn prompted(agent: &str, text: Text) -> Input {
    let ingress = Ingress::prompt(text, Surface::CliPrompt, AdmissionContext::LocalProcess);
    Input::Ingress { agent: id(agent), ingress, reply: ReplyId(1) }
}

/// What performers do: context is loaded, and a model answers; `stored` names a text.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
pub fn perform(effect: Effect, stored: impl Fn(&str) -> Text) -> Option<Input> {
    let Effect::Perform { agent, op, work } = effect else { return None };
    let outcome = match work {
        Work::LoadContext { execution, .. } => {
            let execution = ExecutionSnapshot::host_local(execution, "/home/agent", "linux", "sh");
            let context = LoadedContext {
                sources: Vec::new(),
                execution,
                context_build_ms: Millis(1),
                skills: None,
                tools: None,
            };
            Outcome::Context { context }
        }
        Work::CallModel { .. } => {
            let text = stored(&format!("answer {op} {}", "word ".repeat(200)));
            let answer = ModelAnswer {
                blocks: vec![AnswerBlock::Text { text }],
                stop: StopReason::EndTurn,
                usage: TokenUsage::default(),
                timing: Timing::default(),
                joined: None,
                delivery: None,
                stored: None,
            };
            Outcome::Answer { answer }
        }
        _ => return None,
    };
    Some(Input::Completed { agent, op, outcome })
}
