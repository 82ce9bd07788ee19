//! Refuses events from outside that could have no turn (contract: decisions.md, 38).

use alloc::string::String;

use holon_facts::allowance::Allowance;
use holon_facts::hint::Hint;
use holon_facts::message::Origin;
use holon_facts::reject::Reject;
use holon_facts::time::Wall;

use crate::agent::outside::{MICROS_PER_MINUTE, minute, source_of, source_of_hint};
use crate::handler::unattended;
use crate::tx::Tx;

/// Why another message of an origin is not taken now.
pub(super) fn refuses(tx: &Tx<'_>, origin: &Origin) -> Option<Reject> {
    refused(tx, source_of(origin)?, true)
}

/// Why another hint is not taken now; one that causes no turn uses up no day.
pub(super) fn refuses_hint(tx: &Tx<'_>, hint: &Hint) -> Option<Reject> {
    let turn = tx.agent().needs_turn(hint, tx.now());
    refused(tx, source_of_hint(hint), turn)
}

fn refused(tx: &Tx<'_>, event_source: String, turn: bool) -> Option<Reject> {
    let (now, policy) = (tx.now(), &tx.env.config.unattended);
    let allowance = tx.agent().outside.used_up(now, &event_source, turn, policy)?;
    let retry_at = match allowance {
        Allowance::SourceMinute => Wall(minute(now).saturating_add(1).saturating_mul(MICROS_PER_MINUTE)),
        Allowance::SourceDay | Allowance::OutsideDay => unattended::tomorrow(&tx.agent().id, now),
    };
    Some(Reject::TooManyEvents {
        agent: tx.agent().id.clone(),
        event_source,
        allowance,
        limit: allowance.limit(policy),
        retry_at,
        retry_after_ms: now.until(retry_at),
    })
}
