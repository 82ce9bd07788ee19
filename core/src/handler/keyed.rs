//! Requests of operators under an idempotency key: the same one again makes nothing new.

use holon_facts::event::lifecycle::RequestKeyed;
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::reject::Reject;

use crate::agent::keys::Seen;
use crate::tx::Tx;

/// What the request has made before, if it was made before.
///
/// # Errors
/// The key stands for another request.
pub(super) fn known(tx: &Tx<'_>, key: Option<&Idempotency>) -> Result<Option<Made>, Reject> {
    let Some(key) = key else { return Ok(None) };
    match tx.agent().made.seen(key, tx.now(), &tx.env.config.queue) {
        Seen::Never => Ok(None),
        Seen::SamePayload(made) => Ok(Some(made)),
        Seen::OtherPayload(made) => Err(Reject::KeyTaken { made }),
    }
}

/// Keeps what a request has made, in the step that makes it.
pub(super) fn keep(tx: &mut Tx<'_>, key: Option<Idempotency>, made: Made) {
    if let Some(idempotency) = key {
        let expired_keys = tx.agent().made.expired(tx.now(), &tx.env.config.queue);
        tx.record(RequestKeyed { idempotency, made, expired_keys });
    }
}
