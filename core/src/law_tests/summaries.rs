//! Turns that leave something in an agent's mind, and an episode that a model sums up, as a host has written them; and ways
//! to break the laws about both.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::config::{Config, ContextLimits, SummaryBy};
use holon_facts::event::episode::{EpisodeSummarized, MemoryUpdated};
use holon_facts::event::operation::OpKind;
use holon_facts::event::{EpisodeFact, Event};
use holon_facts::ids::{EpisodeId, OpId, RunId};
use holon_facts::model::FailureKind;
use holon_facts::outcome::Outcome;

use super::sabotage::{Case, Script};
use crate::testing::{World, answers, calls, config, context, fails, long, prompt, tool_answers, tool_gives};

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        remembered("M14", "a revision is left out", 1, |fact| fact.revision += 1),
        remembered("M14", "nothing of it is new", 1, |fact| fact.memory.files = files(&["a.rs"])),
        remembered("M14", "a changed file is forgotten", 1, |fact| fact.memory.files = files(&["b.rs"])),
        remembered("M14", "a file is in play that nobody changed", 0, |fact| {
            fact.memory.files.push("c.rs".into());
        }),
        remembered("M14", "another turn has left it", 0, |fact| fact.run_id = RunId(9)),
        case("M14", "a turn that changed a file leaves nothing", |s| s.remove("memory_updated", 1)),
        case("M14", "it changes in the middle of a turn", |s| {
            let fact = memory(s, 0);
            s.before("turn_terminal", 0, fact);
        }),
        summed_up("M15", "it sums up another episode", |fact| fact.episode_id = EpisodeId(7)),
        summed_up("M15", "another request has made it", |fact| fact.op = OpId(1)),
        case("M15", "it comes twice", |s| {
            let fact = summary(s);
            s.after("episode_summarized", 0, fact);
        }),
        case("M15", "the episode does not close", |s| s.remove("episode_closed", 0)),
        case("M15", "it comes before its request is over", |s| {
            let fact = summary(s);
            s.after("episode_closed", 0, fact);
        }),
    ]
}

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, Script::of(life()), sabotage)
}

fn files(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| String::from(*name)).collect()
}

fn memory(script: &Script, nth: usize) -> MemoryUpdated {
    let Event::Episode(EpisodeFact::MemoryUpdated(fact)) = script.event("memory_updated", nth) else {
        panic!()
    };
    (**fact).clone()
}

fn summary(script: &Script) -> EpisodeSummarized {
    let Event::Episode(EpisodeFact::EpisodeSummarized(fact)) = script.event("episode_summarized", 0) else {
        panic!()
    };
    (**fact).clone()
}

fn remembered(
    law: &'static str,
    what: &'static str,
    nth: usize,
    sabotage: impl FnOnce(&mut MemoryUpdated),
) -> Case {
    case(law, what, |s| {
        let mut fact = memory(s, nth);
        sabotage(&mut fact);
        s.replace("memory_updated", nth, fact);
    })
}

fn summed_up(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut EpisodeSummarized)) -> Case {
    case(law, what, |s| {
        let mut fact = summary(s);
        sabotage(&mut fact);
        s.replace("episode_summarized", 0, fact);
    })
}

fn patched(file: &str) -> Outcome {
    let mut outcome = tool_answers("patched");
    if let Outcome::Tool { outcome } = &mut outcome {
        outcome.receipt.facts.changed_files = files(&[file]);
    }
    outcome
}

/// Two turns that each patch a file, and one whose request is refused as too long.
fn life() -> Vec<holon_facts::Record> {
    let context_limits = ContextLimits { summary: SummaryBy::Model, ..config().context };
    let mut world = World::with_config("main", Config { context: context_limits, ..config() });
    let patch = || calls(&[("", "ApplyPatch", r#"{"patch":"x"}"#)]);
    for file in ["a.rs", "b.rs"] {
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", patch());
        world.complete("main", patched(file));
        world.complete("main", answers("done"));
    }
    world.admit("main", prompt("read it all"));
    world.complete("main", context());
    for number in 0..6 {
        world.complete("main", patch());
        world.complete("main", tool_gives(long(number, 1_500)));
    }
    world.complete("main", fails(FailureKind::ContextLength));
    world.complete_one("main", OpKind::Summarize, answers("Goal: all of it"));
    world.complete("main", answers("done"));
    world.log
}
