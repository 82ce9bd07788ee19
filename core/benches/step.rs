//! What one step costs: `cargo bench -p holon-core`.

use divan::{Bencher, black_box};
use holon_core::{Host, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::message::Ingress;
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, Mono, Now, ReplyId, Seed, Text, Wall};

fn main() {
    divan::main();
}

fn now(step: u64) -> Now {
    Now {
        mono: Mono(step * 1_000),
        wall: Wall(1_700_000_000_000_000 + i64::try_from(step * 1_000).unwrap_or(0)),
    }
}

fn prompt(agent: &AgentId) -> Input {
    let text = Text::short("do something useful");
    let ingress = Ingress::prompt(text, Surface::RunOnce, AdmissionContext::LocalProcess);
    Input::Ingress { agent: agent.clone(), ingress, reply: ReplyId(2) }
}

fn host() -> (Host, AgentId) {
    let agent = AgentId::new("main").expect("a valid id");
    let model = ModelRef::new("scripted/hello").expect("a valid model");
    let mut host = Host::new(Config::new(vec![model]), Seed(7)).expect("a valid configuration");
    let execution = ExecutionBinding::project("/work", "/work");
    let spec = AgentSpec::named(AgentKind::Default, execution);
    let step = host.step(
        now(1),
        Input::CreateAgent {
            agent: agent.clone(),
            spec,
            settings: InitialSettings::default(),
            reply: ReplyId(1),
        },
    );
    assert_eq!(step.records().len(), 4);
    (host, agent)
}

/// Admit a prompt, decide, open a turn: the path of every message.
#[divan::bench]
fn admit_decide_open(bencher: Bencher<'_, '_>) {
    bencher
        .with_inputs(|| {
            let (host, agent) = host();
            (host, prompt(&agent))
        })
        .bench_local_values(|(mut host, input)| {
            let step = host.step(now(2), black_box(input));
            (step.records().len(), host)
        });
}

/// A prompt for an agent whose queue is deep and whose run is under way.
#[divan::bench(args = [1, 100, 1_000])]
fn admit_behind(bencher: Bencher<'_, '_>, depth: u64) {
    bencher
        .with_inputs(|| {
            let (mut host, agent) = host();
            for number in 0..depth {
                let step = host.step(now(2 + number), prompt(&agent));
                assert!(!step.records().is_empty());
            }
            (host, prompt(&agent))
        })
        .bench_local_values(|(mut host, input)| {
            let step = host.step(now(2_000), black_box(input));
            (step.records().len(), host)
        });
}

/// Nothing is due.
#[divan::bench]
fn tick(bencher: Bencher<'_, '_>) {
    let (mut host, _) = host();
    let mut at = 10;
    bencher.bench_local(|| {
        at += 1;
        host.step(now(at), Input::Tick).more()
    });
}
