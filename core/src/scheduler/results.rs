//! Which results of tasks begin a turn together.

use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::ids::MessageId;
use holon_facts::provenance::MessageKind;
use holon_facts::time::Wall;

use crate::agent::inbox::Entry;
use crate::agent::turn::window::Window;
use crate::agent::{Agent, model};

/// Results of tasks that one turn takes beside the first.
const FURTHER_RESULTS: usize = 15;

/// The results of tasks that come right after one: they are told together (contract: agent.md, Turns), as long as
/// they leave the turn its room. The others wait, and so does what has to wait for itself, and what a run of its own has
/// begun with.
pub(crate) fn further_results(agent: &Agent, config: &Config, now: Wall, first: MessageId) -> Vec<MessageId> {
    let result = |entry: &&Entry| entry.message.kind == MessageKind::TaskResult && !entry.known;
    let Some(entry) = agent.inbox.queued_entry(first).filter(result) else { return Vec::new() };
    if !entry.is_fresh() {
        // Its turn goes on with what it was begun with.
        let begun = entry.notices.iter().map(|notice| notice.message).filter(|id| *id != first);
        let waits = |id: &MessageId| agent.inbox.queued_entry(*id).filter(result);
        return begun.filter(|id| waits(id).is_some_and(Entry::is_fresh)).collect();
    }
    let mut room = Window::of_chain(config, &model::chain(agent, config)).recent();
    let ready = agent.inbox.queued().filter(|entry| !agent.defers(entry, now));
    let fresh = |entry: &&Entry| entry.message.id == first || entry.is_fresh();
    let mut results = ready.take_while(result).take_while(fresh).take_while(|entry| {
        let left = room.checked_sub(entry.message.body.text.est_tokens());
        room = left.unwrap_or(0);
        left.is_some() || entry.message.id == first
    });
    if results.next().map(|entry| entry.message.id) != Some(first) {
        return Vec::new();
    }
    results.map(|entry| entry.message.id).take(FURTHER_RESULTS).collect()
}
