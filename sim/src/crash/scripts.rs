//! The scenarios of crash everywhere, each with a disk that syncs at once, with a slow one, and with one that loses
//! syncs.

use super::Script;
use crate::fault::Faults;
use crate::scenario::Scenario;

/// Written scenarios: their names, and the most crashes in one run.
const WRITTEN: [(&str, usize, &str); 18] = [
    ("prompt", 3, include_str!("../../scripts/prompt.json")),
    ("patch", 3, include_str!("../../scripts/patch.json")),
    ("command", 3, include_str!("../../scripts/command.json")),
    ("task", 2, include_str!("../../scripts/task.json")),
    ("task stop", 2, include_str!("../../scripts/task_stop.json")),
    ("twin", 2, include_str!("../../scripts/twin.json")),
    ("stranger", 2, include_str!("../../scripts/stranger.json")),
    ("interject", 2, include_str!("../../scripts/interject.json")),
    ("stop", 3, include_str!("../../scripts/stop.json")),
    ("hold", 2, include_str!("../../scripts/hold.json")),
    ("shutdown", 2, include_str!("../../scripts/shutdown.json")),
    ("slot", 2, include_str!("../../scripts/slot.json")),
    ("family", 1, include_str!("../../scripts/family.json")),
    ("occupancy", 1, include_str!("../../scripts/occupancy.json")),
    ("wait", 1, include_str!("../../scripts/wait.json")),
    ("timer", 2, include_str!("../../scripts/timer.json")),
    ("work", 1, include_str!("../../scripts/work.json")),
    ("trigger", 2, include_str!("../../scripts/trigger.json")),
];
/// A scenario too large to crash everywhere in it: its name, and one in how many boundaries has a crash.
const LARGE: (&str, usize, &str) = ("great family", 17, include_str!("../../scripts/great_family.json"));
/// Seeds whose scenarios are cut to a length at which a run can crash everywhere.
const SEEDS: [u64; 4] = [11, 12, 15, 42];
/// How long a sync of a slow disk takes, in microseconds: longer than a quick performer.
const SLOW: u64 = 40_000;

/// Every script, with as many crashes in a run as its length allows.
///
/// # Panics
/// When a file under `sim/scripts` is not a scenario.
pub fn scripts() -> Vec<Script> {
    let (large, every, text) = LARGE;
    let large = Script { every, ..written(large, 1, text) };
    let written = WRITTEN.iter().map(|(name, crashes, text)| written(name, *crashes, text)).chain([large]);
    let drawn = SEEDS.iter().map(|&seed| Script {
        name: format!("seed {seed}"),
        scenario: shortened(seed),
        crashes: 1,
        every: 1,
    });
    written.chain(drawn).flat_map(|script| [script.clone(), bad(script.clone()), slow(script)]).collect()
}

fn written(name: &str, crashes: usize, text: &str) -> Script {
    let scenario = Scenario::from_text(text).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    Script { name: name.into(), scenario, crashes, every: 1 }
}

fn shortened(seed: u64) -> Scenario {
    let mut scenario = crate::swarm::scenario(seed);
    scenario.agents = scenario.agents.min(2);
    scenario.inputs.retain(|input| input.agent <= scenario.agents);
    scenario.inputs.truncate(8);
    scenario.faults = Faults { sync: 0, outcome_late: 500, crashes: Vec::new(), ..scenario.faults };
    scenario
}

fn slow(mut script: Script) -> Script {
    script.name += ", slow disk";
    script.scenario.faults.sync = SLOW;
    script
}

/// Half of the syncs are lost; rows and snapshots may be damaged by a crash.
fn bad(script: Script) -> Script {
    let mut script = slow(script);
    script.name = script.name.replace("slow", "bad");
    let faults = &mut script.scenario.faults;
    (faults.sync_lies, faults.torn, faults.damaged, faults.snapshot_damaged) = (500, 300, 300, 500);
    script
}
