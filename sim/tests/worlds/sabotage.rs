//! Sabotaged worlds: each law of the world can fail.

use sim::failure::Kind;
use sim::fault::{Ill, Spell};
use sim::isolation;
use sim::laws::{Broken, WORLD};
use sim::options::{Options, Sabotage};
use sim::scenario::Scenario;
use sim::swarm::scenario;
use sim::verdict::guarded;

/// Seeds among which some world must fail.
const SEEDS: u64 = 600;

/// The first seed whose sabotaged world breaks the law, and the laws that broke before.
fn caught(sabotage: Sabotage, law: &str) -> Result<u64, Vec<String>> {
    caught_among(1..SEEDS, sabotage, law)
}

fn caught_among(seeds: impl Iterator<Item = u64>, sabotage: Sabotage, law: &str) -> Result<u64, Vec<String>> {
    let options = Options { sabotage: Some(sabotage), no_replay: law != "D6", ..Options::default() };
    let mut others = Vec::new();
    for seed in seeds {
        let failure = match law {
            "D12" => isolation::check(&scenario(seed), Some(sabotage)).and_then(Result::err),
            _ => guarded(&scenario(seed), options).failure,
        };
        let Some(failure) = failure else { continue };
        assert!(failure.kind != Kind::Panic || law == "G1", "{sabotage:?}: {failure}");
        if failure.law == law {
            return Ok(seed);
        }
        others.push(failure.law);
    }
    others.sort();
    others.dedup();
    Err(others)
}

fn each_is_caught(part: usize) {
    for law in WORLD.iter().skip(part).step_by(2) {
        // Small worlds have tests of their own.
        let Broken::Drawn(sabotage) = law.broken else { continue };
        let found = caught(sabotage, law.id);
        assert!(found.is_ok(), "{} by {sabotage:?}: caught only by {found:?}", law.id);
    }
}

#[test]
fn every_other_law_of_the_world_can_fail() {
    each_is_caught(0);
}

#[test]
fn and_so_can_those_between_them() {
    each_is_caught(1);
}

#[test]
fn other_ways_to_break_a_world_are_caught_too() {
    for (sabotage, law) in [
        (Sabotage::DuplicateRecord, "Q2"),
        (Sabotage::ForgetParked, "G5"),
        (Sabotage::ForgetDeadline, "W5"),
        (Sabotage::ForgetAbsent, "V1"),
        (Sabotage::ForgetRows, "W5"),
        (Sabotage::SwallowReply, "V6"),
        (Sabotage::SmallBounds, "T6"),
        (Sabotage::BelieveLies, "D2"),
        (Sabotage::TrustingGlance, "D7"),
        (Sabotage::FewCommands, "P6"),
        (Sabotage::StopAnother, "P6"),
        (Sabotage::ForceTwins, "P10"),
        (Sabotage::AnotherTwin, "P10"),
        (Sabotage::BelieveStrangers, "P5"),
        (Sabotage::ForgetTold, "P2"),
        (Sabotage::Unshown, "S5"),
        (Sabotage::LateTimers, "W5"),
        (Sabotage::KeepBranch, "O6"),
        (Sabotage::LetRun, "P5"),
        (Sabotage::NoAlarm, "E1"),
        (Sabotage::ShortTurns, "E1"),
        (Sabotage::ShortRequests, "E1"),
        (Sabotage::ShortGrace, "E1"),
        (Sabotage::LongWaits, "E1"),
        (Sabotage::MoveInterjection, "M2"),
        (Sabotage::DropRound, "M3"),
        (Sabotage::AnotherCall, "M3"),
        (Sabotage::SwapEarlier, "M6"),
        (Sabotage::TwiceTheImage, "M3"),
        (Sabotage::NameImage, "M13"),
        (Sabotage::DropSummary, "M6"),
        (Sabotage::OldWork, "M4"),
        (Sabotage::OldStanding, "M4"),
        (Sabotage::OtherWork, "M4"),
        (Sabotage::HideRoot, "E3"),
        (Sabotage::NoSlots, "G6"),
        (Sabotage::OtherLetter, "M9"),
    ] {
        let found = caught(sabotage, law);
        assert!(found.is_ok(), "{law} by {sabotage:?}: caught only by {found:?}");
    }
}

/// The writer's queue and the driver's engine, with parts of their work sabotaged.
#[test]
fn a_writer_that_meets_a_full_disk_can_fail() {
    let fills_up = |spell: &Spell| spell.what == Ill::DiskFull;
    for (sabotage, law) in [
        (Sabotage::NeverWake, "D10"),
        (Sabotage::OpenReserve, "D10"),
        (Sabotage::ClosedReserve, "D10"),
        (Sabotage::DeafWriter, "D10"),
        (Sabotage::LoseGroup, "D13"),
        (Sabotage::LoseReport, "D13"),
    ] {
        let seeds = (1..SEEDS).filter(|seed| scenario(*seed).faults.spells.iter().any(fills_up));
        let found = caught_among(seeds, sabotage, law);
        assert!(found.is_ok(), "{law} by {sabotage:?}: caught only by {found:?}");
    }
}

/// A crash meets a command in too few worlds of the swarm: this scenario was written for it.
#[test]
fn a_start_that_asks_no_supervisor() {
    let text = include_str!("../../corpus/p5_a_command_outlives_its_runtime.json");
    let options = Options { sabotage: Some(Sabotage::ForgetEnd), ..Options::default() };
    let failure = guarded(&Scenario::from_text(text).unwrap(), options).failure.unwrap();
    assert_eq!(failure.law, "P5", "{failure}");
}
