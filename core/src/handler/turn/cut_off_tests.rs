use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::{Event, TurnFact};
use holon_facts::frame::Part;
use holon_facts::model::{AnswerBlock, Item, ModelRequest, StopReason};
use holon_facts::outcome::Outcome;
use holon_facts::terminal::{TurnKind, TurnReason};

use crate::testing::{World, answer, answers, calls, context, interjection, prompt, tool_answers};

fn part(text: &str, stop: StopReason) -> Outcome {
    let blocks =
        if text.is_empty() { Vec::new() } else { [AnswerBlock::Text { text: Text::short(text) }].into() };
    answer(blocks, stop)
}

/// As the shell answers that knows the texts before.
fn joined(text: &str, whole: &str, stop: StopReason) -> Outcome {
    let Outcome::Answer { mut answer } = part(text, stop) else { panic!() };
    answer.joined = Some(Text::short(whole));
    Outcome::Answer { answer }
}

fn begun() -> World {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world
}

/// How the last turn ended, and the text that it left.
fn ended(world: &World) -> Option<(TurnKind, Option<TurnReason>, String)> {
    let mut terminals = world.log.iter().rev().filter_map(|record| {
        let Event::Turn(TurnFact::TurnTerminal(fact)) = &record.event else { return None };
        Some(fact)
    });
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.preview().to_string()).unwrap_or_default();
    terminals.next().map(|fact| (fact.kind, fact.reason, text(&fact.last_assistant_message)))
}

fn last_request(world: &World) -> &ModelRequest {
    world.requests.last().unwrap()
}

fn last_note(world: &World) -> String {
    match last_request(world).conversation.last() {
        Some(Item::User { parts }) => match &parts[..] {
            [Part::Rendered(text)] => text.clone(),
            parts => alloc::format!("{parts:?}"),
        },
        other => alloc::format!("{other:?}"),
    }
}

#[test]
fn only_a_real_end_completes_a_turn() {
    let failed = |reason| (TurnKind::Failed, Some(reason));
    for (text, stop, expected) in [
        ("done", StopReason::EndTurn, (TurnKind::Completed, None)),
        ("", StopReason::EndTurn, failed(TurnReason::EmptyAnswer)),
        (" \n", StopReason::EndTurn, failed(TurnReason::EmptyAnswer)),
        ("I call", StopReason::ToolUse, failed(TurnReason::MissingToolCall)),
        ("", StopReason::ToolUse, failed(TurnReason::MissingToolCall)),
        ("half", StopReason::ContentFilter, failed(TurnReason::ContentFilter)),
        ("", StopReason::ContentFilter, failed(TurnReason::ContentFilter)),
        ("No.", StopReason::Refusal, failed(TurnReason::Refusal)),
        ("", StopReason::Refusal, failed(TurnReason::Refusal)),
        ("half", StopReason::Other, failed(TurnReason::UnknownStopReason)),
    ] {
        let mut world = begun();
        world.complete("main", part(text, stop));
        let (kind, reason, left) = ended(&world).unwrap();
        assert_eq!((kind, reason), expected, "{text:?} {stop}");
        assert_eq!(left, text, "what was said is kept");
        let briefs = world.briefs();
        assert_eq!(briefs.len(), 1, "{briefs:?}");
        if kind == TurnKind::Failed {
            assert!(briefs[0].starts_with("failure: The turn failed"), "{briefs:?}");
            assert!(briefs[0].contains(text.trim()), "what was said is shown: {briefs:?}");
        }
    }
}

#[test]
fn an_answer_that_was_cut_off_is_continued_and_joined() {
    let mut world = begun();
    world.complete("main", part("The first ha", StopReason::MaxOutput));
    assert!(world.agent("main").run.is_some());
    assert!(last_note(&world).contains("output limit and was cut off"), "{}", last_note(&world));
    assert_eq!(last_request(&world).continues, [Text::short("The first ha")]);
    world.complete("main", joined("lf, and the se", "The first half, and the se", StopReason::Pause));
    assert!(last_note(&world).contains("You paused"), "{}", last_note(&world));
    assert_eq!(last_request(&world).continues, ["The first ha", "lf, and the se"].map(Text::short));
    world.complete("main", joined("cond.", "The first half, and the second.", StopReason::EndTurn));
    let whole = "The first half, and the second.".to_string();
    assert_eq!(ended(&world), Some((TurnKind::Completed, None, whole.clone())));
    assert_eq!(world.briefs(), [alloc::format!("result: {whole}")]);
}

#[test]
fn thinking_alone_up_to_the_limit_is_asked_for_an_answer() {
    let mut world = begun();
    world.complete("main", part("", StopReason::MaxOutput));
    assert!(last_note(&world).contains("before it had any text"), "{}", last_note(&world));
    world.complete("main", answers("42"));
    assert_eq!(ended(&world), Some((TurnKind::Completed, None, "42".into())));
}

#[test]
fn continuations_are_bounded_and_calls_begin_anew() {
    let mut world = begun();
    for _ in 0..3 {
        world.complete("main", part("a", StopReason::MaxOutput));
    }
    world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]));
    world.complete("main", tool_answers("a file"));
    assert!(last_request(&world).continues.is_empty());
    for number in 1..=4 {
        assert!(world.agent("main").run.is_some(), "{number}");
        world.complete("main", part("a", StopReason::MaxOutput));
    }
    let (kind, reason, _) = ended(&world).unwrap();
    assert_eq!((kind, reason), (TurnKind::Failed, Some(TurnReason::OutputLimit)));
    assert!(world.briefs()[0].contains("4 times in a row"), "{:?}", world.briefs());
}

#[test]
fn an_operator_who_interjects_begins_another_answer() {
    let mut world = begun();
    world.admit("main", interjection("and quickly"));
    world.complete("main", part("a", StopReason::MaxOutput));
    assert!(last_request(&world).continues.is_empty());
    assert!(!last_note(&world).contains("cut off"), "{}", last_note(&world));
    world.complete("main", answers("done"));
    assert_eq!(ended(&world), Some((TurnKind::Completed, None, "done".into())));
    let mut world = begun();
    world.admit("main", interjection("why?"));
    world.complete("main", part("No.", StopReason::Refusal));
    assert!(world.agent("main").run.is_some(), "whoever is asked again may answer");
}
