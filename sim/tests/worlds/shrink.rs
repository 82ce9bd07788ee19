//! Shrinking, tested on sabotaged worlds.

use sim::options::{Options, Sabotage};
use sim::scenario::{Action, Scenario};
use sim::shrink::shrink;
use sim::swarm::scenario;
use sim::trace::{Kept, timeline};
use sim::verdict::guarded;

/// The smallest result of some worlds: shrinking is greedy, and each removal moves later draws, so one of them may be
/// stuck where no single part can go.
fn shrunk(sabotage: Sabotage, law: &str) -> Scenario {
    let options = Options { sabotage: Some(sabotage), no_replay: true, ..Options::default() };
    let fails =
        |seed: &u64| guarded(&scenario(*seed), options).failure.is_some_and(|failure| failure.law == law);
    let all = (1..60).filter(fails).take(3);
    let all = all.filter_map(|seed| shrink(&scenario(seed), |candidate| guarded(candidate, options)));
    let small = all.min_by_key(|small| small.inputs.len()).expect("some seed fails");
    let report = guarded(&small, Options { trace: Kept::Lines, ..options });
    assert_eq!(report.failure.expect("the law still fails").law, law);
    assert!(timeline(&report.trace.moments, 40).lines().count() > 3);
    let text = small.to_pretty_text();
    assert_eq!(Scenario::from_text(&text).expect("it reads back"), small);
    small
}

fn faults(scenario: &Scenario) -> usize {
    scenario.faults.strikes.iter().flatten().count() + scenario.faults.crashes.len()
}

#[test]
fn a_changed_reply_takes_an_agent_and_a_message() {
    let small = shrunk(Sabotage::ChangeReply, "G5");
    assert_eq!((small.agents, small.inputs.len(), faults(&small)), (1, 2, 0), "{small:?}");
    assert!(matches!(small.inputs[1].action, Action::Message(_)));
}

#[test]
fn a_lossy_disk_takes_a_crash() {
    let small = shrunk(Sabotage::LoseAcknowledged, "D2");
    assert!(small.inputs.len() <= 2, "{small:?}");
    // One fault of the world, or one kill.
    let kills = small.inputs.iter().filter(|input| matches!(input.action, Action::Kill { .. })).count();
    assert_eq!(faults(&small) + kills, 1, "{small:?}");
}

#[test]
fn what_passes_is_not_shrunk() {
    assert_eq!(shrink(&scenario(1), |candidate| guarded(candidate, Options::default())), None);
}
