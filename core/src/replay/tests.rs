//! What is exported is read back as it was, and a difference says where it is and no more than a person reads.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::replay::Machine;
use holon_law::replay::{Again, AuditError, Difference, Line, ReplayError, again, call_line};

use super::{Call, CallError, Replay};

type Audit = holon_law::replay::Audit<Replay>;
use crate::input::Input;
use crate::testing::{World, agent, answers, calls, config, context, prompt, tool_answers};
use holon_facts::config::HostLimits;
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::ids::Seed;
use holon_facts::ids::StepSeq;
use holon_facts::time::Now;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{Config, Record, ReplyId};

/// The records of a turn with a command.
fn records() -> Vec<Record> {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("look around"));
    world.complete("main", context());
    world.complete("main", calls(&[("c1", "ExecCommand", r#"{"cmd":"ls"}"#)]));
    world.complete("main", tool_answers("a b"));
    world.complete("main", answers("done"));
    world.log
}

fn tick() -> Call {
    Call::Step { now: Now::default(), input: Input::Tick }
}

fn between(then: &[Record], now: &[Record]) -> String {
    Difference::between(Replay::written(&tick()), |_| None, then, now).to_string()
}

#[test]
fn each_record_comes_back_from_its_line_whatever_the_order_of_its_keys() {
    for record in records() {
        let line = record.json_line().unwrap();
        let Line::Record(read) = Line::parse(&line).unwrap() else { panic!("{line}") };
        assert_eq!(*read, record);
        // A value of serde_json sorts its keys, as other programs do.
        let sorted = serde_json::from_str::<serde_json::Value>(&line).unwrap().to_string();
        assert_ne!(sorted, line);
        let Line::Record(read) = Line::parse(&sorted).unwrap() else { panic!("{sorted}") };
        assert_eq!(*read, record);
    }
}

#[test]
fn a_call_comes_back_from_its_line_unread() {
    for (step, call) in [(Some(StepSeq(7)), r#"{"call":"dream"}"#), (None, r#"{"call":"park"}"#)] {
        let line = call_line(step, call);
        assert_eq!(Line::parse(&line).unwrap(), Line::Call { step, call });
    }
}

#[test]
fn a_step_is_read_as_the_whole_call_is() {
    let call = Call::Step { now: Now::default(), input: Input::Drain { reply: ReplyId(3) } };
    for call in [call, tick()] {
        let text = serde_json::to_string(&call).unwrap();
        assert_eq!(Replay::default().read(&text).unwrap(), call);
    }
    let lacking = r#"{"call":"step","input":{"input":"tick"}}"#;
    let error = Audit::new(Again::Every).call(lacking, &[]).unwrap_err();
    assert!(matches!(error, AuditError::Unreadable(_)), "{error}");
}

#[test]
fn nothing_is_asked_of_a_host_that_was_not_started() {
    let call = serde_json::to_string(&tick()).unwrap();
    let error = Audit::new(Again::Every).call(&call, &[]).unwrap_err();
    assert!(matches!(error, AuditError::Replay(ReplayError::Machine(CallError::NoSegment))), "{error}");
    let mut nobody = Audit::new(Again::Nobody);
    nobody.call(&call, &records()).unwrap();
    assert_eq!((nobody.report().calls, nobody.report().skipped_calls), (0, 1));
    assert_eq!(nobody.report().judged, records().len() as u64);
}

/// Whoever is not brought into memory after a start counts as an agent, and its name is taken.
#[test]
fn agents_out_of_memory_count_when_calls_are_made_again() {
    let records = records();
    let seed = Seed(1);
    let create = |name: &str| {
        let spec =
            AgentSpec::named(AgentKind::Named, ExecutionBinding::agent_home(format!("/agents/{name}")));
        let input = Input::CreateAgent {
            agent: agent(name),
            spec,
            settings: InitialSettings::default(),
            reply: ReplyId(1),
        };
        Call::Step { now: Now { wall: records[records.len() - 1].at, ..Now::default() }, input }
    };
    for (agents, name) in [(1, "other"), (2, "main")] {
        let config = Config { limits: HostLimits { agents, ..config().limits }, ..config() };
        let mut replay = Replay::default();
        replay.fold(&records).unwrap();
        let after = StepSeq(1_000);
        let started = Call::RuntimeStarted { build: "test".into(), config, seed, after };
        again(&mut replay, &started, &[]).unwrap();
        let step = again(&mut replay, &create(name), &[]).expect("nobody is created").unwrap();
        assert!(step.records().is_empty(), "{name}");
    }
}

#[test]
fn a_difference_shows_fields_of_one_fact_and_the_whole_of_two() {
    let then = records();
    let mut now = then.clone();
    now[3].at.0 += 1_000_000;
    let text = between(&then, &now);
    assert!(text.contains("decides otherwise from main #4 on: after 3 equal records"), "{text}");
    assert!(text.contains(&format!("\n    at: then {}, now {}", then[3].at, now[3].at)), "{text}");
    assert!(text.contains(&format!("\n  main #4 {}:", then[3].event.kind())), "{text}");
    now[3] = then[4].clone();
    let text = between(&then, &now);
    assert!(text.contains(&format!("\n  then: main #4 {}", then[3].event.kind())), "{text}");
    assert!(text.contains(&format!("\n  now:  main #5 {}", then[4].event.kind())), "{text}");
    let text = between(&then, &then[..2]);
    assert!(text.contains("after 2 equal records"), "{text}");
    assert!(text.contains("\n  now:  nothing"), "{text}");
}

#[test]
fn a_difference_is_no_longer_than_a_person_reads() {
    let mut then = records();
    then.truncate(1);
    let mut now = then.clone();
    now[0].step = StepSeq(99);
    let build: String = "é".repeat(100_000);
    let config = config();
    let call = Call::RuntimeStarted { build, config, seed: Seed(1), after: StepSeq(0) };
    let text = Difference::between(Replay::written(&call), |_| None, &then, &now).to_string();
    assert!(text.chars().count() < 1_000, "{} characters", text.chars().count());
    assert!(text.contains("é… (10"), "{text}");
}
