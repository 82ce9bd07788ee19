//! Counts turns that no operator caused, and holds an agent that has used up its own (contract: scheduler.md, Nothing
//! spins).

use holon_facts::config::UnattendedPolicy;
use holon_facts::event::scheduling::{SelfTurnCounted, UnattendedTurnsExhausted, UnattendedTurnsRaised};
use holon_facts::hash;
use holon_facts::ids::{AgentId, RunId};
use holon_facts::time::{Millis, Wall};

use crate::agent::unattended::{Exhausted, Unattended};
use crate::handler::turn::report;
use crate::handler::work::obligation::{Ended, Way};
use crate::tx::Tx;

/// Agents go on within so long after midnight, so that not all of them do at once.
const SPREAD: Millis = Millis::seconds(60);

/// Counts a turn that has ended.
pub(crate) fn turn_ended(tx: &mut Tx<'_>, ended: &Ended, way: Option<Way>) {
    let counts = matches!(way, Some(Way::Settled | Way::Interrupted | Way::Dropped | Way::TooLong));
    if counts && ended.own && !ended.progress {
        count(tx, ended.run_id);
    }
    exhaust(tx, ended.run_id);
}

fn count(tx: &mut Tx<'_>, run_id: RunId) {
    let UnattendedPolicy { free_turns, deferrals, .. } = &tx.env.config.unattended;
    let turns = tx.agent().unattended.self_caused_turns.saturating_add(1);
    let over = turns.saturating_sub(*free_turns) as usize;
    let wait = over.checked_sub(1).and_then(|at| deferrals.get(at)).copied();
    let deferred_until = wait.map(|wait| tx.now().after(wait));
    let self_hold = over > deferrals.len();
    tx.record(SelfTurnCounted { run_id, turns, deferred_until, self_hold });
    if self_hold {
        let agent = &tx.agent().id;
        let text = format!(
            "{turns} turns in a row that the agent caused itself brought nothing on: it causes no further one. \
             Send a prompt, or start it (holon agent start {agent})."
        );
        report::needs_operator(tx, run_id, text, None);
    }
}

/// The day may have had its last turn without an operator.
fn exhaust(tx: &mut Tx<'_>, run_id: RunId) {
    let (now, policy, unattended) = (tx.now(), &tx.env.config.unattended, &tx.agent().unattended);
    let Unattended { day, turns_of_day: turns, outside_turns_of_day, .. } = *unattended;
    if day != now.day() || turns < policy.turns_per_day || unattended.exhausted(now).is_some() {
        return;
    }
    let until = tomorrow(&tx.agent().id, now);
    tx.record(UnattendedTurnsExhausted { run_id, turns, until, outside_turns: Some(outside_turns_of_day) });
    let text = format!(
        "{turns} turns that neither an operator nor an event from outside caused are all that a day may have \
         (limits.unattended_turns_per_day): further ones wait until {until}. Prompts and events have their turns \
         as always."
    );
    report::needs_operator(tx, run_id, text, None);
}

/// Only a start of the runtime changes the limit: what it has stopped goes on once it is raised.
pub(crate) fn recover(tx: &mut Tx<'_>) {
    let turns_per_day = tx.env.config.unattended.turns_per_day;
    let raised = |exhausted: Exhausted| exhausted.turns < turns_per_day;
    if tx.agent().unattended.exhausted.is_some_and(raised) {
        tx.record(UnattendedTurnsRaised { turns_per_day });
    }
}

/// Some time soon after the day has ended, always the same for an agent.
pub(crate) fn tomorrow(agent: &AgentId, now: Wall) -> Wall {
    let spread = hash::fnv(agent.as_str().as_bytes()) % SPREAD.0;
    now.next_day().after(Millis(spread))
}
