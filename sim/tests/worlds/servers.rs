//! Worlds with tools of other programs: their servers die, hang, flood, answer late and twice, change their tools, and
//! claim more effects than their answer. The swarm has no servers, so that its seeds keep their coverage.

use sim::options::Options;
use sim::swarm::scenario;
use sim::tally::Tally;
use sim::verdict::guarded;

const SEEDS: u64 = 60;

#[test]
fn whatever_servers_do_no_law_breaks() {
    let mut tally = Tally::default();
    for seed in 1..=SEEDS {
        let mut drawn = scenario(seed);
        drawn.faults.server_calls = if seed % 2 == 0 { 400 } else { 900 };
        let report = guarded(&drawn, Options::default());
        assert!(report.failure.is_none(), "seed {seed}: {:?}", report.failure);
        tally.add(&report);
    }
    let Tally { fired, checked, .. } = tally;
    for seen in [
        "server.dies",
        "server.hangs",
        "server.floods",
        "server.late",
        "server.twice",
        "server.claims",
        "tools of other programs change",
        "an operation has timed out",
    ] {
        assert!(fired.contains_key(seen), "{seen}: {fired:?}");
    }
    for law in ["CX33", "CX35", "CX37"] {
        assert!(checked.get(law).is_some_and(|times| *times > 10), "{law}: {checked:?}");
    }
}
