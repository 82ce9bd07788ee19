//! Delta debugging: a scenario is made smaller and plainer while the same law fails.

use crate::codec;
use crate::fault::Faults;
use crate::scenario::{Action, Message, Scenario};
use crate::world::Report;

/// Runs that one shrinking may take.
const RUNS: u32 = 6_000;

/// A failing scenario, and the cost of shrinking it so far.
struct Shrinker<F> {
    run: F,
    law: String,
    runs: u32,
    best: Scenario,
}

/// Makes a failing scenario smaller while the same law fails; none if it does not fail at all.
pub fn shrink(scenario: &Scenario, mut run: impl FnMut(&Scenario) -> Report) -> Option<Scenario> {
    let report = run(scenario);
    let law = report.failure?.law;
    let mut shrinker = Shrinker { run, law, runs: 0, best: scenario.clone() };
    shrinker.attempt(|scenario| scenario.faults.strikes = Some(report.struck));
    loop {
        let before = shrinker.best.clone();
        shrinker.faults();
        shrinker.agents();
        shrinker.list(|scenario| Some(&mut scenario.inputs));
        shrinker.list(|scenario| Some(&mut scenario.faults.crashes));
        shrinker.list(|scenario| Some(&mut scenario.faults.spells));
        shrinker.list(|scenario| Some(&mut scenario.later));
        shrinker.list(|scenario| scenario.faults.strikes.as_mut());
        shrinker.list(|scenario| Some(&mut scenario.script));
        shrinker.crashes();
        shrinker.config();
        shrinker.plain_inputs();
        if shrinker.best == before || shrinker.runs >= RUNS {
            return Some(shrinker.best);
        }
    }
}

impl<F: FnMut(&Scenario) -> Report> Shrinker<F> {
    /// Keeps the change if the law still fails with it.
    fn attempt(&mut self, change: impl FnOnce(&mut Scenario)) -> bool {
        let mut candidate = self.best.clone();
        change(&mut candidate);
        if candidate == self.best || self.runs >= RUNS {
            return false;
        }
        self.runs += 1;
        let kept = (self.run)(&candidate).failure.is_some_and(|failure| failure.law == self.law);
        if kept {
            self.best = candidate;
        }
        kept
    }

    /// Removes ever smaller parts of a list.
    fn list<T>(&mut self, list: impl Fn(&mut Scenario) -> Option<&mut Vec<T>>) {
        let mut size = list(&mut self.best).map_or(0, |list| list.len());
        while size > 0 {
            let mut from = 0;
            while from < list(&mut self.best).map_or(0, |list| list.len()) {
                let removed = self.attempt(|scenario| {
                    if let Some(list) = list(scenario) {
                        list.drain(from..(from + size).min(list.len()));
                    }
                });
                if !removed {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    /// Removes one kind of fault after another.
    fn faults(&mut self) {
        self.attempt(|scenario| scenario.faults = Faults::default());
        if self.best.faults.strikes.is_some() {
            // Rates are ignored beside a list.
            self.attempt(|scenario| {
                let Faults { dead, sync, ahead, spells, crashes, strikes, commands_last, task_calls, .. } =
                    std::mem::take(&mut scenario.faults);
                scenario.faults = Faults {
                    dead,
                    sync,
                    ahead,
                    spells,
                    crashes,
                    strikes,
                    commands_last,
                    task_calls,
                    ..Faults::default()
                };
            });
        }
        let off: [fn(&mut Faults); 38] = [
            |faults| faults.provider_fails = 0,
            |faults| faults.provider_away = 0,
            |faults| faults.provider_silent = 0,
            |faults| faults.provider_slow = 0,
            |faults| faults.provider_odd = 0,
            |faults| faults.tool_fails = 0,
            |faults| faults.tool_silent = 0,
            |faults| faults.supervisor_fails = 0,
            |faults| faults.supervisor_lost = 0,
            |faults| faults.supervisor_stranger = 0,
            |faults| faults.commands_last = 0,
            |faults| faults.task_calls = 0,
            |faults| faults.server_calls = 0,
            |faults| faults.supervisor_killed = 0,
            |faults| faults.stop_ignored = 0,
            |faults| faults.task_fails = 0,
            |faults| faults.task_silent = 0,
            |faults| faults.outcome_twice = 0,
            |faults| faults.outcome_late = 0,
            |faults| faults.outcome_odd = 0,
            |faults| faults.context_fails = 0,
            |faults| faults.parks = 0,
            |faults| faults.sync = 0,
            |faults| faults.sync_fails = 0,
            |faults| faults.sync_sticks = 0,
            |faults| faults.sync_lies = 0,
            |faults| faults.ahead = 0,
            |faults| faults.torn = 0,
            |faults| faults.damaged = 0,
            |faults| faults.snapshot_damaged = 0,
            |faults| faults.child_damaged = 0,
            |faults| faults.reads_away = 0,
            |faults| faults.timer_odd = 0,
            |faults| faults.ack_lost = 0,
            |faults| faults.request_twice = 0,
            |faults| faults.spells.clear(),
            |faults| faults.crashes.clear(),
            |faults| faults.dead.clear(),
        ];
        for off in off {
            self.attempt(|scenario| off(&mut scenario.faults));
        }
    }

    /// Removes agents with their inputs, and renumbers later ones.
    fn agents(&mut self) {
        for agent in (1..=self.best.agents).rev() {
            self.attempt(|scenario| without(scenario, agent));
            self.attempt(|scenario| {
                without(scenario, agent);
                scenario.agents = (scenario.agents - 1).max(1);
                let up = |number: &mut u32| *number -= u32::from(*number > agent);
                scenario.inputs.iter_mut().for_each(|input| up(&mut input.agent));
                scenario.script.iter_mut().for_each(|line| up(&mut line.agent));
                scenario.faults.dead.iter_mut().for_each(|dead| up(&mut dead.agent));
                scenario.faults.strikes.iter_mut().flatten().for_each(|strike| up(&mut strike.agent));
            });
        }
    }

    /// Moves crashes as early as possible.
    fn crashes(&mut self) {
        for at in 0..self.best.faults.crashes.len() {
            for step in [64, 16, 4, 1] {
                while self.attempt(|scenario| {
                    let boundary = &mut scenario.faults.crashes[at];
                    *boundary = boundary.saturating_sub(step).max(1);
                }) {}
            }
        }
    }

    /// Sets limits to their default, one group and then one by one.
    fn config(&mut self) {
        let plain = codec::plain();
        self.attempt(|scenario| scenario.began = None);
        self.attempt(|scenario| scenario.config = plain.clone());
        self.attempt(|scenario| scenario.config.models.clone_from(&plain.models));
        self.attempt(|scenario| scenario.config.queue = plain.queue.clone());
        self.attempt(|scenario| scenario.config.turn = plain.turn.clone());
        self.attempt(|scenario| scenario.config.retry = plain.retry.clone());
        self.attempt(|scenario| scenario.config.hold = plain.hold.clone());
        self.attempt(|scenario| scenario.config.limits = plain.limits.clone());
        self.attempt(|scenario| scenario.config.tasks = plain.tasks.clone());
        self.attempt(|scenario| scenario.config.while_stopped = plain.while_stopped);
        for field in codec::fields(&self.best.config) {
            let config = codec::without(&self.best.config, &field);
            self.attempt(|scenario| scenario.config = config);
        }
    }

    /// Makes messages plain, and moments round.
    fn plain_inputs(&mut self) {
        for at in 0..self.best.inputs.len() {
            for round in [1_000_000, 1_000] {
                self.attempt(|scenario| {
                    scenario.inputs[at].at -= scenario.inputs[at].at % round;
                });
            }
            let changes: [fn(&mut Message); 5] = [
                |message| message.names = None,
                |message| message.key = None,
                |message| message.payload = 0,
                |message| message.bytes = 0,
                |message| message.refs = 0,
            ];
            for change in changes {
                self.attempt(|scenario| {
                    if let Action::Message(message) = &mut scenario.inputs[at].action {
                        change(message);
                    }
                });
            }
        }
    }
}

/// Removes an agent's inputs and the faults of its performers from a scenario.
fn without(scenario: &mut Scenario, agent: u32) {
    scenario.inputs.retain(|input| input.agent != agent);
    scenario.script.retain(|line| line.agent != agent);
    scenario.faults.dead.retain(|dead| dead.agent != agent);
    if let Some(strikes) = &mut scenario.faults.strikes {
        strikes.retain(|strike| strike.agent != agent);
    }
}
