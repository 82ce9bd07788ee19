//! Commands, each under a supervisor of its own (contract: tasks.md, tools.md; `crate::supervise`).
//!
//! A call is performed in two operations. `prepare` judges it, brings a supervisor up and learns who it is;
//! `run` gives the word once that is on record, and waits for the end. Dropping either gives the command up:
//! before the word nothing was executed, after it the whole tree is ended. Equal results are equal bytes:
//! nothing in them varies from run to run.

mod artifact;
mod connection;
mod environment;
mod output;
mod place;
mod plan;
mod probe;
mod result;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holon_core::effect::ToolCall;
use holon_core::outcome::{SupervisorIdentity, ToolOutcome};
use holon_core::tool::{Receipt, ToolError, ToolErrorKind};
use holon_core::{AgentId, Millis, OpId};

use super::super::Settings;
use super::{Refusal, receipt};
use crate::supervise::process;
use crate::supervise::record::{self, ExitRecord};
use crate::text::Texts;
use connection::Prepared;
use place::Place;

pub use environment::CommandEnvironment;

/// The commands of this process: those that wait for the word, and where the others leave their traces.
#[derive(Default)]
pub(in crate::perform) struct Commands {
    /// An agent makes one call at a time; whoever still waits when the next one comes is given up.
    prepared: Mutex<BTreeMap<AgentId, Prepared>>,
    places: Mutex<BTreeMap<(AgentId, OpId), Place>>,
}

/// What a refusal says that is none of the call's fault.
const INTERRUPTED: &str = "it may have had effects: look before you repeat it";

impl Commands {
    /// Judges a call and brings up a supervisor that waits with it.
    ///
    /// # Errors
    /// The one result of the call, when nothing can be executed.
    pub(in crate::perform) async fn prepare(
        &self,
        settings: &Settings,
        agent: &AgentId,
        op: OpId,
        call: &ToolCall,
        arguments: &str,
    ) -> Result<SupervisorIdentity, Refusal> {
        let plan = plan::plan(settings, agent, op, call, arguments)?;
        let prepared = Prepared::start(settings, agent, plan).await?;
        let identity = prepared.identity.clone();
        let earlier = lock(&self.prepared).insert(agent.clone(), prepared);
        drop(earlier);
        Ok(identity)
    }

    /// Gives the word, and waits until the end is on record.
    pub(in crate::perform) async fn run(
        &self,
        texts: &Texts,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> ToolOutcome {
        let prepared = lock(&self.prepared).remove(agent).filter(|waiting| waiting.identity == *supervisor);
        let Some(prepared) = prepared else { return gone("its supervisor did not wait any more") };
        lock(&self.places).insert((agent.clone(), op), prepared.place.clone());
        let place = prepared.place.clone();
        prepared.run().await;
        match ExitRecord::read(&place.folder) {
            Ok(Some(record)) => told(texts, &place, &record),
            Ok(None) => {
                place.kill(supervisor);
                gone("its supervisor ended without a word; what was left of it was killed")
            }
            Err(problem) => gone(&format!("what its supervisor left can't be read: {problem}")),
        }
    }

    /// Nobody waits for an operation of the agent any more: a supervisor without the word ends.
    pub(in crate::perform) fn cancelled(&self, agent: &AgentId) {
        let waiting = lock(&self.prepared).remove(agent);
        drop(waiting);
    }

    /// The end of an operation is durable: its traces may go.
    pub(in crate::perform) fn settled(&self, agent: &AgentId, op: OpId) {
        let place = lock(&self.places).remove(&(agent.clone(), op));
        if let Some(place) = place {
            place.remove();
        }
    }
}

/// What a record says, as the call's one result. No plan: the word was never given.
fn told(texts: &Texts, place: &Place, record: &ExitRecord) -> ToolOutcome {
    let duration_ms = Millis(record.items.iter().map(|item| item.duration_ms).sum());
    let receipt = match &record.plan {
        Some(plan) => receipt(texts, result::result(texts, place, plan, &record.items)),
        None => {
            let message = "the supervisor had ended before it was told to execute the command";
            let error =
                ToolError::new(ToolErrorKind::CommandSpawnFailed, message).hint("nothing was executed");
            Receipt::failure(error)
        }
    };
    ToolOutcome { receipt, duration_ms }
}

/// Nobody can say how the command ended.
fn gone(why: &str) -> ToolOutcome {
    let message = format!("the command was interrupted: {why}");
    let error = ToolError::new(ToolErrorKind::Interrupted, message).hint(INTERRUPTED);
    ToolOutcome { receipt: Receipt::failure(error), duration_ms: Millis(0) }
}

impl Place {
    /// Ends what a dead supervisor left, as far as it can be told from the rest of the machine.
    fn kill(&self, supervisor: &SupervisorIdentity) {
        process::kill_session(supervisor.pid, supervisor.started);
        if let Some(Some((pid, started))) = record::started(&self.folder) {
            process::kill_session(pid, started);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
