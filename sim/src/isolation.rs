//! D12: what happens to one agent is none of another's business. A scenario runs twice, the second time without
//! one agent's inputs; where nothing is shared, the others record the same.

use holon_core::AgentId;

use crate::failure::{Failure, safety};
use crate::fault::Faults;
use crate::ingress::agent_id;
use crate::scenario::{Action, Scenario};
use crate::verdict::guarded;
use crate::world::{Options, Sabotage};

/// Judges a scenario; none where it has but one agent.
pub fn check(scenario: &Scenario, sabotage: Option<Sabotage>) -> Option<Result<(), Failure>> {
    (scenario.agents > 1).then(|| compare(&apart(scenario), sabotage))
}

fn compare(scenario: &Scenario, sabotage: Option<Sabotage>) -> Result<(), Failure> {
    let options = Options { no_replay: true, moments: true, ..Options::default() };
    let whole = guarded(scenario, options);
    if let Some(failure) = whole.failure {
        return Err(failure);
    }
    let gone = scenario.agents;
    let mut rest = scenario.clone();
    // Deadlines are looked at whenever anything happens: it happens at the same moments.
    rest.rings = whole.stepped.into_iter().collect();
    for input in &mut rest.inputs {
        let neighbour = sabotage == Some(Sabotage::Interfere) && input.agent == 1;
        if (input.agent == gone || neighbour) && input.action != Action::Create {
            // The moment stays, so that the end comes when it came.
            (input.agent, input.action) = (0, Action::Tick);
        }
    }
    let without = guarded(&rest, options);
    if let Some(failure) = without.failure {
        return Err(failure);
    }
    let others = (1..gone).map(agent_id);
    let same = |id: &AgentId| whole.trace.agents.get(id) == without.trace.agents.get(id);
    match others.into_iter().find(|id| !same(id)) {
        Some(id) => Err(safety("D12", format!("{id} records otherwise without {}", agent_id(gone)))),
        None => Ok(()),
    }
}

/// The scenario without what agents share: slots, bounds of a step, the disk, the process and its clock.
fn apart(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.later.clear();
    let limits = &mut scenario.config.limits;
    (limits.agents, limits.concurrent_turns) = (100, 100);
    (limits.decisions_per_step, limits.deadlines_per_step) = (10_000, 10_000);
    scenario.inputs.retain(|input| input.agent > 0);
    scenario.faults = Faults {
        sync: 0,
        sync_fails: 0,
        sync_sticks: 0,
        ahead: 0,
        timer_odd: 0,
        parks: 0,
        crashes: Vec::new(),
        spells: Vec::new(),
        ..scenario.faults
    };
    scenario
}
