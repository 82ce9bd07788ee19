//! The order in which the files of an agent are kept: one after the other, and tools wait for those that began before them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_facts::AgentId;
use tokio::sync::watch;

/// Those that have not ended, by agent; one that is under way and one that waits for it at most.
#[derive(Debug, Clone, Default)]
pub(super) struct Captures(Arc<Mutex<HashMap<AgentId, Queue>>>);

/// The newest of an agent last.
type Queue = Vec<watch::Receiver<()>>;

/// The right to keep the files of an agent, when those before it are kept. Its end is the end of the capture.
#[derive(Debug)]
pub(super) struct Turn {
    captures: Captures,
    agent: AgentId,
    before: Option<watch::Receiver<()>>,
    /// Whoever waits for this one holds the other end.
    end: Option<watch::Sender<()>>,
}

impl Captures {
    fn all(&self) -> MutexGuard<'_, HashMap<AgentId, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None where one waits already: it finds the files as this one would.
    pub(super) fn begin(&self, agent: &AgentId) -> Option<Turn> {
        let mut all = self.all();
        let queue = all.entry(agent.clone()).or_default();
        if queue.len() > 1 {
            return None;
        }
        let before = queue.last().cloned();
        let (end, over) = watch::channel(());
        queue.push(over);
        Some(Turn { captures: self.clone(), agent: agent.clone(), before, end: Some(end) })
    }

    /// Until those that were asked for are over.
    pub(super) async fn over(&self, agent: &AgentId) {
        let last = self.all().get(agent).and_then(|queue| queue.last().cloned());
        if let Some(last) = last {
            ended(last).await;
        }
    }
}

impl Turn {
    /// Until those before it are over.
    pub(super) async fn comes(&self) {
        if let Some(before) = self.before.clone() {
            ended(before).await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.end.take());
        let mut all = self.captures.all();
        if let Some(queue) = all.get_mut(&self.agent) {
            queue.retain(|over| over.has_changed().is_ok());
            if queue.is_empty() {
                all.remove(&self.agent);
            }
        }
    }
}

/// Nothing is ever sent: the channel closes.
async fn ended(mut over: watch::Receiver<()>) {
    while over.changed().await.is_ok() {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn one_after_the_other_and_who_comes_later_waits_for_all() {
        let captures = Captures::default();
        let [a, b] = ["a", "b"].map(|name| AgentId::new(name).expect("a name"));
        let first = captures.begin(&a).expect("nothing is under way");
        timeout(SOON, first.comes()).await.expect("it is the first one");
        let second = captures.begin(&a).expect("one is under way");
        assert!(captures.begin(&a).is_none(), "the second finds the same files");
        timeout(SOON, second.comes()).await.expect_err("the first one is under way");
        timeout(SOON, captures.over(&b)).await.expect("nothing of this one is kept");
        drop(first);
        timeout(SOON, second.comes()).await.expect("the first one is over");
        timeout(SOON, captures.over(&a)).await.expect_err("the second one is under way");
        drop(second);
        timeout(SOON, captures.over(&a)).await.expect("all are over");
        assert!(captures.all().is_empty());
    }
}
