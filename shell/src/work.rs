//! Operations under way: one task each, ended by its outcome, by a cancellation, or by a panic, which is an
//! outcome too.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
    /// What is being written to commands, by the operation that executes each.
    writing: BTreeMap<(AgentId, OpId), Writing>,
    /// Ends of commands that nothing is written to any more.
    ready: VecDeque<Input>,
}

/// What is being written to a command: its end is reported after it.
#[derive(Default)]
struct Writing {
    ops: BTreeSet<OpId>,
    /// How the command has ended meanwhile. What is written from then on is too late, and not waited for.
    end: Option<Outcome>,
}

impl Work {
    /// Begins to perform an operation.
    pub fn start(&mut self, agent: AgentId, op: OpId, work: impl Future<Output = Outcome> + Send + 'static) {
        let handle = self.tasks.spawn(async move { Done::Performed(work.await) });
        self.by_task.insert(handle.id(), (agent.clone(), op));
        self.by_op.insert((agent, op), handle);
    }

    /// Begins to write to the command that an operation executes. Both have connections of their own, so the end of the
    /// command could overtake the word of how much was written: it is kept back until that is reported. Writing ends within
    /// the limits of its performer.
    pub fn start_writing(
        &mut self,
        agent: AgentId,
        op: OpId,
        command: OpId,
        work: impl Future<Output = Outcome> + Send + 'static,
    ) {
        let writing = self.writing.entry((agent.clone(), command)).or_default();
        if writing.end.is_none() {
            writing.ops.insert(op);
        }
        self.start(agent, op, work);
    }

    /// Begins to look at something that is no operation: whoever is notified nothing looks again some time.
    pub fn look(&mut self, look: impl Future<Output = Option<Input>> + Send + 'static) -> AbortHandle {
        self.tasks.spawn(async move { Done::Looked(look.await) })
    }

    /// Gives up on an operation: dropping its task closes its connection or kills its command.
    pub fn cancel(&mut self, agent: &AgentId, op: OpId) {
        if let Some(handle) = self.by_op.remove(&(agent.clone(), op)) {
            handle.abort();
        }
        self.written(agent, op);
    }

    /// Waits for the next operation that ends of itself; for ever when none is under way.
    pub async fn next(&mut self) -> Input {
        loop {
            if let Some(end) = self.ready.pop_front() {
                return end;
            }
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
        self.tasks.is_empty() && self.ready.is_empty() && self.writing.is_empty()
    }

    /// Gives up on everything, and waits until it is gone.
    pub async fn stop(&mut self) {
        self.tasks.shutdown().await;
        self.by_op.clear();
        self.by_task.clear();
        self.writing.clear();
        self.ready.clear();
    }

    fn ended(&mut self, task: Id, outcome: Outcome) -> Option<Input> {
        let (agent, op) = self.by_task.remove(&task)?;
        let key = (agent, op);
        self.by_op.remove(&key);
        if let Some(writing) = self.writing.get_mut(&key) {
            writing.end = Some(outcome);
            return None;
        }
        let (agent, op) = key;
        self.written(&agent, op);
        Some(Input::Completed { agent, op, outcome })
    }

    /// Nothing is written by that operation any more.
    fn written(&mut self, agent: &AgentId, op: OpId) {
        let mut of_agent = self.writing.iter_mut().filter(|((whose, _), _)| whose == agent);
        let Some((key, writing)) =
            of_agent.find_map(|(key, writing)| writing.ops.remove(&op).then(|| (key.clone(), writing)))
        else {
            return;
        };
        if writing.ops.is_empty() {
            let ((agent, op), end) = (key.clone(), writing.end.take());
            self.writing.remove(&key);
            self.ready.extend(end.map(|outcome| Input::Completed { agent, op, outcome }));
        }
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

#[cfg(test)]
mod tests {
    use holon_facts::Millis;
    use holon_facts::outcome::{CommandEnd, ToolOutcome};
    use holon_facts::receipt::{Receipt, ToolFacts};
    use tokio::sync::oneshot;

    use super::*;

    fn outcome(end: Option<CommandEnd>) -> Outcome {
        let receipt = Receipt::success(Text::short("x"), ToolFacts::default());
        Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: Millis(0), end } }
    }

    async fn next(work: &mut Work) -> OpId {
        let Input::Completed { op, .. } = work.next().await else { panic!("another input") };
        op
    }

    #[tokio::test]
    async fn the_end_of_a_command_comes_after_what_is_written_to_it() {
        let (mut work, main) = (Work::default(), AgentId::new("main").unwrap());
        let (command, first, second, late) = (OpId(1), OpId(2), OpId(3), OpId(4));
        let pending = || {
            let (written, later) = oneshot::channel::<()>();
            (written, async move {
                later.await.ok();
                outcome(None)
            })
        };
        let ((write, writing), (_never, other)) = (pending(), pending());
        work.start_writing(main.clone(), first, command, writing);
        work.start_writing(main.clone(), second, command, other);
        work.start(main.clone(), command, async { outcome(Some(CommandEnd::Exited)) });
        let waits = tokio::time::timeout(std::time::Duration::from_millis(50), work.next()).await;
        assert!(waits.is_err(), "{waits:?}");
        // What begins after the end is not waited for.
        work.start_writing(main.clone(), late, command, async { outcome(None) });
        assert_eq!(next(&mut work).await, late);
        write.send(()).unwrap();
        assert_eq!(next(&mut work).await, first);
        // Nor is what is given up.
        work.cancel(&main, second);
        assert_eq!(next(&mut work).await, command);
        assert!(work.writing.is_empty());
    }
}
