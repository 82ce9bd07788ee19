//! The simulated world: virtual time, a disk, a provider, tools, clients, and the one host among them. It has
//! no randomness of its own: everything follows from the scenario.

mod agenda;
mod boot;
mod command;
mod drive;
mod last;
mod park;
mod perform;
mod replay;
mod report;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use holon_core::host::Host;
use holon_core::record::Step;
use holon_core::{AgentId, MessageId, Mono, Now, OpId, Wall};

use crate::checks::Checks;
use crate::choices::{Choices, Seeded, Site};
use crate::disk::Disk;
use crate::failure::{Failure, ensure, liveness};
use crate::fault::Injector;
use crate::ingress::{Clients, agent_id};
use crate::scenario::Scenario;
use crate::trace::Trace;
use agenda::{Agenda, Happening};
use command::Supervised;

pub use report::{Options, Report, Sabotage};

/// The wall clock at the beginning: 2026-01-01.
const BEGINNING: i64 = 1_767_225_600_000_000;
/// Between the last input and the quiet phase.
const GRACE: u64 = 5_000_000;

/// Runs a scenario to its end or its first failure.
pub fn run(scenario: &Scenario, options: Options) -> Report {
    let mut world = World::new(scenario, options);
    let failure = world.live_through().err();
    Report {
        failure,
        steps: world.counts.steps,
        records: world.disk.rows().iter().map(|row| row.records.len() as u64).sum(),
        crashes: world.counts.crashes,
        boundaries: world.counts.boundaries,
        virtual_time: world.at,
        antecedents: world.checks.antecedents(),
        said: world.checks.said,
        fired: world.injector.fired(),
        struck: world.injector.struck,
        trace: world.trace,
    }
}

struct World<'a> {
    scenario: &'a Scenario,
    options: Options,
    choices: Box<dyn Choices>,
    injector: Injector,
    agenda: Agenda,
    at: u64,
    /// How far the wall clock is off.
    skew: i64,
    quiet: bool,
    life: Life,
    disk: Disk,
    outside: Outside,
    checks: Checks,
    trace: Trace,
    counts: Counts,
}

/// One process from its start to its end.
#[derive(Default)]
struct Life {
    number: u64,
    host: Option<Host>,
    began: u64,
    first_boundary: u64,
    mono: u64,
    /// Steps whose effects wait for the disk.
    pending: VecDeque<Step>,
    more: bool,
    /// Every agent has been recovered.
    recovered: bool,
    syncing: bool,
    wake: u64,
}

/// Everybody but the host and the disk.
#[derive(Default)]
struct Outside {
    clients: Clients,
    /// The one operation that each agent waits for.
    inflight: BTreeMap<AgentId, OpId>,
    /// The newest supervisor of each agent; a crash leaves it alone.
    supervised: BTreeMap<AgentId, Supervised>,
    /// Operations whose performers obeyed.
    cancelled: BTreeSet<(AgentId, OpId)>,
    acknowledged: BTreeSet<(AgentId, MessageId)>,
    ordinals: BTreeMap<(&'static str, u32), u64>,
}

#[derive(Default)]
struct Counts {
    steps: u64,
    crashes: u64,
    boundaries: u64,
    supervisors: u64,
    /// Steps at the present moment.
    at_once: u64,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, options: Options) -> Self {
        Self {
            scenario,
            options,
            choices: Box::new(Seeded(scenario.seed)),
            injector: Injector::default(),
            agenda: Agenda::default(),
            at: 0,
            skew: 0,
            quiet: false,
            life: Life::default(),
            disk: Disk::default(),
            outside: Outside::default(),
            checks: Checks::new(&scenario.config),
            trace: Trace::new(options.readable),
            counts: Counts::default(),
        }
    }

    fn live_through(&mut self) -> Result<(), Failure> {
        for (index, input) in self.scenario.inputs.iter().enumerate() {
            self.plan(input.at, input.agent, Happening::Input(index));
        }
        let quiet = self.scenario.end() + GRACE;
        self.agenda.plan(quiet, 0, Happening::Quiet);
        self.boot()?;
        let patience = quiet.saturating_add(self.patience());
        while let Some((at, happening)) = self.agenda.next() {
            if self.stale(&happening) {
                continue;
            }
            if at > self.at {
                self.counts.at_once = 0;
            }
            self.at = self.at.max(at);
            if self.at > patience {
                return Err(liveness("V1", format!("not at rest after {} s", self.at / 1_000_000)));
            }
            self.happen(happening)?;
        }
        self.at_the_end()
    }

    /// How long the quiet phase may take: a few times the longest wait that the configuration allows.
    fn patience(&self) -> u64 {
        let config = &self.scenario.config;
        let hold = config.hold.steps.iter().map(|step| step.0).max().unwrap_or(0) + config.hold.give_up.0;
        let turn = config.turn.wall_time.0 + config.retry.retry_after_max.0;
        let messages = self.scenario.inputs.len() as u64 + 4;
        (hold + turn * messages).saturating_mul(1_000).saturating_add(86_400_000_000)
    }

    /// The timer of an earlier moment, or a performer that died or obeyed.
    fn stale(&self, happening: &Happening) -> bool {
        match happening {
            Happening::Wake(number) => *number != self.life.wake,
            Happening::Sync(life) | Happening::Shutdown(life) => *life != self.life.number,
            Happening::Completed { agent, op, .. } => self.outside.cancelled.contains(&(agent.clone(), *op)),
            Happening::Input(_)
            | Happening::Request(_)
            | Happening::Last(_)
            | Happening::Start
            | Happening::Quiet => false,
        }
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Failure> {
        match happening {
            Happening::Input(index) => self.arrive(index),
            Happening::Request(request) => self.request(request),
            Happening::Completed { agent, op, outcome, life } => self.completed(&agent, op, *outcome, life),
            Happening::Wake(_) => self.input(holon_core::Input::Tick),
            Happening::Sync(_) => self.sync(),
            Happening::Shutdown(_) => self.shut_down(),
            Happening::Start => self.boot(),
            Happening::Last(agent) => self.last_word(agent),
            Happening::Quiet => self.grow_quiet(),
        }
    }

    fn at_the_end(&mut self) -> Result<(), Failure> {
        ensure!(self.life.host.is_some(), "V7", "the process is down at the end");
        self.bring_everybody_in()?;
        let waiting = self.outside.clients.waiting.iter().next();
        ensure!(waiting.is_none(), "V6", "nobody answered {waiting:?}");
        self.all_is_done()?;
        let open = self.outside.inflight.iter().next();
        ensure!(open.is_none(), "P5", "{open:?} is neither finished nor cancelled");
        if let Some(host) = &self.life.host {
            self.checks.fold_is_live(host)?;
        }
        self.checks.snapshots(&self.disk)?;
        self.checks.say("D6");
        if self.options.no_replay { Ok(()) } else { replay::check(&self.disk, self.options.sabotage) }
    }

    /// Both clocks at this moment.
    fn now(&self) -> Now {
        let wall = BEGINNING.saturating_add_unsigned(self.at).saturating_add(self.skew);
        Now { mono: Mono(self.life.mono + (self.at - self.life.began)), wall: Wall(wall) }
    }

    fn plan(&mut self, at: u64, agent: u32, happening: Happening) {
        let site = self.site("tie", agent, "order");
        let tie = self.choices.below(site, 1 << 16);
        self.agenda.plan(at, tie, happening);
    }

    /// The next place of a component and an agent for draws.
    fn site(&mut self, component: &'static str, agent: u32, kind: &'static str) -> Site {
        let ordinal = self.outside.ordinals.entry((component, agent)).or_default();
        *ordinal += 1;
        Site::new(component, agent, *ordinal, kind)
    }

    /// The number of an agent of the scenario.
    fn number(&self, agent: &AgentId) -> u32 {
        (1..=self.scenario.agents).find(|&number| agent_id(number) == *agent).unwrap_or(0)
    }
}
