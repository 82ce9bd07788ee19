//! Prompts that an operator sends into a turn in progress (contract: agent.md, Interjection).

use alloc::vec::Vec;

use holon_facts::event::inbox::{OperatorInterjectionAdmitted, SafePoint};
use holon_facts::ids::MessageId;

use crate::handler::skills;
use crate::handler::wait::resolve;
use crate::tx::Tx;

/// Takes in every interjection that waits.
pub(crate) fn take(tx: &mut Tx<'_>, safe_point: SafePoint) {
    let Some(run) = &tx.agent().run else { return };
    let (run_id, round) = (run.id, run.conversation.next_round());
    let waiting: Vec<MessageId> = tx.agent().inbox.interjections().map(|message| message.id).collect();
    for message_id in waiting {
        resolve::taken(tx, message_id);
        tx.record(OperatorInterjectionAdmitted { message_id, run_id, round, safe_point });
        skills::given(tx, &[message_id]);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{World, answers, calls, config, context, fails, interjection, prompt, tool_answers};
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;
    use holon_facts::config::{Config, TurnLimits};
    use holon_facts::event::{Event, TurnFact};
    use holon_facts::frame::Part;
    use holon_facts::model::{FailureKind, Item};
    use holon_facts::time::Millis;

    fn attempts(world: &World) -> Vec<(String, u32)> {
        let attempt = |record: &holon_facts::Record| {
            let Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) = &record.event else { return None };
            Some((fact.attempt.model_ref.model().to_string(), fact.attempt.attempt))
        };
        world.log.iter().filter_map(attempt).collect()
    }

    #[test]
    fn an_interjection_between_attempts_gives_the_round_no_further_attempts() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        for _ in 0..6 {
            world.admit("main", interjection("and quickly"));
            world.complete("main", fails(FailureKind::Server));
            if world.open.is_empty() && world.agent("main").run.is_some() {
                world.pass_to_deadline();
            }
        }
        let expected = ["one", "two"].map(|name| [1, 2, 3].map(|number| (name.to_string(), number)));
        assert_eq!(attempts(&world), expected.concat());
        assert!(world.agent("main").hold.is_some());
    }

    #[test]
    fn the_next_candidate_sees_what_came_meanwhile() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.admit("main", interjection("and quickly"));
        world.complete("main", fails(FailureKind::Auth));
        assert_eq!(world.agent("main").run.as_ref().unwrap().conversation.interjected.len(), 1);
    }

    #[test]
    fn a_turn_that_may_ask_no_more_takes_nothing_in() {
        let turn = TurnLimits { rounds: 1, ..config().turn };
        let mut world = World::new(Config { turn, ..config() });
        world.create("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let second = world.admit("main", interjection("one more thing"));
        world.complete("main", answers("done"));
        assert_eq!(world.briefs(), ["result: done"]);
        assert_eq!(world.agent("main").run.as_ref().map(|run| run.message), Some(second));
    }

    /// What the newest request says in the role of the user, and what its model said and called, in order.
    fn shown(world: &World) -> Vec<String> {
        let request = world.requests.last().unwrap();
        let items = request.conversation.iter().map(|item| match item {
            Item::User { parts } => parts.iter().map(Part::preview).collect(),
            Item::Assistant { .. } => "(a round)".to_string(),
            Item::ToolResults { .. } => "(results)".to_string(),
        });
        items.collect()
    }

    /// The positions of these texts in the newest request, each once.
    fn order(world: &World, texts: &[&str]) -> Vec<usize> {
        let shown = shown(world);
        let place = |text: &&str| {
            let mut places = (0..shown.len()).filter(|at| shown[*at].contains(*text));
            let (first, next) = (places.next(), places.next());
            assert!(first.is_some() && next.is_none(), "{text:?} is shown once: {shown:#?}");
            first.unwrap_or_default()
        };
        texts.iter().map(place).collect()
    }

    /// A turn with two corrections: one before its only round, one after it.
    fn corrected() -> World {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("migrate A"));
        world.admit("main", interjection("carefully"));
        world.complete("main", context());
        world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]));
        world.admit("main", interjection("no, not that one: use B"));
        world.complete("main", tool_answers("a b"));
        world
    }

    const TEXTS: [&str; 5] = ["migrate A", "carefully", "(a round)", "(results)", "no, not that one: use B"];

    #[test]
    fn a_correction_stands_where_it_stood_after_a_crash_and_a_shutdown() {
        for crashes in [true, false] {
            let mut world = corrected();
            let before = shown(&world);
            for _ in 0..3 {
                if !crashes {
                    world.drain();
                }
                world.crash();
                assert_eq!(world.agent("main").run.as_ref().unwrap().conversation.interjected.len(), 2);
                world.complete("main", context());
                assert!(order(&world, &TEXTS).is_sorted());
                assert_eq!(shown(&world)[..before.len()], before, "nothing that was sent is said otherwise");
                // Each further run says that it was interrupted, once.
                assert_eq!(shown(&world).len(), before.len() + 1);
                world.complete("main", fails(FailureKind::Auth));
            }
            world.complete("main", answers("B it is"));
            assert_eq!(world.briefs(), ["result: B it is"]);
            assert!(world.agent("main").run.is_none(), "and there is no other turn");
            assert_eq!(world.agent("main").inbox.totals().0, 0);
        }
    }

    #[test]
    fn a_correction_that_came_before_a_crash_was_shown_nowhere_yet_and_still_follows_what_it_corrects() {
        let mut world = corrected();
        world.admit("main", interjection("and say why"));
        world.crash();
        world.complete("main", context());
        assert!(order(&world, &[&TEXTS[..], &["and say why"]].concat()).is_sorted());
    }

    #[test]
    fn a_correction_waits_with_its_message_through_a_hold_and_other_prompts_go_before() {
        let mut world = corrected();
        for _ in 0..2 {
            for _ in 0..3 {
                world.complete("main", fails(FailureKind::Server));
                if world.waits_for("main").is_none() && world.agent("main").run.is_some() {
                    world.pass(Millis::seconds(1));
                }
            }
        }
        assert!(world.agent("main").hold.is_some() && world.agent("main").run.is_none());
        assert_eq!(world.agent("main").inbox.queued_entries(), 3);
        // Another interjection is the trial of the hold, and a turn of its own.
        world.admit("main", interjection("are you there?"));
        world.complete("main", context());
        let run = world.agent("main").run.as_ref().unwrap();
        assert!(
            run.conversation.interjected.is_empty() && shown(&world).concat().contains("are you there?"),
            "{:?}",
            shown(&world)
        );
        world.complete("main", answers("here"));
        world.complete("main", context());
        let texts = ["are you there?", "migrate A", "carefully", "(results)", "no, not that one: use B"];
        assert!(order(&world, &texts).is_sorted());
        world.complete("main", answers("B it is"));
        assert_eq!(world.agent("main").inbox.totals().0, 0);
    }

    #[test]
    fn where_the_message_is_dropped_its_corrections_have_turns_of_their_own() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("migrate A"));
        let second = world.admit("main", interjection("use B"));
        world.complete("main", context());
        for _ in 0..3 {
            world.crash();
        }
        assert!(world.briefs()[0].starts_with("failure: The message was dropped"), "{:?}", world.briefs());
        assert_eq!(world.agent("main").run.as_ref().map(|run| run.message), Some(second));
    }

    #[test]
    fn later_turns_know_what_was_interjected() {
        let mut world = corrected();
        world.complete("main", answers("B it is"));
        world.admit("main", prompt("what did I say?"));
        world.complete("main", context());
        let texts = ["migrate A", "carefully", "use B", "what did I say?"];
        assert!(order(&world, &texts).is_sorted());
        // After a rest a digest has them.
        world.complete("main", answers("to use B"));
        world.pass(Millis::hours(2));
        world.admit("main", prompt("and before?"));
        world.complete("main", context());
        let blocks = world.requests.last().unwrap().frame.turn().flat_map(|block| &block.parts);
        let earlier: String = blocks.map(Part::preview).collect();
        let places = ["migrate A", "carefully", "use B", "what did I say?", "to use B"];
        let places = places.map(|text| earlier.find(text));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{earlier}");
    }
}
