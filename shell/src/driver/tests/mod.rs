//! The driver on a disk that is full for a while.

mod invariants;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holon_core::{Answer, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::message::{Idempotency, Ingress};
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::terminal::TurnKind;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, ContentId, MessageId, Millis, ReplyId};
use holon_ledger::sqlite::testing::{Home, id};
use holon_ledger::write::Writer;
use holon_ledger::{Durability, Store};
use holon_models::{Providers, Tools, built_in};
use holon_text::Secrets;
use tokio::sync::oneshot;

use super::{DiskFull, Driver, Gate, NoAnswer, Start};
use crate::live::LiveSink;
use crate::perform;
use crate::perform::tool::CommandEnvironment;

type Told = oneshot::Receiver<Result<Answer, NoAnswer>>;

/// A driver with the agent `main`, and whether its disk is full.
async fn driver(home: &Home) -> (Driver, Arc<AtomicBool>) {
    let folder = home.folder.path();
    let start = Start {
        ledger: home.ledger().into(),
        durability: Durability::Process,
        config: Config::new(vec![ModelRef::new("scripted/hello").unwrap()]),
        secrets: Secrets::default(),
        providers: Providers::new(vec![built_in::scripted()], Tools::default()),
        reserve: None,
        performing: perform::Settings::new(crate::home::Home::at(folder), CommandEnvironment::new([])),
        live: LiveSink::nobody(),
        tools_from: Gate::open(),
        turns: None,
        observer: Box::new(|_| {}),
    };
    let full = Arc::new(AtomicBool::new(false));
    let is_full = full.clone();
    let write = move |store, _: Option<&_>, texts| match store {
        Store::File(ledger) => Writer::on_a_full_disk(*ledger, is_full, texts),
        Store::Cell(_) | Store::Lot(_) => unreachable!("it is a file"),
    };
    let mut driver = Driver::start_with(start, write).await.unwrap();
    let root = folder.display().to_string();
    let execution = ExecutionBinding::project(root.clone(), root);
    let spec = AgentSpec::named(AgentKind::Named, execution);
    driver
        .ask(|reply| Input::CreateAgent {
            agent: id("main"),
            spec,
            settings: InitialSettings::default(),
            reply,
        })
        .await
        .unwrap();
    (driver, full)
}

fn prompt(driver: &Driver, key: &str) -> impl FnOnce(ReplyId) -> Input + use<> {
    let text = driver.texts().take("hello");
    let ingress = Ingress {
        idempotency: Some(Idempotency { key: key.to_owned(), payload: ContentId([7; 32]) }),
        ..Ingress::prompt(text, Surface::HttpControlPrompt, AdmissionContext::LocalProcess)
    };
    move |reply| Input::Ingress { agent: id("main"), ingress, reply }
}

/// Sends a prompt that nobody waits for yet.
async fn submit(driver: &mut Driver, key: &str) -> Told {
    let (sender, told) = oneshot::channel();
    let make = prompt(driver, key);
    driver.submit(make, Box::new(move |answer| sender.send(answer).unwrap())).await.unwrap();
    told
}

/// Keeps it going until somebody is told.
async fn heard(driver: &mut Driver, told: &mut Told) -> Result<Answer, NoAnswer> {
    loop {
        if let Ok(told) = told.try_recv() {
            return told;
        }
        driver.pump().await.unwrap();
    }
}

async fn settled(driver: &mut Driver) {
    let main: AgentId = id("main");
    while !driver.view().settled(&main, Millis(0)) || !driver.caught_up() {
        driver.pump().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_full_disk_takes_is_no_time_of_an_operation() {
    let home = Home::new();
    let (mut driver, full) = driver(&home).await;
    full.store(true, Ordering::Relaxed);
    let mut told = submit(&mut driver, "one").await;
    assert_eq!(heard(&mut driver, &mut told).await, Err(NoAnswer::Waits));
    let before = driver.view().stats().steps;
    // Far beyond what any operation of a turn may take.
    let waited = tokio::time::timeout(Duration::from_hours(10), async {
        loop {
            driver.pump().await.unwrap();
        }
    });
    waited.await.unwrap_err();
    assert_eq!(driver.view().stats().steps, before, "nothing is due while the clock stands still");
    full.store(false, Ordering::Relaxed);
    settled(&mut driver).await;
    let summary = driver.view().summary(&id("main")).unwrap();
    assert_eq!(summary.last_turn.map(|turn| turn.kind), Some(TurnKind::Completed));
}

/// However long each write takes, an idle runtime comes to rest.
#[tokio::test(start_paused = true)]
async fn a_look_that_found_nothing_asks_for_no_other() {
    let home = Home::new();
    let (mut driver, full) = driver(&home).await;
    settled(&mut driver).await;
    full.store(true, Ordering::Relaxed);
    driver.step(Input::Tick).unwrap();
    let rests = async |driver: &mut Driver| {
        let pumps = async {
            loop {
                driver.pump().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(30), pumps).await.unwrap_err();
    };
    rests(&mut driver).await;
    full.store(false, Ordering::Relaxed);
    while !driver.caught_up() {
        driver.pump().await.unwrap();
    }
    let before = driver.view().stats().steps;
    rests(&mut driver).await;
    assert_eq!(driver.view().stats().steps, before, "nothing was due");
}

#[tokio::test]
async fn nobody_is_told_that_something_was_refused_which_waits() {
    let home = Home::new();
    let (mut driver, full) = driver(&home).await;
    full.store(true, Ordering::Relaxed);
    let mut first = submit(&mut driver, "first").await;
    assert_eq!(heard(&mut driver, &mut first).await, Err(NoAnswer::Waits));
    // The same intention is the same message; another one is not taken in.
    let mut again = submit(&mut driver, "first").await;
    assert_eq!(again.try_recv().unwrap(), Err(NoAnswer::Waits));
    let mut other = submit(&mut driver, "other").await;
    assert_eq!(other.try_recv().unwrap(), Err(DiskFull.into()));
    full.store(false, Ordering::Relaxed);
    settled(&mut driver).await;
    while driver.disk_state().is_full() {
        driver.pump().await.unwrap();
    }
    let mut again = submit(&mut driver, "first").await;
    let known = Answer::Admitted { message_id: MessageId(1), duplicate: true };
    assert_eq!(heard(&mut driver, &mut again).await, Ok(known.clone()));
    settled(&mut driver).await;
    // What is durable is known on a full disk, too.
    full.store(true, Ordering::Relaxed);
    let mut more = submit(&mut driver, "more").await;
    assert_eq!(heard(&mut driver, &mut more).await, Err(NoAnswer::Waits));
    let mut again = submit(&mut driver, "first").await;
    assert_eq!(again.try_recv().unwrap(), Ok(known));
    full.store(false, Ordering::Relaxed);
    driver.shut_down().await.unwrap();
}

#[tokio::test]
async fn whoever_is_patient_waits_for_a_full_disk() {
    let home = Home::new();
    let (mut driver, full) = driver(&home).await;
    full.store(true, Ordering::Relaxed);
    let make = prompt(&driver, "one");
    let room = driver.disk_state().clone();
    let frees = holon_platform::spawn::task(async move {
        while !room.is_full() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        full.store(false, Ordering::Relaxed);
    });
    let answer = driver.ask(make).await.unwrap();
    assert!(matches!(answer, Answer::Admitted { duplicate: false, .. }), "{answer:?}");
    frees.await.unwrap();
    driver.shut_down().await.unwrap();
}
