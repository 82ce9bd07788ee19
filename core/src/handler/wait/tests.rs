use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::closure::WaitingReason;
use holon_facts::continuation::ContinuationClass;
use holon_facts::decision::{DecisionKind, DecisionReason};
use holon_facts::event::operation::OpKind;
use holon_facts::event::{Event, SchedulingFact, TurnFact};
use holon_facts::ids::{TimerId, WorkItemId};
use holon_facts::message::{Ingress, Origin};
use holon_facts::outcome::CommandEnd;
use holon_facts::provenance::{AdmissionContext, MessageKind, Priority};
use holon_facts::time::{Millis, Wall};
use holon_facts::wait::WaitKind;
use holon_facts::work::WorkState;

use crate::handler::work::tests::{CREATE, PICK, idle};
use crate::input::{ControlRequest, Input};
use crate::summary::{SchedulingPosture, StatusLabel};
use crate::testing::{
    World, agent, answers, calls, command_ends, context, ingress, interjection, prompt, tool_answers,
};
use crate::view::RunVerdict;

pub(in crate::handler) const OPERATOR: (&str, &str) =
    ("WaitFor", r#"{"reason":"which of the two?","wake":"operator_input"}"#);
pub(in crate::handler) const EXTERNAL: (&str, &str) =
    ("WaitFor", r#"{"reason":"the build","wake":"external","resource":"ci"}"#);
const TASK: (&str, &str) = ("WaitFor", r#"{"reason":"the tests","wake":"task_result","resource":"task_1"}"#);
const SOON: (&str, &str) = ("WaitFor", r#"{"reason":"a moment","wake":"timer","resource":"30s"}"#);
const LONG: (&str, &str) = ("WaitFor", r#"{"reason":"until later","wake":"timer","resource":"10m"}"#);

/// Lets the model make these calls in one round, and says whether the turn goes on.
pub(in crate::handler) fn makes(world: &mut World, round: &[(&str, &str)]) -> bool {
    if world.open.values().any(|kind| *kind == OpKind::LoadContext) {
        world.complete_one("main", OpKind::LoadContext, context());
    }
    let made: Vec<_> = round.iter().map(|(tool, arguments)| ("", *tool, *arguments)).collect();
    let run = world.agent("main").run.as_ref().map(|run| run.id);
    world.complete_one("main", OpKind::CallModel, calls(&made));
    world.agent("main").run.as_ref().map(|run| run.id) == run
}

/// Lets the model make these calls, a round for each, in a turn that goes on.
pub(in crate::handler) fn does(world: &mut World, rounds: &[(&str, &str)]) {
    for call in rounds {
        assert!(makes(world, &[*call]), "{call:?}");
        world.complete_one("main", OpKind::CallTool, tool_answers("shown"));
    }
}

/// An agent without work items that waits.
pub(in crate::handler) fn waits(call: (&str, &str)) -> World {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    assert!(!makes(&mut world, &[call]), "its turn ends");
    world
}

/// One with an item in focus that waits.
pub(in crate::handler) fn item_waits(call: (&str, &str)) -> World {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    does(&mut world, &[CREATE, PICK]);
    assert!(!makes(&mut world, &[call]), "its turn ends");
    world
}

fn active(world: &World) -> Vec<String> {
    world.agent("main").active_waits().map(|wait| alloc::format!("{} {}", wait.id, wait.kind)).collect()
}

fn decided(world: &World) -> (DecisionKind, DecisionReason, u8) {
    let decision = world.agent("main").last_decision.as_ref().unwrap();
    (decision.kind, decision.reason, decision.row)
}

fn closed(world: &World) -> (u8, Option<WaitingReason>) {
    let closure = world.agent("main").closure(world.now.wall);
    (closure.row, closure.waiting_reason)
}

fn classes(world: &World) -> Vec<ContinuationClass> {
    let resolved = world.log.iter().filter_map(|record| {
        let Event::Scheduling(SchedulingFact::ContinuationResolved(fact)) = &record.event else {
            return None;
        };
        Some(fact.resolution.class)
    });
    resolved.collect()
}

/// What the tools have said, of errors their kind.
fn results(world: &World) -> Vec<String> {
    let recorded = world.log.iter().filter_map(|record| {
        let Event::Turn(fact) = &record.event else { return None };
        match fact {
            TurnFact::ToolExecuted(fact) => Some(fact.receipt.content.as_ref()?.preview().to_string()),
            TurnFact::ToolExecutionFailed(fact) => Some(fact.receipt.error.as_ref()?.kind.to_string()),
            TurnFact::TurnStarted(_)
            | TurnFact::TurnContextBuilt(_)
            | TurnFact::ToolsCatalogued(_)
            | TurnFact::ProviderAttemptRecorded(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ProvidersAwaited(_)
            | TurnFact::AssistantRoundRecorded(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::RuntimeError(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::BudgetReserved(_)
            | TurnFact::BudgetSettled(_)
            | TurnFact::BudgetExhausted(_)
            | TurnFact::TurnTerminal(_) => None,
        }
    });
    recorded.collect()
}

fn webhook(source: &str) -> Ingress {
    let sent = ingress(MessageKind::WebhookEvent, Priority::Normal, "passed");
    Ingress { origin: Origin::Webhook { source: source.into(), event_type: None }, ..sent }
}

fn starts_task(world: &mut World) {
    world.later(|reply| Input::RunTask {
        agent: agent("main"),
        arguments: holon_facts::content::Text::short(r#"{"cmd":"make"}"#),
        key: None,
        reply,
    });
}

fn ends_task(world: &mut World) {
    world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Exited, Some(0)));
}

#[test]
fn an_operator_is_told_and_his_word_ends_the_wait() {
    let mut world = waits(OPERATOR);
    assert_eq!(active(&world), ["wait_1 operator"]);
    assert!(world.briefs().iter().any(|brief| brief.contains("which of the two?")), "{:?}", world.briefs());
    assert_eq!(closed(&world), (2, Some(WaitingReason::AwaitingOperatorInput)));
    assert_eq!(decided(&world), (DecisionKind::WaitForOperator, DecisionReason::OperatorInput, 12));
    assert_eq!(world.host.view().verdict(&agent("main")), Some(RunVerdict::WaitingForOperator));
    // What else comes has its turn, and leaves the wait.
    world.admit("main", webhook("ci"));
    idle(&mut world);
    assert_eq!(active(&world), ["wait_1 operator"]);
    world.admit("main", prompt("the first"));
    assert!(active(&world).is_empty());
    assert_eq!(classes(&world).last(), Some(&ContinuationClass::ResumeExpectedWait));
    world.complete("main", context());
    let shown = alloc::format!("{:?}", world.requests.last().unwrap().conversation);
    assert!(shown.contains("wait_1 waited for: which of the two?"), "{shown}");
    world.complete("main", answers("done"));
    assert_eq!(decided(&world).2, 14);
}

#[test]
fn an_interjection_ends_it_within_the_turn_that_registers_it() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.admit("main", interjection("the second"));
    assert!(makes(&mut world, &[OPERATOR]), "the answer is there already");
    assert!(active(&world).is_empty());
    let shown = alloc::format!("{:?}", world.requests.last().unwrap().conversation);
    assert!(shown.contains("ends wait_1"), "{shown}");
    world.complete("main", answers("thanks"));
    assert!(world.agent("main").run.is_none());
}

#[test]
fn the_result_of_a_task_ends_the_wait_for_it_whichever_comes_first() {
    // The wait, then the end.
    let mut world = World::with_agent("main");
    starts_task(&mut world);
    world.admit("main", prompt("go"));
    assert!(!makes(&mut world, &[TASK]));
    assert_eq!(closed(&world), (3, Some(WaitingReason::AwaitingTaskResult)));
    assert_eq!(decided(&world), (DecisionKind::WaitForTask, DecisionReason::TaskResult, 12));
    let view = world.host.view();
    assert!(!view.quiet(&agent("main")), "somebody waits for the task");
    assert_eq!(view.explain(&agent("main")).unwrap().scheduling_posture, SchedulingPosture::WaitingForTask);
    ends_task(&mut world);
    assert!(active(&world).is_empty() && world.agent("main").run.is_some());
    assert_eq!(classes(&world).last(), Some(&ContinuationClass::ResumeExpectedWait));
    // The end, then the wait: its message is queued behind the turn in progress.
    let mut world = World::with_agent("main");
    starts_task(&mut world);
    world.admit("main", prompt("go"));
    world.complete_one("main", OpKind::LoadContext, context());
    ends_task(&mut world);
    assert!(!makes(&mut world, &[TASK]), "the turn ends, and the result comes");
    assert!(results(&world)[0].contains("task_result_queued"));
    assert!(active(&world).is_empty());
    let incoming = &world.agent("main").run.as_ref().unwrap().about.incoming;
    assert_eq!(incoming.kind, MessageKind::TaskResult);
    // The agent knows the result: nothing is waited for.
    world.complete("main", context());
    assert!(makes(&mut world, &[TASK]));
    assert!(results(&world)[1].contains("task_result_already_consumed"));
    world.complete("main", answers("done"));
    assert!(world.agent("main").waits.ended().count() == 1 && active(&world).is_empty());
}

#[test]
fn a_result_that_a_turn_has_shown_still_ends_a_wait() {
    let mut world = World::with_agent("main");
    starts_task(&mut world);
    world.admit("main", prompt("go"));
    assert!(!makes(&mut world, &[TASK]));
    world.admit("main", prompt("how is it going?"));
    world.complete_one("main", OpKind::LoadContext, context());
    ends_task(&mut world);
    does(&mut world, &[("TaskOutput", r#"{"task_id":"task_1"}"#)]);
    world.complete("main", answers("it passed"));
    assert!(active(&world).is_empty(), "whoever waits is woken");
    assert_eq!(world.agent("main").run.as_ref().unwrap().about.incoming.kind, MessageKind::TaskResult);
}

#[test]
fn a_task_that_its_agent_stops_ends_the_wait_for_it() {
    let mut world = World::with_agent("main");
    starts_task(&mut world);
    world.admit("main", prompt("go"));
    does(&mut world, &[("TaskStop", r#"{"task_id":"task_1"}"#)]);
    assert!(!makes(&mut world, &[TASK]));
    world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
    assert!(active(&world).is_empty() && world.agent("main").run.is_some());
}

#[test]
fn a_time_to_come_ends_the_wait_for_it() {
    let mut world = waits(LONG);
    assert_eq!(closed(&world), (5, Some(WaitingReason::AwaitingTimer)));
    assert_eq!(decided(&world), (DecisionKind::WaitForTimer, DecisionReason::Timer, 12));
    assert_eq!(world.host.view().verdict(&agent("main")), Some(RunVerdict::WaitingForTimer));
    world.crash();
    world.pass(Millis::seconds(599));
    assert!(world.agent("main").run.is_none());
    world.pass(Millis::seconds(2));
    assert!(active(&world).is_empty());
    assert!(!world.agent("main").run.as_ref().unwrap().about.own, "who waits so long does so deliberately");
    idle(&mut world);
    world.admit("main", prompt("again"));
    assert!(!makes(&mut world, &[SOON]));
    world.pass(Millis::seconds(31));
    assert!(world.agent("main").run.as_ref().unwrap().about.own);
}

#[test]
fn an_event_about_it_ends_an_external_wait_and_no_other_does() {
    let mut world = waits(EXTERNAL);
    assert_eq!(closed(&world), (4, Some(WaitingReason::AwaitingExternalChange)));
    assert_eq!(decided(&world), (DecisionKind::WaitForExternalChange, DecisionReason::External, 12));
    assert_eq!(world.host.view().verdict(&agent("main")), Some(RunVerdict::WaitingForExternal));
    world.admit("main", webhook("mail"));
    idle(&mut world);
    world.admit("main", prompt("hello"));
    idle(&mut world);
    assert_eq!(
        classes(&world)[1..],
        [ContinuationClass::LocalContinuation, ContinuationClass::ResumeOverride]
    );
    assert_eq!(active(&world), ["wait_1 external"]);
    world.admit("main", webhook("ci"));
    assert!(active(&world).is_empty() && world.agent("main").run.is_some());
    // Without a subject it is for what comes through the agent's own trigger.
    let mut world = waits(("WaitFor", r#"{"reason":"anything","wake":"external"}"#));
    world.admit("main", webhook("ci"));
    idle(&mut world);
    assert_eq!(active(&world).len(), 1);
    let sent = Ingress { admission_context: AdmissionContext::ExternalTriggerCapability, ..webhook("ci") };
    world.admit("main", sent);
    assert!(active(&world).is_empty());
}

/// Numbers of waits are guessed; what is given out with them is not.
#[test]
fn who_names_a_wait_has_its_token_or_has_proven_who_he_is() {
    use AdmissionContext::{ControlAuthenticated, LocalProcess, PublicUnauthenticated};
    let stranger = || Ingress { admission_context: PublicUnauthenticated, ..webhook("mail") };
    let given = waits(EXTERNAL).agent("main").waits.own.as_ref().and_then(|wait| wait.token.clone()).unwrap();
    let referring = |to: &str| [("wait_id".to_string(), to.to_string())].into();
    let other = alloc::format!("wait_1-{}", "0".repeat(32));
    for (event, ends) in [
        (Ingress { correlation_id: Some("wait_1".into()), ..stranger() }, false),
        (Ingress { source_refs: referring("wait_1"), ..stranger() }, false),
        (Ingress { correlation_id: Some(other), ..stranger() }, false),
        (Ingress { correlation_id: Some(given.clone()), ..stranger() }, true),
        (Ingress { source_refs: referring(&given), ..stranger() }, true),
        (
            Ingress { correlation_id: Some("wait_1".into()), admission_context: LocalProcess, ..stranger() },
            true,
        ),
        (
            Ingress {
                source_refs: referring("wait_1"),
                admission_context: ControlAuthenticated,
                ..stranger()
            },
            true,
        ),
    ] {
        let mut world = waits(EXTERNAL);
        world.admit("main", event.clone());
        assert_eq!(active(&world).is_empty(), ends, "{event:?}");
        assert!(world.agent("main").run.is_some(), "an event has its turn either way");
        world.complete("main", context());
        let recorded = alloc::format!("{:?}", world.log);
        assert!(recorded.contains(&alloc::format!(r#"\"token\":\"{given}\""#)), "the model is given it");
    }
}

#[test]
fn an_item_that_waits_is_left_alone_and_goes_on_afterwards() {
    let mut world = item_waits(EXTERNAL);
    let state = |world: &World| world.agent("main").work.get(WorkItemId(1)).unwrap().state();
    assert_eq!(state(&world), WorkState::WaitingExternal);
    assert!(world.agent("main").run.is_none(), "nothing is owed to it");
    assert_eq!(world.agent("main").last_decision.as_ref().unwrap().work_item_id, Some(WorkItemId(1)));
    world.admit("main", webhook("ci"));
    assert_eq!(state(&world), WorkState::Runnable);
    world.complete("main", context());
    world.complete("main", answers("it passed"));
    let incoming = &world.agent("main").run.as_ref().unwrap().about.incoming;
    assert_eq!(incoming.kind, MessageKind::SystemTick, "it is owed a turn again");
}

#[test]
fn an_owner_has_one_wait_and_none_when_it_is_completed() {
    let mut world = item_waits(LONG);
    world.admit("main", prompt("look again"));
    let agent_of = |world: &World| world.agent("main").clone();
    assert!(!makes(&mut world, &[EXTERNAL, OPERATOR]), "the first holds");
    assert_eq!(results(&world).last().unwrap(), "invalid_tool_input");
    assert_eq!(active(&world), ["wait_2 external"]);
    assert_eq!(agent_of(&world).timers.armed_count(), 0, "the timer of the wait before is gone with it");
    world.admit("main", prompt("look again"));
    does(&mut world, &[("CompleteWorkItem", r#"{"work_item_id":"work_1"}"#)]);
    world.complete("main", answers("done"));
    assert!(active(&world).is_empty());
    let ends: Vec<_> =
        agent_of(&world).waits.ended().map(|wait| wait.cancelled_because.unwrap().name()).collect();
    assert_eq!(ends, ["item_completed", "replaced"]);
}

#[test]
fn an_agent_waits_for_itself_beside_its_items() {
    let mut world = item_waits(EXTERNAL);
    world.admit("main", prompt("and the other?"));
    does(&mut world, &[CREATE]);
    let other = ("WaitFor", r#"{"reason":"x","wake":"timer","resource":"1h30m","work_item_id":"work_2"}"#);
    assert!(!makes(&mut world, &[other]));
    assert_eq!(active(&world), ["wait_1 external", "wait_2 timer"]);
    assert_eq!(decided(&world).0, DecisionKind::WaitForExternalChange, "the one in focus is told first");
}

#[test]
fn what_comes_of_a_wait_that_was_replaced_needs_no_model() {
    let mut world = item_waits(SOON);
    world.admit("main", prompt("something else"));
    world.complete("main", context());
    // The timer fires while a turn is in progress, which then waits for something else.
    world.pass(Millis::seconds(31));
    assert!(!makes(&mut world, &[EXTERNAL]));
    assert!(world.agent("main").run.is_none());
    assert_eq!(classes(&world).last(), Some(&ContinuationClass::LivenessOnly));
    assert_eq!(active(&world), ["wait_2 external"]);
}

/// Of timers that have ended few are remembered; what they brought is none the less whose it is.
#[test]
fn a_timer_that_is_forgotten_still_belongs_to_its_wait() {
    for replaced in [false, true] {
        let mut world = item_waits(SOON);
        world.admit("main", prompt("something else"));
        world.complete("main", context());
        for _ in 0..65 {
            let timer = holon_facts::timer::TimerSpec {
                duration_ms: Millis::seconds(31),
                interval_ms: None,
                misfire: holon_facts::timer::Misfire::Once,
                summary: None,
            };
            world.ask(|reply| Input::CreateTimer { agent: agent("main"), timer, key: None, reply });
        }
        world.pass(Millis::seconds(32));
        assert!(world.agent("main").timers.get(TimerId(1)).is_none());
        if replaced {
            assert!(!makes(&mut world, &[EXTERNAL]));
            assert_eq!(classes(&world)[2], ContinuationClass::LivenessOnly);
        } else {
            world.complete("main", answers("done"));
            assert!(active(&world).is_empty() && world.agent("main").run.as_ref().unwrap().about.own);
        }
    }
}

#[test]
fn who_cancels_its_timer_cancels_the_wait() {
    let mut world = item_waits(LONG);
    world.ask(|reply| Input::CancelTimer { agent: agent("main"), timer: TimerId(1), reply });
    assert!(active(&world).is_empty());
    assert!(world.agent("main").run.is_some(), "the item can be worked on again");
}

#[test]
fn what_nothing_could_end_is_refused() {
    for (arguments, kind) in [
        (r#"{"reason":"x","wake":"task_result","resource":"task_9"}"#, "unknown_task"),
        (r#"{"reason":"x","wake":"task_result"}"#, "invalid_tool_input"),
        (r#"{"reason":"x","wake":"timer","resource":"soon"}"#, "invalid_tool_input"),
        (r#"{"reason":"x","wake":"timer","resource":"10ms"}"#, "invalid_tool_input"),
        (r#"{"reason":"x","wake":"timer","resource":"2001-01-01T00:00:00Z"}"#, "invalid_tool_input"),
        (r#"{"reason":"x","wake":"external","recheck_after_ms":59999}"#, "invalid_tool_input"),
        (r#"{"reason":"","wake":"external"}"#, "invalid_tool_input"),
        (r#"{"reason":"x","wake":"external","work_item_id":"work_9"}"#, "unknown_work_item"),
    ] {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        assert!(makes(&mut world, &[("WaitFor", arguments)]), "{arguments}");
        assert_eq!(results(&world), [kind], "{arguments}");
        assert!(active(&world).is_empty());
    }
}

#[test]
fn a_stop_leaves_what_is_waited_for_and_a_start_goes_on() {
    let mut world = World::with_agent("main");
    starts_task(&mut world);
    world.admit("main", prompt("go"));
    assert!(!makes(&mut world, &[TASK]));
    world.control("main", ControlRequest::Stop);
    world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
    assert_eq!(active(&world), ["wait_1 task"]);
    world.control("main", ControlRequest::Start);
    assert!(active(&world).is_empty(), "one tick tells of what ended meanwhile");
    assert_eq!(world.agent("main").run.as_ref().unwrap().about.incoming.kind, MessageKind::SystemTick);
    assert_eq!(world.agent("main").waits.ended().next().unwrap().kind, WaitKind::Task);
}

#[test]
fn deferred_work_says_which_item_it_is_and_how_often_it_was_deferred() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    does(&mut world, &[CREATE, PICK]);
    world.complete_one("main", OpKind::CallModel, answers("I begin."));
    for times in 1..=2 {
        while world.agent("main").run.is_some() {
            world.complete("main", context());
            world.complete("main", answers("nothing to be done"));
        }
        let explained = world.host.view().explain(&agent("main")).unwrap();
        let [deferred] = explained.deferred_work.as_slice() else { panic!("{explained:?}") };
        assert_eq!((deferred.work_item_id, deferred.in_focus), (WorkItemId(1), true));
        assert_eq!(deferred.times, times);
        assert!(explained.deadlines.iter().any(|deadline| deadline.at == deferred.until));
        world.pass_to_deadline();
    }
}

/// Results that one turn takes together are named by the decision that begins it.
#[test]
fn a_decision_names_all_results_that_its_turn_takes() {
    let mut world = World::with_agent("main");
    starts_task(&mut world);
    starts_task(&mut world);
    world.admit("main", prompt("go"));
    ends_task(&mut world);
    ends_task(&mut world);
    idle(&mut world);
    let decisions = world.log.iter().filter_map(|record| {
        let Event::Scheduling(SchedulingFact::SchedulerDecision(fact)) = &record.event else { return None };
        Some(fact)
    });
    let named: Vec<_> = decisions.filter(|decision| !decision.also_message_ids.is_empty()).collect();
    let [decision] = named.as_slice() else { panic!("{named:?}") };
    let started = world.log.iter().find_map(|record| {
        let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event else { return None };
        Some(fact).filter(|fact| !fact.also.is_empty())
    });
    assert_eq!(
        started.map(|fact| (fact.message_id, &fact.also)),
        decision.message_id.zip(Some(&decision.also_message_ids))
    );
}

#[test]
fn an_agent_that_waits_for_a_task_is_labelled_so() {
    let mut world = World::with_agent("main");
    starts_task(&mut world);
    world.admit("main", prompt("go"));
    assert!(!makes(&mut world, &[TASK]));
    let label = |world: &World| world.host.view().summary(&agent("main")).unwrap().status_label;
    assert_eq!(label(&world), Some(StatusLabel::AwaitingTask));
    world.control("main", ControlRequest::Stop);
    assert_eq!(label(&world), None, "a stopped agent waits for its start");
}

/// The clock was hours ahead, and is set right: what was to happen at a time happens then, and not so long after it was
/// asked for.
#[test]
fn a_wait_for_a_time_of_the_clock_stays_there_when_that_goes_back() {
    let mut world = World::with_agent("main");
    let time = world.now.wall.after(Millis::hours(3));
    world.admit("main", prompt("go"));
    let wait = alloc::format!(r#"{{"reason":"the report","wake":"timer","resource":"{time}"}}"#);
    assert!(!makes(&mut world, &[("WaitFor", &wait)]));
    world.pass(Millis::hours(1));
    world.now.wall = Wall(world.now.wall.0 - 2 * 3_600_000_000);
    world.step(Input::Tick);
    assert_eq!(world.agent("main").timers.next().unwrap().0, time);
    assert!(world.kinds(0).contains(&"clock_stepped"));
    world.pass(Millis::hours(3));
    assert!(world.agent("main").run.is_none());
    world.pass(Millis::hours(1));
    assert!(world.agent("main").run.is_some());
}
