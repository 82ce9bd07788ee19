//! Commands, each under a supervisor of its own (contract: tasks.md, tools.md; `holon_supervise`).
//!
//! A call is performed in two operations. `prepare` judges it, brings a supervisor up and learns who it is;
//! `run` gives the word once that is on record, and waits for the end. From then on the command needs nobody:
//! dropping either ends only the wait. Who wants its end says so. Equal results are equal bytes: nothing in them varies
//! from run to run.

mod artifact;
mod connection;
mod end_all;
mod environment;
mod live_lines;
mod output;
mod plan;
mod probe;
mod reach;
mod result;
mod retention;
mod run_directory;
mod spare;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use connection::{Prepared, Variables};
use holon_core::effect::ToolCall;
use holon_facts::ids::TaskId;
use holon_facts::outcome::{CommandEnd, CommandSpec, SupervisorIdentity, ToolOutcome};
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind};
use holon_facts::{AgentId, Millis, OpId};
use holon_platform::process::{self, Led};
use holon_platform::spawn;
use holon_supervise::protocol::Hidden;
use holon_supervise::record::{self, End, ExitRecord};
use holon_text::Texts;
use run_directory::RunDirectory;
use spare::Spare;
use tokio::task::JoinHandle;

use super::super::Settings;
use super::{Refusal, receipt};

pub(crate) use end_all::end_all;
pub use environment::CommandEnvironment;
pub(super) use plan::CHARACTERS_PER_TOKEN;

/// The commands of this process: those that wait for the word, and those that are executed.
#[derive(Default)]
pub(in crate::perform) struct Commands {
    /// Whose supervisors are coming up, by the operation.
    preparing: Mutex<BTreeSet<(AgentId, OpId)>>,
    /// By the operation that prepared them.
    prepared: Mutex<BTreeMap<(AgentId, OpId), Prepared>>,
    spare: Spare,
    /// By the operation in which they were given the word.
    executing: Mutex<BTreeMap<(AgentId, OpId), Executing>>,
}

/// Whose command it is to be.
#[derive(Clone, Copy)]
pub(in crate::perform) struct Whose<'a> {
    pub(in crate::perform) agent: &'a AgentId,
    pub(in crate::perform) op: OpId,
    pub(in crate::perform) task: TaskId,
    /// Where the agent's trigger is reached.
    pub(in crate::perform) address: Option<&'a str>,
}

/// With what a supervisor is started for a command like the one before.
pub(in crate::perform) struct Next(Variables);

/// A word that is being given.
pub(in crate::perform) struct Word(JoinHandle<Prepared>);

/// A command, until its end is durable.
#[derive(Debug, Clone)]
struct Executing {
    supervisor: SupervisorIdentity,
    place: RunDirectory,
    /// Its end was read, or it is known to be gone.
    ended: bool,
}

/// The variable by which a command knows its agent's home, and we know our commands.
const AGENT_HOME: &str = "HOLON_AGENT_HOME";
/// What a refusal says that is none of the call's fault.
const INTERRUPTED: &str = "it may have had effects: look before you repeat it";

impl Commands {
    /// Judges a call and brings up a supervisor that waits with it.
    ///
    /// # Errors
    /// The one result of the call, when nothing can be executed.
    pub(in crate::perform) async fn prepare(
        &self,
        texts: &Texts,
        settings: &Settings,
        Whose { agent, op, task, address }: Whose<'_>,
        call: &ToolCall,
        arguments: &str,
    ) -> Result<(SupervisorIdentity, CommandSpec), Refusal> {
        let (plan, command) = plan::plan(texts, settings, agent, task, call, arguments)?;
        let key = (agent.clone(), op);
        lock(&self.preparing).insert(key.clone());
        let hidden = Hidden::of(texts.secrets());
        let environment = connection::environment(settings, agent, address, &plan);
        let spare = self.spare.take(&environment);
        let started = Prepared::start(settings, agent, environment, (plan, hidden), spare).await;
        // Who was given up meanwhile is dropped, and with that dismissed.
        let wanted = lock(&self.preparing).remove(&key);
        let mut prepared = started?;
        if !wanted {
            return Err(Refusal::new(ToolErrorKind::Interrupted, "the call was given up"));
        }
        // What an operator starts is a task from the beginning: nobody is shown its output, so its log is kept.
        prepared.place.kept = call.run_id.is_none();
        let identity = prepared.identity().clone();
        lock(&self.prepared).insert(key, prepared);
        Ok((identity, command))
    }

    /// Gives the word, at once: it is on record that the command begins, and a runtime that ends at this moment would
    /// take it for one that goes on. Its end waits until the word is said.
    pub(in crate::perform) fn give_word(
        &self,
        settings: &Settings,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> Option<Word> {
        let mut prepared = self.waiting(supervisor)?;
        self.executes(agent, op, supervisor, prepared.place.clone());
        let remaining = settings.in_flight.hold();
        Some(Word(spawn::task(async move {
            prepared.give_word().await;
            drop(remaining);
            prepared
        })))
    }

    /// Waits until the end of a command that has the word is on record. Tells with what the next one may be started.
    pub(in crate::perform) async fn run(
        &self,
        texts: &Texts,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
        word: Option<Word>,
    ) -> (ToolOutcome, Option<Next>) {
        let Some(Word(word)) = word else { return (gone("its supervisor did not wait any more"), None) };
        let next = match word.await {
            Ok(prepared) => Some(Next(prepared.until_ended().await)),
            Err(_) => None,
        };
        let place = lock(&self.executing).get(&(agent.clone(), op)).map(|known| known.place.clone());
        if let Some(place) = place {
            reach::until_ended(&place, supervisor).await;
        }
        (self.told(texts, agent, op), next)
    }

    /// Has a supervisor ready for a next command like the one that has ended.
    pub(in crate::perform) async fn be_ready(&self, settings: &Settings, Next(environment): Next) {
        self.spare.start(settings, environment).await;
    }

    /// Waits for the end of a command that an earlier process gave the word.
    pub(in crate::perform) async fn watch(
        &self,
        texts: &Texts,
        settings: &Settings,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> ToolOutcome {
        let place = RunDirectory::of(settings, agent, supervisor, None, true);
        self.executes(agent, op, supervisor, place.clone());
        reach::until_ended(&place, supervisor).await;
        self.told(texts, agent, op)
    }

    /// The command goes on as a task: its log is kept.
    pub(in crate::perform) fn goes_on(&self, agent: &AgentId, op: OpId) {
        if let Some(executing) = lock(&self.executing).get_mut(&(agent.clone(), op)) {
            executing.place.kept = true;
        }
    }

    /// The end of an operation is durable: its traces may go. Whoever is still to be ended keeps them until then.
    pub(in crate::perform) fn settled(&self, agent: &AgentId, op: OpId) {
        let key = (agent.clone(), op);
        let mut executing = lock(&self.executing);
        if !executing.get(&key).is_some_and(|known| known.ended) {
            return;
        }
        let Some(Executing { place, .. }) = executing.remove(&key) else { return };
        let of_agent = executing.iter().filter(|((of, _), _)| of == agent);
        // Its own log is the newest, however long nothing was written to it.
        let active = of_agent.flat_map(|(_, known)| known.place.logs.clone());
        let active: Vec<PathBuf> = active.chain(place.logs.iter().cloned()).collect();
        drop(executing);
        place.remove();
        if place.kept {
            place.among_outputs(|| retention::prune_tasks(&place.outputs, &active));
        }
    }

    /// The supervisor that waits for the word under that name.
    fn waiting(&self, supervisor: &SupervisorIdentity) -> Option<Prepared> {
        let mut prepared = lock(&self.prepared);
        let key = prepared.iter().find(|(_, waiting)| waiting.identity() == supervisor)?.0.clone();
        prepared.remove(&key)
    }

    /// What was known of the command before stays: whether it is a task.
    fn executes(&self, agent: &AgentId, op: OpId, supervisor: &SupervisorIdentity, place: RunDirectory) {
        let executing = Executing { supervisor: supervisor.clone(), place, ended: false };
        lock(&self.executing).entry((agent.clone(), op)).or_insert(executing);
    }

    /// Reads the record of a command that has ended.
    fn told(&self, texts: &Texts, agent: &AgentId, op: OpId) -> ToolOutcome {
        let known = lock(&self.executing).get(&(agent.clone(), op)).cloned();
        let Some(Executing { supervisor, place, .. }) = known else { return gone("it was given up") };
        let outcome = match ExitRecord::read(&place.folder) {
            Ok(Some(record)) => told(texts, &place, &record),
            Ok(None) => {
                place.kill(&supervisor);
                gone("its supervisor ended without a word; what could be found of it was killed")
            }
            Err(problem) => gone(&format!("what its supervisor left can't be read: {problem}")),
        };
        if let Some(known) = lock(&self.executing).get_mut(&(agent.clone(), op)) {
            known.ended = true;
        }
        outcome
    }
}

/// What a record says, as the one result of a call or a task. No plan: the word was never given.
fn told(texts: &Texts, place: &RunDirectory, record: &ExitRecord) -> ToolOutcome {
    let duration_ms = Millis(record.items.iter().map(|item| item.duration_ms).sum());
    let receipt = match &record.plan {
        Some(plan) => receipt(texts, result::result(texts, place, plan, &record.items)),
        None => {
            let message = "the supervisor had ended before it got the order to execute the command";
            let error =
                ToolError::new(ToolErrorKind::CommandSpawnFailed, message).hint("nothing was executed");
            Receipt::failure(error)
        }
    };
    ToolOutcome { receipt, duration_ms, end: Some(end(record)) }
}

/// How it ended: of a batch, whatever stands against the success of all of it.
fn end(record: &ExitRecord) -> CommandEnd {
    let any = |is: fn(&End) -> bool| record.items.iter().any(|item| is(&item.end));
    let left = record.items.iter().any(|item| item.remains.unkillable);
    if any(|end| matches!(end, End::Stopped)) {
        if left { CommandEnd::Unproven } else { CommandEnd::Stopped }
    } else if any(|end| matches!(end, End::TimedOut { .. })) {
        CommandEnd::TimedOut
    } else if record.plan.is_none() || any(|end| matches!(end, End::NotStarted { .. })) {
        CommandEnd::NotStarted
    } else {
        CommandEnd::Exited
    }
}

/// Nobody can say how the command ended.
fn gone(why: &str) -> ToolOutcome {
    let message = format!("the command was interrupted: {why}");
    let error = ToolError::new(ToolErrorKind::Interrupted, message).hint(INTERRUPTED);
    ToolOutcome { receipt: Receipt::failure(error), duration_ms: Millis(0), end: Some(CommandEnd::Unproven) }
}

impl RunDirectory {
    /// Ends what a dead supervisor left, as far as it can be told from the rest of the machine.
    fn kill(&self, supervisor: &SupervisorIdentity) {
        // Numbers of another start of the kernel are others' now.
        if !process::boot_id().is_ok_and(|id| id == supervisor.boot_id) {
            return;
        }
        let home = self.outputs.parent();
        let ours = |pid| home.is_some_and(|home| process::has_variable(pid, AGENT_HOME, home));
        // The command first: it is known by itself, whatever has become of its environment, and leads its own group.
        if let Some(Some((pid, started))) = record::started(&self.folder) {
            process::kill_led(Led::Group, pid, started, ours);
            process::kill_led(Led::Session, pid, started, ours);
        }
        process::kill_led(Led::Session, supervisor.pid, supervisor.started, ours);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
