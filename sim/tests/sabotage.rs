//! Worlds that are broken on purpose: the laws can fail.

use std::collections::BTreeSet;

use sim::failure::Kind;
use sim::scenario::Scenario;
use sim::swarm::scenario;
use sim::verdict::guarded;
use sim::world::{Options, Sabotage};

/// The laws that caught the sabotage, over some seeds.
fn caught(sabotage: Sabotage) -> BTreeSet<String> {
    let options = Options { sabotage: Some(sabotage), ..Options::default() };
    (1..30)
        .filter_map(|seed| guarded(&scenario(seed), options).failure)
        .inspect(|failure| assert_ne!(failure.kind, Kind::Panic, "{sabotage:?}: {failure}"))
        .map(|failure| failure.law)
        .collect()
}

macro_rules! caught_by {
    ($($test:ident: $sabotage:ident => $law:literal;)*) => {$(
        #[test]
        fn $test() {
            let laws = caught(Sabotage::$sabotage);
            assert!(laws.contains($law), "caught by {laws:?}");
        }
    )*};
}

caught_by! {
    a_disk_that_loses_what_was_acknowledged: LoseAcknowledged => "D2";
    effects_before_their_records_are_durable: ReleaseEarly => "D1";
    a_record_that_is_written_twice: DuplicateRecord => "Q2";
    a_caller_who_is_told_another_id: ChangeReply => "G5";
    a_recorder_that_forgets_a_call: ForgetCall => "D6";
    a_driver_without_a_timer: LoseWake => "V2";
    a_snapshot_that_is_not_the_fold: StaleSnapshot => "D5";
    a_stop_that_takes_too_long: LateStop => "V5";
    a_shutdown_that_takes_too_long: LateStop => "V6";
    a_parked_agent_that_nobody_brings_in: ForgetParked => "G5";
    an_answer_that_is_never_sent: SwallowReply => "V6";
}

/// A crash meets a command in too few worlds of the swarm: this one was written for it.
#[test]
fn a_start_that_asks_no_supervisor() {
    let text = include_str!("../corpus/p5_a_command_outlives_its_runtime.json");
    let options = Options { sabotage: Some(Sabotage::ForgetEnd), ..Options::default() };
    let failure = guarded(&Scenario::from_text(text).unwrap(), options).failure.unwrap();
    assert_eq!(failure.law, "P5", "{failure}");
}
