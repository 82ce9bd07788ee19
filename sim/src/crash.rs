//! Crash everywhere: small scenarios, and a crash at each of their boundaries in turn.

use crate::fault::Faults;
use crate::scenario::Scenario;
use crate::verdict::guarded;
use crate::world::{Options, Report};

/// Scenarios that are small enough to die everywhere in them.
pub fn scripts() -> Vec<(String, Scenario)> {
    let mut scripts = Vec::new();
    for seed in [11, 12, 15, 42] {
        for sync in [0, 40_000] {
            let mut scenario = crate::swarm::scenario(seed);
            scenario.agents = scenario.agents.min(2);
            scenario.inputs.retain(|input| input.agent <= scenario.agents);
            scenario.inputs.truncate(8);
            scenario.faults = Faults { sync, outcome_late: 500, crashes: Vec::new(), ..scenario.faults };
            scripts.push((format!("seed {seed}, sync {sync} µs"), scenario));
        }
    }
    scripts
}

/// Runs the scenario once with a crash at each boundary; `tell` hears of every run.
pub fn everywhere(scenario: &Scenario, mut tell: impl FnMut(u64, &Report)) -> u64 {
    let whole = guarded(scenario, Options::default());
    tell(0, &whole);
    for boundary in 1..=whole.boundaries {
        let mut dying = scenario.clone();
        dying.faults.crashes = vec![boundary];
        tell(boundary, &guarded(&dying, Options::default()));
    }
    whole.boundaries
}
