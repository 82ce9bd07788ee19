//! Answers that somebody gave in the place of a model, when an agent was forked: each in a file until its end is durable, so
//! that whoever dies in between gives it again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use holon_api::{GivenAnswer, GivenCall};
use holon_facts::model::ModelAnswer;
use holon_facts::{AgentId, OpId};
use holon_models::given;
use holon_platform::clock;
use holon_text::Texts;
use serde_json::Value;

use crate::home::{Home, secret};

/// Answers that no agent was given yet.
#[derive(Debug)]
pub(super) struct GivenAnswers {
    folder: PathBuf,
    /// Operations that ended in one, and whose end is not known to be durable.
    under_way: Mutex<BTreeSet<(AgentId, OpId)>>,
}

impl GivenAnswers {
    pub(super) fn of(home: &Home) -> Self {
        Self { folder: home.root().join("answers"), under_way: Mutex::default() }
    }

    fn file(&self, agent: &AgentId) -> PathBuf {
        self.folder.join(format!("{agent}.json"))
    }

    /// The first request of that agent is to be answered with it; without one no longer.
    pub(super) fn put(&self, agent: &AgentId, answer: Option<&GivenAnswer>) -> io::Result<()> {
        let Some(answer) = answer else { return self.remove(agent) };
        fs::create_dir_all(&self.folder)?;
        secret::put(&self.file(agent), &serde_json::to_string(answer)?)
    }

    /// The answer that was given for the agent, if there is one.
    pub(super) fn take(
        &self,
        texts: &Texts,
        (agent, op): (&AgentId, OpId),
    ) -> io::Result<Option<ModelAnswer>> {
        let written = match fs::read(self.file(agent)) {
            Ok(written) => written,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let GivenAnswer { text, calls } = holon_facts::json::read(&written)?;
        let written = |GivenCall { tool, arguments }| (tool, Value::Object(arguments).to_string());
        let calls: Vec<_> = calls.into_iter().map(written).collect();
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).insert((agent.clone(), op));
        Ok(Some(given(texts, text.as_deref(), &calls, clock::now().wall)))
    }

    /// The end of an operation is durable: its answer is on record.
    pub(super) fn settled(&self, agent: &AgentId, op: OpId) {
        let under_way =
            self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&(agent.clone(), op));
        if under_way {
            // One that can't be removed is given again, which its agent's log shows.
            self.remove(agent).ok();
        }
    }

    fn remove(&self, agent: &AgentId) -> io::Result<()> {
        match fs::remove_file(self.file(agent)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
