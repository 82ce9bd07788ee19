//! What is shown while it happens and never kept: pieces of a model's text on their way, and the last lines of a command
//! in the foreground. Nothing depends on it; who listens too slowly misses pieces.

use std::sync::Arc;

use holon_facts::{AgentId, OpId};

/// One piece of live activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Live {
    /// An attempt began; pieces of an earlier attempt of the round are void.
    Attempt { agent: AgentId, op: OpId },
    /// More of the text of the attempt, redacted.
    Text { agent: AgentId, op: OpId, piece: String },
    /// The last lines that a command in the foreground has printed, redacted; they replace those before. None once it
    /// has ended, or goes on as a task.
    Output { agent: AgentId, op: OpId, lines: String },
}

/// Where live activity goes. Cheap to clone; never blocks for long.
#[derive(Clone)]
pub struct LiveSink {
    see: Arc<dyn Fn(Live) + Send + Sync>,
    /// Whether somebody looks at an agent's commands.
    followed: Arc<dyn Fn(&AgentId) -> bool + Send + Sync>,
}

impl LiveSink {
    /// For who has no use for the output of commands.
    pub fn new(see: impl Fn(Live) + Send + Sync + 'static) -> Self {
        Self::for_followers(see, |_| false)
    }

    /// For who follows some agents: the output of commands is read for those alone.
    pub fn for_followers(
        see: impl Fn(Live) + Send + Sync + 'static,
        followed: impl Fn(&AgentId) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { see: Arc::new(see), followed: Arc::new(followed) }
    }

    /// Nobody looks.
    pub fn nobody() -> Self {
        Self::new(drop)
    }

    pub fn send(&self, live: Live) {
        (self.see)(live);
    }

    /// Whether somebody looks at what commands of an agent print.
    pub fn is_followed(&self, agent: &AgentId) -> bool {
        (self.followed)(agent)
    }
}

/// The text of one attempt on its way to a sink.
pub struct LiveText {
    sink: LiveSink,
    agent: AgentId,
    op: OpId,
}

impl LiveText {
    /// Says that an attempt begins.
    pub fn begin(sink: LiveSink, agent: AgentId, op: OpId) -> Self {
        sink.send(Live::Attempt { agent: agent.clone(), op });
        Self { sink, agent, op }
    }

    /// Shows what is redacted already.
    pub fn show(&self, piece: String) {
        self.sink.send(Live::Text { agent: self.agent.clone(), op: self.op, piece });
    }
}
