//! What is shown while it happens and never kept: pieces of a model's text on their way. Nothing depends on
//! it; who listens too slowly misses pieces.

use std::sync::Arc;

use holon_facts::{AgentId, OpId};

/// One piece of live activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Live {
    /// An attempt began; pieces of an earlier attempt of the round are void.
    Attempt { agent: AgentId, op: OpId },
    /// More of the text of the attempt, redacted.
    Text { agent: AgentId, op: OpId, piece: String },
}

/// Where live activity goes. Cheap to clone; never blocks for long.
#[derive(Clone)]
pub struct LiveSink(Arc<dyn Fn(Live) + Send + Sync>);

impl LiveSink {
    pub fn new(see: impl Fn(Live) + Send + Sync + 'static) -> Self {
        Self(Arc::new(see))
    }

    /// Nobody looks.
    pub fn nobody() -> Self {
        Self::new(drop)
    }

    pub fn send(&self, live: Live) {
        (self.0)(live);
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
