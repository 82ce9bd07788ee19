//! The disk of a small world: the folded state after each row instead of a log, so that a crash is a choice among
//! states that exist already.

use std::sync::Arc;

use holon_core::effect::Work;
use holon_core::{Answer, Effect};
use holon_facts::event::operation::OpKind;
use holon_facts::outcome::{CommandSpec, SupervisorIdentity};
use holon_facts::{AgentId, OpId, ReplyId, StepSeq};

use crate::checks::Checks;
use crate::commands;

/// The ledger up to a row: the checks that have read it, and its step.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) checks: Arc<Checks>,
    pub(super) step: StepSeq,
}

/// An unsynced row, with the effects that wait for it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) image: Image,
    pub(super) effects: Vec<SmallEffect>,
}

/// An effect, without details that a small world ignores.
#[derive(Debug, Clone)]
pub(super) enum SmallEffect {
    Reply {
        reply: ReplyId,
        answer: Answer,
    },
    Begin {
        agent: AgentId,
        op: OpId,
        kind: OpKind,
    },
    /// A supervisor is started.
    Prepare {
        agent: AgentId,
        op: OpId,
        command: CommandSpec,
    },
    /// A command is asked to end.
    Stop {
        agent: AgentId,
        op: OpId,
    },
    /// A running command is watched again.
    Watch {
        agent: AgentId,
        op: OpId,
        supervisor: SupervisorIdentity,
    },
    /// A child is loaded into memory.
    Load {
        child: AgentId,
    },
    /// A plan is probed.
    Look,
    /// A supervisor gets its start signal.
    Word {
        agent: AgentId,
        op: OpId,
        supervisor: SupervisorIdentity,
    },
    Cancel {
        agent: AgentId,
        op: OpId,
    },
}

#[derive(Debug, Clone)]
pub(super) struct SmallDisk {
    pub(super) durable: Image,
    pub(super) pending: Vec<Row>,
    /// What was durable before the last sync; only a sabotaged disk returns to it.
    pub(super) before: Image,
}

impl SmallDisk {
    pub(super) fn new(durable: Image) -> Self {
        Self { before: durable.clone(), durable, pending: Vec::new() }
    }

    /// Makes all rows durable; returns the effects that waited for them.
    pub(super) fn sync(&mut self) -> Vec<SmallEffect> {
        let mut effects = Vec::new();
        for row in self.pending.drain(..) {
            self.before = std::mem::replace(&mut self.durable, row.image);
            effects.extend(row.effects);
        }
        effects
    }

    /// The process has died: so many unsynced rows survive.
    pub(super) fn crash(&mut self, kept: usize) {
        self.pending.truncate(kept);
        if let Some(row) = self.pending.pop() {
            self.before = std::mem::replace(&mut self.durable, row.image);
        }
        self.pending.clear();
    }
}

impl SmallEffect {
    pub(super) fn of(effect: Effect) -> Self {
        match effect {
            Effect::Reply { reply, answer } => Self::Reply { reply, answer },
            Effect::Perform { agent, op, work } => Self::work(agent, op, work),
            Effect::StopCommand { agent, op, .. } => Self::Stop { agent, op },
            // No plan or file changes in a small world, and nothing is lent.
            Effect::ProbePlan { .. }
            | Effect::KeepTree { .. }
            | Effect::Borrow { .. }
            | Effect::ShareTurns { .. } => Self::Look,
            Effect::LoadChild { child, .. } => Self::Load { child },
            Effect::Cancel { agent, op } => Self::Cancel { agent, op },
        }
    }

    fn work(agent: AgentId, op: OpId, work: Work) -> Self {
        match work {
            Work::PrepareCommand { call, .. } => {
                Self::Prepare { agent, op, command: commands::spec(call.tool, &call.arguments) }
            }
            Work::RunCommand { supervisor } => Self::Word { agent, op, supervisor },
            Work::WatchCommand { supervisor } => Self::Watch { agent, op, supervisor },
            Work::LoadContext { .. }
            | Work::CallModel { .. }
            | Work::Summarize { .. }
            | Work::CallTool { .. }
            | Work::CallServer { .. }
            | Work::CallTask { .. }
            | Work::CallWork { .. }
            | Work::Look { .. }
            | Work::PrepareAgent { .. }
            | Work::FindWorkspace { .. }
            | Work::RemoveWorktree { .. } => Self::Begin { agent, op, kind: work.kind() },
        }
    }
}
