//! Timers that operators make and cancel.

use alloc::boxed::Box;

use holon_facts::event::timer::{TimerCancelled, TimerCreated};
use holon_facts::event::wait::WaitEnd;
use holon_facts::ids::{ReplyId, TimerId};
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::reject::Reject;
use holon_facts::timer::{DURATION, SUMMARY_BYTES, TimerOwner, TimerSpec};

use crate::agent::timer::ARMED;
use crate::agent::wait::Wait;
use crate::effect::Answer;
use crate::handler::wait::resolve;
use crate::handler::{admission, keyed};
use crate::tx::Tx;

pub(crate) fn create(tx: &mut Tx<'_>, spec: TimerSpec, key: Option<Idempotency>, reply: ReplyId) {
    match keyed::known(tx, key.as_ref()) {
        Ok(None) => {}
        Ok(Some(made)) => return made_before(tx, made, reply),
        Err(reject) => return tx.reply(reply, Answer::Refused { reject }),
    }
    if let Some(reject) = admission::closed(tx).or_else(|| refusal(tx, &spec)) {
        tx.reply(reply, Answer::Refused { reject });
        return;
    }
    // Recorded time may go back with this record, and the timer counts from there.
    tx.follow_clock();
    let timer_id = tx.agent().next.timer;
    let TimerSpec { duration_ms, interval_ms, misfire, summary } = spec;
    let next_fire_at = tx.now().after(duration_ms);
    let owner = TimerOwner::Operator;
    let wait_id = None;
    tx.record(TimerCreated {
        timer_id,
        owner,
        wait_id,
        duration_ms,
        interval_ms,
        misfire,
        summary,
        next_fire_at,
        at: None,
    });
    keyed::keep(tx, key, Made::Timer(timer_id));
    answer(tx, timer_id, true, reply);
}

fn made_before(tx: &mut Tx<'_>, made: Made, reply: ReplyId) {
    match made {
        Made::Timer(id) if tx.agent().timers.get(id).is_some() => answer(tx, id, false, reply),
        Made::Timer(_) => tx.reply(reply, Answer::Refused { reject: Reject::KeySpent { made } }),
        Made::Task(_) | Made::WorkItem(_) => {
            tx.reply(reply, Answer::Refused { reject: Reject::KeyTaken { made } });
        }
    }
}

/// Cancelling what has ended changes nothing. Whoever waited for it waits no more.
pub(crate) fn cancel(tx: &mut Tx<'_>, timer_id: TimerId, reply: ReplyId) {
    let armed = tx.agent().timers.is_armed(timer_id);
    let waits = |wait: &&Wait| wait.timer_id == Some(timer_id);
    let owner = tx.agent().active_waits().find(waits).map(|wait| wait.work_item_id);
    if armed && let Some(owner) = owner {
        resolve::cancel(tx, owner, WaitEnd::TimerCancelled);
    } else if armed {
        tx.record(TimerCancelled { timer_id });
    }
    answer(tx, timer_id, armed, reply);
}

fn refusal(tx: &Tx<'_>, spec: &TimerSpec) -> Option<Reject> {
    let (least, most) = (DURATION.0.0, DURATION.1.0);
    for (field, value) in [("duration_ms", Some(spec.duration_ms)), ("interval_ms", spec.interval_ms)] {
        if let Some(value) = value.map(|value| value.0).filter(|value| !(least..=most).contains(value)) {
            return Some(Reject::OutOfRange { field: field.into(), what: field.into(), value, least, most });
        }
    }
    let bytes = spec.summary.as_ref().map_or(0, alloc::string::String::len);
    if bytes > SUMMARY_BYTES {
        let (bytes, limit) = (bytes as u64, SUMMARY_BYTES as u64);
        return Some(Reject::TooLarge { what: "the summary".into(), bytes, limit });
    }
    let (count, limit) = (tx.agent().timers.armed_count(), ARMED as u64);
    (count >= limit).then(|| Reject::TooMany { what: "armed timers".into(), count: count + 1, limit })
}

fn answer(tx: &mut Tx<'_>, id: TimerId, changed: bool, reply: ReplyId) {
    let answer = match tx.agent().timers.get(id) {
        Some(timer) => Answer::Timer { timer: Box::new(timer.clone()), changed },
        None => Answer::Refused { reject: Reject::UnknownTimer { timer: id } },
    };
    tx.reply(reply, answer);
}
