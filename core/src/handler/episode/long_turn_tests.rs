//! Very long turns: a model that repeats whatever it is not shown to have done repeats nothing.

use alloc::collections::BTreeSet;
use alloc::string::String;

use holon_facts::config::{Config, ContextLimits, TurnLimits};
use holon_facts::event::{EpisodeFact, Event};
use holon_facts::frame::Part;
use holon_facts::model::{Block, Item, ModelRequest};
use holon_facts::terminal::TurnKind;

use crate::effect::Answer;
use crate::input::Input;
use crate::testing::{World, agent, answers, calls, config, context, long, prompt, tool_gives};

/// An agent in a turn that ends where the model wants.
fn working(window_tokens: u64) -> World {
    let base = config();
    let turn = TurnLimits { rounds: 10_000, ..base.turn };
    let context_limits = ContextLimits { window_tokens, ..base.context };
    let mut world = World::with_config("main", Config { turn, context: context_limits, ..config() });
    world.admit("main", prompt("take all steps"));
    world.complete("main", context());
    world
}

/// The steps that a request shows as taken, in whole or in short.
fn taken(request: &ModelRequest) -> BTreeSet<u64> {
    let mut text = String::new();
    for item in &request.conversation {
        match item {
            Item::User { parts } => parts.iter().for_each(|part| text += &Part::preview(part)),
            Item::Assistant { blocks } => blocks.iter().for_each(|block| {
                if let Block::ToolCall { arguments, .. } = block {
                    text += arguments.preview();
                }
            }),
            Item::ToolResults { .. } => {}
        }
    }
    let numbers = text.split("step ").skip(1).map(|rest| rest.split(|it: char| !it.is_ascii_digit()).next());
    numbers.filter_map(|digits| digits?.parse().ok()).collect()
}

/// Takes the first step of so many on that the request does not show as taken, which must not have been.
fn step(world: &mut World, first: u64, all: &mut BTreeSet<u64>) {
    let shown = taken(world.requests.last().unwrap());
    let next = (first..).find(|number| !shown.contains(number)).unwrap();
    assert!(all.insert(next), "step {next} is taken again");
    let arguments = format!(r#"{{"cmd":"step {next}"}}"#);
    world.complete("main", calls(&[("", "ExecCommand", &arguments)]));
    world.complete("main", tool_gives(long(next, 300)));
}

fn closes(world: &World) -> usize {
    let closed = |event: &Event| matches!(event, Event::Episode(EpisodeFact::EpisodeClosed(_)));
    world.log.iter().filter(|record| closed(&record.event)).count()
}

#[test]
fn a_turn_of_500_rounds_repeats_nothing_in_a_window_of_32_k() {
    let (mut world, mut all) = (working(32_768), BTreeSet::new());
    for _ in 0..500 {
        step(&mut world, 1, &mut all);
    }
    world.complete("main", answers("done"));
    assert_eq!(world.agent("main").history.last_turn.as_ref().unwrap().kind, TurnKind::Completed);
    assert!((4..=40).contains(&closes(&world)), "{}", closes(&world));
}

/// However small the window is, and whatever script the work is in.
#[test]
fn a_turn_of_200_rounds_comes_to_its_end_in_the_smallest_windows() {
    for said in ["several words ", "\u{90e8}\u{7f72}\u{670d}\u{52a1}"] {
        let mut world = working(16_384);
        for number in 0..200 {
            let arguments = format!(r#"{{"cmd":"step {number}; {}"}}"#, said.repeat(30));
            world.complete("main", calls(&[("", "ExecCommand", &arguments)]));
            world.complete("main", tool_gives(holon_facts::content::Text::short(said.repeat(60))));
            assert!(world.agent("main").run.is_some(), "{said}: {:?}", world.briefs());
        }
        world.complete("main", answers("done"));
        assert_eq!(world.agent("main").history.last_turn.as_ref().unwrap().kind, TurnKind::Completed);
    }
}

#[test]
fn a_thousand_compactions_repeat_nothing() {
    let (mut world, mut all) = (working(32_768), BTreeSet::new());
    for turn in 1..=20 {
        for _ in 0..102 {
            step(&mut world, turn * 1_000, &mut all);
            let answer = world.ask(|reply| Input::Compact { agent: agent("main"), reply });
            assert!(matches!(answer, Answer::Compaction { .. }));
        }
        world.complete("main", answers("done"));
        world.admit("main", prompt("take other steps"));
        world.complete("main", context());
    }
    assert!(closes(&world) >= 1_000, "{}", closes(&world));
}
