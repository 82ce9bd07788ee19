//! What follows a failed attempt: a pure table over the kind of failure (contract: providers.md, Retry and
//! fallback).

use holon_facts::config::RetryPolicy;
use holon_facts::model::{AttemptFailure, FailureKind};
use holon_facts::time::Millis;

/// What happens next in the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The same candidate again, after so long.
    Retry { after: Millis },
    /// The candidate is given up after its last retry; the next one of the chain gets its turn.
    RetriesExhausted,
    /// The candidate can't answer this; the next one of the chain may.
    FailFast,
    /// No candidate is asked again: the request itself is the problem.
    Terminal,
}

/// Whether waiting may help.
pub fn retryable(kind: FailureKind) -> bool {
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

/// A wait that the provider asks for and that is longer than a round waits for one candidate.
pub fn long_wait(policy: &RetryPolicy, failure: &AttemptFailure) -> Option<Millis> {
    failure.retry_after_ms.filter(|asked| retryable(failure.kind) && *asked > policy.retry_after_max)
}

/// Decides after attempt number `attempt` (from 1) at a candidate. `jitter` is any number; the same number
/// gives the same wait.
pub fn next(policy: &RetryPolicy, failure: &AttemptFailure, attempt: u32, jitter: u64) -> Next {
    if failure.kind == FailureKind::ContextLength {
        return Next::Terminal;
    }
    if !retryable(failure.kind) {
        return Next::FailFast;
    }
    // Asked before the time that it names, a provider refuses again; another candidate may answer at once.
    if attempt > policy.retries || long_wait(policy, failure).is_some() {
        return Next::RetriesExhausted;
    }
    let backoff = policy.backoff.0.saturating_mul(u64::from(attempt));
    let spread = jitter % (backoff / 4).max(1);
    let asked = failure.retry_after_ms.map_or(0, |asked| asked.0);
    Next::Retry { after: Millis(backoff.saturating_add(spread).max(asked)) }
}

/// The first pause before the chain is gone through again; each further one is twice as long.
const FIRST_PAUSE: Millis = Millis::seconds(1);
/// The longest pause of its own; a provider may ask for more.
const LONGEST_PAUSE: Millis = Millis::seconds(30);

/// How long a round waits after the whole chain has failed, for so many times and for so long already: none once its
/// patience is over. The last pause ends with it.
pub fn pause(
    policy: &RetryPolicy,
    (passes, waited): (u32, Millis),
    asked: Option<Millis>,
    jitter: u64,
) -> Option<Millis> {
    let left = policy.patience.0.checked_sub(waited.0).filter(|left| *left > 0)?;
    let doubled = FIRST_PAUSE.0.saturating_mul(1_u64.checked_shl(passes.min(32)).unwrap_or(u64::MAX));
    let own = doubled.min(LONGEST_PAUSE.0);
    let asked = asked.map_or(0, |asked| asked.0.min(policy.retry_after_max.0));
    Some(Millis(own.saturating_add(jitter % (own / 4).max(1)).max(asked).min(left)))
}

/// A number that is the same for the same seed and the same attempt.
pub fn jitter(seed: u64, agent: &str, op: u64, attempt: u32) -> u64 {
    let name = holon_facts::hash::fnv(agent.as_bytes());
    holon_facts::hash::mix(seed ^ name ^ op.rotate_left(17) ^ u64::from(attempt).rotate_left(47))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    use holon_facts::content::Text;
    use holon_facts::model::Timing;

    fn failure(kind: FailureKind, retry_after_ms: Option<u64>) -> AttemptFailure {
        AttemptFailure {
            kind,
            message: Text::short("x"),
            retry_after_ms: retry_after_ms.map(Millis),
            resets_at: None,
            usage: None,
            timing: Timing::default(),
            diagnostics: None,
            delivery: None,
        }
    }

    fn policy() -> RetryPolicy {
        RetryPolicy {
            retries: 2,
            backoff: Millis(200),
            retry_after_max: Millis(60_000),
            patience: Millis(120_000),
        }
    }

    #[test]
    fn every_kind_has_its_row() {
        for &kind in FailureKind::ALL {
            let expected = if kind == FailureKind::ContextLength {
                Next::Terminal
            } else if retryable(kind) {
                Next::Retry { after: Millis(200) }
            } else {
                Next::FailFast
            };
            assert_eq!(next(&policy(), &failure(kind, None), 1, 0), expected, "{kind}");
        }
    }

    #[test]
    fn waits_grow_with_the_attempt_and_end() {
        let cut = failure(FailureKind::StreamCut, None);
        assert_eq!(next(&policy(), &cut, 2, 0), Next::Retry { after: Millis(400) });
        assert_eq!(next(&policy(), &cut, 3, 0), Next::RetriesExhausted);
    }

    #[test]
    fn jitter_only_adds_and_retry_after_is_honoured_up_to_its_bound() {
        let limited = |ms| failure(FailureKind::RateLimited, ms);
        assert_eq!(next(&policy(), &limited(None), 1, 49), Next::Retry { after: Millis(249) });
        assert_eq!(next(&policy(), &limited(Some(5_000)), 1, 7), Next::Retry { after: Millis(5_000) });
        assert_eq!(next(&policy(), &limited(Some(60_000)), 1, 7), Next::Retry { after: Millis(60_000) });
        assert_eq!(next(&policy(), &limited(Some(60_001)), 1, 7), Next::RetriesExhausted);
        assert_eq!(next(&policy(), &failure(FailureKind::Auth, Some(60_001)), 1, 7), Next::FailFast);
    }

    #[test]
    fn pauses_grow_until_patience_is_over() {
        let pause = |passes, waited, asked: Option<u64>| {
            pause(&policy(), (passes, Millis(waited)), asked.map(Millis), 0).map(|pause| pause.0)
        };
        let own: Vec<_> = (0..7).map(|passes| pause(passes, 0, None).unwrap() / 1_000).collect();
        assert_eq!(own, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pause(u32::MAX, 0, None), Some(30_000));
        assert_eq!(pause(6, 119_000, None), Some(1_000), "the last one is as long as what is left");
        assert_eq!((pause(0, 120_000, None), pause(0, u64::MAX, None)), (None, None));
        assert_eq!(pause(0, 0, Some(20_000)), Some(20_000), "a provider may ask for more");
        assert_eq!(pause(0, 0, Some(u64::MAX)), Some(60_000));
    }
}
