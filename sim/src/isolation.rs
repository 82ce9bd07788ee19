//! D12: agents are independent. A scenario runs twice, the second time without its last agent; where nothing is shared,
//! the other agents record the same, at the same moments.
//!
//! Some things are shared by design, and so taken away from both runs: slots for turns, bounds of a step, names, logins, shared
//! folders, the disk, the process and its clock. The moments of steps are shared, too: the driver's timer counts
//! milliseconds from the last step of any agent, and the next step of any agent handles an expired deadline. So the
//! second run is woken whenever the last agent had the first step at a moment of the first run.

use std::iter;

use holon_facts::AgentId;

use crate::failure::{Failure, safety};
use crate::families;
use crate::fault::Faults;
use crate::ingress::agent_id;
use crate::options::{Options, Sabotage};
use crate::scenario::{Action, Scenario};
use crate::trace::Kept;
use crate::verdict::guarded;

/// Checks a scenario; none if it has only one agent.
pub fn check(scenario: &Scenario, sabotage: Option<Sabotage>) -> Option<Result<(), Failure>> {
    (scenario.agents > 1).then(|| compare(&apart(scenario), sabotage))
}

fn compare(scenario: &Scenario, sabotage: Option<Sabotage>) -> Result<(), Failure> {
    let options = Options { no_replay: true, moments: true, trace: Kept::Hash, ..Options::default() };
    let whole = guarded(scenario, options);
    if let Some(failure) = whole.failure {
        return Err(failure);
    }
    let gone = scenario.agents;
    let mut rest = scenario.clone();
    rest.agents -= 1;
    let gone_too = |id: &AgentId| {
        let belongs = |to: AgentId| *id == to || id.as_str().starts_with(&format!("{to}--"));
        iter::once(gone).chain(families::public(gone)).map(agent_id).any(belongs)
    };
    let alone = |id: &Option<AgentId>| id.as_ref().is_none_or(gone_too);
    rest.rings = whole.stepped.into_iter().filter(|(_, first)| alone(first)).map(|(at, _)| at).collect();
    for input in &mut rest.inputs {
        let neighbour = sabotage == Some(Sabotage::Interfere) && input.agent == 1;
        if input.agent == gone || (neighbour && !matches!(input.action, Action::Create { .. })) {
            // The moment stays, so that the run ends at the same time; nothing happens at it.
            (input.agent, input.action) = (0, Action::ClockJump { micros: 0 });
        }
    }
    let without = guarded(&rest, options);
    if let Some(failure) = without.failure {
        return Err(failure);
    }
    let others = (1..gone).map(agent_id);
    let same = |id: &AgentId| whole.trace.agents.get(id) == without.trace.agents.get(id);
    match others.into_iter().find(|id| !same(id)) {
        Some(id) => {
            let (one, other) = first_difference(&recorded(scenario, &id), &recorded(&rest, &id));
            let problem = format!("{id} records otherwise without {}: {one}; there {other}", agent_id(gone));
            Err(safety("D12", problem))
        }
        None => Ok(()),
    }
}

/// The records of an agent, with their times.
fn recorded(scenario: &Scenario, id: &AgentId) -> Vec<String> {
    let options = Options { no_replay: true, trace: Kept::Lines, ..Options::default() };
    let lines = guarded(scenario, options).trace.lines.unwrap_or_default();
    let (mut at, mut own_lines) = (String::new(), Vec::new());
    let own = format!("{id} #");
    for line in lines {
        let text = line.trim_start();
        if text.starts_with(&own) {
            own_lines.push(format!("at {at} {text}"));
        } else if line.len() != text.len() && !text.starts_with('→') {
            at = text.split(' ').next().unwrap_or_default().to_owned();
        }
    }
    own_lines
}

fn first_difference(one: &[String], other: &[String]) -> (String, String) {
    let end = || "nothing".to_owned();
    let longest = one.len().max(other.len());
    let differs = (0..longest).find(|&at| one.get(at) != other.get(at)).unwrap_or(longest);
    (one.get(differs).cloned().unwrap_or_else(end), other.get(differs).cloned().unwrap_or_else(end))
}

/// The scenario without what agents share: slots, bounds of a step, budgets of the runtime, folders, the disk, the
/// process and its clock.
fn apart(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.later.clear();
    let limits = &mut scenario.config.limits;
    (limits.agents, limits.concurrent_turns) = (10_000, 10_000);
    scenario.config.tasks.running = 10_000;
    let budgets = &mut scenario.config.budgets;
    (budgets.runtime, budgets.runtime_day) = Default::default();
    (limits.decisions_per_step, limits.deadlines_per_step) = (10_000, 10_000);
    // Names are shared, too.
    let shares = |action: &Action| matches!(action, Action::Place { .. } | Action::Rename { .. });
    scenario.inputs.retain(|input| input.agent > 0 && !shares(&input.action));
    // An agent with dead performers is stopped after a shutdown, which concerns all agents.
    let last = scenario.agents;
    scenario.faults.dead.retain(|dead| dead.agent != last);
    // Strikes without an agent concern what is shared.
    scenario.faults.strikes.iter_mut().for_each(|strikes| strikes.retain(|strike| strike.agent > 0));
    scenario.faults = Faults {
        sync: 0,
        sync_fails: 0,
        sync_sticks: 0,
        ahead: 0,
        timer_odd: 0,
        parks: 0,
        folder_calls: 0,
        image_calls: 0,
        skills: 0,
        logins: 0,
        server_calls: 0,
        crashes: Vec::new(),
        spells: Vec::new(),
        ..scenario.faults
    };
    scenario
}
