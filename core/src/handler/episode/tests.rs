use crate::effect::Answer;
use crate::input::ControlRequest;
use crate::input::Input;
use crate::testing::{
    World, agent, answers, calls, config, context, context_with_notes, fails, ingress, interjection, long,
    prompt, tool_answers, tool_gives,
};
use alloc::string::String;
use alloc::vec::Vec;
use holon_facts::config::{Config, ContextLimits};
use holon_facts::content::Text;
use holon_facts::episode::{Compaction, EpisodeBoundary};
use holon_facts::event::operation::OpKind;
use holon_facts::event::{EpisodeClosed, EpisodeFact, Event};
use holon_facts::frame::Part;
use holon_facts::ids::EpisodeId;
use holon_facts::message::Priority;
use holon_facts::model::{FailureKind, Item, ModelRequest};
use holon_facts::outcome::{Certainty, OpFailure, Outcome};
use holon_facts::provenance::MessageKind;
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::Millis;

/// What all tools take, and as much as made a turn short of room when there were few of them.
fn window() -> u64 {
    crate::tool::Tool::ALL.iter().map(|tool| tool.est_tokens()).sum::<u64>() + 12_500
}

fn small() -> Config {
    with_window(window())
}

fn with_window(window_tokens: u64) -> Config {
    let base = config();
    Config { context: ContextLimits { window_tokens, ..base.context.clone() }, ..base }
}

fn working() -> World {
    let mut world = World::with_config("main", small());
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world
}

fn round(world: &mut World, number: usize, tokens: u64) {
    let arguments = format!(r#"{{"cmd":"step {number}"}}"#);
    world.complete("main", calls(&[("", "ExecCommand", &arguments)]));
    world.complete("main", tool_gives(long(number as u64, tokens)));
}

fn closes(world: &World) -> Vec<EpisodeClosed> {
    let found = world.log.iter().filter_map(|record| {
        let Event::Episode(EpisodeFact::EpisodeClosed(fact)) = &record.event else { return None };
        Some((**fact).clone())
    });
    found.collect()
}

fn boundaries(world: &World) -> Vec<EpisodeBoundary> {
    closes(world).iter().map(|fact| fact.boundary).collect()
}

fn last_request(world: &World) -> &ModelRequest {
    world.requests.last().unwrap()
}

fn rendered(request: &ModelRequest) -> String {
    let parts = request.conversation.iter().filter_map(|item| match item {
        Item::User { parts } => Some(parts),
        Item::Assistant { .. } | Item::ToolResults { .. } => None,
    });
    parts.flatten().map(Part::preview).collect()
}

#[test]
fn a_long_turn_stays_within_the_window_and_goes_on() {
    let mut world = working();
    for number in 0..40 {
        round(&mut world, number, 700);
        assert!(crate::prompt::est_tokens(last_request(&world)) <= window());
    }
    let found = closes(&world);
    assert!((4..=14).contains(&found.len()), "seldom, so that a cache has something to keep: {found:?}");
    assert!(found.iter().all(|fact| fact.boundary == EpisodeBoundary::Size));
    let request = last_request(&world);
    let whole = request.conversation.iter().filter(|item| matches!(item, Item::Assistant { .. })).count();
    assert!((2..20).contains(&whole), "{whole}");
    assert_eq!(request.rounds, 40);
    assert!(rendered(request).contains("[recap by the runtime: the first "));
    assert_eq!(world.agent("main").run.as_ref().unwrap().conversation.rounds.len(), 40);
}

#[test]
fn what_the_operator_said_is_never_told_in_short() {
    let mut world = working();
    round(&mut world, 0, 10);
    world.admit("main", interjection("only the tests"));
    for number in 1..30 {
        round(&mut world, number, 700);
    }
    assert!(!closes(&world).is_empty());
    let text = rendered(last_request(&world));
    assert!(text.contains("only the tests") && text.contains("go"), "{text}");
}

fn compact(world: &mut World) -> Compaction {
    let answer = world.ask(|reply| Input::Compact { agent: agent("main"), reply });
    let Answer::Compaction { compaction } = answer else { panic!("{answer:?}") };
    compaction
}

#[test]
fn an_operator_closes_an_episode_between_turns_and_before_the_next_request_of_one() {
    let mut world = World::with_agent("main");
    assert_eq!(compact(&mut world), Compaction::Nothing);
    world.admit("main", prompt("first"));
    world.complete("main", context());
    assert_eq!(compact(&mut world), Compaction::Nothing, "there is one request, and nothing to hide");
    world.complete("main", answers("done"));
    assert_eq!(compact(&mut world), Compaction::Closed { episode_id: EpisodeId(1) });
    assert_eq!(compact(&mut world), Compaction::Nothing);
    world.admit("main", prompt("second"));
    world.complete("main", context());
    assert!(rendered(last_request(&world)).contains("second"));
    assert!(!rendered(last_request(&world)).contains("first"), "a digest stands for it");
    for number in 0..5 {
        round(&mut world, number, 50);
    }
    let before = last_request(&world).conversation.len();
    assert_eq!(compact(&mut world), Compaction::Requested { episode_id: EpisodeId(2) });
    assert_eq!(compact(&mut world), Compaction::Requested { episode_id: EpisodeId(2) });
    assert_eq!(last_request(&world).conversation.len(), before, "the request in flight stays what it is");
    round(&mut world, 5, 50);
    assert!(last_request(&world).conversation.len() < before);
    world.complete("main", answers("done"));
    assert_eq!(boundaries(&world), [EpisodeBoundary::Operator; 2]);
    assert_eq!(world.log.iter().filter(|record| record.event.kind() == "compaction_requested").count(), 1);
}

#[test]
fn a_refusal_is_answered_once_with_a_recap() {
    let mut world = working();
    for number in 0..4 {
        round(&mut world, number, 200);
    }
    let before = crate::prompt::est_tokens(last_request(&world));
    world.complete("main", fails(FailureKind::ContextLength));
    let found = closes(&world);
    assert_eq!((found.len(), found[0].boundary, found[0].hidden_rounds), (1, EpisodeBoundary::Refused, 2));
    assert!(crate::prompt::est_tokens(last_request(&world)) < before);
    world.complete("main", fails(FailureKind::ContextLength));
    assert!(world.agent("main").run.is_none());
    let last = world.agent("main").history.last_turn.clone().unwrap();
    assert_eq!(
        (last.kind, last.reason),
        (TurnKind::ContextLengthExceeded, Some(TurnReason::ProviderFailure))
    );
}

#[test]
fn after_a_recap_the_turn_can_complete() {
    let mut world = working();
    for number in 0..4 {
        round(&mut world, number, 200);
    }
    world.complete("main", fails(FailureKind::ContextLength));
    world.complete("main", answers("done"));
    assert_eq!(world.agent("main").history.last_turn.clone().unwrap().kind, TurnKind::Completed);
}

#[test]
fn a_refusal_of_a_first_request_ends_the_turn() {
    let mut world = working();
    world.complete("main", fails(FailureKind::ContextLength));
    assert!(world.agent("main").run.is_none());
    assert!(closes(&world).is_empty());
}

#[test]
fn a_message_that_can_not_fit_ends_the_turn_and_names_the_setting() {
    let mut world = World::with_config("main", small());
    let mut huge = prompt("");
    huge.body.text = long(7, 14_000);
    world.admit("main", huge);
    world.complete("main", context());
    let last = world.agent("main").history.last_turn.clone().unwrap();
    assert_eq!((last.kind, last.reason), (TurnKind::ContextLengthExceeded, Some(TurnReason::ContextWindow)));
    let shown = world
        .log
        .iter()
        .any(|record| record.event.payload().unwrap().contains("runtime.context_window_tokens"));
    assert!(shown);
}

#[test]
fn a_recap_outlives_a_crash() {
    let mut world = working();
    for number in 0..12 {
        round(&mut world, number, 700);
    }
    let recap = world.agent("main").run.as_ref().unwrap().conversation.recap.clone();
    assert!(recap.rounds > 0);
    let before = closes(&world).len();
    world.crash();
    world.complete("main", context());
    assert_eq!(world.agent("main").run.as_ref().unwrap().conversation.recap, recap);
    assert_eq!(closes(&world).len(), before);
}

/// A turn with one round.
fn turn(world: &mut World, says_so: &str, answer: &str) {
    world.admit("main", prompt(says_so));
    world.complete("main", context());
    world.complete("main", answers(answer));
}

/// Whether a request begins with all of another one.
fn extends(before: &ModelRequest, after: &ModelRequest) -> bool {
    before.frame == after.frame && after.conversation.starts_with(&before.conversation)
}

#[test]
fn each_request_of_an_episode_begins_with_the_one_before() {
    let mut world = World::with_agent("main");
    for number in 0..4 {
        world.admit("main", prompt(&format!("request {number}")));
        world.complete("main", context());
        world.complete("main", calls(&[("c", "ExecCommand", r#"{"cmd":"make"}"#)]));
        world.complete("main", tool_answers("made"));
        world.complete("main", answers("done"));
    }
    let pairs = world.requests.iter().zip(world.requests.iter().skip(1));
    assert!(pairs.clone().all(|(before, after)| extends(before, after)));
    assert_eq!(pairs.count(), 7);
    assert!(boundaries(&world).is_empty());
}

#[test]
fn a_restart_goes_on_with_the_same_bytes() {
    let mut world = World::with_agent("main");
    turn(&mut world, "first", "one");
    world.crash();
    turn(&mut world, "second", "two");
    world.admit("main", prompt("third"));
    world.complete("main", context());
    world.crash();
    world.complete("main", context());
    let requests = &world.requests;
    assert!(extends(&requests[0], &requests[1]) && extends(&requests[1], &requests[2]));
    assert_eq!(
        (&requests[2].frame, &requests[2].conversation),
        (&requests[3].frame, &requests[3].conversation)
    );
}

#[test]
fn a_long_rest_closes_the_episode_and_leaves_a_digest() {
    let mut world = World::with_agent("main");
    turn(&mut world, "count the files", "there are seven");
    world.pass(Millis::hours(2));
    turn(&mut world, "and now?", "eight");
    assert_eq!(boundaries(&world), [EpisodeBoundary::Rest]);
    let request = last_request(&world);
    assert_eq!(request.conversation.len(), 1);
    let digest: String = digest(request);
    assert!(digest.contains("count the files") && digest.contains("there are seven"), "{digest}");
    turn(&mut world, "again", "nine");
    assert!(extends(&world.requests[1], last_request(&world)));
}

fn digest(request: &ModelRequest) -> String {
    let blocks = request.frame.context_blocks.iter().filter(|block| block.label == "earlier_episodes");
    blocks.flat_map(|block| &block.parts).map(Part::preview).collect()
}

#[test]
fn another_item_in_focus_begins_another_episode() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("do two things"));
    world.complete("main", context());
    let create = |objective: &str| format!(r#"{{"objective":"{objective}","plan_status":"ready"}}"#);
    world.complete("main", calls(&[("a", "CreateWorkItem", &create("the first"))]));
    world.complete("main", tool_answers("created"));
    world.complete("main", calls(&[("b", "CompleteWorkItem", r#"{"work_item_id":"work_1"}"#)]));
    world.complete("main", tool_answers("completed"));
    world.complete("main", answers("done with the first"));
    assert!(boundaries(&world).is_empty());
    turn(&mut world, "go on", "so be it");
    assert!(boundaries(&world).is_empty(), "nothing was in focus when the turn began");
}

#[test]
fn how_a_turn_ended_is_shown_after_it() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", calls(&[("c1", "ExecCommand", r#"{"cmd":"echo one >> log"}"#)]));
    world.control("main", ControlRequest::Abort { run_id: None, stop_after_abort: false });
    world.admit("main", prompt("go on"));
    world.complete_one("main", OpKind::LoadContext, context());
    let shown = rendered(last_request(&world));
    assert!(shown.contains("[this turn of yours ended: aborted]"), "{shown}");
    let calls = last_request(&world).conversation.iter();
    assert_eq!(calls.filter(|item| matches!(item, Item::ToolResults { .. })).count(), 1);
}

#[test]
fn what_hidden_rounds_did_is_named_however_little_room_there_is() {
    let mut world = working();
    for number in 0..120 {
        round(&mut world, number, 700);
    }
    let shown = rendered(last_request(&world));
    let request = last_request(&world);
    let calls = request.conversation.iter().flat_map(|item| match item {
        Item::Assistant { blocks } => blocks.iter().map(|block| format!("{block:?}")).collect(),
        Item::User { .. } | Item::ToolResults { .. } => Vec::new(),
    });
    let shown: String = core::iter::once(shown).chain(calls).collect();
    for number in 0..120 {
        let command = format!("step {number}");
        let ends = |rest: &str| !rest.starts_with(|char: char| char.is_ascii_digit());
        let named =
            shown.match_indices(&command).filter(|(at, found)| ends(&shown[at + found.len()..])).count();
        assert_eq!(named, 1, "{command} in {shown}");
    }
}

#[test]
fn a_digest_has_the_time_of_each_request() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.pass(Millis::minutes(5));
    world.admit("main", interjection("only the tests"));
    world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]));
    world.complete("main", tool_answers("a b"));
    world.complete("main", answers("done"));
    world.pass(Millis::hours(2));
    turn(&mut world, "and now?", "the same");
    let requests = &closes(&world)[0].digest.requests;
    assert_eq!(requests[1].at.since(requests[0].at), Millis::minutes(5), "{requests:?}");
}

#[test]
fn what_a_new_head_shows_is_known_after_an_interruption() {
    let mut world = working();
    for number in 0..12 {
        round(&mut world, number, 700);
    }
    let agent = world.agent("main");
    assert!(boundaries(&world).contains(&EpisodeBoundary::Size));
    let (open, run) = (agent.episodes.open.as_ref().unwrap(), agent.run.as_ref().unwrap());
    assert!(open.shown.standing.is_some());
    assert_eq!(run.environment.shown_before, open.shown);
}

/// A turn that another one came before, which found another file: the file is again as the first had read it.
#[test]
fn what_other_turns_have_shown_meanwhile_is_put_right_where_a_turn_goes_on() {
    let mut world = World::with_agent("main");
    turn(&mut world, "first", "done");
    world.admit("main", ingress(MessageKind::WebhookEvent, Priority::Background, "an event"));
    world.complete("main", context());
    world.complete("main", calls(&[("c", "ExecCommand", r#"{"cmd":"true"}"#)]));
    world.admit("main", prompt("in between"));
    world.crash();
    world.complete("main", context_with_notes());
    assert!(rendered(last_request(&world)).contains("memory/self.md"));
    world.complete("main", answers("done"));
    world.complete("main", context());
    let shown = rendered(last_request(&world));
    let (event, gone) = (shown.rfind("an event"), shown.rfind("files that no longer hold"));
    assert!(gone.is_some() && gone > event, "{shown}");
}

/// A turn was left in an episode that is over, and another one has opened the next without reading anything.
#[test]
fn what_a_turn_has_shown_in_an_earlier_episode_is_not_put_before_what_the_next_begins_with() {
    let mut world = World::with_agent("main");
    turn(&mut world, "first", "done");
    world.admit("main", ingress(MessageKind::WebhookEvent, Priority::Background, "an event"));
    world.complete("main", context_with_notes());
    world.admit("main", prompt("in between"));
    let mut other = config();
    other.models.reverse();
    world.restart(other);
    let failure = OpFailure { certainty: Certainty::Ambiguous, message: Text::short("no disk") };
    world.complete("main", Outcome::Failed { failure });
    for _ in 0..2 {
        world.complete("main", context());
        let shown = rendered(last_request(&world));
        assert!(shown.contains("an event") && !shown.contains("memory/self.md"), "{shown}");
        world.crash();
    }
}

/// A Chinese character is about a token, an English one a quarter.
#[test]
fn digests_of_any_script_stay_within_their_part_of_the_window() {
    let shown_of = |said: &str| {
        let mut world = World::with_config("main", small());
        for number in 0..4 {
            turn(&mut world, &format!("request {number}: {}", said.repeat(60)), &said.repeat(60));
        }
        assert!(matches!(compact(&mut world), Compaction::Closed { .. }));
        turn(&mut world, "and now?", "the same");
        let frame = &last_request(&world).frame;
        let block = frame.turn().find(|block| block.label == "earlier_episodes");
        let block = block.unwrap_or_else(|| panic!("no digest of {said}"));
        let text: String = block.parts.iter().map(Part::preview).collect();
        assert!(text.contains("request 3"), "{text}");
        block.parts.iter().map(Part::est_tokens).sum::<u64>()
    };
    let most = (small().context.window_tokens * 95 / 100) / 10;
    for said in [
        "several words ",
        "\u{90e8}\u{7f72}\u{670d}\u{52a1}\u{5668}",
        "0f3c",
        "\u{43f}\u{43e}\u{433}\u{43e}\u{434}\u{430} ",
    ] {
        let tokens = shown_of(said);
        assert!(tokens <= most, "{tokens} of {most}: {said}");
    }
}

#[test]
fn a_start_with_another_window_changes_nothing_that_an_episode_has_shown() {
    let mut world = World::with_config("main", small());
    let turn = |world: &mut World, number: usize, rounds: usize| {
        world.admit("main", prompt(&format!("request {number}: {}", "what is asked at length, ".repeat(20))));
        world.complete("main", context());
        (0..rounds).for_each(|number| round(world, number, 700));
        world.complete("main", answers("done"));
    };
    for number in 0..6 {
        turn(&mut world, number, 2);
        assert!(matches!(compact(&mut world), Compaction::Closed { .. }));
    }
    turn(&mut world, 6, 30);
    let medium = || with_window(2 * window());
    for (number, config) in [(7, config()), (8, medium()), (9, config())] {
        let before = last_request(&world).clone();
        world.restart(config);
        turn(&mut world, number, 0);
        let after = last_request(&world);
        assert_eq!(before.frame, after.frame, "the head of the episode");
        assert!(after.conversation.starts_with(&before.conversation), "with its summary of rounds");
    }
    let shown = last_request(&world).frame.turn().flat_map(|block| &block.parts).map(Part::preview);
    let shown = shown.collect::<String>();
    let named = (0..6).filter(|number| shown.contains(&format!("request {number}"))).count();
    assert!((1..6).contains(&named), "a small window has no space for all: {shown}");
    assert!(rendered(last_request(&world)).contains("[recap by the runtime"));
}
