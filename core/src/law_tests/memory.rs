//! A turn of an agent that has noted something and searches what it remembers; and ways to break the laws about it.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::event::turn::{ToolExecuted, TurnContextBuilt};
use holon_facts::event::{Event, TurnFact};
use holon_facts::outcome::{InstructionSource, Outcome, SourceScope};
use holon_facts::receipt::{Receipt, ToolFacts};

use super::sabotage::{Case, Script};
use crate::testing::{World, answers, calls, context, context_with_notes, prompt, tool_answers};

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        looked("it changes a file", |receipt| receipt.facts.changed_files.push("a".into())),
        looked("it ends the turn", |receipt| receipt.facts.ends_turn = true),
        looked("it makes a skill active", |receipt| receipt.facts.skill_files.push("/s/SKILL.md".into())),
        looked("it runs something", |receipt| receipt.facts.exit_status = Some(0)),
        noted("another file of the home is a note", |sources| sources[1].path = below("notes/a.md")),
        noted("a file of somebody else is a note", |sources| sources[1].path = "/x/memory/self.md".into()),
        noted("one stands there twice", |sources| sources[2].path = below("memory/self.md")),
        noted("instructions stand behind them", |sources| sources.reverse()),
        noted("a note is imported", |sources| sources[1].imported_by = Some(below("AGENTS.md"))),
        noted("an instruction becomes a note", |sources| sources[0].scope = SourceScope::Memory),
    ]
}

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, Script::of(life()), sabotage)
}

fn looked(what: &'static str, sabotage: impl FnOnce(&mut Receipt)) -> Case {
    case("Y1", what, |s| {
        let Event::Turn(TurnFact::ToolExecuted(fact)) = s.event("tool_executed", 0) else { panic!() };
        let mut fact: ToolExecuted = (**fact).clone();
        sabotage(Arc::make_mut(&mut fact.receipt));
        s.replace("tool_executed", 0, fact);
    })
}

fn noted(what: &'static str, sabotage: impl FnOnce(&mut Vec<InstructionSource>)) -> Case {
    case("Y2", what, |s| {
        let Event::Turn(TurnFact::TurnContextBuilt(fact)) = s.event("turn_context_built", 0) else {
            panic!()
        };
        let mut fact: TurnContextBuilt = (**fact).clone();
        sabotage(&mut fact.context.sources);
        s.replace("turn_context_built", 0, fact);
    })
}

/// A path in the home of the agent, as the context has it.
fn below(name: &str) -> String {
    let Outcome::Context { context } = context() else { panic!() };
    alloc::format!("{}/{name}", context.execution.agent_home)
}

/// A turn that searches.
pub(super) fn search(world: &mut World) {
    world.admit("main", prompt("what do you remember?"));
    world.complete("main", context_with_notes());
    world.complete("main", calls(&[("", "MemorySearch", r#"{"query":"it"}"#)]));
    world.complete("main", tool_answers("nothing"));
    world.complete("main", answers("nothing"));
}

fn life() -> Vec<holon_facts::Record> {
    let mut world = World::with_agent("main");
    search(&mut world);
    world.log
}

#[test]
fn a_performer_that_reports_more_than_a_look_is_not_believed() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("what do you remember?"));
    world.complete("main", context_with_notes());
    world.complete("main", calls(&[("", "MemorySearch", r#"{"query":"it"}"#)]));
    let Outcome::Tool { mut outcome } = tool_answers("nothing") else { panic!() };
    outcome.receipt.facts.changed_files.push("a".into());
    outcome.receipt.facts.ends_turn = true;
    world.complete("main", Outcome::Tool { outcome });
    let executed = world.log.iter().find_map(|record| {
        let Event::Turn(TurnFact::ToolExecuted(fact)) = &record.event else { return None };
        Some(&fact.receipt.facts)
    });
    assert_eq!(executed, Some(&ToolFacts::default()));
}
