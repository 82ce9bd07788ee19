use alloc::vec::Vec;

use holon_facts::config::{Config, HostLimits};
use holon_facts::content::ContentId;
use holon_facts::event::{Event, InboxFact, TimerFact};
use holon_facts::ids::TimerId;
use holon_facts::lifecycle::Status;
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::provenance::MessageKind;
use holon_facts::reject::Reject;
use holon_facts::time::{Millis, Wall};
use holon_facts::timer::{Misfire, TimerSpec, TimerStatus};
use holon_facts::work::{NewWorkItem, PlanStatus};

use crate::agent::hold::Hold;
use crate::agent::timer::Timer;
use crate::effect::Answer;
use crate::input::{ControlRequest, Input};
use crate::testing::{World, agent, answers, config, context, prompt};

fn spec(seconds: u64, interval: Option<u64>, misfire: Misfire) -> TimerSpec {
    let summary = Some("look at the build".into());
    TimerSpec {
        duration_ms: Millis::seconds(seconds),
        interval_ms: interval.map(Millis::seconds),
        misfire,
        summary,
    }
}

fn make(world: &mut World, timer: TimerSpec) -> Answer {
    world.ask(|reply| Input::CreateTimer { agent: agent("main"), timer, key: None, reply })
}

#[test]
fn a_key_makes_one_timer() {
    let mut world = World::with_agent("main");
    let make = |world: &mut World, seconds: u64, key: (&str, u8)| {
        let timer = spec(seconds, None, Misfire::Once);
        let key = Some(Idempotency { key: key.0.into(), payload: ContentId([key.1; 32]) });
        world.ask(|reply| Input::CreateTimer { agent: agent("main"), timer, key, reply })
    };
    let made = |answer: Answer| {
        let Answer::Timer { timer, changed } = answer else { panic!("{answer:?}") };
        (timer.id.0, changed)
    };
    assert_eq!(made(make(&mut world, 60, ("a", 1))), (1, true));
    world.crash();
    assert_eq!(made(make(&mut world, 60, ("a", 1))), (1, false));
    let taken = Answer::Refused { reject: Reject::KeyTaken { made: Made::Timer(TimerId(1)) } };
    assert_eq!(make(&mut world, 90, ("a", 2)), taken);
    let item = NewWorkItem {
        objective: "go".into(),
        plan_status: PlanStatus::Draft,
        todo_list: Vec::new(),
        plan: false,
    };
    let key = Some(Idempotency { key: "a".into(), payload: ContentId([1; 32]) });
    let other = world.ask(|reply| Input::CreateWorkItem { agent: agent("main"), item, key, reply });
    assert_eq!(other, taken, "the key stands for the timer");
    assert_eq!(made(make(&mut world, 90, ("b", 2))), (2, true));
    assert_eq!(world.agent("main").timers.armed_count(), 2);
    world.pass(Millis::hours(25));
    assert_eq!(made(make(&mut world, 60, ("a", 1))), (3, true), "a key is kept for a day");
}

fn cancel(world: &mut World, timer: u64) -> Answer {
    world.ask(|reply| Input::CancelTimer { agent: agent("main"), timer: TimerId(timer), reply })
}

fn with(timer: TimerSpec) -> World {
    let mut world = World::with_agent("main");
    assert!(matches!(make(&mut world, timer), Answer::Timer { changed: true, .. }));
    world
}

fn timer(world: &World) -> &Timer {
    world.agent("main").timers.get(TimerId(1)).unwrap()
}

/// What ticks of timers say, in order.
fn ticks(world: &World) -> Vec<&str> {
    let admitted = world.log.iter().filter_map(|record| {
        let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return None };
        Some(&fact.message)
    });
    admitted
        .filter(|message| message.kind == MessageKind::TimerTick)
        .map(|message| message.body.text.preview())
        .collect()
}

fn work_off(world: &mut World) {
    while world.agent("main").run.is_some() {
        world.complete("main", context());
        world.complete("main", answers("seen"));
    }
}

#[test]
fn a_timer_fires_once_and_wakes_its_agent() {
    let mut world = with(spec(60, None, Misfire::Once));
    assert_eq!(world.agent("main").status, Status::Asleep);
    assert!(world.pass_to_deadline());
    assert!(world.agent("main").run.is_some());
    work_off(&mut world);
    assert_eq!(ticks(&world), ["timer_1 fired: look at the build"]);
    let timer = timer(&world);
    assert_eq!((timer.status, timer.fire_count, timer.next_fire_at), (TimerStatus::Completed, 1, None));
    assert!(!world.pass_to_deadline(), "nothing is armed any more");
}

#[test]
fn whoever_only_waits_leaves_memory_and_its_deadline_is_known() {
    let mut world = with(spec(3_600, None, Misfire::Once));
    let due = timer(&world).next_fire_at.unwrap();
    let deadline = world.host.wall_deadline(&agent("main"));
    assert_eq!(deadline, Some((due, holon_facts::decision::DeadlineReason::Timer)));
    assert_eq!(world.agent("main").open_work(), 0, "a start leaves it where it is");
    world.evict("main");
    assert_eq!(world.host.next_deadline(), None, "whoever keeps its deadline loads it");
    world.pass(Millis::seconds(3_600));
    assert_eq!(ticks(&world).len(), 0);
    world.bring_in(&agent("main"));
    assert!(world.agent("main").run.is_some());
    work_off(&mut world);
    assert_eq!(ticks(&world), ["timer_1 fired: look at the build"]);
}

#[test]
fn a_step_back_of_the_clock_moves_what_waits_outside_of_memory() {
    let mut world = with(spec(7_200, None, Misfire::Once));
    world.evict("main");
    world.pass(Millis::seconds(1_800));
    world.now.wall = Wall(world.now.wall.0 - 5 * 3_600 * 1_000_000);
    world.pass(Millis(0));
    world.bring_in(&agent("main"));
    let left = world.host.next_deadline().unwrap().wait;
    // So much is left of the wait as was before the step.
    assert_eq!(left, Millis::seconds(5_400), "it is not hours late");
}

#[test]
fn what_fires_during_the_turn_of_a_tick_is_told_afterwards_in_one_message() {
    let mut world = with(spec(60, Some(60), Misfire::Once));
    world.pass(Millis::seconds(60));
    world.complete("main", context());
    for _ in 0..3 {
        world.pass(Millis::seconds(60));
    }
    assert_eq!(ticks(&world).len(), 1, "one tick at a time");
    world.complete("main", answers("seen"));
    assert_eq!(
        ticks(&world),
        ["timer_1 fired: look at the build", "timer_1 fired 3 times: look at the build"]
    );
    assert_eq!(timer(&world).fire_count, 4);
}

#[test]
fn what_was_missed_follows_the_policy() {
    for (misfire, fired, skipped) in [(Misfire::Once, 1, 4), (Misfire::Skip, 0, 5), (Misfire::All, 5, 0)] {
        let mut world = with(spec(60, Some(60), misfire));
        world.pass(Millis::seconds(330));
        let timer = timer(&world);
        assert_eq!((timer.fire_count, timer.occurrence), (fired, fired + skipped), "{misfire}");
        let left = world.now.wall.until(timer.next_fire_at.unwrap());
        assert_eq!(left, Millis::seconds(30), "it keeps to its times");
    }
    let mut world = with(spec(60, Some(60), Misfire::All));
    world.pass(Millis::hours(10));
    assert_eq!((timer(&world).fire_count, timer(&world).occurrence), (100, 600), "at most a hundred");
}

#[test]
fn one_that_is_merely_late_fires_whatever_the_policy() {
    for &misfire in Misfire::ALL {
        let mut world = with(spec(60, Some(600), misfire));
        world.pass(Millis::seconds(300));
        assert_eq!(timer(&world).fire_count, 1, "{misfire}");
    }
}

#[test]
fn a_crash_fires_nothing_twice_and_what_became_due_meanwhile_once() {
    let mut world = with(spec(60, None, Misfire::Once));
    world.crash();
    assert_eq!(ticks(&world).len(), 0);
    world.now.wall = world.now.wall.after(Millis::hours(5));
    world.crash();
    assert_eq!(ticks(&world).len(), 1);
    world.crash();
    assert_eq!(ticks(&world).len(), 1);
    let late = world.log.iter().find_map(|record| {
        let Event::Timer(TimerFact::TimerFired(fact)) = &record.event else { return None };
        Some(fact.late_ms)
    });
    assert_eq!(late, Some(Millis(Millis::hours(5).0 - 60_000)));
}

#[test]
fn a_stopped_agents_timers_are_looked_at_after_its_start() {
    let mut world = with(spec(60, None, Misfire::Once));
    world.control("main", ControlRequest::Stop);
    assert_eq!(world.host.next_deadline(), None, "nothing is armed");
    world.pass(Millis::hours(1));
    assert_eq!(timer(&world).fire_count, 0);
    world.control("main", ControlRequest::Start);
    assert_eq!(ticks(&world).len(), 1);
}

#[test]
fn a_timer_moves_with_a_clock_that_goes_back() {
    let mut world = with(spec(60, None, Misfire::Once));
    world.now.wall = Wall(world.now.wall.0 - 24 * 3_600_000_000);
    world.pass(Millis::seconds(30));
    assert_eq!(timer(&world).fire_count, 0);
    world.pass(Millis::seconds(60));
    assert_eq!(timer(&world).fire_count, 1);
}

#[test]
fn cancelling_ends_a_timer_once() {
    let mut world = with(spec(60, Some(60), Misfire::Once));
    assert!(matches!(cancel(&mut world, 1), Answer::Timer { changed: true, .. }));
    assert!(matches!(cancel(&mut world, 1), Answer::Timer { changed: false, .. }));
    assert!(matches!(cancel(&mut world, 2), Answer::Refused { .. }));
    assert_eq!(world.host.next_deadline(), None);
    world.pass(Millis::hours(1));
    assert_eq!((timer(&world).status, timer(&world).fire_count), (TimerStatus::Cancelled, 0));
}

#[test]
fn what_can_be_no_timer_is_refused() {
    let mut world = World::with_agent("main");
    let code = |answer: Answer| {
        let Answer::Refused { reject } = answer else { panic!("{answer:?}") };
        reject.code()
    };
    assert_eq!(code(make(&mut world, spec(0, None, Misfire::Once))), "out_of_range");
    assert_eq!(code(make(&mut world, spec(1, Some(0), Misfire::Once))), "out_of_range");
    let wordy = TimerSpec { summary: Some("x".repeat(201)), ..spec(1, None, Misfire::Once) };
    assert_eq!(code(make(&mut world, wordy)), "too_large");
    for _ in 0..crate::agent::timer::ARMED {
        make(&mut world, spec(60, None, Misfire::Once));
    }
    assert_eq!(code(make(&mut world, spec(60, None, Misfire::Once))), "too_many");
    world.control("main", ControlRequest::Stop);
    assert_eq!(code(make(&mut world, spec(60, None, Misfire::Once))), "agent_stopped");
}

#[test]
fn a_timer_is_told_in_a_hold_and_waits_for_its_end() {
    let mut world = World::held("main");
    let until = world.agent("main").hold.as_ref().and_then(|Hold { until, .. }| *until).unwrap();
    make(&mut world, spec(1, None, Misfire::Once));
    world.pass(Millis::seconds(2));
    assert_eq!(ticks(&world).len(), 1);
    assert!(world.agent("main").run.is_none());
    assert_eq!(world.host.next_deadline().map(|deadline| deadline.at), Some(until));
}

#[test]
fn many_that_ended_are_forgotten() {
    let mut world = World::with_agent("main");
    for _ in 0..crate::agent::timer::KEPT + 10 {
        make(&mut world, spec(1, None, Misfire::Once));
    }
    world.pass(Millis::seconds(2));
    world.admit("main", prompt("what happened?"));
    work_off(&mut world);
    let timers = &world.agent("main").timers;
    assert_eq!((timers.armed_count(), timers.ended().count()), (0, crate::agent::timer::KEPT));
}

#[test]
fn a_step_fires_no_more_than_it_may() {
    let limits = HostLimits { decisions_per_step: 4, deadlines_per_step: 8, ..config().limits };
    let mut world = World::with_config("main", Config { limits, ..config() });
    for _ in 0..100 {
        make(&mut world, spec(60, None, Misfire::Once));
    }
    let from = world.log.len();
    world.pass(Millis::seconds(60));
    assert_eq!(ticks(&world).len(), 100);
    let mut steps = alloc::collections::BTreeMap::new();
    for record in &world.log[from..] {
        *steps.entry(record.step).or_insert(0_u32) += 1;
    }
    let most = steps.values().max().copied().unwrap();
    assert!(most <= 8 + 3 * 4 + 8, "{most} records in a step");
}

/// A step back by so many seconds; nothing else is recorded in between.
fn goes_back(world: &mut World, seconds: i64) {
    world.now.wall = Wall(world.now.wall.0 - seconds * 1_000_000);
    world.step(Input::Tick);
}

fn waits_for(world: &World) -> u64 {
    world.host.next_deadline().unwrap().wait.0 / 1_000
}

/// What was left of a timer before the clock went back is left of it afterwards, whether the agent's last record is before
/// or after what the clock shows then.
#[test]
fn a_timer_lasts_as_long_as_before_a_step_back() {
    for (back, evicted) in [(7_200, false), (5_400, false), (7_200, true), (5_400, true)] {
        let mut world = with(spec(14_400, None, Misfire::Once));
        world.pass(Millis::seconds(6_000));
        assert_eq!(waits_for(&world), 8_400);
        if evicted {
            world.evict("main");
        }
        goes_back(&mut world, back);
        if evicted {
            world.pass(Millis::seconds(60));
            world.bring_in(&agent("main"));
            world.pass(Millis::seconds(1));
        }
        let due = world.agent("main").timers.next().unwrap().0;
        let passed = if evicted { 61 } else { 0 };
        assert_eq!(world.now.wall.until(due).0 / 1_000, 8_400 - passed, "{back} {evicted}");
        world.crash();
        let due = world.agent("main").timers.next().unwrap().0;
        assert_eq!(world.now.wall.until(due).0 / 1_000, 8_400 - passed, "once");
    }
}
