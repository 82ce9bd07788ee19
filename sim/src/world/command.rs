//! Commands and their supervisors: separate processes that survive a crash. A command runs until it ends, whoever waits
//! for it; a start probes each supervisor on record, and watches commands that still run.

use std::collections::BTreeMap;

use holon_core::effect::{InputSource, TaskWork, ToolCall};
use holon_core::recovery::{Found, FoundCommand, RecoveryReport};
use holon_facts::event::{TaskFact, TurnFact};
use holon_facts::ids::TaskId;
use holon_facts::outcome::{CommandEnd, CommandSpec, SupervisorIdentity, ToolOutcome};
use holon_facts::{AgentId, Event, OpId, Outcome, Record};

use super::agenda::Happening;
use super::{Engine, World};
use crate::failure::{Failure, ensure};
use crate::options::Sabotage;
use crate::tools::{self, Up};
use crate::{commands, story};

/// A performer that is late to notice its cancellation ends within this time; one that breaks down does so soon.
/// Microseconds.
const LATE: u64 = 2_000_000;

/// One supervisor and its command.
#[derive(Debug)]
pub(super) struct Supervised {
    pub(super) identity: SupervisorIdentity,
    pub(super) agent: AgentId,
    pub(super) task: TaskId,
    pub(super) spec: CommandSpec,
    /// The life of the process that started the supervisor.
    life: u64,
    prepared_in: OpId,
    /// The operation in which the supervisor got its start signal.
    pub(super) op: Option<OpId>,
    /// When the command ends, and with what; none for a command that runs until it is ended.
    pub(super) end: Option<(u64, ToolOutcome)>,
    /// How many ends were planned; only the newest plan counts.
    plans: u32,
    pub(super) ended: bool,
    /// The supervisor left no record of the end, or will never answer.
    pub(super) lost: bool,
    /// The supervisor dies before its command ends.
    killed: bool,
    /// The supervisor is dead, and an unrelated process has its process id and socket.
    stranger: bool,
    /// The performer broke down, and only that is reported.
    pub(super) broke: bool,
    /// The life of the process that watches the command.
    watched: Option<u64>,
    /// The command was asked to end.
    pub(super) asked: bool,
    /// Nothing ends the command early, whoever asks.
    deaf: bool,
    /// The end is reported a second time, this much later.
    echo: Option<u64>,
    /// Bytes that were written to the command.
    pub(super) written: u64,
}

/// Every supervisor ever started, by its socket.
pub(super) type Supervisors = BTreeMap<String, Supervised>;

/// Commands whose end is known at a start, with their outcomes.
pub(crate) type Ends = BTreeMap<OpId, ToolOutcome>;

impl Supervised {
    pub(super) fn up(&self) -> Up {
        Up { supervisor: self.identity.clone(), command: Some(self.spec.clone()) }
    }

    /// Whether the supervisor waits for the start signal of this life.
    pub(super) fn waits(&self, agent: &AgentId, life: u64) -> bool {
        self.agent == *agent && self.life == life && self.op.is_none() && !self.ended
    }

    fn executes(&self, agent: &AgentId, op: OpId) -> bool {
        self.agent == *agent && self.op == Some(op)
    }
}

impl World<'_> {
    /// Starts a supervisor, or fails to.
    pub(super) fn prepare(
        &mut self,
        agent: &AgentId,
        op: OpId,
        task: TaskId,
        call: &ToolCall,
    ) -> Result<(), Failure> {
        // Numbered per agent, so that no record depends on the number of other agents.
        let site = self.site("supervisor started", self.number(agent), "");
        let socket = format!("run/commands/{agent}-{}/socket", site.ordinal);
        let identity = SupervisorIdentity {
            pid: u32::try_from(site.ordinal).unwrap_or(u32::MAX),
            started: self.at,
            boot_id: "sim".into(),
            socket: socket.clone(),
        };
        let supervised = Supervised {
            identity,
            agent: agent.clone(),
            task,
            spec: commands::spec(call.tool, &call.arguments),
            life: self.life.number,
            prepared_in: op,
            op: None,
            end: None,
            plans: 0,
            ended: false,
            lost: false,
            killed: false,
            stranger: false,
            broke: false,
            watched: None,
            asked: false,
            deaf: false,
            echo: None,
            written: 0,
        };
        let mut up = supervised.up();
        if let Some(command) = &mut up.command {
            command.reuse_running |= self.options.sabotage == Some(Sabotage::ForceTwins);
            command.reuse_running &= self.options.sabotage != Some(Sabotage::HideTwins);
        }
        self.outside.supervised.insert(socket, supervised);
        self.begin(agent, op, "supervisor", |here| tools::prepare(here, up))
    }

    /// Gives a supervisor its start signal: once, from the process that started it, after its identity is on record.
    pub(super) fn go(
        &mut self,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> Result<(), Failure> {
        self.checks.say("P5");
        let on_disk = self.disk.get().supervisor(agent, op);
        ensure!(
            on_disk.as_ref() == Some(supervisor),
            "P5",
            "{op} of {agent} begins, on the disk is {on_disk:?}"
        );
        let life = self.life.number;
        let waiting = self.outside.supervised.get(&supervisor.socket);
        let waits =
            waiting.is_some_and(|waiting| waiting.identity == *supervisor && waiting.waits(agent, life));
        ensure!(waits, "P5", "{op} of {agent} goes to {supervisor:?}, there is {waiting:?}");
        let cmd = waiting.map(|waiting| waiting.spec.cmd.preview().to_owned()).unwrap_or_default();
        let executes = self.scenario.story.executes(&cmd, &mut self.outside.story);
        let outcomes = self
            .work(agent, op, "tool", |here| executes.map_or_else(|| commands::execute(here), story::ends))?;
        let number = self.number(agent);
        let site = self.site("supervisor's life", number, "");
        let faults = &self.scenario.faults;
        let killed = !self.quiet
            && self.injector.strikes(faults, &mut *self.choices, site, "killed", faults.supervisor_killed);
        let at = self.at;
        let Some(known) = self.outside.supervised.get_mut(&supervisor.socket) else { return Ok(()) };
        known.op = Some(op);
        known.watched = Some(life);
        let mut outcomes = outcomes.into_iter();
        match outcomes.next() {
            Some((after, Outcome::Tool { outcome })) => {
                known.end = Some((at + after, outcome));
                known.echo = outcomes.next().map(|(again, _)| again.saturating_sub(after));
                if killed {
                    known.killed = true;
                    known.end = Some((at + after / 2, commands::ended(CommandEnd::Unproven)));
                }
            }
            Some((after, outcome)) => {
                (known.lost, known.broke) = (true, true);
                let agent = agent.clone();
                let happening = Happening::Completed { agent, op, outcome: Box::new(outcome), life };
                self.plan(at + after.min(LATE), number, happening);
            }
            None => known.lost = true,
        }
        self.plan_end(&supervisor.socket);
        Ok(())
    }

    /// Watches a command that a start found running: the command is never executed again.
    pub(super) fn watch(
        &mut self,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> Result<(), Failure> {
        self.checks.say("P5");
        let on_disk = self.disk.get().supervisor(agent, op);
        ensure!(
            on_disk.as_ref() == Some(supervisor),
            "P5",
            "{op} of {agent} is watched, on the disk is {on_disk:?}"
        );
        let life = self.life.number;
        let known = self.outside.supervised.get_mut(&supervisor.socket);
        let goes_on = known.as_ref().is_some_and(|known| {
            known.identity == *supervisor && known.executes(agent, op) && known.watched != Some(life)
        });
        ensure!(goes_on, "P5", "{op} of {agent} is watched under {supervisor:?}, there is {known:?}");
        self.outside.inflight.insert((agent.clone(), op), "tool");
        self.injector.saw("a command is watched again");
        if let Some(known) = known {
            known.watched = Some(life);
            if known.ended {
                self.command_ended(&supervisor.socket.clone());
            }
        }
        Ok(())
    }

    /// Plans the end of a command, when it has one.
    fn plan_end(&mut self, socket: &str) {
        let Some(known) = self.outside.supervised.get_mut(socket) else { return };
        known.plans += 1;
        let (plan, agent) = (known.plans, known.agent.clone());
        let Some((at, _)) = known.end else { return };
        let number = self.number(&agent);
        self.plan(at, number, Happening::Exits { socket: socket.to_owned(), plan });
    }

    /// Whether this plan for the end of a command is still the newest one.
    pub(super) fn is_planned(&self, socket: &str, plan: u32) -> bool {
        let known = self.outside.supervised.get(socket);
        known.is_some_and(|known| known.plans == plan && !known.ended)
    }

    /// A command ends, by itself or because it was ended.
    pub(super) fn exits(&mut self, socket: &str) {
        let (life, alive) = (self.life.number, self.life.engine.is_some());
        let Some(known) = self.outside.supervised.get_mut(socket) else { return };
        known.ended = true;
        known.lost |= known.killed;
        let stopped = self.checks.reference.stopped(&known.agent) == Some(true);
        match (alive, self.life.drained.is_some() || self.life.leaving, stopped) {
            (false, _, _) => self.injector.saw("a command ends while the process is down"),
            (true, true, _) => self.injector.saw("a command ends during a shutdown"),
            (true, false, true) => self.injector.saw("a command ends while its agent is stopped"),
            (true, false, false) => {}
        }
        if alive && known.watched == Some(life) {
            self.command_ended(socket);
        }
    }

    /// Reports the end of a command to the process that watches it.
    fn command_ended(&mut self, socket: &str) {
        let Some(known) = self.outside.supervised.get(socket) else { return };
        let (Some(op), Some((_, outcome)), agent) = (known.op, &known.end, known.agent.clone()) else {
            return;
        };
        let mut outcome = outcome.clone();
        if self.options.sabotage == Some(Sabotage::MisreportEnd) {
            outcome.receipt.facts.exit_status = Some(77);
        }
        let (life, number) = (self.life.number, self.number(&agent));
        let times = std::iter::once(0).chain(known.echo);
        let outcomes: Vec<(u64, Happening)> = times
            .map(|later| {
                let outcome = Box::new(Outcome::Tool { outcome: outcome.clone() });
                (self.at + 1 + later, Happening::Completed { agent: agent.clone(), op, outcome, life })
            })
            .collect();
        for (at, happening) in outcomes {
            self.plan(at, number, happening);
        }
    }

    /// P6: only what the runtime has started is asked to end. The command then ends at once, late, or never.
    pub(super) fn stop(&mut self, agent: &AgentId, op: OpId, force: bool) -> Result<(), Failure> {
        self.checks.say("P6");
        let op = if self.options.sabotage == Some(Sabotage::StopAnother) { op.next() } else { op };
        let number = self.number(agent);
        let site = self.site("stop", number, "");
        let mut all = self.outside.supervised.iter_mut();
        let Some((socket, known)) = all.find(|(_, known)| known.executes(agent, op)) else {
            ensure!(false, "P6", "{op} of {agent} is to end, and executes nothing");
            return Ok(());
        };
        ensure!(!known.stranger, "P6", "{op} of {agent} is to end, and a stranger has its number");
        known.asked = true;
        let faults = &self.scenario.faults;
        let ignored = !self.quiet
            && self.injector.strikes(faults, &mut *self.choices, site, "ignored", faults.stop_ignored);
        known.deaf = ignored || self.scenario.faults.is_dead("tool", number, self.at);
        if known.ended || known.lost || known.deaf {
            return Ok(());
        }
        let grace = self.scenario.config_of(self.life.number).tasks.stop_grace.0 * 1_000;
        let after = match (force, self.choices.below(site.about("obeys"), 3)) {
            (true, _) => u64::from(self.choices.below(site.about("dies after"), 50_000)),
            (false, 0) => {
                self.injector.saw("a command ignores SIGTERM");
                grace + u64::from(self.choices.below(site.about("dies after"), 100_000))
            }
            (false, _) => u64::from(self.choices.below(site.about("ends after"), 1_000_000)).min(grace),
        };
        let at = self.at + after;
        if known.end.as_ref().is_some_and(|(end, _)| *end <= at) {
            self.injector.saw("a command ends by itself before it is ended");
            return Ok(());
        }
        let remains = self.choices.below(site.about("something remains"), 12) == 0;
        let end = if remains { CommandEnd::Unproven } else { CommandEnd::Stopped };
        known.end = Some((at, commands::ended(end)));
        let socket = socket.clone();
        self.plan_end(&socket);
        Ok(())
    }

    /// Kills a command that nobody awaits any more, unless the kill comes too late.
    pub(super) fn dismiss(&mut self, agent: &AgentId, op: OpId, late: bool) {
        let mut late_ends = Vec::new();
        for known in self.outside.supervised.values_mut() {
            let named = known.prepared_in == op && known.op.is_none();
            if known.agent != *agent || !(named || known.op == Some(op)) {
                continue;
            }
            known.asked = true;
            if known.stranger {
                continue;
            }
            if !late {
                (known.ended, known.watched) = (true, None);
                known.plans += 1;
            } else if let Some((at, _)) = &mut known.end {
                // The command ends by itself before the kill, or by the kill.
                *at = (*at).min(self.at + LATE);
                late_ends.push(known.identity.socket.clone());
            }
        }
        for socket in late_ends {
            self.plan_end(&socket);
        }
    }

    /// Shows tasks, or writes to one.
    pub(super) fn call_task(&mut self, agent: &AgentId, op: OpId, work: &TaskWork) -> Result<(), Failure> {
        if let TaskWork::AlreadyRunning { task } = work {
            let another = self.options.sabotage == Some(Sabotage::AnotherTwin);
            self.stands_in(agent, op, if another { task.id.next() } else { task.id })?;
        }
        let TaskWork::Input { op: executing, source, .. } = work else {
            return self.begin(agent, op, "task", |here| commands::look(here, work));
        };
        let bytes = match source {
            // The outbox message has been sent; only the report is left.
            InputSource::Letter { .. } => {
                return self.begin(agent, op, "task", |here| commands::look(here, work));
            }
            InputSource::Text { text } | InputSource::Call { arguments: text } => text.bytes(),
        };
        let alive = |known: &&mut Supervised| {
            executing.is_some_and(|op| known.executes(agent, op)) && !known.ended && !known.lost
        };
        let stranger =
            |known: &&mut Supervised| known.stranger && executing.is_some_and(|op| known.executes(agent, op));
        self.outside.supervised.values_mut().filter(stranger).for_each(|known| known.asked = true);
        let spec = self.outside.supervised.values_mut().find(alive).map(|known| known.spec.clone());
        let outcomes = self.work(agent, op, "task", |here| commands::write(here, spec.as_ref(), bytes))?;
        let taken = outcomes.iter().find_map(|(_, outcome)| match outcome {
            Outcome::Tool { outcome } => outcome.receipt.facts.input.as_ref().map(|it| it.bytes_written),
            Outcome::Context { .. }
            | Outcome::Answer { .. }
            | Outcome::AttemptFailed { .. }
            | Outcome::Looked { .. }
            | Outcome::Prepared { .. }
            | Outcome::Workspace { .. }
            | Outcome::Worktree { .. }
            | Outcome::Failed { .. } => None,
        });
        if let Some(known) = self.outside.supervised.values_mut().find(alive) {
            known.written += taken.unwrap_or(0);
        }
        self.deliver(agent, op, outcomes);
        Ok(())
    }

    /// P5: once all effects have left, the runtime watches each running command or has asked it to end; at rest no
    /// command runs but those that nothing ends.
    pub(super) fn nobody_is_orphaned(&mut self, rests: bool) -> Result<(), Failure> {
        if !self.life.recovered || !self.life.engine.as_ref().is_some_and(Engine::caught_up) {
            return Ok(());
        }
        let agents = self.checks.agents();
        let open = |known: &Supervised, op: OpId| {
            agents.get(&known.agent).is_some_and(|agent| agent.ops.contains_key(&op))
        };
        let goes_on = |known: &&Supervised| !(known.ended || known.lost || known.deaf);
        let asked = |known: &Supervised| known.asked && !rests;
        let orphan = self.outside.supervised.values().filter(goes_on).find(|known| {
            let op = known.op.filter(|op| !open(known, *op));
            op.is_some() && !asked(known)
        });
        ensure!(orphan.is_none(), "P5", "{orphan:?} goes on, and nobody will hear of its end");
        self.checks.say("P5");
        Ok(())
    }

    /// A start ends the commands that no record names any more: the process that gave them up died before it could.
    pub(super) fn end_orphans(&mut self) {
        let open = self.checks.open_commands();
        for known in self.outside.supervised.values_mut() {
            let named = open.iter().any(|(_, _, supervisor)| *supervisor == known.identity);
            if !named && !known.ended && !known.stranger {
                known.ended = true;
                known.plans += 1;
            }
        }
    }

    /// P6: a process that reuses the process id of a supervisor is left alone.
    pub(super) fn strangers_are_left_alone(&mut self) -> Result<(), Failure> {
        for known in self.outside.supervised.values().filter(|known| known.stranger) {
            ensure!(!known.asked, "P6", "{known:?} is a stranger, and was asked to end or written to");
            self.injector.saw("a stranger is left alone");
        }
        Ok(())
    }

    /// Probes the supervisors of an agent; returns their answers and the true ends of commands.
    pub(super) fn probe(&mut self, agent: &AgentId) -> (RecoveryReport, Ends) {
        let (mut report, mut ends) = (RecoveryReport::default(), Ends::new());
        for (_, op, supervisor) in self.checks.open_commands().into_iter().filter(|open| open.0 == *agent) {
            let found = self.ask(agent, op, &supervisor);
            if let Found::Ended { outcome } = &found {
                ends.insert(op, (**outcome).clone());
                if self.options.sabotage == Some(Sabotage::ForgetEnd) {
                    continue;
                }
            }
            report.commands.push(FoundCommand::new(op, found));
        }
        (report, ends)
    }

    fn ask(&mut self, agent: &AgentId, op: OpId, supervisor: &SupervisorIdentity) -> Found {
        let number = self.number(agent);
        let site = self.site("supervisor", number, "");
        let faults = &self.scenario.faults;
        let dies = !self.quiet
            && self.injector.strikes(faults, &mut *self.choices, site, "lost", faults.supervisor_lost);
        let deaf = self.scenario.faults.is_dead("tool", number, self.at);
        let taken_over = !self.quiet
            && self.injector.strikes(
                faults,
                &mut *self.choices,
                site,
                "stranger",
                faults.supervisor_stranger,
            );
        let believed = self.options.sabotage == Some(Sabotage::BelieveStrangers);
        let known = self.outside.supervised.get_mut(&supervisor.socket);
        // An ended command has left a record, whoever has its process id since.
        if let Some(known) = known.filter(|known| taken_over && known.executes(agent, op) && !known.ended) {
            known.identity.started = self.at + 1;
            (known.stranger, known.lost, known.watched, known.asked) = (true, true, None, false);
            known.plans += 1;
        }
        let known = self.outside.supervised.get_mut(&supervisor.socket);
        let Some(known) = known.filter(|known| known.identity == *supervisor || believed) else {
            return Found::Lost;
        };
        if known.stranger {
            return Found::Running;
        }
        if known.op != Some(op) {
            self.injector.saw("command found not started");
            return Found::NotStarted;
        }
        // A supervisor that died once gives no answer at later starts either.
        known.lost |= dies || deaf;
        match (&known.end, known.lost, known.ended) {
            (_, true, _) => {
                self.injector.saw("command found lost");
                (known.ended, known.watched) = (true, None);
                known.plans += 1;
                Found::Lost
            }
            (Some((_, outcome)), false, true) => {
                self.injector.saw("command found ended");
                Found::Ended { outcome: Box::new(outcome.clone()) }
            }
            (_, false, _) => {
                self.injector.saw("command found alive");
                Found::Running
            }
        }
    }
}

/// P5: the model is shown exactly how a command ended while the process was down.
pub(crate) fn check_ends(ends: &Ends, records: &[Record]) -> Result<(), Failure> {
    for (op, outcome) in ends {
        let executes = records.iter().any(|record| match &record.event {
            Event::Turn(TurnFact::ToolExecuted(fact)) => *fact.receipt == outcome.receipt,
            Event::Turn(TurnFact::ToolExecutionFailed(fact)) => *fact.receipt == outcome.receipt,
            Event::Task(TaskFact::TaskStatusUpdated(fact)) => {
                (fact.status, fact.exit_status) == commands::status_of(outcome)
            }
            Event::Turn(_)
            | Event::Lifecycle(_)
            | Event::Inbox(_)
            | Event::Scheduling(_)
            | Event::Operation(_)
            | Event::Task(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wait(_)
            | Event::Wake(_)
            | Event::Outbox(_)
            | Event::Workspace(_)
            | Event::Brief(_)
            | Event::Episode(_)
            | Event::Skill(_) => false,
        });
        ensure!(executes, "P5", "{op} had ended with {:?}, which nobody is told", outcome.receipt);
    }
    Ok(())
}
