//! Small worlds of two nodes over one database: every state holds, and each dropped rule breaks the law that it is
//! about.

use sim::cluster::rules::Sabotage;
use sim::cluster::small::search::{Options, Report, explore};
use sim::cluster::small::{SmallWorld, worlds};

/// More states than any world has.
const ALL: usize = 4_000_000;

fn world(name: &str) -> SmallWorld {
    worlds().into_iter().find(|world| world.name == name).expect("there is such a world")
}

fn search(name: &str, sabotage: Option<Sabotage>) -> Report {
    explore(&world(name), &Options { states: ALL, goes_on: &|_| true, sabotage })
}

/// Every state holds, at least so many; and some states were driven until one node serves.
fn holds(name: &str, at_least: usize) {
    let report = search(name, None);
    assert!(report.found.is_none(), "{name}: {:?}", report.found);
    assert!(report.finished && report.states >= at_least && report.quiet > 1_000, "{name}: {report:?}");
}

macro_rules! every_state_holds {
    ($($name:ident: $at_least:literal;)*) => {
        mod every_state_holds {
            $(
                #[test]
                fn $name() {
                    super::holds(stringify!($name), $at_least);
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

every_state_holds! {
    takeover: 100_000;
    unknown: 200_000;
    start: 150_000;
    clocks: 200_000;
    crash: 900_000;
    handover: 200_000;
    stop: 150_000;
}

/// The law that the dropped rule breaks in this world.
fn noticed(name: &str, sabotage: Sabotage) -> String {
    let report = search(name, Some(sabotage));
    let found = report.found.unwrap_or_else(|| panic!("{name} does not notice {sabotage:?}"));
    assert!(!found.path.is_empty(), "{found:?}");
    found.failure.law
}

#[test]
fn an_append_without_its_epoch() {
    assert_eq!(noticed("takeover", Sabotage::NoEpoch), "X1");
}

#[test]
fn an_append_without_its_head() {
    assert_eq!(noticed("unknown", Sabotage::NoHead), "X2");
}

#[test]
fn an_effect_before_its_step_is_durable() {
    assert_eq!(noticed("takeover", Sabotage::BeginEarly), "X3");
}

#[test]
fn effects_without_a_deadline() {
    assert_eq!(noticed("takeover", Sabotage::NoDeadline), "X4");
}

#[test]
fn a_deadline_that_is_past_the_lease() {
    assert_eq!(noticed("takeover", Sabotage::LateDeadline), "X4");
}

/// A renewal that is in flight for longer than its lease.
#[test]
fn a_claim_that_compares_times() {
    assert_eq!(noticed("takeover", Sabotage::ClaimByTime), "X4");
}

#[test]
fn a_new_owner_that_begins_again() {
    assert_eq!(noticed("takeover", Sabotage::BeginAgain), "X5");
}

#[test]
fn an_unknown_outcome_that_is_taken_as_none() {
    assert_eq!(noticed("unknown", Sabotage::DecideAnew), "X6");
}

#[test]
fn a_late_node_that_nobody_buries() {
    assert_eq!(noticed("takeover", Sabotage::NoBurial), "X8");
}
