//! Bounds of a turn: rounds, time, tokens, and the same call over and over.

use alloc::format;

use crate::agent::turn::end::{self, End, Limit};
use crate::agent::turn::{Repeats, Round, Run};
use crate::config::TurnLimits;
use crate::event::turn::{BudgetExhausted, BudgetKind, ReminderInjected, ReminderKind};
use crate::hash::Fnv;
use crate::host::tx::{Alarm, Tx};

/// The bound that forbids another round. Rounds of interrupted runs count: it is one turn of one message.
pub(crate) fn reached(run: &Run, limits: &TurnLimits) -> Option<Limit> {
    if run.rounds.len() >= limits.rounds as usize {
        return Some(Limit::Rounds);
    }
    (run.repeats.count >= limits.repeats_end).then_some(Limit::RepeatedToolCall)
}

/// Reminds where so many repetitions have come since the last reminder, whether in one round or in many.
pub(crate) fn remind(tx: &mut Tx<'_>) {
    let Some(run) = &tx.agent().run else { return };
    let Repeats { count, reminded, .. } = run.repeats;
    let due = |every: u32| count / every > reminded / every;
    if tx.config.turn.repeats_remind > 0 && due(tx.config.turn.repeats_remind) {
        let (run_id, round) = (run.id, run.next_round());
        let text = format!(
            "The last {count} tool calls were the same call with the same result. Do something else, or say \
             what stands in the way."
        );
        tx.record(ReminderInjected { run_id, round, kind: ReminderKind::RepeatedToolCall, text });
    }
}

/// Whether the turn's token budget covers the next request; ends the turn where it does not.
pub(crate) fn affords(tx: &mut Tx<'_>, wanted: u64) -> bool {
    let (Some(limit), Some(run)) = (tx.config.turn.tokens, &tx.agent().run) else { return true };
    let used = run.usage.total_tokens;
    if used.saturating_add(wanted) <= limit {
        return true;
    }
    let run_id = run.id;
    tx.record(BudgetExhausted { run_id, budget: BudgetKind::TurnTokens, limit, used, wanted });
    end::end(tx, End::BudgetExhausted { limit, used, wanted });
    false
}

/// The turn has taken as long as it may.
pub(crate) fn out_of_time(tx: &mut Tx<'_>) {
    tx.disarm(Alarm::TurnLimit);
    end::end(tx, End::LimitReached { limit: Limit::WallTime });
}

/// The same number for the same last call with the same result.
pub(super) fn fingerprint(round: &Round) -> u64 {
    let at = round.results.len().saturating_sub(1);
    let (Some((_, tool, arguments)), Some(receipt)) = (round.calls().nth(at), round.results.get(at)) else {
        return 0;
    };
    let call = Fnv::START.piece(tool.as_bytes()).text(arguments);
    receipt.texts().fold(call, Fnv::text).0
}

#[cfg(test)]
mod tests {
    use crate::event::{Event, TurnFact};
    use crate::testing::{World, calls, context, prompt, tool_says};
    use alloc::vec::Vec;

    /// The repetitions after which the model was reminded, when a round makes so many equal calls; and how
    /// many there were in the end.
    fn reminders(per_round: usize) -> (Vec<usize>, usize) {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let mut called = 0;
        while world.agent("main").run.is_some() {
            let round: Vec<_> = (0..per_round).map(|_| ("", "ExecCommand", r#"{"cmd":"ls"}"#)).collect();
            world.complete("main", calls(&round));
            for _ in 0..per_round {
                world.complete("main", tool_says("a file"));
            }
            called += per_round;
        }
        let mut calls = 0;
        let reminded = world.log.iter().filter_map(|record| {
            calls += usize::from(matches!(&record.event, Event::Turn(TurnFact::ToolExecuted(_))));
            matches!(&record.event, Event::Turn(TurnFact::ReminderInjected(_))).then_some(calls)
        });
        (reminded.collect(), called)
    }

    #[test]
    fn every_fifth_repetition_brings_a_reminder_and_the_25th_ends_the_turn() {
        assert_eq!(reminders(1), ([5, 10, 15, 20].into(), 25));
        assert_eq!(reminders(2), ([6, 10, 16, 20].into(), 26));
        assert_eq!(reminders(3), ([6, 12, 15, 21].into(), 27));
    }
}
