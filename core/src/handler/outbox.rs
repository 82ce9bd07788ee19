//! Posts outbox messages, and takes back those that can not be delivered (contract: tasks.md, Child agents).

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::outbox::{LetterPosted, LetterReturned};
use holon_facts::ids::{AgentId, LetterId};
use holon_facts::outbox::Letter;

use crate::tx::Tx;

/// Leaves a letter for the host to carry.
pub(crate) fn post(tx: &mut Tx<'_>, to: AgentId, letter: Letter) {
    let letter_id = tx.agent().next.letter;
    tx.record(LetterPosted { letter_id, to, letter });
}

/// Nobody takes what is on its way to that agent.
pub(crate) fn take_back(tx: &mut Tx<'_>, to: &AgentId, problem: &str) {
    let open = tx.agent().outbox.open();
    let letters: Vec<LetterId> = open.filter(|(_, envelope)| envelope.to == *to).map(|(id, _)| id).collect();
    for letter_id in letters {
        let problem = String::from(problem);
        tx.record(LetterReturned { letter_id, problem });
    }
}
