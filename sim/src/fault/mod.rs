//! Faults: rates that a swarm draws, or a list of strikes that a shrinker has picked.

pub mod kinds;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choices::{Choices, Site};

/// Faults and how often they strike, in a thousand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    pub provider_fails: u32,
    /// How many of the failures are temporary.
    pub provider_away: u32,
    pub provider_silent: u32,
    pub provider_slow: u32,
    /// Odd answers: unknown tools, bad arguments, doubled ids, too many calls.
    pub provider_odd: u32,
    pub tool_fails: u32,
    pub tool_silent: u32,
    /// Supervisors that don't come up, and supervisors that die with their command.
    pub supervisor_fails: u32,
    pub supervisor_lost: u32,
    /// Supervisors that die, and whose process id and socket another process has by the next start.
    #[serde(default)]
    pub supervisor_stranger: u32,
    /// Commands longer than a few seconds, and calls about tasks; drawn like faults, but none.
    pub commands_last: u32,
    pub task_calls: u32,
    /// Calls that begin a child.
    pub child_calls: u32,
    /// Calls that go to a shared folder, or back.
    #[serde(default)]
    pub folder_calls: u32,
    /// Calls that show an image, in worlds where models read any.
    #[serde(default)]
    pub image_calls: u32,
    /// Skills that are added, changed and removed between turns, and commands that name their files.
    #[serde(default)]
    pub skills: u32,
    /// Refusals of a key after which somebody logs in anew soon.
    #[serde(default)]
    pub logins: u32,
    /// Calls of tools of other programs, in worlds that have any.
    #[serde(default)]
    pub server_calls: u32,
    /// Supervisors that are killed while their command goes on.
    pub supervisor_killed: u32,
    /// Commands that nothing ends, however they are asked.
    pub stop_ignored: u32,
    /// Calls that show tasks, and texts for them, that fail or are never answered.
    pub task_fails: u32,
    pub task_silent: u32,
    /// Outcomes that come twice, late, or of the wrong shape.
    pub outcome_twice: u32,
    pub outcome_late: u32,
    pub outcome_odd: u32,
    pub context_fails: u32,
    /// How often an idle agent is evicted after a step; drawn like a fault, but none.
    pub parks: u32,
    /// Agents whose provider and tools never answer again, not in the quiet phase either.
    pub dead: Vec<Dead>,
    /// How long a sync takes, in microseconds; 0 for at once.
    pub sync: u64,
    /// Syncs that fail: the writer takes nothing more, and the process ends.
    pub sync_fails: u32,
    /// Syncs that take minutes.
    pub sync_sticks: u32,
    /// Lost syncs, which return before anything is written.
    pub sync_lies: u32,
    /// Steps that the driver may be ahead of the disk; 0 for as many as a real one.
    pub ahead: u64,
    /// Crashes that tear the last row, or leave a hole among the unsynced ones.
    pub torn: u32,
    /// Crashes after which a synced row is damaged or in another's place.
    pub damaged: u32,
    /// Starts that find the newest snapshot of an agent damaged.
    pub snapshot_damaged: u32,
    /// Loads of agents that are due or needed, while the ledger gives no answer.
    #[serde(default)]
    pub reads_away: u32,
    /// Children whose log is damaged when they are to be loaded.
    pub child_damaged: u32,
    /// Timers of the driver that ring early, late or twice.
    pub timer_odd: u32,
    /// Answers that never reach their client, which repeats its request.
    pub ack_lost: u32,
    /// Requests that arrive twice.
    pub request_twice: u32,
    /// Spans of time with a fault for all agents.
    pub spells: Vec<Spell>,
    /// Boundaries at which the process dies, counted over the whole run.
    pub crashes: Vec<u64>,
    /// If present, exactly these strike, and the rates are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strikes: Option<Vec<Strike>>,
}

/// The time from which an agent's performers are dead, in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead {
    pub agent: u32,
    pub since: u64,
    /// Its provider still answers.
    #[serde(default)]
    pub tools_only: bool,
}

/// From when until when, in microseconds. The quiet phase ends every spell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spell {
    pub from: u64,
    pub until: u64,
    pub what: Ill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ill {
    /// Every provider answers 429.
    Limited,
    /// No provider can be reached.
    Away,
    /// Everything that can be doubled is.
    Twice,
    /// The disk is full.
    DiskFull,
}

/// One fault at one site: "the third request of agent 2 to its provider is never answered".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Strike {
    pub component: String,
    pub agent: u32,
    pub nth: u64,
    pub fault: String,
}

impl Faults {
    pub fn is_dead(&self, component: &str, agent: u32, at: u64) -> bool {
        let hit = |dead: &Dead| match component {
            "provider" => !dead.tools_only,
            component => ["tool", "server"].contains(&component),
        };
        self.dead.iter().any(|dead| dead.agent == agent && dead.since <= at && hit(dead))
    }

    /// Whether a spell is in progress.
    pub fn ill(&self, what: Ill, at: u64) -> bool {
        self.spells.iter().any(|spell| spell.what == what && (spell.from..spell.until).contains(&at))
    }

    /// Whether the agent's performers die at some time.
    pub fn dies(&self, agent: u32) -> bool {
        self.dead.iter().any(|dead| dead.agent == agent)
    }
}

/// Decides about each fault, and records those that struck.
#[derive(Debug, Default)]
pub struct Injector {
    pub struck: Vec<Strike>,
    /// Other events of interest, by name.
    pub seen: BTreeMap<String, u64>,
}

impl Injector {
    pub fn strikes(
        &mut self,
        faults: &Faults,
        choices: &mut dyn Choices,
        site: Site,
        fault: &'static str,
        per_mille: u32,
    ) -> bool {
        let here = |strike: &Strike| {
            strike.fault == fault
                && strike.component == site.component
                && strike.agent == site.agent
                && strike.nth == site.ordinal
        };
        let hit = match &faults.strikes {
            Some(strikes) => strikes.iter().any(here),
            None => choices.chance(site.about(fault), per_mille),
        };
        if hit {
            self.struck.push(Strike {
                component: site.component.into(),
                agent: site.agent,
                nth: site.ordinal,
                fault: fault.into(),
            });
        }
        hit
    }

    pub fn saw(&mut self, what: &str) {
        match self.seen.get_mut(what) {
            Some(times) => *times += 1,
            None => drop(self.seen.insert(what.into(), 1)),
        }
    }

    /// How often each kind of fault struck.
    pub fn fired(&self) -> BTreeMap<String, u64> {
        let mut fired = self.seen.clone();
        for strike in &self.struck {
            *fired.entry(format!("{}.{}", strike.component, strike.fault)).or_default() += 1;
        }
        fired
    }
}
