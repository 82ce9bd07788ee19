//! What the newest events add to an explanation: which event the last decision is, what a hold and a failure came
//! from. The cost has a bound, whatever the length of the log.

use holon_api::{AgentWhy, EventMark, Trouble};
use holon_core::agent::hold::Hold;
use holon_core::retry::retryable;
use holon_core::view::Explanation;
use holon_facts::closure::ClosureOutcome;
use holon_facts::event::scheduling::{HoldCause, SchedulerDecision};
use holon_facts::event::{SchedulingFact, TurnFact};
use holon_facts::model::FailureKind;
use holon_facts::{AgentId, Event, EventSeq, Record};
use holon_ledger::read::{Landmark, Reader, Wanted};

use super::super::App;
use super::super::route::Handled;
use holon_present as present;

/// Records that an explanation may need.
const KINDS: &[&str] =
    &["scheduler_decision", "hold_set", "runtime_error", "provider_attempt_recorded", "turn_terminal"];
/// All of those that a span of events has.
const ALL: (&[&str], usize) = (KINDS, NEWEST as usize);
/// The last decision is nearly always among so many of the newest.
const DECISIONS: usize = 4;
/// Where it is not, or a hold or a failure is to be explained, so many of the newest events are looked at …
const NEWEST: u64 = 512;
/// … and so many around an event that began or ended something, however long ago that was.
const AROUND: u64 = 128;

/// The explanation of a moment whose events are durable.
pub(super) fn with_events(app: &App, explanation: Explanation) -> Handled<AgentWhy> {
    let failed = explanation.closure.outcome == ClosureOutcome::Failed;
    let decided_by = |history: &History| {
        explanation.last_decision.as_ref().and_then(|last| decided(&history.records, last))
    };
    let mut history = History::decisions(&app.reader, &explanation)?;
    let has_all = !failed && explanation.hold.is_none() && decided_by(&history).is_some();
    if !has_all {
        history = History::look(&app.reader, &explanation)?;
    }
    let last_decision_event = decided_by(&history);
    let History { records, damaged } = history;
    Ok(AgentWhy {
        last_decision_event,
        hold_error: explanation.hold.as_ref().and_then(|hold| hold_error(&records, hold)),
        failure: failed.then(|| failure(&records)).flatten(),
        events_damaged: damaged,
        ledger_waits: None,
        active_tasks: Vec::new(),
        explanation,
    })
}

/// Records of the kinds that matter, in order.
#[derive(Default)]
struct History {
    records: Vec<Record>,
    damaged: Option<String>,
}

impl History {
    /// The newest decisions alone.
    fn decisions(reader: &Reader, explanation: &Explanation) -> Handled<Self> {
        let (agent, end) = (&explanation.agent_id, explanation.event_seq);
        let mut seen = Self::default();
        let newest = EventSeq(end.0.saturating_sub(NEWEST));
        seen.read(reader, agent, (newest, end), (&["scheduler_decision"], DECISIONS))?;
        Ok(seen)
    }

    fn look(reader: &Reader, explanation: &Explanation) -> Handled<Self> {
        let (agent, end) = (&explanation.agent_id, explanation.event_seq.next());
        let mut seen = Self::default();
        let newest = EventSeq(end.0.saturating_sub(NEWEST + 1));
        // From the past to the present: a span begins where the one before it ended.
        let mut through = EventSeq(0);
        for (from, to) in around(reader, agent, end)? {
            seen.read(reader, agent, (from.max(through), to.min(newest)), ALL)?;
            through = through.max(to.min(newest));
        }
        seen.read(reader, agent, (newest, explanation.event_seq), ALL)?;
        Ok(seen)
    }

    /// Reads what comes after one event, through another: of these kinds, so many of the newest.
    fn read(
        &mut self,
        reader: &Reader,
        agent: &AgentId,
        (after, through): (EventSeq, EventSeq),
        (kinds, limit): (&[&'static str], usize),
    ) -> Handled<()> {
        if after >= through {
            return Ok(());
        }
        let wanted = Wanted { kinds, after, before: through.next(), limit, newest: true };
        match reader.of_kinds(agent, wanted) {
            Ok(records) => self.records.extend(records),
            Err(error) if error.is_damage() => self.damaged = Some(error.to_string()),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Where decisions, holds and failures may be that many later events have nothing to do with, the oldest first.
fn around(reader: &Reader, agent: &AgentId, end: EventSeq) -> Handled<Vec<(EventSeq, EventSeq)>> {
    let began = reader.newest_landmark(agent, Landmark::TurnStarted, end)?;
    let ended = reader.newest_landmark(agent, Landmark::TurnTerminal, end)?;
    // The first message that comes in beside a run is decided about; later ones are not told again.
    let beside = began.map(|began| reader.next_landmark(agent, Landmark::MessageAdmitted, began));
    let beside = beside.transpose()?.flatten();
    let mut found: Vec<EventSeq> = [began, ended, beside].into_iter().flatten().collect();
    found.sort_unstable();
    let span = |at: EventSeq| (EventSeq(at.0.saturating_sub(AROUND)), EventSeq(at.0.saturating_add(AROUND)));
    Ok(found.into_iter().map(span).collect())
}

fn decided(records: &[Record], last: &SchedulerDecision) -> Option<EventMark> {
    let is_it = |record: &&Record| matches!(&record.event, Event::Scheduling(SchedulingFact::SchedulerDecision(fact)) if **fact == *last);
    records.iter().rfind(is_it).map(mark)
}

/// Of the attempts of the run that set the hold, the last that was given up and that waiting may help.
fn hold_error(records: &[Record], hold: &Hold) -> Option<Trouble> {
    let (at, run_id) = records.iter().enumerate().rev().find_map(|(at, record)| {
        let Event::Scheduling(SchedulingFact::HoldSet(fact)) = &record.event else { return None };
        (fact.step == hold.step).then_some((at, fact.run_id))
    })?;
    let (before, after) = records.split_at(at);
    let message_id = after.iter().find_map(|record| {
        let Event::Turn(TurnFact::TurnTerminal(fact)) = &record.event else { return None };
        (fact.run_id == run_id).then_some(fact.message_id)
    });
    before.iter().rev().find_map(|record| {
        let Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) = &record.event else { return None };
        let kind = fact.attempt.failure_kind.filter(|_| fact.attempt.backoff_ms.is_none())?;
        let helps = match hold.cause {
            HoldCause::Outage => retryable(kind),
            HoldCause::Quota => kind == FailureKind::Quota,
            HoldCause::Credentials => kind == FailureKind::Auth,
            // What is exhausted, the hold says itself.
            HoldCause::Budget => false,
        };
        let text = fact.attempt.message.as_ref().map(|text| present::whole_line(text.preview()));
        (fact.run_id == run_id && helps).then(|| Trouble {
            kind: kind.name().to_owned(),
            text: text.unwrap_or_default(),
            run_id,
            message_id,
            event: mark(record),
        })
    })
}

/// What the newest turn that failed did so by.
fn failure(records: &[Record]) -> Option<Trouble> {
    records.iter().rev().find_map(|record| {
        let Event::Turn(TurnFact::RuntimeError(fact)) = &record.event else { return None };
        Some(Trouble {
            kind: fact.failure.kind.clone(),
            text: present::whole_line(fact.failure.summary.preview()),
            run_id: fact.run_id,
            message_id: Some(fact.message_id),
            event: mark(record),
        })
    })
}

fn mark(record: &Record) -> EventMark {
    EventMark { event_seq: record.event_seq, at: record.at }
}
