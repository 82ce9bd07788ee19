//! What a turn makes of attempts that break: the runtime tries again, and a model that comes back in time gives
//! the answer.

use std::path::Path;
use std::time::Duration;

use holon_core::Input;
use holon_facts::event::TurnFact;
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::message::Ingress;
use holon_facts::model::FailureKind;
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, Event, EventSeq, Millis};
use holon_ledger::Durability;
use holon_models::ProviderOptions;
use holon_text::Secrets;
use tempfile::TempDir;

use super::{PROVIDER, Server, host, providers};
use crate::driver::{Driver, Gate, Start};
use crate::live::LiveSink;
use crate::network::each_seed;
use crate::perform;
use crate::perform::tool::CommandEnvironment;
use crate::runtime::Runtime;

async fn begin(home: &Path) -> Runtime {
    let options = ProviderOptions {
        connect_timeout: Millis::seconds(5),
        first_byte_timeout: Millis::seconds(20),
        idle_timeout: Millis::seconds(20),
        ..ProviderOptions::default()
    };
    let start = Start {
        ledger: home.join("ledger.sqlite3").into(),
        durability: Durability::Process,
        config: Config::new(vec![ModelRef::new("local/some").unwrap()]),
        secrets: Secrets::default(),
        providers: providers(options),
        reserve: None,
        performing: perform::Settings::new(crate::home::Home::at(home), CommandEnvironment::new([])),
        live: LiveSink::nobody(),
        tools_from: Gate::open(),
        turns: None,
        observer: Box::new(|_| {}),
    };
    Runtime::spawn(Driver::start(start).await.unwrap(), |warning| panic!("{warning}")).0
}

fn main() -> AgentId {
    AgentId::new("main").unwrap()
}

/// The agent `main` and one prompt for it, played to its end.
async fn play(runtime: &Runtime, home: &Path) {
    let root = home.display().to_string();
    let execution = ExecutionBinding::project(root.clone(), root);
    let spec = AgentSpec::named(AgentKind::Named, execution);
    let agent = main();
    let created = runtime.ask(Some(&agent), |reply| Input::CreateAgent {
        agent: main(),
        spec,
        settings: InitialSettings::default(),
        reply,
    });
    drop(created.await.unwrap());
    let ingress = Ingress::prompt(
        runtime.texts().take("go"),
        Surface::HttpControlPrompt,
        AdmissionContext::LocalProcess,
    );
    let asked = runtime.ask(Some(&agent), |reply| Input::Ingress { agent: main(), ingress, reply });
    drop(asked.await.unwrap());
    for _ in 0..1_000 {
        if runtime.read(Some(&main()), |view| view.settled(&main(), Millis(0))).await.unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("main does not come to rest");
}

/// What became of each attempt, and of the turn.
fn told(runtime: &Runtime) -> (Vec<Option<FailureKind>>, String) {
    let last = runtime.reader().last_event(&main()).unwrap();
    let (mut attempts, mut turn) = (Vec::new(), String::new());
    for record in runtime.reader().records(&main(), EventSeq(0), last).unwrap() {
        let Event::Turn(fact) = record.unwrap().event else { continue };
        if let TurnFact::ProviderAttemptRecorded(fact) = &fact {
            attempts.push(fact.attempt.failure_kind);
        }
        if let TurnFact::TurnTerminal(fact) = &fact {
            turn = fact.kind.name().to_owned();
        }
    }
    (attempts, turn)
}

/// Plays one turn with a provider whose connections break like this.
fn turn(servers: &'static [Server], expected: &[Option<FailureKind>], ends: &'static str) {
    let expected = expected.to_vec();
    each_seed(
        |_| {},
        |sim, timeline, _| {
            let home: TempDir = tempfile::tempdir().unwrap();
            host(sim, servers);
            let (timeline, expected) = (timeline.clone(), expected.clone());
            sim.client("runtime", async move {
                let runtime = begin(home.path()).await;
                play(&runtime, home.path()).await;
                let told = told(&runtime);
                timeline.record_untimed(format!("{told:?}"));
                assert_eq!(told, (expected, ends.to_owned()));
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}

#[test]
fn a_provider_that_breaks_twice_is_asked_again() {
    turn(
        &[Server::ResetsStream, Server::Silent],
        &[Some(FailureKind::StreamCut), Some(FailureKind::Timeout), None],
        "completed",
    );
}

#[test]
fn a_provider_that_keeps_breaking_is_waited_for_with_the_turn_given_up() {
    turn(
        &[Server::Stalls, Server::Closes, Server::ClosesDocument],
        &[Some(FailureKind::Timeout), Some(FailureKind::StreamCut), Some(FailureKind::StreamCut)],
        "interrupted",
    );
}

#[test]
fn a_partition_that_ends_in_time_costs_an_attempt() {
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            let home: TempDir = tempfile::tempdir().unwrap();
            host(sim, &[]);
            let (timeline, away) = (timeline.clone(), dice.time(100, 4_900));
            sim.client("runtime", async move {
                let runtime = begin(home.path()).await;
                turmoil::hold("runtime", PROVIDER);
                tokio::task::spawn_local(async move {
                    // The first attempt has given up by then, the second one is on its way.
                    tokio::time::sleep(Duration::from_secs(5) + away).await;
                    turmoil::release("runtime", PROVIDER);
                });
                play(&runtime, home.path()).await;
                let told = told(&runtime);
                timeline.record_untimed(format!("{told:?}"));
                assert_eq!(told, (vec![Some(FailureKind::Timeout), None], "completed".to_owned()));
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}
