//! Shortens a turn whose request would not fit, or was refused as too long (contract: providers.md, Keeping context
//! bounded).

use alloc::format;

use holon_facts::content::Text;
use holon_facts::event::turn::{CompactionCause, ContextCompacted, FailureArtifact, FailureCategory};
use holon_facts::fence::Fence;
use holon_facts::model::Block;
use holon_facts::model_ref::ModelRef;

use crate::agent::Agent;
use crate::agent::turn::window::{TAIL, Window};
use crate::agent::turn::{Round, Run};
use crate::handler::turn::model_round;
use crate::prompt::notes;
use crate::tx::Tx;

/// How many rounds the recap must cover so that a request of `input` tokens comes well below `limit`; none
/// when it covers all that it may already.
fn through(agent: &Agent, run: &Run, window: Window, input: u64, limit: u64) -> Option<u32> {
    let covered = run.conversation.recap.rounds as usize;
    let most = run.conversation.rounds.len().saturating_sub(TAIL);
    if most <= covered {
        return None;
    }
    let open: u64 = run.conversation.rounds[covered..].iter().map(|round| est_tokens(agent, round)).sum();
    let fixed = input.saturating_sub(open).saturating_add(window.recap());
    let mut kept: u64 = run.conversation.rounds[most..].iter().map(|round| est_tokens(agent, round)).sum();
    let mut through = most;
    while through > covered + 1 {
        let more = kept.saturating_add(est_tokens(agent, &run.conversation.rounds[through - 1]));
        if fixed.saturating_add(more) > limit / 2 {
            break;
        }
        kept = more;
        through -= 1;
    }
    u32::try_from(through).ok()
}

/// The tokens that requests stay within: the window, and well below what a provider has refused.
pub(crate) fn room(tx: &Tx<'_>, limit: u64) -> u64 {
    let refused_at = tx.agent().run.as_ref().and_then(|run| run.conversation.recap.refused_at);
    refused_at.map_or(limit, |refused| limit.min(refused / 4 * 3))
}

/// Records the recap that a request of `input` tokens needs; false when nothing more can be told in short.
pub(crate) fn shorten(tx: &mut Tx<'_>, input: u64, limit: u64, cause: CompactionCause) -> bool {
    let Some(run) = &tx.agent().run else { return false };
    let window = Window::of_chain(tx.env.config, &run.chain.models);
    let (run_id, round) = (run.id, run.conversation.next_round());
    let recapped = match (through(tx.agent(), run, window, input, limit), cause) {
        (Some(rounds), _) => rounds,
        // What earlier turns said is left out after a refusal: that alone may be enough.
        (None, CompactionCause::Refused) if !tx.agent().history.exchanges.is_empty() => {
            run.conversation.recap.rounds
        }
        (None, CompactionCause::OverBudget | CompactionCause::Refused) => return false,
    };
    tx.record(ContextCompacted { run_id, round, cause, recapped_rounds: recapped, est_tokens: input, limit });
    true
}

/// Why a turn ends whose request can't be made short enough.
pub(crate) fn too_long(model: &ModelRef, input: u64, limit: u64) -> FailureArtifact {
    let summary = format!(
        "the request has about {input} tokens and {limit} fit {model}; if its window is larger, say so with \
         runtime.context_window_tokens"
    );
    let mut failure =
        model_round::artifact(FailureCategory::Runtime, "context_length_exceeded", Text::short(summary));
    failure.model_ref = Some(model.clone());
    failure
}

/// One round as requests show it.
fn est_tokens(agent: &Agent, round: &Round) -> u64 {
    let notes = round.notes.iter().flat_map(|note| notes::parts(agent, Fence::PREVIEW, (0, 0), note));
    let notes: u64 = notes.map(|part| part.est_tokens()).sum();
    let blocks: u64 = round.blocks.iter().map(Block::est_tokens).sum();
    let results: u64 = round.results.iter().flat_map(|receipt| receipt.texts()).map(Text::est_tokens).sum();
    notes.saturating_add(blocks).saturating_add(results)
}

#[cfg(test)]
mod tests {
    use crate::testing::{
        World, calls, config, context, fails, interjection, long, prompt, says, tool_gives,
    };
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;
    use holon_facts::config::{Config, ContextLimits};
    use holon_facts::event::turn::{CompactionCause, ContextCompacted};
    use holon_facts::event::{Event, TurnFact};
    use holon_facts::frame::Part;
    use holon_facts::model::{FailureKind, Item, ModelRequest};
    use holon_facts::terminal::{TurnKind, TurnReason};

    /// What all tools take, and as much as made a turn short of room when there were few of them.
    fn window() -> u64 {
        crate::tool::Tool::ALL.iter().map(|tool| tool.est_tokens()).sum::<u64>() + 7_900
    }

    fn small() -> Config {
        let base = config();
        Config { context: ContextLimits { window_tokens: window(), ..base.context.clone() }, ..base }
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

    fn compactions(world: &World) -> Vec<ContextCompacted> {
        let found = world.log.iter().filter_map(|record| {
            let Event::Turn(TurnFact::ContextCompacted(fact)) = &record.event else { return None };
            Some((**fact).clone())
        });
        found.collect()
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
        let found = compactions(&world);
        assert!((4..=14).contains(&found.len()), "seldom, so that a cache has something to keep: {found:?}");
        assert!(found.iter().all(|fact| fact.cause == CompactionCause::OverBudget));
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
        assert!(!compactions(&world).is_empty());
        let text = rendered(last_request(&world));
        assert!(text.contains("only the tests") && text.contains("go"), "{text}");
    }

    #[test]
    fn a_refusal_is_answered_once_with_a_recap() {
        let mut world = working();
        for number in 0..4 {
            round(&mut world, number, 200);
        }
        let before = crate::prompt::est_tokens(last_request(&world));
        world.complete("main", fails(FailureKind::ContextLength));
        let found = compactions(&world);
        assert_eq!((found.len(), found[0].cause, found[0].recapped_rounds), (1, CompactionCause::Refused, 2));
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
        world.complete("main", says("done"));
        assert_eq!(world.agent("main").history.last_turn.clone().unwrap().kind, TurnKind::Completed);
    }

    #[test]
    fn a_refusal_of_a_first_request_ends_the_turn() {
        let mut world = working();
        world.complete("main", fails(FailureKind::ContextLength));
        assert!(world.agent("main").run.is_none());
        assert!(compactions(&world).is_empty());
    }

    #[test]
    fn a_message_that_can_not_fit_ends_the_turn_and_names_the_setting() {
        let mut world = World::with_config("main", small());
        let mut huge = prompt("");
        huge.body.text = long(7, 9_000);
        world.admit("main", huge);
        world.complete("main", context());
        let last = world.agent("main").history.last_turn.clone().unwrap();
        assert_eq!(
            (last.kind, last.reason),
            (TurnKind::ContextLengthExceeded, Some(TurnReason::ContextWindow))
        );
        let told = world
            .log
            .iter()
            .any(|record| record.event.payload().unwrap().contains("runtime.context_window_tokens"));
        assert!(told);
    }

    #[test]
    fn a_recap_outlives_a_crash() {
        let mut world = working();
        for number in 0..12 {
            round(&mut world, number, 700);
        }
        let recap = world.agent("main").run.as_ref().unwrap().conversation.recap.clone();
        assert!(recap.rounds > 0);
        let before = compactions(&world).len();
        world.crash();
        world.complete("main", context());
        assert_eq!(world.agent("main").run.as_ref().unwrap().conversation.recap, recap);
        assert_eq!(compactions(&world).len(), before);
    }
}
