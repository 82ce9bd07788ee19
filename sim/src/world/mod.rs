//! The simulated world: virtual time, a disk, a provider, tools, clients, and one host among them. It has no randomness
//! of its own: everything follows from the scenario.

mod again;
mod agenda;
mod arrive;
mod boot;
mod clocks;
pub(crate) mod command;
mod duplicates;
mod end;
mod last;
mod load;
mod looks;
mod lost_syncs;
mod misshow;
mod patterns;
mod perform;
mod replay;
mod report;
mod restore;
mod step;
mod tamper;
mod tasks;
mod turns;
mod writer;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use agenda::{Agenda, Happening};
use command::Supervisors;
use duplicates::StandIns;
use holon_core::Input;
use holon_core::host::Host;
use holon_driver::Whose;
use holon_facts::budget::Bounds;
use holon_facts::ids::TaskId;
use holon_facts::{AgentId, EventSeq, MessageId, OpId, ReplyId, StepSeq};
use patterns::Patterns;
use writer::{Waits, Writer};

use crate::checks::Checks;
use crate::choices::{Choices, Seeded, Site, splitmix64};
use crate::disk::Disk;
use crate::disk::batch_writer::BatchWriter;
use crate::disk::shared::SharedDisk;
use crate::failure::{Failure, liveness};
use crate::fault::Injector;
use crate::ingress::{Clients, Request, agent_id};
use crate::lender::Lender;
use crate::options::{Options, Sabotage};
use crate::promise::Due;
use crate::promise::armed::Armed;
use crate::scenario::Scenario;
use crate::story::Progress;
use crate::trace::Trace;
use crate::trees::Trees;
use crate::turns::Turns;
use crate::witness::Witness;

pub use report::Report;

/// The driver's real engine; a caller is known by its reply id.
type Engine = holon_driver::Engine<BatchWriter, SharedDisk, ReplyId>;

/// Time between the last input and the quiet phase.
const GRACE: u64 = 5_000_000;

/// Runs a scenario to its end or its first failure.
pub fn run(scenario: &Scenario, options: Options) -> Report {
    run_with_ledger(scenario, options).0
}

/// Like [`run`], and also returns the final disk.
pub fn run_with_ledger(scenario: &Scenario, options: Options) -> (Report, Disk) {
    let mut world = World::new(scenario, options);
    world.checks.judges = options.judges;
    world.checks.sabotaged(options.sabotage);
    let failure = world.run_to_the_end().err();
    let report = Report {
        failure,
        steps: world.counts.steps,
        records: world.disk.get().rows().iter().map(|row| row.records.len() as u64).sum(),
        crashes: world.counts.crashes,
        boundaries: world.counts.boundaries,
        turns: world.witness.turns,
        stepped: world.counts.stepped,
        virtual_time: world.at,
        antecedents: world.checks.antecedents(),
        checked: world.checks.take_checked(),
        fired: world.injector.fired(),
        pairs: world.witness.pairs,
        errors: world.witness.errors,
        decisions: world.witness.decisions,
        struck: world.injector.struck,
        trace: world.trace,
    };
    (report, world.disk.take())
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
    /// How long the machine has slept.
    slept: u64,
    quiet: bool,
    life: Life,
    /// How many more times the process dies soon after its start.
    doomed: u32,
    disk: SharedDisk,
    /// Every sync fails until then.
    broken_until: u64,
    waits: Waits,
    /// How long the process was halted.
    halts: Waits,
    outside: Outside,
    checks: Checks,
    /// The rows that the last crash left, as a count, and the checks over them.
    left_by_crash: Option<Box<(usize, Checks)>>,
    witness: Witness,
    patterns: Patterns,
    trace: Trace,
    counts: Counts,
}

/// One process from its start to its end.
#[derive(Default)]
struct Life {
    number: u64,
    engine: Option<Engine>,
    began: u64,
    first_boundary: u64,
    mono: u64,
    /// How long the machine slept during this life.
    slept: u64,
    /// What each step that waits for the disk must release.
    due: VecDeque<Due>,
    armed: Armed,
    writer: Writer,
    /// Callers who were notified that their request waits for a full disk.
    put_off: BTreeSet<ReplyId>,
    /// A request for this agent waits for the disk, so the agent stays in memory.
    waits_to_enter: Option<AgentId>,
    /// Agents whose load was needed while the ledger gave no answer.
    no_answer: BTreeSet<AgentId>,
    /// Every agent has been recovered.
    recovered: bool,
    /// The step that acknowledged its shutdown.
    drained: Option<StepSeq>,
    /// The process takes no requests any more.
    leaving: bool,
    wake: u64,
    /// When the driver's timer rings, and for whom.
    alarm: Option<(u64, Whose)>,
    /// The step count when the timer was last set.
    armed_after: u64,
    /// Extra rings of the timer that are planned.
    rings: u32,
}

impl Life {
    fn host(&self) -> Option<&Host> {
        self.engine.as_ref().map(Engine::host)
    }
}

/// Everything but the host and the disk.
#[derive(Default)]
struct Outside {
    clients: Clients,
    /// Operations in flight, and the component that performs each.
    inflight: BTreeMap<(AgentId, OpId), &'static str>,
    /// Supervisors; a crash leaves them alone.
    supervised: Supervisors,
    /// Tasks that were asked to end, and since when.
    ending: BTreeMap<(AgentId, TaskId), u64>,
    /// Calls that get a task instead of a command of their own.
    stand_ins: StandIns,
    /// Operations whose performers obeyed a cancellation.
    cancelled: BTreeSet<(AgentId, OpId)>,
    /// Admitted messages, and the request that was notified of each first.
    acknowledged: BTreeMap<(AgentId, MessageId), Request>,
    /// Requests whose message was admitted and then lost with a lost sync.
    lost_requests: Vec<Request>,
    /// How often each request was lost and repeated.
    repeated: Vec<(Request, u32)>,
    /// Operations that any performer has ever begun.
    begun: BTreeSet<(AgentId, OpId)>,
    /// The last record that followers of an agent were shown.
    observed: BTreeMap<AgentId, EventSeq>,
    ordinals: BTreeMap<(&'static str, u32), u64>,
    story: Progress,
    trees: Trees,
    lender: Lender,
    turns: Turns,
}

impl Outside {
    /// Operations in flight for an agent, with their components.
    fn at_work(&self, agent: &AgentId) -> impl Iterator<Item = (OpId, &'static str)> {
        let all = (agent.clone(), OpId(0))..=(agent.clone(), OpId(u64::MAX));
        self.inflight.range(all).map(|((_, op), component)| (*op, *component))
    }
}

#[derive(Default)]
struct Counts {
    steps: u64,
    crashes: u64,
    boundaries: u64,
    /// Steps at the present moment.
    at_once: u64,
    /// The moment of each step, and the agent of the first step there.
    stepped: BTreeMap<u64, Option<AgentId>>,
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
            slept: 0,
            quiet: false,
            life: Life::default(),
            doomed: 0,
            disk: SharedDisk::default(),
            broken_until: 0,
            waits: Waits::default(),
            halts: Waits::default(),
            outside: Outside::default(),
            checks: Checks::new(&scenario.config),
            left_by_crash: None,
            witness: Witness::default(),
            patterns: Patterns::default(),
            trace: Trace::new(options.trace),
            counts: Counts::default(),
        }
    }

    fn run_to_the_end(&mut self) -> Result<(), Failure> {
        for (index, input) in self.scenario.inputs.iter().enumerate() {
            self.plan(input.at, input.agent, Happening::Input(index));
        }
        for at in &self.scenario.rings {
            self.agenda.plan(*at, 0, Happening::Ring(None));
        }
        for spell in &self.scenario.faults.spells {
            self.agenda.plan(spell.until, 0, Happening::Over(spell.what));
        }
        if self.scenario.began.is_some() {
            self.injector.saw("the clock is at an end");
        }
        let quiet = self.when_quiet();
        self.agenda.plan(quiet, 0, Happening::Quiet);
        self.boot()?;
        let patience = quiet.saturating_add(self.patience());
        while let Some((at, happening)) = self.agenda.next() {
            if self.stale(at, &happening) {
                continue;
            }
            if at > self.at {
                self.counts.at_once = 0;
            }
            self.at = self.at.max(at);
            if self.at.saturating_sub(self.slept) > patience {
                return Err(liveness(
                    "V1",
                    format!("not at rest after {} s: {happening:?}", self.at / 1_000_000),
                ));
            }
            if happening.needs_capacity() && self.waits_for_the_disk() {
                let later = self.when_there_is_capacity()?;
                self.agenda.plan(later, 0, happening);
                continue;
            }
            self.happen(happening)?;
            self.settle()?;
        }
        self.at_the_end()
    }

    /// When the quiet phase begins.
    fn when_quiet(&self) -> u64 {
        self.scenario.end() + GRACE
    }

    /// How long the quiet phase may take: a few times the longest wait of the configuration.
    fn patience(&self) -> u64 {
        if self.options.sabotage == Some(Sabotage::Impatient) {
            return 0;
        }
        assert!(self.options.sabotage != Some(Sabotage::Panic), "a world that falls over");
        let messages = self.scenario.inputs.len() as u64 + 4;
        let later = self.scenario.later.iter().map(|later| &later.config);
        let longest = later.chain([&self.scenario.config]).map(|config| {
            let hold = config.hold.steps.iter().map(|step| step.0).max().unwrap_or(0) + config.hold.give_up.0;
            let turn = config.turn.wall_time.0 + config.retry.retry_after_max.0;
            // Children report a lot to their parents.
            let subtree_factor = if self.scenario.faults.child_calls > 0 { 3 } else { 1 };
            let days = 2 + 4 * subtree_factor * messages / u64::from(config.unattended.turns_per_day);
            // Each message may need a day, and so may its consequences.
            let (of_one, of_all) = (config.budgets.agent_day, config.budgets.runtime_day);
            let poor = of_one != Bounds::default() || of_all != Bounds::default();
            let days = if poor { days + 8 * messages } else { days };
            // An agent that waits in vain checks again for some days before it leaves the wait to an operator, and may
            // then find something else to wait for, a few times over.
            hold + turn * messages + (days + 15 * subtree_factor) * 86_400_000
        });
        longest.max().unwrap_or(0).saturating_mul(1_000).saturating_add(86_400_000_000)
    }

    /// Whether a happening is void: a replaced timer, or a performer that died or obeyed a cancellation.
    fn stale(&self, at: u64, happening: &Happening) -> bool {
        match happening {
            Happening::Wake { number, .. } => *number != self.life.wake,
            Happening::Sync(life) => {
                *life != self.life.number || self.life.writer.due.is_none_or(|due| due > at)
            }
            Happening::Looked { life, .. } => *life != self.life.number,
            Happening::Shutdown(life) => *life != self.life.number,
            Happening::Exits { socket, plan } => !self.is_planned(socket, *plan),
            // In the quiet phase the driver's timer rings on time only.
            Happening::Ring(life) => life.is_some_and(|life| life != self.life.number || self.quiet),
            Happening::Completed { agent, op, .. } => self.outside.cancelled.contains(&(agent.clone(), *op)),
            Happening::Input(_)
            | Happening::Request(_)
            | Happening::Last(_)
            | Happening::Over(_)
            | Happening::Tidy(_)
            | Happening::OtherMoves
            | Happening::Start
            | Happening::Quiet => false,
        }
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Failure> {
        match happening {
            Happening::Input(index) => self.arrive(index),
            Happening::Request(request) => self.request(request),
            Happening::Completed { agent, op, outcome, life } => self.completed(&agent, op, *outcome, life),
            Happening::Looked { input, .. } => self.input(*input),
            Happening::OtherMoves => {
                self.other_moves();
                Ok(())
            }
            Happening::Wake { whose, .. } => self.rings(whose),
            Happening::Ring(None) => self.input(Input::Tick),
            Happening::Ring(Some(_)) => {
                self.life.rings = self.life.rings.saturating_sub(1);
                self.input(Input::Tick)
            }
            Happening::Over(what) => {
                self.patterns.over(what, &mut self.injector);
                Ok(())
            }
            Happening::Sync(_) => self.writer_wakes(),
            Happening::Shutdown(_) => self.shut_down(),
            Happening::Start => self.boot(),
            Happening::Last(agent) => self.final_stop(agent),
            Happening::Tidy(agent) => self.end_long_work(agent),
            Happening::Exits { socket, .. } => {
                self.exits(&socket);
                Ok(())
            }
            Happening::Quiet => self.begin_quiet_phase(),
        }
    }

    fn plan(&mut self, at: u64, agent: u32, happening: Happening) {
        let site = self.site("tie", agent, "order");
        let tie = self.choices.below(site, 1 << 16);
        self.agenda.plan(at, tie, happening);
    }

    /// The next site for draws of a component and an agent.
    fn site(&mut self, component: &'static str, agent: u32, kind: &'static str) -> Site {
        let ordinal = self.outside.ordinals.entry((component, agent)).or_default();
        *ordinal += 1;
        Site::new(component, agent, *ordinal, kind)
    }

    /// The scenario's number of an agent; of a child, its own number.
    fn number(&self, agent: &AgentId) -> u32 {
        let number = agent.as_str().strip_prefix('a').and_then(|number| number.parse().ok());
        let known = number.filter(|&number| agent_id(number) == *agent);
        known.unwrap_or_else(|| if agent.is_reserved() { of_child(agent) } else { 0 })
    }
}

/// The number of a child, which depends on its name alone.
pub(crate) fn of_child(agent: &AgentId) -> u32 {
    let number = agent.as_str().bytes().fold(0, |number, byte| splitmix64(number ^ u64::from(byte)));
    1_000 + u32::try_from(number % 1_000_000).unwrap_or(0)
}
