//! The start of a run: claim the message, bind the models, read the context.

use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::event::inbox::MessageDequeued;
use holon_facts::event::lifecycle::SchedulerPostureDecision;
use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::TurnStarted;
use holon_facts::fence::Fence;
use holon_facts::ids::MessageId;
use holon_facts::lifecycle::{Boundary, Status};
use holon_facts::provenance::MessageKind;
use holon_facts::time::{Millis, Wall};

use crate::agent::inbox::Entry;
use crate::agent::turn::recap::Window;
use crate::agent::wait::resolve;
use crate::agent::{Agent, model};
use crate::effect::Effect;
use crate::host::tx::{Alarm, Opening, Tx};

/// Results of tasks that one turn takes beside the first.
const FURTHER_RESULTS: usize = 15;
/// Reading a few files takes no longer than this.
const CONTEXT_TIMEOUT: Millis = Millis::seconds(60);

/// Opens a turn for a queued message.
pub(crate) fn begin(tx: &mut Tx<'_>, message_id: MessageId, boundary: Boundary) {
    let agent = tx.agent();
    let (run_id, turn_index) = (agent.next.run, agent.next.turn);
    let Some(entry) = agent.inbox.queued_entry(message_id) else { return };
    let carried_rounds = u32::try_from(entry.carried.len()).unwrap_or(u32::MAX);
    let fence = Some(entry.fence.unwrap_or_else(|| Fence::of(tx.seed, &agent.id, run_id)));
    let interjected = entry.interjected.clone();
    let (id, execution) = (agent.id.clone(), agent.workspaces.active().clone());
    let models = model::chain(tx.agent(), tx.config);
    let also = further_results(tx.agent(), tx.config, tx.now(), message_id);
    let all = core::iter::once(message_id).chain(also.iter().copied()).chain(interjected.iter().copied());
    for message_id in all {
        resolve::taken(tx, message_id);
        tx.record(MessageDequeued { message_id, run_id: Some(run_id) });
    }
    let work_item_id = tx.agent().work.current().map(|item| item.id);
    let previous = tx.agent().status;
    tx.record(SchedulerPostureDecision { previous, next: Status::AwakeRunning, boundary, wakes_at: None });
    tx.record(TurnStarted {
        run_id,
        turn_index,
        message_id,
        also,
        work_item_id,
        models,
        carried_rounds,
        interjected,
        fence,
    });
    tx.arm(Alarm::TurnLimit, tx.config.turn.wall_time);
    let opening = Opening::of(run_id, OpKind::LoadContext, CONTEXT_TIMEOUT);
    tx.open(opening, |op| Some(Effect::LoadContext { agent: id, op, execution }));
}

/// The results of tasks that come right after one: they are told together (contract: agent.md, Turns), as long as
/// they leave the turn its room. The others wait, and so does what has to wait for itself, and what a run of its own has
/// begun with.
pub(crate) fn further_results(agent: &Agent, config: &Config, now: Wall, first: MessageId) -> Vec<MessageId> {
    let result = |entry: &&Entry| entry.message.kind == MessageKind::TaskResult && !entry.known;
    let Some(entry) = agent.inbox.queued_entry(first).filter(result) else { return Vec::new() };
    if !entry.is_fresh() {
        // Its turn goes on with what it was begun with.
        let begun = entry.told.iter().map(|told| told.message).filter(|id| *id != first);
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
