//! Small worlds: every reached state can come to rest, and a sabotaged world is caught.

use sim::explore::path::{replay, scenario, shorten};
use sim::explore::search::{Found, Options, Report, explore};
use sim::explore::{Ask, Ending, Move, Sabotage, SmallWorld, worlds};
use sim::failure::Kind;
use sim::laws::{Broken, WORLD};
use sim::scenario::Scenario;
use sim::verdict::guarded;

/// States of each world that a test build visits; `sim explore` visits all of them.
const STATES: usize = 500;

fn world(name: &str) -> SmallWorld {
    worlds().into_iter().find(|world| world.name == name).expect("there is such a world")
}

fn search(world: &SmallWorld, sabotage: Option<Sabotage>, states: usize) -> Report {
    explore(world, &Options { states, patient: &|_| true, sabotage })
}

fn passes(name: &str) {
    let world = world(name);
    let report = search(&world, None, STATES);
    assert!(report.found.is_none(), "{name}: {:?}", report.found);
    assert!(report.states >= STATES && report.transitions > report.states as u64, "{report:?}");
    assert!(report.resting > 10 && report.drained_within.is_some(), "{report:?}");
}

macro_rules! every_state_drains {
    ($($name:ident;)*) => {
        mod every_state_drains {
            $(
                #[test]
                fn $name() {
                    super::passes(stringify!($name));
                }
            )*

            #[test]
            fn no_world_is_left_out() {
                let names: Vec<&str> = super::worlds().iter().map(|world| world.name).collect();
                assert_eq!(names, [$(stringify!($name)),*]);
            }
        }
    };
}

every_state_drains! {
    stop; interject; crash; retry; restore; slots; command; tasks; work; waits; timers; triggers; family;
    folders;
}

/// The failure that a search finds in a sabotaged world, on a path as short as possible.
fn caught(name: &str, sabotage: Sabotage) -> (SmallWorld, Found) {
    let world = world(name);
    let report = search(&world, Some(sabotage), 4 * STATES);
    let found = report.found.unwrap_or_else(|| panic!("{name} does not notice {sabotage:?}"));
    let path = shorten(&world, Some(sabotage), &found);
    assert!(path.len() <= found.path.len() && path.len() <= 12, "{path:?}");
    let again = replay(&world, Some(sabotage), &path).expect("each move is possible");
    assert_eq!(again.map_err(|failure| failure.law), Err(found.failure.law.clone()));
    assert_eq!(replay(&world, None, &path), Some(Ok(())), "{name} fails by itself");
    (world, Found { path, ..found })
}

macro_rules! caught_by {
    ($($test:ident: $world:ident, $sabotage:ident => $kind:ident $law:literal;)*) => {$(
        #[test]
        fn $test() {
            let (_, found) = caught(stringify!($world), Sabotage::$sabotage);
            assert_eq!((found.failure.kind, found.failure.law.as_str()), (Kind::$kind, $law));
        }
    )*};
}

caught_by! {
    a_request_that_never_leaves: stop, LoseEffect => Safety "P5";
    a_caller_who_is_never_answered: interject, SwallowReply => Liveness "V10";
    a_crash_that_loses_what_was_synced: crash, LoseSynced => Safety "D2";
    a_start_that_recovers_nobody: crash, SkipRecover => Safety "P5";
    a_timer_that_never_rings: retry, LoseWake => Liveness "V10";
    work_that_nobody_turns_to_again: work, LoseWake => Liveness "V10";
    a_snapshot_that_is_too_old: restore, StaleSnapshot => Safety "D5";
    a_parked_agent_that_nobody_brings_in: restore, ForgetParked => Safety "G5";
    a_command_that_nobody_asks_for: command, ForgetEnd => Safety "P5";
    an_end_that_is_told_as_another: tasks, MisreportEnd => Safety "P8";
    a_child_that_no_start_brings_in: family, LeaveChildren => Safety "P5";
    a_driver_that_does_not_step_again: slots, IgnoreMore => Liveness "V10";
}

#[test]
fn each_law_of_small_worlds_can_fail() {
    let mut laws = 0;
    for law in WORLD {
        let Broken::Small(name, sabotage) = law.broken else { continue };
        let (_, found) = caught(name, sabotage);
        assert_eq!(found.failure.law, law.id, "{name} by {sabotage:?}");
        laws += 1;
    }
    assert!(laws > 0, "no law of small worlds stands in the table");
}

#[test]
fn a_path_is_written_as_a_scenario() {
    let (world, found) = caught("retry", Sabotage::LoseWake);
    let written = scenario(&world, &found.path).unwrap();
    assert!(found.path.iter().any(|step| matches!(step, Move::End(..))), "{:?}", found.path);
    assert!(!written.script.is_empty() && written.inputs.len() > 1, "{written:?}");
    assert_eq!(Scenario::from_text(&written.to_pretty_text()).unwrap(), written);
    let report = guarded(&written, sim::options::Options::default());
    assert!(report.failure.is_none() && report.steps > 4, "{:?}", report.failure);
}

/// From the beginning until a supervisor is up, and its start signal is in a row.
const PREPARED: [Move; 7] = [
    Move::Ask(0),
    Move::Sync,
    Move::End(1, 0, Ending::Plain),
    Move::Sync,
    Move::End(1, 0, Ending::Commands(1)),
    Move::Sync,
    Move::End(1, 0, Ending::Plain),
];

#[test]
fn a_start_finds_a_command_in_each_of_its_ways() {
    let world = world("command");
    let (plain, fails) = (Ending::Plain, Ending::ToolFails);
    let ways: [(&str, &[Move], bool); 7] = [
        ("the row with its name is lost", &[Move::Crash(0)], false),
        ("the word never comes", &[Move::Crash(1)], true),
        ("it never began and left no record", &[Move::Crash(1), Move::Lose(1, 0)], true),
        ("it ends meanwhile", &[Move::Sync, Move::Crash(0), Move::Finish(1, 0, plain)], true),
        ("it fails meanwhile", &[Move::Sync, Move::Crash(0), Move::Finish(1, 0, fails)], true),
        ("it is lost", &[Move::Sync, Move::Crash(0), Move::Lose(1, 0)], true),
        ("its end is not on the disk", &[Move::Sync, Move::End(1, 0, plain), Move::Crash(0)], true),
    ];
    for (way, moves, asked) in ways {
        let path = [&PREPARED, moves, &[Move::Boot, Move::Crash(0), Move::Boot]].concat();
        assert_eq!(replay(&world, None, &path), Some(Ok(())), "{way}");
        let forgotten = replay(&world, Some(Sabotage::ForgetEnd), &path).expect("each move is possible");
        let law = forgotten.err().map(|failure| failure.law);
        let lost = moves.contains(&Move::Lose(1, 0));
        assert_eq!(law.as_deref(), (asked && !lost).then_some("P5"), "{way}");
    }
}

/// A start finds the command running: it goes on as a task, is watched, and ends under the same operation.
#[test]
fn a_start_does_not_wait_for_the_end_of_a_command() {
    let goes_on = [Move::Sync, Move::Crash(0), Move::Boot, Move::Sync, Move::Crash(0), Move::Boot];
    let path = [&PREPARED[..], &goes_on].concat();
    assert_eq!(replay(&world("command"), None, &path), Some(Ok(())));
    let forgotten =
        replay(&world("command"), Some(Sabotage::ForgetEnd), &path).expect("each move is possible");
    assert_eq!(forgotten.map_err(|failure| failure.law), Err("P5".into()));
}

#[test]
fn a_path_with_a_command_is_written_as_a_scenario() {
    let world = world("command");
    let finish = [Move::Sync, Move::Crash(0), Move::Finish(1, 0, Ending::Plain), Move::Boot];
    let written = scenario(&world, &[&PREPARED[..], &finish].concat()).unwrap();
    assert_eq!(Scenario::from_text(&written.to_pretty_text()).unwrap(), written);
    let deeds: Vec<&str> = written.script.iter().map(|line| line.deed.component()).collect();
    assert_eq!(deeds, ["context", "provider", "supervisor", "tool"], "{written:?}");
    let report = guarded(&written, sim::options::Options::default());
    assert!(report.failure.is_none() && report.steps > 4, "{:?}", report.failure);
}

#[test]
fn a_path_with_a_child_is_written_as_a_scenario() {
    let (plain, asks) = (Ending::Plain, Ending::Asks);
    let begins =
        [Move::Ask(0), Move::Sync, Move::End(1, 0, plain), Move::Sync, Move::End(1, 0, asks(Ask::Child))];
    let needs = [Move::Sync, Move::End(2, 0, plain), Move::Sync, Move::End(2, 0, asks(Ask::AwaitOperator))];
    let written = scenario(&world("family"), &[&begins[..], &needs].concat()).unwrap();
    assert_eq!(Scenario::from_text(&written.to_pretty_text()).unwrap(), written);
    let of_child = written.script.iter().filter(|line| line.agent > 1_000);
    let deeds: Vec<&str> = of_child.map(|line| line.deed.component()).collect();
    assert_eq!(deeds, ["context", "provider"], "{written:?}");
    let report = guarded(&written, sim::options::Options::default());
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert_eq!(report.fired.get("a child needs its parent"), Some(&1), "the child does what the script says");
}

#[test]
fn the_same_search_gives_the_same_figures() {
    let figures = |report: Report| (report.states, report.transitions, report.depth, report.resting);
    let world = world("stop").narrow();
    assert_eq!(figures(search(&world, None, 400)), figures(search(&world, None, 400)));
}
