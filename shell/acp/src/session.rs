//! Sessions that are open: each follows its agent, and knows the prompts that have no response yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_api::Control;
use holon_facts::{AgentId, EventSeq, MessageId};
use holon_platform::spawn;
use holon_rpc::{Error, Peer};
use serde_json::Value;
use tokio::sync::watch;
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

struct Session {
    following: Option<AbortHandle>,
    /// The last event that was shown.
    shown: watch::Sender<EventSeq>,
    failures: Failures,
    prompts: Vec<Prompt>,
}

/// A prompt without its response.
struct Prompt {
    request: Value,
    cancelled: watch::Sender<bool>,
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
        if !sessions.contains_key(agent) && sessions.len() >= MOST {
            return Err(invalid("sessionId", &format!("{MOST} sessions are open already: close one")));
        }
        let session = sessions.entry(agent.clone()).or_insert_with(|| Session {
            following: None,
            shown: watch::Sender::new(after),
            failures: Failures::default(),
            prompts: Vec::new(),
        });
        session.pause();
        session.shown.send_replace(after);
        let (shown, failures) = (session.shown.clone(), session.failures.clone());
        let followed = Followed { runtime, peer, agent: agent.clone(), root, own, shown, failures };
        session.following = Some(spawn::task(follow(followed, after)).abort_handle());
        Ok(())
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

    /// Follows it no more; its agent goes on.
    pub(crate) fn close(&self, agent: &AgentId) {
        if let Some(mut session) = self.lock().remove(agent) {
            session.pause();
        }
    }

    /// A prompt that has no response yet; none where the session is not open.
    pub(crate) fn prompted(&self, agent: &AgentId, request: &Value) -> Option<Pending> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(agent)?;
        session.prompts.retain(|prompt| !prompt.cancelled.is_closed());
        let (cancelled, receiver) = watch::channel(false);
        session.prompts.push(Prompt { request: request.clone(), cancelled });
        Some(Pending {
            agent: agent.clone(),
            request: request.clone(),
            cancelled: receiver,
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
        for prompt in self.lock().get(agent).into_iter().flat_map(|session| &session.prompts) {
            prompt.cancelled.send_replace(true);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.lock().values_mut().for_each(Session::pause);
    }
}

impl Session {
    fn pause(&mut self) {
        if let Some(following) = self.following.take() {
            following.abort();
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
