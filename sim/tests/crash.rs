//! Small scenarios, and a crash at every durable and every effect boundary of each.

use sim::crash::{everywhere, scripts};

fn die_everywhere(which: usize) {
    for (name, scenario) in scripts().into_iter().skip(which).step_by(2) {
        let boundaries = everywhere(&scenario, |boundary, report| {
            assert!(report.failure.is_none(), "{name}, crash at {boundary}: {:?}", report.failure);
            assert_eq!(report.crashes, u64::from(boundary > 0), "{name}: no crash at {boundary}");
        });
        assert!(boundaries > 10, "{name} is hardly a scenario: {boundaries} boundaries");
    }
}

#[test]
fn with_a_disk_that_syncs_at_once() {
    die_everywhere(0);
}

#[test]
fn with_a_disk_that_takes_its_time() {
    die_everywhere(1);
}
