//! Prompts that an operator sends into a turn in progress (contract: agent.md, Interjection).

use alloc::vec::Vec;

use crate::agent::wait::resolve;
use crate::event::inbox::{OperatorInterjectionAdmitted, SafePoint};
use crate::host::tx::Tx;
use crate::ids::MessageId;

/// Takes in every interjection that waits.
pub(crate) fn take(tx: &mut Tx<'_>, safe_point: SafePoint) {
    let Some(run) = &tx.agent().run else { return };
    let (run_id, round) = (run.id, run.next_round());
    let waiting: Vec<MessageId> = tx.agent().inbox.interjections().map(|message| message.id).collect();
    for message_id in waiting {
        resolve::taken(tx, message_id);
        tx.record(OperatorInterjectionAdmitted { message_id, run_id, round, safe_point });
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, TurnLimits};
    use crate::event::{Event, TurnFact};
    use crate::model::FailureKind;
    use crate::testing::{World, config, context, fails, interjection, prompt, says};
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    fn attempts(world: &World) -> Vec<(String, u32)> {
        let attempt = |record: &crate::Record| {
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
        assert_eq!(world.agent("main").run.as_ref().unwrap().interjected.len(), 1);
    }

    #[test]
    fn a_turn_that_may_ask_no_more_takes_nothing_in() {
        let turn = TurnLimits { rounds: 1, ..config().turn };
        let mut world = World::new(Config { turn, ..config() });
        world.create("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let second = world.admit("main", interjection("one more thing"));
        world.complete("main", says("done"));
        assert_eq!(world.briefs(), ["result: done"]);
        assert_eq!(world.agent("main").run.as_ref().map(|run| run.message), Some(second));
    }
}
