//! A runtime with a real ledger and the scripted provider.

use std::time::Duration;

use holon_core::input::ControlRequest;
use holon_core::{Answer, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::message::Ingress;
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, EventSeq, Millis, Reject};
use holon_law::replay::Again;
use holon_ledger::Durability;
use holon_ledger::read::{Reader, replay};
use holon_ledger::write::{Fork, ForkError};
use holon_models::{Providers, Tools, built_in};
use holon_platform::spawn;
use holon_text::Secrets;
use tempfile::TempDir;

use super::agent_cache::IDLE;
use super::{Ended, Runtime, Unavailable};
use crate::driver::{Driver, ForkOrder, Gate, Start};
use crate::live::LiveSink;
use crate::perform;
use crate::perform::tool::CommandEnvironment;

fn id(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

async fn begin(home: &TempDir) -> (Runtime, Ended) {
    let start = Start {
        ledger: home.path().join("ledger.sqlite3").into(),
        durability: Durability::Full,
        config: Config::new(vec![ModelRef::new("scripted/demo").unwrap()]),
        secrets: Secrets::default(),
        providers: Providers::new(vec![built_in::scripted()], Tools::default()),
        reserve: None,
        performing: perform::Settings::new(crate::home::Home::at(home.path()), CommandEnvironment::new([])),
        live: LiveSink::nobody(),
        tools_from: Gate::open(),
        turns: None,
        observer: Box::new(|_| {}),
    };
    Runtime::spawn(Driver::start(start).await.unwrap(), |_| {})
}

async fn create(runtime: &Runtime, home: &TempDir, name: &str) -> Answer {
    let root = home.path().display().to_string();
    let execution = ExecutionBinding::project(root.clone(), root);
    let (agent, spec) = (id(name), AgentSpec::named(AgentKind::Named, execution));
    let named = agent.clone();
    runtime
        .ask(Some(&named), move |reply| Input::CreateAgent {
            agent,
            spec,
            settings: InitialSettings::default(),
            reply,
        })
        .await
        .unwrap()
}

async fn prompt(runtime: &Runtime, name: &str) -> Answer {
    let (agent, text) = (id(name), runtime.texts().take("hello"));
    let ingress = Ingress::prompt(text, Surface::HttpControlPrompt, AdmissionContext::LocalProcess);
    let named = agent.clone();
    runtime.ask(Some(&named), move |reply| Input::Ingress { agent, ingress, reply }).await.unwrap()
}

async fn settled(runtime: &Runtime, name: &str) {
    for _ in 0..2_000 {
        let agent = id(name);
        if runtime.read(Some(&id(name)), move |view| view.settled(&agent, Millis(0))).await.unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{name} never came to rest");
}

#[tokio::test]
async fn many_ask_at_once_and_a_restart_knows_them() {
    let home = tempfile::tempdir().unwrap();
    let (runtime, ended) = begin(&home).await;
    for name in ["one", "two", "three"] {
        assert!(matches!(create(&runtime, &home, name).await, Answer::Created { .. }));
    }
    let asked: Vec<_> = (0..30)
        .map(|number| {
            let runtime = runtime.clone();
            spawn::task(async move { prompt(&runtime, ["one", "two", "three"][number % 3]).await })
        })
        .collect();
    for asked in asked {
        assert!(matches!(asked.await.unwrap(), Answer::Admitted { duplicate: false, .. }));
    }
    for name in ["one", "two", "three"] {
        settled(&runtime, name).await;
    }
    let nobody = prompt(&runtime, "nobody").await;
    assert!(matches!(nobody, Answer::Refused { reject: Reject::UnknownAgent { .. } }));
    runtime.leave().await;
    ended.await.unwrap().unwrap();
    let gone = runtime.read(None, |_| ()).await;
    assert_eq!(gone, Err(Unavailable::Leaving));

    let (runtime, _ended) = begin(&home).await;
    let again = create(&runtime, &home, "two").await;
    assert!(matches!(again, Answer::Refused { reject: Reject::AgentExists { .. } }), "{again:?}");
    let turns = runtime
        .read(Some(&id("three")), |view| view.summary(&id("three")).map(|summary| summary.model_rounds))
        .await;
    assert!(turns.unwrap().is_some_and(|rounds| rounds >= 10));
}

#[tokio::test]
async fn a_stored_state_that_can_not_be_used_is_thrown_away() {
    let home = tempfile::tempdir().unwrap();
    let (runtime, ended) = begin(&home).await;
    create(&runtime, &home, "main").await;
    runtime.leave().await;
    ended.await.unwrap().unwrap();
    let ledger = home.path().join("ledger.sqlite3");
    let ahead = "INSERT INTO snapshots (agent, event_seq, version, state, hash)
        VALUES ('main', 50, 1, '{}', zeroblob(32)), ('main', 60, 1, '{}', zeroblob(32))";
    let vandal = rusqlite::Connection::open(&ledger).unwrap();
    vandal.execute_batch(ahead).unwrap();
    drop(vandal);
    let (runtime, ended) = begin(&home).await;
    prompt(&runtime, "main").await;
    settled(&runtime, "main").await;
    runtime.leave().await;
    ended.await.unwrap().unwrap();
    let left: i64 = rusqlite::Connection::open(&ledger)
        .unwrap()
        .query_row("SELECT count(*) FROM snapshots WHERE event_seq IN (50, 60)", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_copy_goes_on_by_itself() {
    let home = tempfile::tempdir().unwrap();
    let (runtime, ended) = begin(&home).await;
    create(&runtime, &home, "main").await;
    prompt(&runtime, "main").await;
    settled(&runtime, "main").await;
    let last =
        runtime.read(Some(&id("main")), |view| view.agent(&id("main")).map(|agent| agent.event_seq)).await;
    let last = last.unwrap().unwrap();
    let fork = |at: Option<u64>| {
        ForkOrder::new(Fork { from: id("main"), at: at.map(EventSeq), to: id("again"), answer_given: false })
    };
    let refused = runtime.fork(fork(Some(last.0 + 1))).await.unwrap();
    assert!(matches!(refused, Err(ForkError::Beyond { .. })), "{refused:?}");
    // In the middle of its turn: the message is taken up again.
    let through = runtime.fork(fork(Some(last.0 / 2))).await.unwrap().unwrap();
    assert!(through < last);
    settled(&runtime, "again").await;
    let turns = runtime
        .read(Some(&id("again")), |view| view.summary(&id("again")).and_then(|summary| summary.last_turn))
        .await;
    assert!(turns.unwrap().is_some());
    let again = runtime.fork(fork(None)).await.unwrap();
    assert!(matches!(again, Err(ForkError::Refused(Reject::AgentExists { .. }))), "{again:?}");
    runtime.leave().await;
    ended.await.unwrap().unwrap();
    let reader = Reader::open(&home.path().join("ledger.sqlite3")).unwrap();
    replay(&reader, Again::Every).unwrap();
}

#[tokio::test(start_paused = true)]
async fn whoever_has_nothing_to_do_leaves_memory_and_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let (runtime, _ended) = begin(&home).await;
    create(&runtime, &home, "main").await;
    let cached = |runtime: &Runtime| {
        let runtime = runtime.clone();
        async move { runtime.read(None, |view| view.agent_ids().count()).await.unwrap() }
    };
    // A clock that stands still jumps to the next timer whenever everybody waits, also for a read of the disk.
    let mut waited = 0;
    while cached(&runtime).await == 1 {
        tokio::time::sleep(IDLE).await;
        waited += 1;
        assert!(waited < 50, "it never leaves");
    }
    let agent = id("main");
    let request = ControlRequest::Stop;
    let stopped =
        runtime.ask_urgently(&id("main"), move |reply| Input::Control { agent, request, reply }).await;
    assert!(matches!(stopped, Ok(Answer::Controlled(_))), "{stopped:?}");
}
