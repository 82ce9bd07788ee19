//! The disk of a small world: not a log but what its log comes to after each row, so that a crash is a choice
//! among states that are there already.

use std::sync::Arc;

use holon_core::effect::Work;
use holon_core::{Answer, Effect};
use holon_facts::event::operation::OpKind;
use holon_facts::outcome::{CommandSpec, SupervisorIdentity};
use holon_facts::{AgentId, OpId, ReplyId, StepSeq};

use crate::checks::Checks;
use crate::commands;

/// The ledger up to a row: what it folds to, and what its readers made of it.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) checks: Arc<Checks>,
    pub(super) step: StepSeq,
}

/// A row that is not synced yet, with the effects that wait for it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) image: Image,
    pub(super) errands: Vec<Errand>,
}

/// An effect, without what a small world does not look at.
#[derive(Debug, Clone)]
pub(super) enum Errand {
    Reply {
        reply: ReplyId,
        answer: Answer,
    },
    Begin {
        agent: AgentId,
        op: OpId,
        kind: OpKind,
    },
    /// A supervisor is to come up.
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
    /// A command goes on, and is waited for again.
    Watch {
        agent: AgentId,
        op: OpId,
        supervisor: SupervisorIdentity,
    },
    /// A child is to be brought into memory.
    Load {
        child: AgentId,
    },
    /// Somebody looks at a plan.
    Look,
    /// A supervisor is given the word.
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
pub(super) struct Shelf {
    pub(super) durable: Image,
    pub(super) pending: Vec<Row>,
    /// What was durable before the last sync; only a broken disk goes back to it.
    pub(super) before: Image,
}

impl Shelf {
    pub(super) fn new(durable: Image) -> Self {
        Self { before: durable.clone(), durable, pending: Vec::new() }
    }

    /// All rows are on stable storage; gives the effects that waited for them.
    pub(super) fn sync(&mut self) -> Vec<Errand> {
        let mut errands = Vec::new();
        for row in self.pending.drain(..) {
            self.before = std::mem::replace(&mut self.durable, row.image);
            errands.extend(row.errands);
        }
        errands
    }

    /// The process has died: so many of the rows that were not synced survive.
    pub(super) fn crash(&mut self, kept: usize) {
        self.pending.truncate(kept);
        if let Some(row) = self.pending.pop() {
            self.before = std::mem::replace(&mut self.durable, row.image);
        }
        self.pending.clear();
    }
}

impl Errand {
    pub(super) fn of(effect: Effect) -> Self {
        match effect {
            Effect::Reply { reply, answer } => Self::Reply { reply, answer },
            Effect::Perform { agent, op, work } => Self::work(agent, op, work),
            Effect::StopCommand { agent, op, .. } => Self::Stop { agent, op },
            // Nobody edits a plan or a file in a small world, or lends anything.
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
            | Work::CallAgent { .. }
            | Work::PrepareAgent { .. }
            | Work::FindWorkspace { .. }
            | Work::RemoveWorktree { .. } => Self::Begin { agent, op, kind: work.kind() },
        }
    }
}
