//! Sessions that are open: each follows its agent, and knows the prompts that have no response yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_api::Control;
use holon_facts::{AgentId, EventSeq, MessageId};
use holon_platform::spawn;
use holon_rpc::{Error, Peer};
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

use crate::follow::{Followed, follow};
use crate::server::invalid;

/// Sessions that one editor has open.
const MOST: usize = 64;
/// Failures whose prompts may still wait for their response.
const FAILURES: usize = 64;

/// The sessions of one editor. They end with it.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<AgentId, Session>>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Session {
    following: Option<AbortHandle>,
    /// The last event that was shown.
    shown: watch::Sender<EventSeq>,
    failures: Failures,
    prompts: Vec<Prompt>,
    /// Closed once the last prompt has reached the runtime.
    last: Option<oneshot::Receiver<()>>,
}

/// A prompt without its response.
struct Prompt {
    request: Value,
    cancelled: watch::Sender<bool>,
}

/// The turn of a prompt at the runtime: those of a session reach it in the order in which they came. The next one waits
/// until this one is dropped.
pub(crate) struct Turn {
    before: Option<oneshot::Receiver<()>>,
    _next: oneshot::Sender<()>,
}

/// Why turns failed, by their messages.
#[derive(Clone, Default)]
pub(crate) struct Failures(Arc<Mutex<Vec<(MessageId, Failure)>>>);

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// A prompt on its way to its response.
pub(crate) struct Pending {
    pub(crate) agent: AgentId,
    /// The id of its request.
    pub(crate) request: Value,
    pub(crate) cancelled: watch::Receiver<bool>,
    /// None once the runtime has it.
    pub(crate) turn: Option<Turn>,
    /// The last event that was shown.
    pub(crate) shown: watch::Receiver<EventSeq>,
    pub(crate) failures: Failures,
}

impl Sessions {
    /// Follows an agent after an event, in a session that is new, or that was open already: its prompts stay. `own` begins
    /// the names of prompts of this connection.
    pub(crate) fn open<C: Control + Clone + Send + Sync + 'static>(
        &self,
        runtime: C,
        peer: Peer,
        (agent, root, own): (&AgentId, String, String),
        after: EventSeq,
    ) -> Result<(), Error> {
        let mut sessions = self.lock();
        let session = place(&mut sessions, agent)?;
        session.pause();
        session.shown.send_replace(after);
        let (shown, failures) = (session.shown.clone(), session.failures.clone());
        let followed = Followed { runtime, peer, agent: agent.clone(), root, own, shown, failures };
        session.following = Some(spawn::task(follow(followed, after)).abort_handle());
        Ok(())
    }

    /// Takes a place for a session that is about to be opened.
    pub(crate) fn reserve(&self, agent: &AgentId) -> Result<(), Error> {
        place(&mut self.lock(), agent).map(drop)
    }

    /// Whoever opens one waits for those who do.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Whether it is followed already: nothing of it was missed.
    pub(crate) fn is_open(&self, agent: &AgentId) -> bool {
        self.lock().get(agent).is_some_and(|session| session.following.is_some())
    }

    /// Shows nothing of it for now.
    pub(crate) fn pause(&self, agent: &AgentId) {
        if let Some(session) = self.lock().get_mut(agent) {
            session.pause();
        }
    }

    /// Cancels its prompts, as the protocol wants it, and follows it no more; its agent goes on.
    pub(crate) fn close(&self, agent: &AgentId) {
        if let Some(mut session) = self.lock().remove(agent) {
            session.cancel();
            session.pause();
        }
    }

    /// A prompt that has no response yet; none where the session is not open.
    pub(crate) fn prompted(&self, agent: &AgentId, request: &Value) -> Option<Pending> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(agent)?;
        session.prompts.retain(|prompt| !prompt.cancelled.is_closed());
        let (cancelled, receiver) = watch::channel(false);
        let (next, last) = oneshot::channel();
        let before = session.last.replace(last);
        session.prompts.push(Prompt { request: request.clone(), cancelled });
        Some(Pending {
            agent: agent.clone(),
            request: request.clone(),
            cancelled: receiver,
            turn: Some(Turn { before, _next: next }),
            shown: session.shown.subscribe(),
            failures: session.failures.clone(),
        })
    }

    /// A prompt has its response.
    pub(crate) fn answered(&self, agent: &AgentId, request: &Value) {
        if let Some(session) = self.lock().get_mut(agent) {
            session.prompts.retain(|prompt| prompt.request != *request);
        }
    }

    /// Cancels the prompts of a session that have no response yet. Later ones are not meant.
    pub(crate) fn cancel(&self, agent: &AgentId) {
        if let Some(session) = self.lock().get(agent) {
            session.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session of an agent; a new one where there is room for it.
fn place<'a>(sessions: &'a mut HashMap<AgentId, Session>, agent: &AgentId) -> Result<&'a mut Session, Error> {
    if !sessions.contains_key(agent) && sessions.len() >= MOST {
        return Err(invalid("sessionId", &format!("{MOST} sessions are open already: close one")));
    }
    Ok(sessions.entry(agent.clone()).or_default())
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.lock().values_mut().for_each(Session::pause);
    }
}

impl Session {
    fn cancel(&self) {
        for prompt in &self.prompts {
            prompt.cancelled.send_replace(true);
        }
    }

    fn pause(&mut self) {
        if let Some(following) = self.following.take() {
            following.abort();
        }
    }
}

impl Turn {
    /// Waits until the prompts before are at the runtime, or have failed.
    pub(crate) async fn comes(&mut self) {
        if let Some(before) = &mut self.before {
            // Nothing is sent: the sender is dropped.
            drop(before.await);
            self.before = None;
        }
    }
}

impl Failures {
    pub(crate) fn add(&self, message: MessageId, failure: Failure) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() == FAILURES {
            failures.remove(0);
        }
        failures.push((message, failure));
    }

    /// The last one of a message.
    pub(crate) fn of(&self, message: MessageId) -> Option<Failure> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.iter().rev().find(|(of, _)| *of == message).map(|(_, failure)| failure.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    async fn has_come(pending: &mut Pending) -> bool {
        let turn = pending.turn.as_mut().unwrap();
        tokio::time::timeout(Duration::from_millis(1), turn.comes()).await.is_ok()
    }

    #[tokio::test]
    async fn prompts_reach_the_runtime_in_the_order_in_which_they_came() {
        let (sessions, agent) = (Sessions::default(), AgentId::new("acp-1").unwrap());
        assert!(sessions.prompted(&agent, &json!(0)).is_none(), "it is not open");
        sessions.reserve(&agent).unwrap();
        let prompted = |id: u32| sessions.prompted(&agent, &json!(id)).unwrap();
        let (mut first, mut second, mut third) = (prompted(1), prompted(2), prompted(3));
        assert!(!has_come(&mut third).await && !has_come(&mut second).await && has_come(&mut first).await);
        first.turn = None;
        assert!(!has_come(&mut third).await && has_come(&mut second).await);
        // One that failed before it was sent holds up nobody.
        drop(second);
        assert!(has_come(&mut third).await);
        third.turn = None;
        assert!(has_come(&mut prompted(4)).await);
    }

    #[test]
    fn closing_a_session_cancels_its_prompts_and_makes_room() {
        let sessions = Sessions::default();
        let agents: Vec<AgentId> =
            (0..=MOST).map(|number| AgentId::new(&format!("acp-{number}")).unwrap()).collect();
        assert!(agents[..MOST].iter().all(|agent| sessions.reserve(agent).is_ok()));
        assert!(sessions.reserve(&agents[MOST]).is_err() && sessions.reserve(&agents[0]).is_ok());
        let prompt = sessions.prompted(&agents[0], &json!(1)).unwrap();
        sessions.close(&agents[0]);
        assert!(*prompt.cancelled.borrow() && sessions.reserve(&agents[MOST]).is_ok());
    }
}
