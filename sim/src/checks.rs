//! The laws, applied per record, per call, and over the whole ledger at the end.

mod authority;
mod fairness;

use std::collections::{BTreeMap, BTreeSet};

use fairness::Fairness;
use holon_core::Answer;
use holon_core::accounts::Accounts;
use holon_core::agent::Agent;
use holon_core::host::Host;
use holon_core::snapshot::AgentSnapshot;
use holon_facts::config::TaskLimits;
use holon_facts::decision::{DecisionKind, Evidence};
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::{OperationFact, OutboxFact, SchedulingFact, TaskFact, TurnFact};
use holon_facts::lifecycle::Status;
use holon_facts::model::ModelRequest;
use holon_facts::outcome::SupervisorIdentity;
use holon_facts::terminal::TurnReason;
use holon_facts::{AgentId, Config, Event, Now, OpId, Record, ReplyId, Wall};
use holon_law::Laws;

use crate::bounds::Bounds;
use crate::disk::{Disk, Row};
use crate::ends::Ends;
use crate::failure::{Failure, ensure, safety};
use crate::options::{Judges, Sabotage};
use crate::promise::armed::Armed;
use crate::promise::sleeps::Sleeps;
use crate::promise::{Due, Promises};
use crate::reference::Reference;
use crate::retries::{self, Held};
use crate::shown::Shown;
use crate::spending::Spending;
use crate::stops::Stops;
use crate::totals::{self, Totals};
use crate::{places, readers, remembered, scheduling, supervision, waits};

/// Everything that is checked during a run.
#[derive(Debug, Clone)]
pub struct Checks {
    pub reference: Reference,
    folded: BTreeMap<AgentId, Agent>,
    pub(crate) totals: Totals,
    laws: Laws,
    clock: Option<Clock>,
    /// Evicted agents, as they were then.
    pub(crate) parked: BTreeMap<AgentId, Agent>,
    bounds: Bounds,
    spending: Spending,
    ends: Ends,
    held: Held,
    promises: Promises,
    pub(crate) shown: Shown,
    pub(crate) stops: Stops,
    sleeps: Sleeps,
    /// What must be released with the last call.
    pub(crate) due: Due,
    fairness: Fairness,
    pub(crate) judges: Judges,
    pub(crate) sabotage: Option<Sabotage>,
    /// Turns in progress at other hosts under the same limit.
    pub(crate) of_others: u64,
    /// How often each law of the world was checked.
    pub checked: BTreeMap<&'static str, u64>,
}

/// Recorded time, and when it was read.
#[derive(Debug, Clone, Copy)]
struct Clock {
    recorded: Wall,
    at: u64,
}

impl Checks {
    pub fn new(config: &Config) -> Self {
        Self {
            reference: Reference::new(config.clone()),
            folded: BTreeMap::new(),
            totals: Totals::default(),
            laws: Laws::new(),
            clock: None,
            parked: BTreeMap::new(),
            bounds: Bounds::new(config.clone()),
            spending: Spending::default(),
            ends: Ends::default(),
            held: Held::default(),
            promises: Promises::default(),
            shown: Shown::default(),
            stops: Stops::default(),
            sleeps: Sleeps::default(),
            due: Due::default(),
            fairness: Fairness::default(),
            judges: Judges::All,
            sabotage: None,
            of_others: 0,
            checked: BTreeMap::new(),
        }
    }

    /// What all agents on record have spent, as a start of the runtime sums it up.
    pub(crate) fn accounts(&self) -> Accounts {
        let mut accounts = Accounts::default();
        self.folded.values().for_each(|agent| accounts.add_absent(&agent.account));
        accounts
    }

    /// Children that are alive.
    pub(crate) fn children(&self) -> &BTreeSet<AgentId> {
        &self.totals.children
    }

    /// Checks an answer to a caller.
    pub(crate) fn answered(&mut self, reply: ReplyId, answer: &Answer) -> Result<(), Failure> {
        if self.judges == Judges::Laws {
            return Ok(());
        }
        if let Answer::Controlled(outcome) = answer {
            let checked = self.stops.answered(reply, outcome)?;
            self.say_often("E3", u64::from(checked));
        }
        self.reference.answered(reply, answer)
    }

    /// Checks a row by the ledger alone, without a live host.
    pub fn row(&mut self, row: &Row) -> Result<(), Failure> {
        if self.judges == Judges::Laws {
            return self.laws_alone(row);
        }
        self.bounds.call(&row.call);
        self.spending.call(&row.call);
        for record in &row.records {
            self.laws.step(record).map_err(|broken| safety(broken.law, broken.to_string()))?;
            self.sleeps.follow(record);
            self.slots(record)?;
            self.commands(row, record)?;
            match self.folded.get_mut(&record.agent) {
                Some(agent) => {
                    let blind = self.sabotage == Some(Sabotage::Blind);
                    *self.checked.entry("G6").or_default() +=
                        u64::from(scheduling::check(agent, record, blind)?);
                    retries::check(agent, record, self.bounds.config())?;
                    agent.fold(record).map_err(|error| safety("D3", error.to_string()))?;
                    self.held.check(record, agent)?;
                    self.totals.note(agent);
                }
                None => {
                    let agent = Agent::created(record).map_err(|error| safety("D3", error.to_string()))?;
                    self.totals.note(&agent);
                    self.folded.insert(record.agent.clone(), agent);
                }
            }
        }
        *self.checked.entry("C9").or_default() += self.ends.check(&row.records)?;
        let supervision = supervision::check(&self.folded, &row.records, self.bounds.config())?;
        for (law, times) in supervision.of_laws() {
            *self.checked.entry(law).or_default() += times;
        }
        *self.checked.entry("O1").or_default() += places::check(&self.folded, &self.totals, &row.records)?;
        for record in &row.records {
            self.bounds.record(record, self.folded.get(&record.agent), self.sabotage)?;
            let twice = self.sabotage == Some(Sabotage::PaidTwice);
            self.spending.record(record, self.bounds.config(), twice)?;
        }
        self.promises.others = self.sabotage == Some(Sabotage::OtherLetter);
        self.due = self.promises.step(&row.call, &row.records)?;
        self.shown.step(&row.call, &row.records)?;
        self.stops.step(&row.call, &row.records, &self.folded);
        self.reference.step(&row.call, &row.records)
    }

    fn laws_alone(&mut self, row: &Row) -> Result<(), Failure> {
        for record in &row.records {
            self.laws.step(record).map_err(|broken| safety(broken.law, broken.to_string()))?;
            let folded = match self.folded.get_mut(&record.agent) {
                Some(agent) => agent.fold(record),
                None => Agent::created(record).map(|agent| drop(self.folded.insert(agent.id.clone(), agent))),
            };
            folded.map_err(|error| safety("D3", error.to_string()))?;
        }
        Ok(())
    }

    /// G6: a turn begins only in a free slot, and no turn waits for a free slot.
    fn slots(&self, record: &Record) -> Result<(), Failure> {
        let Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) = &record.event else {
            return Ok(());
        };
        let begins = decision.kind == DecisionKind::StartModelTurn;
        let waits = decision.evidence.contains(&Evidence::NoFreeSlot);
        if begins || waits {
            let none = self.sabotage == Some(Sabotage::NoSlots);
            let slots = if none { 0 } else { self.bounds.turns() };
            let running = self.totals.running;
            let right = begins == (running < slots);
            ensure!(right, "G6", "{} decides {decision:?} with {running} of {slots} turns", record.agent);
            let (all, most) = (running + self.of_others, self.bounds.config().limits.concurrent_turns);
            ensure!(!begins || all < most, "G6", "{} begins a turn beside {all} of {most}", record.agent);
        }
        Ok(())
    }

    /// P6: commands stay within their limit. L7: a shutdown ends none.
    fn commands(&mut self, row: &Row, record: &Record) -> Result<(), Failure> {
        let Event::Operation(fact) = &record.event else { return Ok(()) };
        match fact {
            OperationFact::OperationOpened(fact) if fact.kind == OpKind::PrepareCommand => {
                let own = self.folded.get(&record.agent).map_or(0, totals::commands);
                let all = self.totals.commands;
                let TaskLimits { per_agent, running, .. } = &self.bounds.config().tasks;
                let few = self.sabotage == Some(Sabotage::FewCommands);
                let (most_own, most) = if few { (0, 0) } else { (*per_agent, *running) };
                self.say("P6");
                ensure!(
                    own < most_own && all < most,
                    "P6",
                    "{} begins a command beside {own} of {most_own}, {all} of {most}",
                    record.agent
                );
            }
            OperationFact::OperationSettled(fact) if shuts_down(row, &record.agent) => {
                let open = self.folded.get(&record.agent).and_then(|agent| agent.ops.get(&fact.op));
                let runs = open.is_some_and(|open| open.kind == OpKind::RunCommand);
                self.say("L7");
                let ends = runs && fact.settlement == Settlement::Cancelled;
                ensure!(!ends, "L7", "a shutdown ends the command of {} of {}", fact.op, record.agent);
            }
            OperationFact::OperationOpened(_) | OperationFact::OperationSettled(_) => {}
        }
        Ok(())
    }

    /// S8: the number of records of a step is bounded by its open work, for any length of history.
    pub fn cost(&mut self, row: &Row, open: usize) -> Result<(), Failure> {
        let limits = &self.bounds.config().limits;
        let timers = row.records.iter().filter(|record| matches!(record.event, Event::Timer(_))).count();
        let due = 16 * u64::from(limits.deadlines_per_step).min((self.folded.len() + timers) as u64);
        // One message reports every task that could not be reported before.
        let reports = |record: &&Record| matches!(record.event, Event::Task(TaskFact::TaskResultQueued(_)));
        let due = due + row.records.iter().filter(reports).count() as u64;
        // A stop goes down a whole subtree, message by message.
        let taken = |record: &&Record| matches!(record.event, Event::Outbox(OutboxFact::LetterReceived(_)));
        let due = due + 16 * row.records.iter().filter(taken).count() as u64;
        let most = if self.sabotage == Some(Sabotage::NoCost) {
            0
        } else {
            32 + 16 * u64::from(limits.decisions_per_step) + due + 4 * open as u64
        };
        let records = row.records.len() as u64;
        self.say("S8");
        ensure!(records <= most, "S8", "a step brings {records} records, {most} at most were due");
        Ok(())
    }

    /// V8: an agent that waits for a slot is passed over at most twice per other agent.
    pub fn fair(&mut self, host: &Host, row: &Row) -> Result<(), Failure> {
        for record in &row.records {
            if let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event {
                self.fairness.began(&record.agent, fact.message_id);
            }
        }
        let held = |id: &AgentId| host.view().agent(id).is_some_and(|agent| agent.hold.is_some());
        let waiting: Vec<AgentId> = self.reference.idle_with_work().filter(|id| !held(id)).cloned().collect();
        let most = if self.sabotage == Some(Sabotage::NoPatience) { 0 } else { 2 * self.folded.len() as u64 };
        self.fairness.check(&waiting, most)?;
        *self.checked.entry("V8").or_default() += waiting.len() as u64;
        Ok(())
    }

    /// Recorded time follows the wall clock; while that is behind, it advances at most as time passes.
    pub fn time(&mut self, row: &Row, now: Now, at: u64) -> Result<(), Failure> {
        let last = self.clock.map_or(now.wall, |clock| {
            let passed = i64::try_from(at.saturating_sub(clock.at)).unwrap_or(i64::MAX);
            Wall(clock.recorded.0.saturating_add(passed))
        });
        let most = now.wall.max(last);
        for record in &row.records {
            ensure!(
                record.at <= most,
                "W7",
                "recorded time is {}, no clock says more than {most}",
                record.at
            );
        }
        // Steps without records move the clock, too: then only its upper bound is known.
        let recorded = row.records.last().map_or(most, |record| record.at);
        self.clock = Some(Clock { recorded, at });
        Ok(())
    }

    /// Every agent as its records leave it.
    pub(crate) fn agents(&self) -> &BTreeMap<AgentId, Agent> {
        &self.folded
    }

    /// How often each law of records was checked.
    pub fn antecedents(&self) -> Vec<(&'static str, u64)> {
        self.laws.antecedents()
    }

    pub(crate) fn sabotaged(&mut self, sabotage: Option<Sabotage>) {
        self.sabotage = sabotage;
        self.reference.no_space = sabotage == Some(Sabotage::SmallQueue);
        self.reference.delivered = sabotage == Some(Sabotage::ForgetTold);
        self.reference.unshown = sabotage == Some(Sabotage::Unshown);
        self.reference.hasty = sabotage == Some(Sabotage::LateTimers);
    }

    /// How often each law of the world was checked.
    pub fn take_checked(&mut self) -> BTreeMap<&'static str, u64> {
        let mut checked = std::mem::take(&mut self.checked);
        for (law, times) in self.shown.take_checked() {
            *checked.entry(law).or_default() += times;
        }
        *checked.entry("Q8").or_default() += self.reference.admissions;
        *checked.entry("B3").or_default() += self.spending.checked;
        checked
    }

    /// Commands in progress, by the ledger.
    pub(crate) fn open_commands(&self) -> Vec<(AgentId, OpId, SupervisorIdentity)> {
        let mut open = Vec::new();
        for (id, agent) in &self.folded {
            let named = agent.ops.iter().filter_map(|(op, state)| Some((*op, state.supervisor.clone()?)));
            open.extend(named.map(|(op, supervisor)| (id.clone(), op, supervisor)));
        }
        open
    }

    /// Counts a check of a law of the world.
    pub(crate) fn say(&mut self, law: &'static str) {
        *self.checked.entry(law).or_default() += 1;
    }

    pub(crate) fn say_often(&mut self, law: &'static str, times: u64) {
        *self.checked.entry(law).or_default() += times;
    }

    pub(crate) fn take_over(&mut self, other: &mut Self) {
        (self.clock, self.judges) = (other.clock, other.judges);
        self.sabotaged(other.sabotage);
        self.checked = std::mem::take(&mut other.checked);
    }

    /// A start reads the latest record of all. A clock that stepped back since then is followed or waited out again.
    pub(crate) fn started(&mut self, at: u64) {
        let latest = self.folded.values().map(|agent| agent.last_at).max();
        let known = self.clock.map(|clock| clock.recorded);
        self.clock = latest.max(known).map(|recorded| Clock { recorded, at });
        self.fairness.started();
        self.shown.started();
        self.stops.started();
    }

    /// W5: an evicted agent is loaded when a timer is due.
    pub fn nobody_absent_is_overdue(&self, now: Wall, lost: &BTreeSet<AgentId>) -> Result<(), Failure> {
        for id in self.parked.keys().filter(|id| !lost.contains(*id)) {
            let overdue = self.reference.overdue_at(id, now);
            ensure!(
                overdue.is_none(),
                "W5",
                "{overdue:?} of {id}, which is not in memory, should have fired"
            );
        }
        Ok(())
    }

    /// Compares the live host with the records.
    pub fn live(&mut self, host: &Host, settled: bool) -> Result<(), Failure> {
        host.check().map_err(|violation| safety("G2", violation.to_string()))?;
        for id in host.view().agent_ids() {
            let status = host.view().agent(id).map(|agent| agent.status == Status::Stopped);
            let model = self.reference.stopped(id);
            ensure!(status == model, "G5", "{id}: stopped is {status:?}, the last command says {model:?}");
        }
        if !settled {
            return Ok(());
        }
        if let Some(deadline) = host.next_deadline() {
            let (at, none) = (deadline.at, self.sabotage == Some(Sabotage::NoWait));
            self.say("S3");
            ensure!(
                deadline.wait.0 > 0 && !none,
                "S3",
                "the next deadline, {at} ({:?}), is now",
                deadline.reason
            );
        }
        for id in host.view().agent_ids() {
            let overdue = self.reference.overdue(id);
            ensure!(overdue.is_none(), "W5", "{overdue:?} of {id} should have fired");
            let blind = self.sabotage == Some(Sabotage::NobodyComes);
            let Some(agent) = host.view().agent(id) else { continue };
            if waits::check(agent, blind)? {
                *self.checked.entry("S12").or_default() += 1;
            }
        }
        self.rests(host)?;
        self.no_lost_wake(host)
    }

    /// E1: the driver's next deadline is early enough.
    pub(crate) fn looks_in_time(&mut self, host: &Host, armed: &Armed, now: Now) -> Result<(), Failure> {
        let blind = self.sabotage == Some(Sabotage::NoAlarm);
        let (next, wall) = (host.next_deadline().filter(|_| !blind), host.facts().now);
        let resident = |id: &AgentId| host.view().agent(id).is_some();
        let checked = armed.check(next.as_ref(), now)? | self.sleeps.check(next.as_ref(), wall, resident)?;
        self.say_often("E1", u64::from(checked));
        Ok(())
    }

    /// G6: an agent without anything to do is asleep.
    fn rests(&self, host: &Host) -> Result<(), Failure> {
        if self.reference.draining() {
            return Ok(());
        }
        for id in host.view().agent_ids() {
            let Some(agent) = host.view().agent(id) else { continue };
            let idle = agent.run.is_none() && agent.hold.is_none() && agent.inbox.totals().0 == 0;
            let awake = idle && ![Status::Asleep, Status::Stopped].contains(&agent.status);
            ensure!(!awake, "G6", "{id} is {:?} and has nothing to do", agent.status);
        }
        Ok(())
    }

    fn no_lost_wake(&mut self, host: &Host) -> Result<(), Failure> {
        let slot = self.reference.running() < host.most_turns();
        if self.reference.draining() || !slot {
            return Ok(());
        }
        let mut idle = 0;
        for id in self.reference.idle_with_work() {
            idle += 1;
            let held = host.view().agent(id).is_some_and(|agent| agent.hold.is_some());
            let held = held && self.sabotage != Some(Sabotage::NoHold);
            ensure!(held, "W1", "{id} is started, idle and unheld, and has messages in its queue");
            let rests = host.view().explain(id).is_none_or(|explained| explained.decision.rests());
            ensure!(rests, "W1", "{id} would decide otherwise than it did");
        }
        *self.checked.entry("W1").or_default() += idle;
        Ok(())
    }

    /// D5: the fold of the records is the live state.
    pub fn fold_is_live(&mut self, host: &Host) -> Result<(), Failure> {
        for (id, agent) in &self.folded {
            let same = host.view().agent(id).or_else(|| self.parked.get(id)) == Some(agent);
            ensure!(same, "D5", "{id} differs from the fold of its records at event {}", agent.event_seq);
        }
        self.spending.live(host)?;
        let live = host.view().agent_ids().count() + self.parked.len();
        self.say("D5");
        ensure!(live == self.folded.len(), "D5", "{live} agents live, {} on record", self.folded.len());
        Ok(())
    }

    /// R1: what clients read of the live host follows from the records.
    pub fn readers(&mut self, host: &Host) -> Result<(), Failure> {
        *self.checked.entry("R1").or_default() += readers::live(host, &self.folded)?;
        Ok(())
    }

    /// R1: keys admitted in a step stand for their messages.
    pub fn keys(&mut self, host: &Host, row: &Row) -> Result<(), Failure> {
        *self.checked.entry("R1").or_default() += readers::keys(host, &row.records)?;
        Ok(())
    }

    /// D7 at one position: a snapshot there and the later records give the whole agent.
    pub fn snapshot_at(&mut self, before: &[Record], after: &[Record]) -> Result<(), Failure> {
        let broken = |error: &dyn std::fmt::Display| safety("D7", error.to_string());
        let Some((first, rest)) = before.split_first() else { return Ok(()) };
        let mut agent = Agent::created(first).map_err(|error| broken(&error))?;
        for record in rest {
            agent.fold(record).map_err(|error| broken(&error))?;
        }
        out_of_place(&mut agent, before)?;
        let text = AgentSnapshot::of(&agent).encode().map_err(|error| broken(&error))?;
        let mut agent = AgentSnapshot::decode(&text).map_err(|error| broken(&error))?.agent;
        for record in after {
            agent.fold(record).map_err(|error| broken(&error))?;
        }
        self.say("D7");
        let same = self.folded.get(&agent.id) == Some(&agent);
        ensure!(same, "D7", "{}: a snapshot at {} gives another state", agent.id, before.len());
        Ok(())
    }

    /// G2: an agent at rest is no larger than what it must remember.
    pub fn small(&mut self, host: &Host) -> Result<(), Failure> {
        let none = self.sabotage == Some(Sabotage::NoSize);
        for id in host.view().agent_ids() {
            let Some(agent) = host.view().agent(id) else { continue };
            if agent.run.is_some() || agent.inbox.totals().0 > 0 {
                continue;
            }
            let text = AgentSnapshot::of(agent).encode().map_err(|error| safety("G2", error.to_string()))?;
            let size = text.len() as u64;
            let shown = remembered::talk(&agent.episodes);
            let keys = self.reference.keys(id);
            let tasks = agent.tasks.active_count() + agent.tasks.ended().count() as u64;
            let timers = agent.timers.armed_count() + agent.timers.ended().count() as u64;
            let work = agent.work.open_count() + agent.work.completed().count() as u64;
            let hints = agent.hints.count();
            let sources = agent.outside.sources.len() as u64;
            let places = (agent.workspaces.attached().count() + agent.worktrees().count()) as u64;
            let most = if none {
                0
            } else {
                4_096
                    + shown
                    + 2_048 * tasks
                    + 512 * (keys + places + sources)
                    + 768 * timers
                    + 1_024 * (work + hints)
            };
            self.say("G2");
            ensure!(size <= most, "G2", "{id} is at rest and takes {size} bytes of at most {most}");
        }
        Ok(())
    }

    /// A2: a request shows each message with the authority of its admission.
    pub fn authority(&mut self, request: &ModelRequest) -> Result<(), Failure> {
        if self.judges == Judges::Laws {
            return Ok(());
        }
        let headings = authority::classes(request);
        *self.checked.entry("A2").or_default() += headings.len() as u64;
        for (message, class) in headings {
            let known = self.reference.authority(&request.agent, message);
            let known = if self.sabotage == Some(Sabotage::Promote) { None } else { known };
            let fits = known == Some(class.as_str());
            ensure!(fits, "A2", "{message} of {} is shown as {class}, it was {known:?}", request.agent);
        }
        Ok(())
    }

    /// D7: a snapshot, written and read back, and the later records give the same as the whole log.
    pub fn snapshots(&mut self, disk: &Disk) -> Result<(), Failure> {
        let logs = disk.logs();
        for (id, agent) in &self.folded {
            let Some(snapshot) = disk.snapshots.newest(id) else { continue };
            let text = snapshot.encode().map_err(|error| safety("D7", error.to_string()))?;
            let read = AgentSnapshot::decode(&text).map_err(|error| safety("D7", error.to_string()))?;
            ensure!(read == *snapshot, "D7", "a snapshot of {id} reads back otherwise");
            let mut restored = read.agent;
            let from = restored.event_seq;
            let tail = logs.get(id).into_iter().flatten().filter(|record| record.event_seq > from);
            for record in tail {
                restored.fold(record).map_err(|error| safety("D7", error.to_string()))?;
            }
            *self.checked.entry("D7").or_default() += 1;
            ensure!(restored == *agent, "D7", "{id}: the snapshot at {from} and its tail give another state");
        }
        Ok(())
    }
}

/// Whether a step ends an agent's run because of a shutdown. A deadline of the same step may have ended it first.
fn shuts_down(row: &Row, agent: &AgentId) -> bool {
    row.records.iter().any(|record| {
        let shut = matches!(
            &record.event,
            Event::Turn(TurnFact::TurnTerminal(fact)) if fact.reason == Some(TurnReason::Shutdown)
        );
        shut && record.agent == *agent
    })
}

/// D3: a record that does not come next is not folded: a repeated one, one of another agent, a log with a missing
/// beginning.
fn out_of_place(agent: &mut Agent, before: &[Record]) -> Result<(), Failure> {
    let Some(last) = before.last() else { return Ok(()) };
    let mut next = last.clone();
    next.event_seq = agent.event_seq.next();
    next.agent = AgentId::new("somebody-else").map_err(|error| safety("D3", error.to_string()))?;
    for record in [last, &next] {
        let refused = agent.fold(record).is_err();
        ensure!(refused, "D3", "{} takes {record:?} in at {}", agent.id, agent.event_seq);
    }
    let begins = before.len() == 1 || Agent::created(last).is_err();
    ensure!(begins, "D3", "an agent begins with {last:?}");
    Ok(())
}
