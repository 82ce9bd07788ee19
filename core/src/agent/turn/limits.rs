//! Bounds of a turn: rounds, time, tokens, and the same call over and over.

use alloc::format;

use crate::agent::turn::Round;
use crate::agent::turn::end::{self, End};
use crate::event::turn::{BudgetExhausted, BudgetKind, ReminderInjected, ReminderKind};
use crate::hash::Fnv;
use crate::host::tx::{Alarm, Tx};
use crate::terminal::TurnReason;

/// Ends the turn where a bound is reached; otherwise reminds where a reminder is due. False when it ended.
pub(crate) fn check(tx: &mut Tx<'_>) -> bool {
    let Some(run) = &tx.agent().run else { return false };
    let limits = &tx.config.turn;
    if run.next_round().0 >= limits.rounds {
        end::end(tx, End::LimitReached { reason: TurnReason::Rounds });
        return false;
    }
    if run.repeats.count >= limits.repeats_end {
        end::end(tx, End::LimitReached { reason: TurnReason::RepeatedToolCall });
        return false;
    }
    let repeats = run.repeats.count;
    if repeats > 0 && limits.repeats_remind > 0 && repeats.is_multiple_of(limits.repeats_remind) {
        let (run_id, round) = (run.id, run.next_round());
        let text = format!(
            "The last {repeats} tool calls were the same call with the same result. Do something else, or say \
             what stands in the way."
        );
        tx.record(ReminderInjected { run_id, round, kind: ReminderKind::RepeatedToolCall, text });
    }
    true
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
    end::end(tx, End::LimitReached { reason: TurnReason::WallTime });
}

/// The same number for the same last call with the same result.
pub(super) fn fingerprint(round: &Round) -> u64 {
    let at = round.results.len().saturating_sub(1);
    let (Some((_, tool, arguments)), Some(receipt)) = (round.calls().nth(at), round.results.get(at)) else {
        return 0;
    };
    let call = Fnv::default().piece(tool.as_bytes()).text(arguments);
    receipt.texts().fold(call, Fnv::text).0
}
