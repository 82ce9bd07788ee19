//! What a server wants to see again in the next request of the same turn, where its protocol has that: kept in memory alone.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use holon_facts::AgentId;
use holon_facts::model::ModelRequest;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Most agents of which it is kept.
const AGENTS: usize = 1_024;
/// Longest value, in bytes.
const BYTES: usize = 4_096;

/// By provider and agent.
#[derive(Default)]
pub(super) struct TurnStates(Mutex<BTreeMap<(String, AgentId), Kept>>);

struct Kept {
    state: HeaderValue,
    /// Rounds of the turn when it came: only the next round is of the same turn for sure.
    rounds: u32,
}

impl TurnStates {
    /// What came with the round before.
    pub(super) fn of(&self, request: &ModelRequest) -> Option<HeaderValue> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get(&key(request))?;
        (request.rounds == kept.rounds.saturating_add(1)).then(|| kept.state.clone())
    }

    /// Takes what an answer came with; without it, what came before still holds.
    pub(super) fn answered(&self, request: &ModelRequest, state: Option<HeaderValue>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(request);
        let before = all.remove(&key).filter(|kept| request.rounds == kept.rounds.saturating_add(1));
        let Some(mut state) = state.or_else(|| before.map(|kept| kept.state)) else { return };
        if state.len() > BYTES {
            return;
        }
        state.set_sensitive(true);
        if all.len() >= AGENTS {
            all.pop_first();
        }
        all.insert(key, Kept { state, rounds: request.rounds });
    }
}

fn key(request: &ModelRequest) -> (String, AgentId) {
    (request.model.provider().to_owned(), request.agent.clone())
}

/// The same headers with the state, where there is one.
pub(super) fn stated(mut headers: HeaderMap, named: Option<(&'static str, HeaderValue)>) -> HeaderMap {
    if let Some((name, state)) = named {
        headers.insert(HeaderName::from_static(name), state);
    }
    headers
}
