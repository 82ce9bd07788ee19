//! Bounds of a turn: rounds, time, and the same call over and over.

use alloc::vec::Vec;

use holon_facts::config::{TurnLimits, WorkPolicy};
use holon_facts::event::turn::{ReminderInjected, ReminderKind};
use holon_facts::work::{PlanStatus, WorkState};

use crate::agent::turn::{Repeats, Run, Unchanged};
use crate::agent::work::WorkItem;
use crate::handler::task;
use crate::handler::turn::end::{self, End, Limit};
use crate::prompt;
use crate::tx::{Alarm, Tx};

/// The bound that forbids another round. Rounds of interrupted runs count: it is one turn of one message.
pub(crate) fn reached(run: &Run, limits: &TurnLimits) -> Option<Limit> {
    if run.conversation.rounds.len() >= limits.rounds as usize {
        return Some(Limit::Rounds);
    }
    (run.course.repeats.count >= limits.repeats_end).then_some(Limit::RepeatedToolCall)
}

/// Reminds where so many repetitions have come since the last reminder, whether in one round or in many.
pub(crate) fn remind(tx: &mut Tx<'_>) {
    let Some(run) = &tx.agent().run else { return };
    let Repeats { count, reminded, .. } = run.course.repeats;
    let due = |every: u32| count / every > reminded / every;
    if tx.env.config.turn.repeats_remind > 0 && due(tx.env.config.turn.repeats_remind) {
        let (run_id, round) = (run.id, run.conversation.next_round());
        let text = prompt::reminders::repeated_calls(count);
        tx.record(ReminderInjected { run_id, round, kind: ReminderKind::RepeatedToolCall, text });
    }
}

/// Reminds of the item that the turn is bound to or has turned to, where so many rounds have changed no item.
pub(crate) fn remind_of_work(tx: &mut Tx<'_>) {
    let WorkPolicy { remind_rounds, remind_cooldown, remind_tokens, .. } = tx.env.config.work;
    let Some(run) = &tx.agent().run else { return };
    let Unchanged { rounds, reminded } = run.course.unchanged;
    let due =
        remind_rounds > 0 && rounds >= remind_rounds && reminded.is_none_or(|since| since >= remind_cooldown);
    let work = &tx.agent().work;
    // A turn that has turned to an item itself is about that one.
    let about = run.about.work_item.or_else(|| work.current().map(|item| item.id));
    let Some(item) = about.filter(|_| due).and_then(|id| work.get(id)) else { return };
    if item.state() == WorkState::Completed {
        return;
    }
    let (run_id, round) = (run.id, run.conversation.next_round());
    let text = prompt::reminders::unchanged_item(item, rounds, (remind_tokens as usize).saturating_mul(4));
    tx.record(ReminderInjected { run_id, round, kind: ReminderKind::WorkProgress, text });
}

/// An operator has said something in this turn: that may be what an item has needed since before. Shown once a turn.
pub(crate) fn remind_of_question(tx: &mut Tx<'_>) {
    let Some(run) = &tx.agent().run else { return };
    let asked = run.about.incoming.is_by_operator() || !run.conversation.interjected.is_empty();
    if !asked || run.course.question_reminded || run.conversation.carried_rounds > 0 {
        return;
    }
    let work = &tx.agent().work;
    let needs =
        |item: &&WorkItem| item.plan_status == PlanStatus::NeedsInput && !run.course.asks.contains(&item.id);
    let items: Vec<&WorkItem> =
        work.current().into_iter().filter(needs).chain(work.open().filter(needs)).take(1).collect();
    let [item] = items.as_slice() else { return };
    let (run_id, round) = (run.id, run.conversation.next_round());
    let text = prompt::reminders::needs_input(item);
    tx.record(ReminderInjected { run_id, round, kind: ReminderKind::NeedsInput, text });
}

/// The turn has taken as long as it may.
pub(crate) fn out_of_time(tx: &mut Tx<'_>) {
    tx.disarm(Alarm::TurnLimit);
    task::promote::at_turn_end(tx);
    end::end(tx, End::LimitReached { limit: Limit::WallTime });
}

#[cfg(test)]
mod tests {
    use crate::testing::{World, calls, context, prompt, tool_answers};
    use alloc::vec::Vec;
    use holon_facts::event::operation::OpKind;
    use holon_facts::event::turn::ReminderKind;
    use holon_facts::event::{Event, TurnFact};
    use holon_facts::ids::TaskId;
    use holon_facts::task::TaskStatus;
    use holon_facts::time::Millis;

    /// A process that stood still meets the limit of the turn and that of its command at one moment.
    #[test]
    fn what_the_end_of_a_turn_has_disarmed_does_not_fire() {
        let mut config = crate::testing::config();
        config.turn.wall_time = Millis::seconds(5);
        let mut world = World::new(config);
        world.create("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"make"}"#)]));
        world.pass(Millis::seconds(600));
        let agent = world.agent("main");
        assert!(agent.run.is_none() && agent.ops.values().all(|open| open.kind != OpKind::PromoteCommand));
        assert_eq!(agent.tasks.get(TaskId(1)).map(|task| task.status), Some(TaskStatus::Cancelling));
    }

    /// The repetitions after which the model was reminded, when a round makes so many equal calls; and how
    /// many there were in the end.
    fn reminders(per_round: usize) -> (Vec<usize>, usize) {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let mut called = 0;
        while world.agent("main").run.is_some() {
            let round: Vec<_> = (0..per_round).map(|_| ("", "ExecCommand", r#"{"cmd":"ls"}"#)).collect();
            world.complete("main", calls(&round));
            for _ in 0..per_round {
                world.complete("main", tool_answers("a file"));
            }
            called += per_round;
        }
        let mut calls = 0;
        let reminded = world.log.iter().filter_map(|record| {
            calls += usize::from(matches!(&record.event, Event::Turn(TurnFact::ToolExecuted(_))));
            matches!(&record.event, Event::Turn(TurnFact::ReminderInjected(_))).then_some(calls)
        });
        (reminded.collect(), called)
    }

    /// The rounds after which the model is reminded of its item, of so many; the one that is named changes it.
    fn reminded(rounds: u32, changes: u32) -> Vec<u32> {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let create = r#"{"objective":"repair the build","todo_list":[{"text":"look","state":"pending"}]}"#;
        let pick = r#"{"work_item_id":"work_1"}"#;
        world.complete("main", calls(&[("", "CreateWorkItem", create), ("", "PickWorkItem", pick)]));
        world.complete("main", tool_answers("made"));
        world.complete("main", tool_answers("picked"));
        world.complete("main", crate::testing::answers("I begin."));
        world.complete("main", context());
        let from = world.log.len();
        for round in 1..=rounds {
            let update = alloc::format!(r#"{{"work_item_id":"work_1","objective":"{round}"}}"#);
            let list = alloc::format!(r#"{{"cmd":"ls {round}"}}"#);
            let tool =
                if round == changes { ("", "UpdateWorkItem", &*update) } else { ("", "ExecCommand", &*list) };
            world.complete("main", calls(&[tool]));
            world.complete("main", tool_answers("done"));
        }
        let mut round = 0;
        let reminded = world.log[from..].iter().filter_map(|record| {
            round += u32::from(matches!(&record.event, Event::Turn(TurnFact::AssistantRoundRecorded(_))));
            let Event::Turn(TurnFact::ReminderInjected(fact)) = &record.event else { return None };
            assert!(fact.text.contains("[ ] look") && fact.text.len() <= 2_048, "{}", fact.text);
            Some(round)
        });
        reminded.collect()
    }

    #[test]
    fn a_long_turn_is_reminded_of_an_item_that_it_does_not_change() {
        assert!(reminded(9, 0).is_empty());
        assert_eq!(reminded(31, 0), [10, 20, 30]);
        assert_eq!(reminded(31, 5), [15, 25]);
        assert_eq!(reminded(31, 15), [10, 25], "changed in between");
    }

    /// What the turn of a prompt is reminded of, where an item has needed input since before.
    #[test]
    fn whoever_is_answered_is_reminded_of_the_item_that_asked() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let create = r#"{"objective":"repair the build","plan_status":"needs_input"}"#;
        world.complete("main", calls(&[("", "CreateWorkItem", create)]));
        world.complete("main", tool_answers("made"));
        world.complete("main", crate::testing::answers("Which of the two?"));
        let reminded = |world: &World| {
            let facts = world.log.iter().filter_map(|record| {
                let Event::Turn(TurnFact::ReminderInjected(fact)) = &record.event else { return None };
                Some((fact.kind, fact.text.clone()))
            });
            facts.collect::<Vec<_>>()
        };
        assert_eq!(reminded(&world), [], "it has just asked");
        world.admit("main", prompt("The first."));
        world.complete("main", context());
        let shown = reminded(&world);
        let [(ReminderKind::NeedsInput, text)] = shown.as_slice() else { panic!("{shown:?}") };
        assert!(text.contains("work_1 still says that it needs input"), "{text}");
        let shown = alloc::format!("{:?}", world.requests.last().unwrap().conversation);
        assert!(shown.contains("work_1 still says"), "{shown}");
        let update = r#"{"work_item_id":"work_1","plan_status":"ready"}"#;
        world.complete("main", calls(&[("", "UpdateWorkItem", update)]));
        world.complete("main", tool_answers("done"));
        world.complete("main", crate::testing::answers("I take the first."));
        while world.agent("main").run.is_some() {
            world.complete("main", context());
            world.complete("main", crate::testing::answers("I go on."));
        }
        world.admit("main", prompt("And now?"));
        world.complete("main", context());
        assert_eq!(reminded(&world).len(), 1, "once it is answered there is nothing to be reminded of");
    }

    #[test]
    fn every_fifth_repetition_brings_a_reminder_and_the_25th_ends_the_turn() {
        assert_eq!(reminders(1), ([5, 10, 15, 20].into(), 25));
        assert_eq!(reminders(2), ([6, 10, 16, 20].into(), 26));
        assert_eq!(reminders(3), ([6, 12, 15, 21].into(), 27));
    }
}
