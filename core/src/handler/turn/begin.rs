//! The start of a run: claim the message, bind the models, read the context.

use alloc::boxed::Box;

use holon_facts::event::inbox::MessageDequeued;
use holon_facts::event::lifecycle::SchedulerPostureDecision;
use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::TurnStarted;
use holon_facts::fence::Fence;
use holon_facts::ids::MessageId;
use holon_facts::lifecycle::{Boundary, Status};
use holon_facts::time::Millis;

use crate::agent::model;
use crate::agent::turn::window::Window;
use crate::effect::Work;
use crate::handler::episode;
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
    let execution = agent.workspaces.active().clone();
    let models = model::chain(agent, tx.env.config);
    let window = Window::of_chain(tx.env.config, &models);
    let servers = agent.servers.newest().map(|servers| &**servers);
    let known = &agent.tools_offered;
    let offered = window.offers((&agent.spec, &models), tx.env.config, servers, known);
    let same = offered == *known;
    let fresh = entry.is_fresh() && !entry.goes_on;
    episode::before_turn(tx, &models, &offered, fresh);
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
        tools_offered: (!same).then_some(offered),
        only_offered: true,
        input_limit: Some(window.input).filter(|_| tx.agent().input_limit != Some(window.input)),
    });
    tx.arm(Alarm::TurnLimit, tx.env.config.turn.wall_time);
    let opening = Opening::of(run_id, OpKind::LoadContext, CONTEXT_TIMEOUT);
    let user_skills = tx.agent().spec.has_user_skills();
    let template = tx.agent().spec.template.clone().map(Box::new);
    let untrusted = tx.agent().workspaces.is_untrusted_at(&execution);
    // Counting takes programs that the repository may name: they are somebody's whom nobody trusts.
    let work_tree = !untrusted && tx.agent().episodes.begins();
    tx.open(opening, Work::LoadContext { execution, user_skills, template, untrusted, work_tree });
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use holon_facts::event::{Event, TurnFact};

    use crate::testing::{World, answers, config, context, prompt};

    fn turn(world: &mut World) {
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", answers("done"));
    }

    #[test]
    fn what_requests_offer_is_on_record_once_for_all_runs_that_offer_the_same() {
        let mut world = World::with_agent("main");
        turn(&mut world);
        world.crash();
        turn(&mut world);
        let mut small = config();
        small.context.window_tokens = 8_192;
        world.restart(small);
        turn(&mut world);
        let started = world.log.iter().filter_map(|record| {
            let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event else { return None };
            Some(&fact.tools_offered)
        });
        let started: Vec<_> = started.collect();
        let [Some(all), None, Some(fewer)] = started[..] else { panic!("{started:?}") };
        assert!(fewer.len() < all.len(), "a small window is not offered everything");
        let sent: Vec<_> = world.requests.iter().map(|request| &request.tools).collect();
        assert_eq!(sent, [all, all, fewer]);
    }
}
