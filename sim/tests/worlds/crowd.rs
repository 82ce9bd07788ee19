//! Many agents with many children over a day, with stops and crashes. `sim crowd` runs a thousand of them.

use sim::crowd;
use sim::options::Options;
use sim::world::{self, Report};

fn lived(agents: u32, children: u32, depth: u32) -> Report {
    let report = world::run(&crowd::day(agents, children, depth), Options::default());
    assert!(report.failure.is_none(), "{:?}", report.failure);
    let deaths = crowd::DEATHS.len() as u64;
    assert_eq!(report.crashes, deaths);
    let fired = |what: &str| report.fired.get(what).copied().unwrap_or(0);
    // A subtree may have been stopped before, or its first worktree may not exist yet.
    let within = fired("crash in the middle of a family");
    assert!(within + 2 >= deaths, "{within} of {deaths} crashes fell into a family");
    for what in ["a worktree is made", "a worktree is retained", "agent parked"] {
        assert!(fired(what) > 0, "{what}: never");
    }
    for law in ["C1", "C2", "C5", "C6", "C7", "C8", "O5", "O6", "V9"] {
        let checked = report.checked.get(law).copied();
        let checked = checked.or_else(|| Some(report.antecedents.iter().find(|(id, _)| *id == law)?.1));
        assert!(checked > Some(0), "{law} had nothing to say");
    }
    report
}

#[test]
fn what_a_day_takes_follows_from_how_many_there_are() {
    let (one, two) = (lived(20, 8, 1), lived(40, 8, 1));
    assert!(one.turns >= 20 * 9 && two.turns >= 40 * 9, "{} and {} turns", one.turns, two.turns);
    assert!(two.steps < one.steps * 21 / 10, "{} steps of 20, {} of 40", one.steps, two.steps);
}

/// Eight children with eight of their own leave no child behind.
#[test]
fn families_of_seventy_three_end() {
    let report = lived(10, 8, 2);
    // The tenth agent is stopped meanwhile.
    assert!(report.turns >= 9 * 73, "{} turns", report.turns);
}
