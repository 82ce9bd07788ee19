//! The token of an external wait (contract: decisions.md, 30): whoever has it ends the wait, and nobody can guess it. It
//! follows from the runtime's seed, which is in the flight recorder, so a replay gives out the same.

use alloc::string::String;

use holon_facts::hash::{Fnv, sip};
use holon_facts::ids::{AgentId, Seed, WaitId};
use holon_facts::message::Message;
use holon_facts::provenance::AdmissionContext;

use crate::agent::wait::Wait;

/// What sets these apart from all else that is derived from the seed: "waits" in bytes.
const DOMAIN: u64 = 0x77_61_69_74_73;
/// The reference of a message that names a wait.
const WAIT_REF: &str = "wait_id";

/// The token that is given out with a wait: its id and 128 bits of SipHash, keyed by the seed.
pub fn of(seed: Seed, agent: &AgentId, wait: WaitId) -> String {
    let key = (seed.0, Fnv::START.piece(agent.as_str().as_bytes()).0);
    let half = |number| sip(key, &[DOMAIN, wait.0, number]);
    format!("{wait}-{:016x}{:016x}", half(0), half(1))
}

impl Wait {
    /// Takes the same time wherever the first difference is.
    pub(in crate::agent) fn has_token(&self, given: &str) -> bool {
        let Some(token) = self.token.as_ref().filter(|token| token.len() == given.len()) else {
            return false;
        };
        token.bytes().zip(given.bytes()).fold(0, |all, (one, other)| all | (one ^ other)) == 0
    }

    /// Whether a message names the wait: by its token, or by its id if somebody has proven who sends it.
    pub(super) fn is_named_by(&self, message: &Message) -> bool {
        let names = [message.correlation_id.as_ref(), message.source_refs.get(WAIT_REF)];
        let proven = is_proven(message.admission_context);
        let is_named = |name: &String| self.has_token(name) || (proven && name.parse() == Ok(self.id));
        names.into_iter().flatten().any(is_named)
    }
}

fn is_proven(context: AdmissionContext) -> bool {
    match context {
        AdmissionContext::PublicUnauthenticated => false,
        AdmissionContext::ControlAuthenticated
        | AdmissionContext::ExternalTriggerCapability
        | AdmissionContext::LocalProcess
        | AdmissionContext::RuntimeOwned => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_follows_from_seed_agent_and_wait() {
        let (main, other) = (AgentId::new("main").unwrap(), AgentId::new("other").unwrap());
        let token = of(Seed(7), &main, WaitId(1));
        assert!(token.starts_with("wait_1-") && token.len() == "wait_1-".len() + 32, "{token}");
        assert_eq!(token, of(Seed(7), &main, WaitId(1)));
        let others =
            [of(Seed(8), &main, WaitId(1)), of(Seed(7), &other, WaitId(1)), of(Seed(7), &main, WaitId(2))];
        assert!(others.iter().all(|other| other[other.len() - 32..] != token[token.len() - 32..]));
    }
}
