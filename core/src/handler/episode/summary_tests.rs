//! Summaries of episodes that close in the middle of a turn, in a world without I/O.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::config::{Config, ContextLimits, SummaryBy};
use holon_facts::event::episode::EpisodeSummarized;
use holon_facts::event::operation::OpKind;
use holon_facts::event::{EpisodeFact, Event};
use holon_facts::frame::Part;
use holon_facts::model::{FailureKind, Item, ModelRequest};
use holon_facts::outcome::Outcome;
use holon_facts::time::Millis;

use crate::input::{ControlRequest, Input};
use crate::testing::{World, agent, answers, calls, config, context, fails, long, prompt, tool_gives};

const GOAL: &str = "Goal: the dome stands. Done: the foundation.";

fn window() -> u64 {
    crate::tool::Tool::ALL.iter().map(|tool| tool.est_tokens()).sum::<u64>() + 30_000
}

fn by(summary: SummaryBy) -> Config {
    let base = config();
    Config { context: ContextLimits { window_tokens: window(), summary, ..base.context.clone() }, ..base }
}

/// A turn in whose middle an episode has closed: a model is asked to sum it up, and the next round, too.
fn closed() -> World {
    let mut world = World::with_config("main", by(SummaryBy::Model));
    world.admit("main", prompt("build the dome"));
    world.complete("main", context());
    work(&mut world, 0);
    world
}

/// Rounds until another episode closes.
fn work(world: &mut World, from: usize) {
    let before = count(world, "episode_closed");
    for number in from..from + 60 {
        let arguments = format!(r#"{{"cmd":"step {number}"}}"#);
        world.complete_one("main", OpKind::CallModel, calls(&[("", "ExecCommand", &arguments)]));
        world.complete_one("main", OpKind::RunCommand, tool_gives(long(number as u64, 1_500)));
        if count(world, "episode_closed") > before {
            return;
        }
    }
    panic!("no episode has closed");
}

fn count(world: &World, kind: &str) -> usize {
    world.log.iter().filter(|record| record.event.kind() == kind).count()
}

fn summarized(world: &World) -> Vec<&EpisodeSummarized> {
    let found = world.log.iter().filter_map(|record| {
        let Event::Episode(EpisodeFact::EpisodeSummarized(fact)) = &record.event else { return None };
        Some(&**fact)
    });
    found.collect()
}

/// How often the last request shows the summary.
fn shown(world: &World) -> usize {
    everything(world.requests.last().unwrap()).matches(GOAL).count()
}

fn everything(request: &ModelRequest) -> String {
    let texts = request.conversation.iter().filter_map(|item| match item {
        Item::User { parts } => Some(parts),
        Item::Assistant { .. } | Item::ToolResults { .. } => None,
    });
    let frame = request.frame.turn().flat_map(|block| &block.parts);
    frame.chain(texts.flatten()).map(Part::preview).collect()
}

fn sum_up(world: &mut World, outcome: Outcome) {
    world.complete_one("main", OpKind::Summarize, outcome);
}

#[test]
fn nothing_waits_for_a_summary_and_the_next_request_shows_it() {
    let mut world = closed();
    let asks = world.requests.iter().rev().find(|request| request.sums_up).unwrap().clone();
    assert!(everything(&asks).contains("[the runtime asks for a summary]"));
    let before = world.requests.iter().rev().find(|request| !request.sums_up).unwrap();
    assert!(before.conversation.len() > 1, "the turn goes on at the same time");
    assert_eq!(world.open.values().filter(|kind| **kind == OpKind::CallModel).count(), 1);
    sum_up(&mut world, answers(GOAL));
    assert_eq!(summarized(&world)[0].summary.as_ref().map(|text| text.preview()), Some(GOAL));
    world.complete_one("main", OpKind::CallModel, calls(&[("", "ExecCommand", r#"{"cmd":"go on"}"#)]));
    world.complete_one("main", OpKind::RunCommand, tool_gives(long(0, 10)));
    assert_eq!(shown(&world), 1);
    let note = everything(world.requests.last().unwrap());
    assert!(note.contains("[your summary of an earlier part of this conversation | ep_1]"), "{note}");
}

#[test]
fn it_stays_through_the_closes_of_its_turn_until_another_one_comes() {
    let mut world = closed();
    sum_up(&mut world, answers(GOAL));
    work(&mut world, 100);
    assert_eq!(shown(&world), 1);
    sum_up(&mut world, answers("Goal: another one"));
    work(&mut world, 200);
    let last = everything(world.requests.last().unwrap());
    assert_eq!((last.matches(GOAL).count(), last.matches("Goal: another one").count()), (0, 1), "{last}");
}

#[test]
fn what_comes_after_its_turn_is_shown_with_the_next_one() {
    let mut world = World::with_config("main", by(SummaryBy::Model));
    // A turn that is over gives the episode a digest.
    world.admit("main", prompt("first"));
    world.complete("main", context());
    world.complete("main", answers("yes"));
    world.admit("main", prompt("build the dome"));
    world.complete("main", context());
    work(&mut world, 0);
    world.complete_one("main", OpKind::CallModel, answers("done"));
    assert!(world.agent("main").run.is_none(), "the turn is over");
    sum_up(&mut world, answers(GOAL));
    world.admit("main", prompt("and now?"));
    world.complete("main", context());
    assert_eq!(shown(&world), 1);
    world.complete("main", answers("on it"));
    world.ask(|reply| Input::Compact { agent: agent("main"), reply });
    world.admit("main", prompt("still there?"));
    world.complete("main", context());
    assert_eq!(shown(&world), 1, "the digest of the episode has it");
}

/// The first turn of an episode has no digest when it closes in its middle: the next one tells of the whole turn.
#[test]
fn one_of_a_first_turn_stays_with_the_digest_that_tells_of_it() {
    let anew = |world: &mut World| {
        world.ask(|reply| Input::Compact { agent: agent("main"), reply });
        world.admit("main", prompt("still there?"));
        world.complete("main", context());
        assert_eq!(shown(world), 1, "{}", everything(world.requests.last().unwrap()));
    };
    let mut in_time = closed();
    sum_up(&mut in_time, answers(GOAL));
    in_time.complete_one("main", OpKind::CallModel, answers("done"));
    anew(&mut in_time);
    let mut late = closed();
    late.complete_one("main", OpKind::CallModel, answers("done"));
    sum_up(&mut late, answers(GOAL));
    anew(&mut late);
    let mut later = closed();
    later.complete_one("main", OpKind::CallModel, answers("done"));
    later.ask(|reply| Input::Compact { agent: agent("main"), reply });
    sum_up(&mut later, answers(GOAL));
    anew(&mut later);
    later.complete("main", answers("on it"));
    anew(&mut later);
}

#[test]
fn one_that_fails_or_says_nothing_leaves_the_digest_alone() {
    let bad = [
        fails(FailureKind::Server),
        fails(FailureKind::ContextLength),
        answers("  "),
        calls(&[("c", "ExecCommand", r#"{"cmd":"rm -rf /"}"#)]),
    ];
    for outcome in bad {
        let mut world = closed();
        sum_up(&mut world, outcome);
        let found = summarized(&world);
        assert!(found.len() == 1 && found[0].summary.is_none() && found[0].attempt.failure_kind.is_some());
        world.complete_one("main", OpKind::CallModel, answers("done"));
        assert!(world.agent("main").run.is_none());
        assert_eq!(world.agent("main").account.reserved().tokens, 0);
    }
}

#[test]
fn one_that_comes_too_late_is_given_up() {
    let mut world = closed();
    world.pass(Millis::seconds(36));
    let found = summarized(&world);
    assert!(found.len() == 1 && found[0].summary.is_none(), "{found:?}");
    assert!(world.agent("main").episodes.summarizing.is_none());
    assert!(world.agent("main").run.is_some(), "the turn goes on");
}

#[test]
fn a_stop_a_crash_and_a_shutdown_leave_none_behind() {
    let mut world = closed();
    world.control("main", ControlRequest::Stop);
    assert!(world.agent("main").ops.values().all(|open| open.kind != OpKind::Summarize));
    let mut world = closed();
    world.crash();
    assert!(world.agent("main").ops.values().all(|open| open.kind != OpKind::Summarize));
    assert_eq!(world.agent("main").account.beside, None);
    let mut world = closed();
    world.drain();
    assert!(world.agent("main").ops.is_empty());
}

#[test]
fn none_is_asked_for_where_facts_are_enough() {
    let mut world = World::with_config("main", by(SummaryBy::Facts));
    world.admit("main", prompt("build the dome"));
    world.complete("main", context());
    work(&mut world, 0);
    assert!(world.requests.iter().all(|request| !request.sums_up));
}

#[test]
fn one_that_lasts_over_midnight_counts_for_the_day_on_which_it_was_asked_for() {
    let mut world = closed();
    world.now.wall = world.now.wall.next_day();
    let today = world.now.wall.day();
    world.complete_one("main", OpKind::CallModel, calls(&[("", "ExecCommand", r#"{"cmd":"go on"}"#)]));
    world.complete_one("main", OpKind::RunCommand, tool_gives(long(0, 10)));
    assert_eq!(world.agent("main").account.day, today, "the next round is asked for today");
    let before = world.agent("main").account;
    sum_up(&mut world, answers(GOAL));
    let account = world.agent("main").account;
    assert!(account.total.tokens > before.total.tokens);
    assert_eq!(account.on(today), before.on(today));
}

#[test]
fn one_that_was_asked_for_on_a_day_that_has_not_come_after_all_counts_for_today() {
    let mut world = closed();
    let today = world.now.wall.day() - 1;
    world.now.wall.0 -= 86_400_000_000;
    sum_up(&mut world, answers(GOAL));
    let account = world.agent("main").account;
    assert_eq!((account.day, account.of_day), (today, account.total));
}
