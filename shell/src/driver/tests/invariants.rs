//! A law that is broken ends the runtime.

use holon_core::{Host, Input};
use holon_driver::InvariantCheck;
use holon_facts::model_ref::ModelRef;
use holon_facts::{Config, EventSeq, Record, ReplyId, Seed, Wall};
use holon_law::Laws;
use holon_ledger::sqlite::testing::{Home, created, id};
use holon_ledger::{Durability, LedgerReader};
use holon_models::{Providers, Tools, built_in};
use holon_text::Secrets;

use super::super::{Driver, DriverError, Gate, Start};
use crate::live::LiveSink;
use crate::perform;
use crate::perform::tool::CommandEnvironment;

fn log(home: &Home) -> Vec<Record> {
    let reader = home.reader();
    let last = reader.last_event(&id("main")).unwrap();
    reader.records(&id("main"), EventSeq(0), last).unwrap().map(|record| record.unwrap()).collect()
}

fn config() -> Config {
    Config::new(vec![ModelRef::new("scripted/hello").unwrap()])
}

/// One with nobody in memory.
fn host() -> Host {
    Host::new(config(), Seed(1)).unwrap()
}

fn create(agent: &str, reply: ReplyId) -> Input {
    let Input::CreateAgent { agent, spec, settings, .. } = created(agent) else { panic!("another input") };
    Input::CreateAgent { agent, spec, settings, reply }
}

async fn driver(home: &Home) -> Driver {
    let folder = home.folder.path().to_owned();
    let start = Start {
        ledger: home.ledger().into(),
        durability: Durability::Process,
        config: config(),
        secrets: Secrets::default(),
        providers: Providers::new(vec![built_in::scripted()], Tools::default()),
        reserve: None,
        performing: perform::Settings::new(crate::home::Home::at(folder), CommandEnvironment::new([])),
        live: LiveSink::nobody(),
        tools_from: Gate::open(),
        turns: None,
        observer: Box::new(|_| {}),
    };
    Driver::start(start).await.unwrap()
}

#[tokio::test]
async fn a_broken_law_ends_the_runtime_before_anything_is_done() {
    let home = Home::new();
    let mut driver = driver(&home).await;
    *driver.engine.invariants() = InvariantCheck::enabled();
    driver.ask(|reply| create("another", reply)).await.unwrap();
    // The laws have seen a log of `main` that the host knows nothing of.
    driver.engine.invariants().check(&log(&Home::with_turns(1))).unwrap();
    for _ in 0..2 {
        let error = driver.ask(|reply| create("main", reply)).await.unwrap_err();
        assert!(matches!(&error, DriverError::Law(violation) if violation.agent == id("main")), "{error}");
        assert!(error.to_string().contains("broken, so the runtime ends: "), "{error}");
        assert!(error.to_string().contains("at main #1: "), "{error}");
    }
    assert!(driver.caught_up(), "nothing more was decided");
    driver.shut_down().await.unwrap_err();
}

#[test]
fn what_is_in_order_passes_and_what_is_not_names_law_agent_and_event() {
    let records = log(&Home::with_turns(2));
    let mut check = InvariantCheck::enabled();
    check.check(&records).unwrap();
    let again = Record { at: Wall(0), ..records[4].clone() };
    let violation = check.check(&[again]).unwrap_err();
    let text = violation.to_string();
    assert!(text.contains(&format!("at main #{}", records[4].event_seq)), "{text}");
    assert!(Laws::table().iter().any(|(id, _)| text.starts_with(id)), "{text}");
    // It stays broken, whatever comes.
    assert_eq!(check.holds(), Err(violation.clone()));
    assert_eq!(check.check(&[]), Err(violation));
}

#[test]
fn an_agent_that_is_brought_in_goes_on_where_its_log_ends() {
    let home = Home::with_turns(2);
    let (records, reader, host) = (log(&home), home.reader(), host());
    let (before, after) = records.split_at(records.len() - 5);
    let through = before.last().unwrap().event_seq;
    let mut check = InvariantCheck::enabled();
    for _ in 0..2 {
        check
            .brought_in(&id("main"), host.view(), |each| reader.each_record(&id("main"), through, each))
            .unwrap();
    }
    check.check(after).unwrap();
    let mut ignorant = InvariantCheck::enabled();
    ignorant.check(after).unwrap_err();
}

#[test]
fn agents_that_left_memory_are_forgotten() {
    let home = Home::with_turns(1);
    let (records, reader, host) = (log(&home), home.reader(), host());
    let mut check = InvariantCheck::enabled();
    check.check(&records).unwrap();
    // `main` is not in the host's memory when another agent comes in.
    check
        .brought_in(&id("another"), host.view(), |each| reader.each_record(&id("main"), EventSeq(0), each))
        .unwrap();
    check.check(&records).unwrap();
}

#[test]
fn where_nothing_is_judged_nothing_is_read() {
    let mut check = InvariantCheck::disabled();
    let records = log(&Home::with_turns(1));
    let read: Result<(), std::fmt::Error> =
        check.brought_in(&id("main"), host().view(), |_| unreachable!("the log is read"));
    read.unwrap();
    check.check(&records[3..]).unwrap();
}
