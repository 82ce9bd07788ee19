//! Laws about runs: rounds, calls, attempts, and how they end.

use holon_facts::episode::EpisodeBoundary;
use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::{
    AssistantRoundRecorded, CompactionCause, ProviderAttemptRecorded, ProvidersAwaited, TurnTerminal,
};
use holon_facts::event::{EpisodeFact, Event, InboxFact, OperationFact, SchedulingFact, TurnFact};
use holon_facts::ids::RoundIndex;
use holon_facts::model::{AttemptOutcome, Block, FailureKind, PROBE};
use holon_facts::receipt::Verdict;
use holon_facts::record::Record;
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::Wall;

use super::past::{Attempt, Claim, Episodes, Past, Run};
use super::{Checked, rule};

pub(super) fn t1(past: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event else { return Ok(false) };
    rule(past.run.is_none(), || format!("{} starts while a run is in progress", fact.run_id))
}

pub(super) fn t2(past: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event else { return Ok(false) };
    let claim = past.queue.live.get(&fact.message_id).map(|entry| entry.claim);
    rule(claim == Some(Some(Claim::ByRun(fact.run_id))), || {
        format!("{} starts for {}, whose claim is {claim:?}", fact.run_id, fact.message_id)
    })
}

pub(super) fn t3(past: &Past, record: &Record) -> Checked {
    if let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event {
        // What there is of the output of a command is read while it goes on.
        let beside = past
            .run_ops()
            .find(|(_, op)| !(fact.kind == OpKind::PromoteCommand && op.kind == OpKind::RunCommand));
        return rule(fact.run_id.is_none() || beside.is_none(), || {
            format!("{} ({}) is opened beside {beside:?}", fact.op, fact.kind)
        });
    }
    let Some(round) = next_round(&record.event) else { return Ok(false) };
    let Some(run) = &past.run else { return Ok(false) };
    rule(round.0 == run.rounds, || {
        format!("{} is of round {round}, the next is {}", record.event.kind(), run.rounds)
    })
}

/// The round that the fact is about, where that is the one in progress.
fn next_round(event: &Event) -> Option<RoundIndex> {
    match event {
        Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) => Some(fact.round),
        Event::Turn(TurnFact::ProviderRoundCompleted(fact)) => Some(fact.round),
        Event::Turn(TurnFact::AssistantRoundRecorded(fact)) => Some(fact.round),
        Event::Turn(TurnFact::ReminderInjected(fact)) => Some(fact.round),
        Event::Turn(TurnFact::ContextCompacted(fact)) => Some(fact.round),
        _ => None,
    }
}

pub(super) fn t4(past: &Past, record: &Record) -> Checked {
    if let Some(run) = past.promised.end_of
        && past.begins_step(record)
    {
        return Err(format!("{run} was found interrupted and did not end"));
    }
    match &record.event {
        Event::Turn(TurnFact::TurnStarted(_)) => Ok(true),
        Event::Turn(TurnFact::TurnTerminal(fact)) => {
            let Some(run) = past.running(fact.run_id) else {
                return Err(format!("{} ends and is not in progress", fact.run_id));
            };
            let name = (run.turn_index, run.message);
            rule(name == (fact.turn_index, fact.message_id), || {
                format!("{} is {name:?}, its end has {:?}", run.id, (fact.turn_index, fact.message_id))
            })?;
            let left = past.run_ops().next();
            rule(left.is_none(), || format!("{} ends before {left:?}", run.id))
        }
        _ => Ok(false),
    }
}

pub(super) fn t5(past: &Past, record: &Record) -> Checked {
    let Some(run) = &past.run else { return Ok(false) };
    match &record.event {
        Event::Turn(TurnFact::AssistantRoundRecorded(fact)) => paired(run, fact),
        Event::Turn(TurnFact::ToolStarted(fact)) => {
            let fits =
                open(run, fact.index, &fact.call_id).is_some_and(|call| call.accepted && !call.started);
            rule(fits && in_round(run, fact.round), || format!("{} is started out of turn", fact.call_id))
        }
        Event::Turn(TurnFact::ToolExecuted(fact)) => {
            let fits = open(run, fact.index, &fact.call_id).is_some_and(|call| call.started);
            rule(fits && in_round(run, fact.round), || format!("{} has a result out of turn", fact.call_id))
        }
        Event::Turn(TurnFact::ToolExecutionFailed(fact)) => {
            let fits = open(run, fact.index, &fact.call_id).is_some();
            rule(fits && in_round(run, fact.round), || format!("{} has a result out of turn", fact.call_id))
        }
        Event::Turn(TurnFact::TurnTerminal(_)) => complete(run),
        Event::Operation(OperationFact::OperationOpened(fact)) => match fact.kind {
            OpKind::CallModel => complete(run),
            _ if fact.run_id.is_none() => Ok(false),
            OpKind::CallTool
            | OpKind::PrepareCommand
            | OpKind::RunCommand
            | OpKind::PromoteCommand
            | OpKind::AwaitTask
            | OpKind::FindWorkspace => {
                rule(run.open_call().is_some_and(|call| call.started), || "no call was started".into())
            }
            OpKind::LoadContext
            | OpKind::Summarize
            | OpKind::WriteInput
            | OpKind::SuperviseChild
            | OpKind::RemoveWorktree => Ok(false),
        },
        _ => Ok(false),
    }
}

fn paired(run: &Run, fact: &AssistantRoundRecorded) -> Checked {
    complete(run)?;
    let mut calls = alloc::collections::BTreeSet::new();
    for block in fact.blocks.iter() {
        if let Block::ToolCall { call_id, .. } = block {
            let new = calls.insert(call_id.as_str()) && !run.call_ids.contains(call_id);
            rule(new, || format!("two calls are named {call_id}"))?;
        }
    }
    let accepted = |verdict: &&Verdict| matches!(verdict, Verdict::Accepted(_));
    rule(calls.len() == fact.verdicts.len(), || {
        let accepted = fact.verdicts.iter().filter(accepted).count();
        format!("{} calls have {} verdicts, {accepted} of them accept", calls.len(), fact.verdicts.len())
    })?;
    Ok(!calls.is_empty())
}

fn complete(run: &Run) -> Checked {
    rule(run.open_call().is_none(), || {
        format!("{} of {} calls have a result", run.results, run.calls.len())
    })?;
    Ok(!run.calls.is_empty())
}

fn open<'a>(run: &'a Run, index: u32, call_id: &str) -> Option<&'a super::past::Call> {
    run.open_call().filter(|call| run.results == index as usize && call.id == call_id)
}

/// Whether the round is the last one that was recorded.
fn in_round(run: &Run, round: RoundIndex) -> bool {
    round.0.checked_add(1) == Some(run.rounds)
}

pub(super) fn t6(past: &Past, record: &Record) -> Checked {
    let Some(run) = &past.run else { return Ok(false) };
    match &record.event {
        Event::Turn(TurnFact::BudgetExhausted(fact)) => {
            rule(fact.used.saturating_add(fact.wanted) > fact.limit, || {
                format!("{} used and {} wanted are within {}", fact.used, fact.wanted, fact.limit)
            })
        }
        Event::Operation(OperationFact::OperationOpened(fact)) if fact.run_id.is_some() => {
            rule(!run.exhausted, || "work goes on without budget".into())?;
            Ok(run.exhausted)
        }
        Event::Turn(TurnFact::TurnTerminal(fact)) => {
            let named = past.spending.exhausted.map(|exhausted| exhausted.budget.reason());
            rule(fact.kind != TurnKind::BudgetExhausted || fact.reason == named, || {
                format!("the budget {named:?} is exhausted, the end has {:?}", fact.reason)
            })?;
            typed(run, fact)
        }
        _ => Ok(false),
    }
}

fn typed(run: &Run, fact: &TurnTerminal) -> Checked {
    rule(fact.rounds == run.rounds, || {
        format!("{} rounds were recorded, reported are {}", run.rounds, fact.rounds)
    })?;
    rule((fact.kind == TurnKind::BudgetExhausted) == run.exhausted, || {
        format!("the budget is exhausted: {}, the end is {}", run.exhausted, fact.kind)
    })?;
    let bound =
        matches!(fact.reason, Some(TurnReason::Rounds | TurnReason::WallTime | TurnReason::RepeatedToolCall));
    rule(bound == (fact.kind == TurnKind::LimitReached), || format!("{} with {:?}", fact.kind, fact.reason))
}

/// Earlier builds executed whatever there is.
pub(super) fn t13(past: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::ToolStarted(fact)) = &record.event else { return Ok(false) };
    if !past.running(fact.run_id).is_some_and(|run| run.only_offered) {
        return Ok(false);
    }
    let Episodes { tools, in_force, .. } = &past.episodes;
    let found = tools.iter().any(|tool| *tool == *"ToolCall") && in_force.get(fact.tool.as_str()).is_some();
    let offered = tools.contains(&fact.tool) || found;
    rule(offered, || format!("{} is executed, and {} does not offer it", fact.tool, fact.run_id))
}

pub(super) fn t9(past: &Past, record: &Record) -> Checked {
    let Event::Inbox(InboxFact::OperatorInterjectionAdmitted(fact)) = &record.event else { return Ok(false) };
    let Some(run) = past.running(fact.run_id) else {
        return Err(format!("{} is not in progress", fact.run_id));
    };
    let entry = past.queue.live.get(&fact.message_id);
    rule(entry.is_some_and(|entry| entry.interjects), || format!("{} does not interject", fact.message_id))?;
    let waits = past.run_ops().next();
    rule(waits.is_none() && run.open_call().is_none(), || "the point is not safe".into())?;
    rule(fact.round.0 == run.rounds, || {
        format!("is shown in round {}, the next is {}", fact.round, run.rounds)
    })
}

/// No hot loop: what a hold has put back is not taken again in the same step, and a hold lasts. At the last
/// moment that a clock can say, no hold can end later.
pub(super) fn t7(past: &Past, record: &Record) -> Checked {
    if record.at == Wall(i64::MAX) {
        return Ok(false);
    }
    match &record.event {
        Event::Turn(TurnFact::TurnStarted(fact)) => {
            let again = !past.begins_step(record) && past.promised.held_back.contains(&fact.message_id);
            rule(!again, || format!("{} is tried again at once", fact.message_id))
        }
        Event::Scheduling(SchedulingFact::HoldSet(fact)) => {
            rule(fact.until.is_none_or(|until| until > record.at), || {
                format!("the hold of {} is over as it begins, at {:?}", fact.run_id, fact.until)
            })
        }
        _ => Ok(false),
    }
}

pub(super) fn t8(past: &Past, record: &Record) -> Checked {
    let Some(run) = &past.run else { return Ok(false) };
    // Builds before episodes recorded the one, this build records the other.
    let (after, refused, must) = match &record.event {
        Event::Turn(TurnFact::ContextCompacted(fact)) => {
            let refused = fact.cause == CompactionCause::Refused;
            (fact.recapped_rounds, refused, !refused)
        }
        Event::Episode(EpisodeFact::EpisodeClosed(fact)) => {
            (fact.hidden_rounds, fact.boundary == EpisodeBoundary::Refused, false)
        }
        _ => return Ok(false),
    };
    complete(run)?;
    let all = run.carried.saturating_add(run.rounds);
    let before = run.recapped;
    let whole = after == before || after.saturating_add(2) <= all;
    rule(whole, || format!("{after} of {all} rounds are summarized"))?;
    let grows = after > before || (after == before && !must);
    rule(grows, || format!("{before} rounds become {after}"))?;
    rule(!(refused && run.refused), || "a second refusal is answered".into())
}

pub(super) fn t10(past: &Past, record: &Record) -> Checked {
    let Some(run) = &past.run else { return Ok(false) };
    match &record.event {
        Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) => {
            asks_in_order(run, fact)?;
            attempted(run.attempt.as_ref(), fact)
        }
        Event::Turn(TurnFact::AssistantRoundRecorded(fact)) if fact.probes => {
            let due = run.first_left_at.is_some_and(|left| record.at.since(left) >= PROBE);
            rule(due && fact.candidate > 0, || {
                format!("the first model, given up at {:?}, is asked again", run.first_left_at)
            })
        }
        Event::Turn(TurnFact::ProvidersAwaited(fact)) => awaited(run, fact, record.at),
        Event::Operation(OperationFact::OperationOpened(fact)) if fact.run_id.is_some() => {
            let Some(attempt) = &run.attempt else { return Ok(false) };
            rule(!attempt.waits || attempt.step != record.step, || "is repeated without a wait".into())
        }
        _ => Ok(false),
    }
}

/// A round begins with whoever answered last, or looks once whether the first of the chain is back.
fn asks_in_order(run: &Run, fact: &ProviderAttemptRecorded) -> Checked {
    let model = &fact.attempt.model_ref;
    let first = run.attempt.is_some() || run.models.get(run.next) == Some(model);
    rule(first, || format!("a round begins with {model}, not with number {} of {:?}", run.next, run.models))?;
    let probe = run.probes && run.models.first() == Some(model);
    rule(!probe || fact.attempt.max_attempts == 1, || "a look at the first model is repeated".into())
}

fn attempted(before: Option<&Attempt>, fact: &ProviderAttemptRecorded) -> Checked {
    let attempt = &fact.attempt;
    let number = match before {
        Some(before) if before.outcome == AttemptOutcome::Retrying => {
            rule(before.model == attempt.model_ref, || "a retry asks another model".into())?;
            before.number.saturating_add(1)
        }
        Some(_) | None => 1,
    };
    rule(attempt.attempt == number && number <= attempt.max_attempts, || {
        format!("attempt {} of {}, expected {number}", attempt.attempt, attempt.max_attempts)
    })?;
    let fits = match attempt.outcome {
        AttemptOutcome::Succeeded => attempt.failure_kind.is_none(),
        AttemptOutcome::Retrying => {
            attempt.failure_kind.is_some_and(worth_repeating) && number < attempt.max_attempts
        }
        AttemptOutcome::RetriesExhausted => attempt.failure_kind.is_some_and(worth_repeating),
        AttemptOutcome::FailFastAborted => attempt.failure_kind.is_some_and(|kind| !worth_repeating(kind)),
    };
    rule(fits && attempt.backoff_ms.is_some() == (attempt.outcome == AttemptOutcome::Retrying), || {
        format!("{} after {:?}, waiting {:?}", attempt.outcome, attempt.failure_kind, attempt.backoff_ms)
    })
}

/// The chain is gone through again after a wait, until one moment for the whole round, and for nobody whom waiting
/// can't help.
fn awaited(run: &Run, fact: &ProvidersAwaited, at: Wall) -> Checked {
    let given_up = run.attempt.as_ref().is_some_and(|attempt| attempt.outcome != AttemptOutcome::Retrying);
    rule(given_up, || "a chain is gone through again that has not failed".into())?;
    rule(fact.pause_ms.0 > 0 && !fact.models.is_empty(), || {
        format!("waits {} for {} models", fact.pause_ms, fact.models.len())
    })?;
    let bounded = run.awaited_until.is_none_or(|until| until == fact.until);
    // Pauses are whole milliseconds, and time has an end. A clock that steps back tells nothing of how long was waited.
    let until = fact.until.after(holon_facts::Millis(1));
    let over = until == fact.until;
    rule(bounded && (at.after(fact.pause_ms) < until || over || at < fact.since), || {
        format!(
            "waits {} at {at}, {:?} was its end, now it is {}",
            fact.pause_ms, run.awaited_until, fact.until
        )
    })
}

fn worth_repeating(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Timeout
        | FailureKind::Connect
        | FailureKind::RateLimited
        | FailureKind::Server
        | FailureKind::StreamCut => true,
        FailureKind::Quota
        | FailureKind::Auth
        | FailureKind::Client
        | FailureKind::InvalidResponse
        | FailureKind::UnsupportedTransport
        | FailureKind::ContextLength => false,
    }
}
