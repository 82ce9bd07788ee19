//! The start of a run: claim the message, bind the models, read the context.

use holon_facts::event::inbox::MessageDequeued;
use holon_facts::event::lifecycle::SchedulerPostureDecision;
use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::TurnStarted;
use holon_facts::fence::Fence;
use holon_facts::ids::MessageId;
use holon_facts::lifecycle::{Boundary, Status};
use holon_facts::time::Millis;

use crate::agent::model;
use crate::effect::Effect;
use crate::handler::wait::resolve;
use crate::scheduler::results::further_results;
use crate::tx::{Alarm, Opening, Tx};

/// Reading a few files takes no longer than this.
const CONTEXT_TIMEOUT: Millis = Millis::seconds(60);

/// Opens a turn for a queued message.
pub(crate) fn begin(tx: &mut Tx<'_>, message_id: MessageId, boundary: Boundary) {
    let agent = tx.agent();
    let (run_id, turn_index) = (agent.next.run, agent.next.turn);
    let Some(entry) = agent.inbox.queued_entry(message_id) else { return };
    let carried_rounds = u32::try_from(entry.carried.len()).unwrap_or(u32::MAX);
    let fence = Some(entry.fence.unwrap_or_else(|| Fence::of(tx.env.seed, &agent.id, run_id)));
    let interjected = entry.interjected.clone();
    let (id, execution) = (agent.id.clone(), agent.workspaces.active().clone());
    let models = model::chain(tx.agent(), tx.env.config);
    let also = further_results(tx.agent(), tx.env.config, tx.now(), message_id);
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
    tx.arm(Alarm::TurnLimit, tx.env.config.turn.wall_time);
    let opening = Opening::of(run_id, OpKind::LoadContext, CONTEXT_TIMEOUT);
    tx.open(opening, |op| Some(Effect::LoadContext { agent: id, op, execution }));
}
