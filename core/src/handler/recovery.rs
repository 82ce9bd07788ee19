//! Runs that end because their process does: by a shutdown, in good order, or by a crash, found at the next
//! start (contract: agent.md, Recovery).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use holon_facts::event::lifecycle::RuntimeRecovered;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::ids::OpId;
use holon_facts::reject::Reject;

use crate::handler::episode::summary;
use crate::handler::task;
use crate::handler::turn::end::{self, End};
use crate::handler::turn::tools;
use crate::recovery::{Found, FoundCommand, RecoveryReport};
use crate::tx::Tx;

/// Shutdown: the run is interrupted, its message comes again, commands go on, nothing is written as stopped.
pub(crate) fn shut_down(tx: &mut Tx<'_>) {
    task::operator::give_up(tx, &Reject::Draining);
    task::operator::input_unknown(tx);
    summary::cancel(tx);
    end::end(tx, End::ShutDown);
}

/// A start of the runtime. Recovering an agent that was at rest records nothing, whichever of its commands go on. A
/// command whose end is known brings its call or its task that result, and one that goes on is a task; nothing is ever executed again.
pub(crate) fn recover(tx: &mut Tx<'_>, report: RecoveryReport) {
    let interrupted_run_id = tx.agent().run.as_ref().map(|run| run.id);
    // Children recover as agents of their own.
    let children = of_kind(tx, OpKind::SuperviseChild);
    if interrupted_run_id.is_none() && tx.agent().ops.len() == children.len() {
        return;
    }
    let mut found = found(tx, report);
    let known = |op: &OpId| {
        children.contains(op) || found.get(op).is_some_and(|command| command.found != Found::Lost)
    };
    let lost_ops = tx.agent().ops.keys().filter(|op| !known(op)).copied().collect();
    let recovered = RuntimeRecovered { interrupted_run_id, lost_ops };
    // Commands that merely go on are nothing to record.
    if interrupted_run_id.is_some() || !recovered.lost_ops.is_empty() {
        tx.record(recovered);
    }
    // Whoever waited for a task is gone: the end that was found is nothing to show to that call.
    for op in of_kind(tx, OpKind::AwaitTask) {
        tx.settle(op, Settlement::Lost);
    }
    for op in of_kind(tx, OpKind::RunCommand) {
        let command = found.remove(&op).unwrap_or_else(|| FoundCommand::new(op, Found::Lost));
        match tx.agent().task_of(op) {
            Some(task) => task::recovery::found(tx, op, task, command.found),
            None => of_run(tx, command),
        }
    }
    task::recovery::orphans(tx);
    end::end(tx, End::Crashed);
}

/// The command of the interrupted run.
fn of_run(tx: &mut Tx<'_>, FoundCommand { op, found, shown }: FoundCommand) {
    match found {
        Found::Ended { outcome } => {
            tx.settle(op, Settlement::Done);
            tools::record_result(tx, outcome.receipt, outcome.duration_ms);
        }
        Found::Running => task::recovery::adopt(tx, op, shown.map(|shown| *shown)),
        Found::NotStarted => tx.settle(op, Settlement::Failed),
        // The end of the run says so.
        Found::Lost => {}
    }
}

/// What was found of operations in which a command is executed.
fn found(tx: &Tx<'_>, report: RecoveryReport) -> BTreeMap<OpId, FoundCommand> {
    let executing = of_kind(tx, OpKind::RunCommand);
    let known = report.commands.into_iter().filter(|command| executing.contains(&command.op));
    known.map(|command| (command.op, command)).collect()
}

fn of_kind(tx: &Tx<'_>, kind: OpKind) -> Vec<OpId> {
    tx.agent().ops.iter().filter(|(_, open)| open.kind == kind).map(|(op, _)| *op).collect()
}

#[cfg(test)]
mod tests {
    use crate::recovery::Found;
    use crate::testing::{World, calls, config, context, fails, prompt, tool_answers};
    use alloc::vec::Vec;
    use holon_facts::config::Config;
    use holon_facts::event::{Event, TurnFact};
    use holon_facts::outcome::Outcome;
    use holon_facts::time::{Millis, Wall};

    /// What the results after `from` say to the model.
    fn failures(world: &World, from: usize) -> Vec<&str> {
        world.log[from..]
            .iter()
            .filter_map(|record| {
                let Event::Turn(TurnFact::ToolExecutionFailed(fact)) = &record.event else { return None };
                fact.receipt.error.as_ref().map(|error| error.message.preview())
            })
            .collect()
    }

    #[test]
    fn a_call_that_a_crash_cut_short_is_not_said_to_have_never_been_made() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("build"));
        world.complete("main", context());
        let make = |id| (id, "ExecCommand", r#"{"cmd":"make"}"#);
        world.complete("main", calls(&[make("c1"), make("c2")]));
        let from = world.log.len();
        world.crash();
        let failed = failures(&world, from);
        assert_eq!(failed, ["the call was interrupted", "the call was not made: the run ended before"]);
        let kinds = world.kinds(from);
        assert_eq!(kinds[0], "runtime_recovered", "{kinds:?}");
    }

    /// The kinds of the results after a start that found this of the command in progress.
    fn after_finding(found: Found, prepares: bool) -> (Vec<&'static str>, Vec<alloc::string::String>) {
        let mut world = World::with_agent("main");
        world.prepares = prepares;
        world.admit("main", prompt("build"));
        world.complete("main", context());
        world.complete("main", calls(&[("c1", "ExecCommand", r#"{"cmd":"make"}"#)]));
        world.found = [(crate::testing::agent("main"), found)].into();
        let from = world.log.len();
        world.crash();
        let failed = failures(&world, from).into_iter().map(Into::into).collect();
        let kinds = world.kinds(from).into_iter().filter(|kind| {
            ["operation_settled", "tool_executed", "tool_execution_failed", "message_requeued"].contains(kind)
        });
        (kinds.collect(), failed)
    }

    #[test]
    fn a_command_that_ended_meanwhile_brings_its_result() {
        let Outcome::Tool { outcome } = tool_answers("built") else { panic!() };
        let (kinds, failed) = after_finding(Found::Ended { outcome: outcome.clone().into() }, true);
        assert_eq!(kinds, ["operation_settled", "tool_executed", "message_requeued"]);
        assert!(failed.is_empty());
        // A supervisor that only waited has nothing to tell, whatever is said of it.
        let (_, failed) = after_finding(Found::Ended { outcome: outcome.into() }, false);
        assert_eq!(failed, ["the call was not made: the run ended before"]);
    }

    #[test]
    fn a_command_that_never_began_is_not_said_to_have_been_interrupted() {
        let (_, failed) = after_finding(Found::NotStarted, true);
        assert_eq!(failed, ["the call was not made: the run ended before"]);
        let (_, failed) = after_finding(Found::Lost, true);
        assert_eq!(failed, ["the call was interrupted"]);
    }

    #[test]
    fn a_shutdown_drops_nothing_under_a_smaller_bound() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("build"));
        world.crash();
        world.crash();
        assert_eq!(world.agent("main").run.as_ref().map(|run| run.id.0), Some(3));
        world.complete("main", context());
        world.complete("main", fails(holon_facts::model::FailureKind::Server));
        let smaller = {
            let mut config = config();
            config.queue.crashes = 2;
            config
        };
        world.drain();
        world.restart(smaller);
        world.drain();
        assert_eq!(world.agent("main").inbox.totals().0, 1, "the message waits for the next start");
    }

    #[test]
    fn crashes_before_a_run_that_got_on_are_forgotten_however_it_ended() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("build"));
        world.crash();
        world.crash();
        world.complete("main", context());
        world.complete("main", calls(&[("c1", "ExecCommand", r#"{"cmd":"make"}"#)]));
        world.drain();
        world.crash();
        world.crash();
        assert!(world.agent("main").run.is_some(), "one crash since then");
    }

    /// A process that dies again and again, each time a round further, ends its turn as any other would.
    #[test]
    fn rounds_are_counted_over_all_runs_of_a_message() {
        let turn = holon_facts::config::TurnLimits { rounds: 4, ..config().turn };
        let mut world = World::new(Config { turn, ..config() });
        world.create("main");
        world.admit("main", prompt("build"));
        for _ in 0..4 {
            world.complete("main", context());
            world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"make"}"#)]));
            world.crash();
        }
        world.complete("main", context());
        let agent = world.agent("main");
        assert!(agent.run.is_none());
        assert_eq!(agent.history.last_settled, Some(holon_facts::terminal::TurnKind::LimitReached));
    }

    /// A hold that is over stays over when the clock goes back while the agent waits for a slot.
    #[test]
    fn a_hold_that_is_over_does_not_come_back_with_the_clock() {
        let config = Config {
            limits: holon_facts::config::HostLimits { concurrent_turns: 1, ..config().limits },
            models: config().models[..1].into(),
            ..config()
        };
        let mut world = World::new(config);
        world.create("main");
        world.create("other");
        world.admit("main", prompt("try"));
        world.complete("main", context());
        for _ in 0..3 {
            world.complete("main", fails(holon_facts::model::FailureKind::Server));
            world.pass(Millis::seconds(1));
        }
        assert!(world.agent("main").hold.is_some());
        world.admit("other", prompt("take the slot"));
        world.pass(Millis::seconds(40));
        assert!(world.agent("main").run.is_none());
        world.now.wall = Wall(world.now.wall.0 - 2 * 3_600_000_000);
        world.complete("other", context());
        world.complete("other", crate::testing::answers("done"));
        assert!(world.agent("main").run.is_some(), "the free slot is for the message that waits");
    }
}
