//! Operations under way: one task each, ended by its outcome, by a cancellation, or by a panic, which is an
//! outcome too.

use std::collections::BTreeMap;
use std::future::Future;

use holon_core::Input;
use holon_facts::outcome::{Certainty, OpFailure};
use holon_facts::{AgentId, OpId, Outcome, Text};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

/// What a task came to.
enum Done {
    Performed(Outcome),
    /// Of what is no operation, and may come to nothing.
    Looked(Option<Input>),
}

/// The tasks of the driver.
#[derive(Default)]
pub struct Work {
    tasks: JoinSet<Done>,
    by_task: BTreeMap<Id, (AgentId, OpId)>,
    by_op: BTreeMap<(AgentId, OpId), AbortHandle>,
}

impl Work {
    /// Begins to perform an operation.
    pub fn start(&mut self, agent: AgentId, op: OpId, work: impl Future<Output = Outcome> + Send + 'static) {
        let handle = self.tasks.spawn(async move { Done::Performed(work.await) });
        self.by_task.insert(handle.id(), (agent.clone(), op));
        self.by_op.insert((agent, op), handle);
    }

    /// Begins to look at something that is no operation: whoever is told nothing looks again some time.
    pub fn look(&mut self, look: impl Future<Output = Option<Input>> + Send + 'static) {
        self.tasks.spawn(async move { Done::Looked(look.await) });
    }

    /// Gives up on an operation: dropping its task closes its connection or kills its command.
    pub fn cancel(&mut self, agent: &AgentId, op: OpId) {
        if let Some(handle) = self.by_op.remove(&(agent.clone(), op)) {
            handle.abort();
        }
    }

    /// Waits for the next operation that ends of itself; for ever when none is under way.
    pub async fn next(&mut self) -> Input {
        loop {
            match self.tasks.join_next_with_id().await {
                Some(Ok((task, done))) => {
                    let input = match done {
                        Done::Performed(outcome) => self.ended(task, outcome),
                        Done::Looked(input) => input,
                    };
                    if let Some(input) = input {
                        return input;
                    }
                }
                Some(Err(error)) => {
                    if let Some(input) = self.broke(&error) {
                        return input;
                    }
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Gives up on everything, and waits until it is gone.
    pub async fn stop(&mut self) {
        self.tasks.shutdown().await;
        self.by_op.clear();
        self.by_task.clear();
    }

    fn ended(&mut self, task: Id, outcome: Outcome) -> Option<Input> {
        let (agent, op) = self.by_task.remove(&task)?;
        self.by_op.remove(&(agent.clone(), op));
        Some(Input::Completed { agent, op, outcome })
    }

    /// A cancelled task says nothing; one that panicked may have had an effect.
    fn broke(&mut self, error: &JoinError) -> Option<Input> {
        if error.is_cancelled() {
            self.by_task.remove(&error.id());
            return None;
        }
        let message = Text::short(format!("the performer broke down: {error}"));
        let failure = OpFailure { certainty: Certainty::Ambiguous, message };
        self.ended(error.id(), Outcome::Failed { failure })
    }
}
