//! What may happen next in a small world: one thing at a time, small enough to be kept for every state.

use holon_core::event::operation::OpKind;
use holon_core::model::FailureKind;
use holon_core::outcome::{Certainty, OpFailure, Outcome};
use holon_core::{Text, Wall};

use super::SmallWorld;
use super::command::Working;
use crate::script::{Deed, Line};

/// One step of the nondeterminism. Agents count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Somebody makes one of the world's requests, by its position.
    Ask(u8),
    /// A client that was cut off makes its request again.
    Again(u8),
    /// An operator starts what is stopped.
    Start(u8),
    /// The performer that works for the agent is done.
    End(u8, Ending),
    /// An outcome of an operation that is over already.
    Stray(u8),
    /// Nothing happens until the next deadline; nobody has looked at it yet.
    Pass,
    /// The driver's timer rings.
    Ring,
    /// The disk is done with all rows, and their effects leave.
    Sync,
    /// The process dies; so many rows that were not synced survive.
    Crash(u8),
    /// A command ends that a process which died had let begin.
    Finish(u8, Ending),
    /// The supervisor that the agent's disk names is gone, and so is whatever it wrote.
    Lose(u8),
    /// The process starts from what is on the disk.
    Boot,
    /// The process leaves in good order.
    Leave,
    /// The agent leaves memory.
    Park(u8),
}

/// How an operation ends. A new kind of outcome gets a row here, in `fits`, and in the worlds that offer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As it should: files are read, the model says something, the tool works, a supervisor comes up.
    Plain,
    /// The model calls so many tools that need no supervisor.
    Calls(u8),
    /// The model calls so many commands.
    Commands(u8),
    Fails(FailureKind),
    /// The tool fails, or its supervisor does not come up.
    ToolFails,
    /// The performer itself breaks down, and nobody knows what it did.
    Breaks,
    /// An outcome of another operation's shape.
    Misfits,
}

impl Ending {
    /// Whether an operation of that kind may end so.
    pub(super) fn fits(self, kind: OpKind) -> bool {
        match self {
            Self::Plain | Self::Breaks | Self::Misfits => true,
            Self::Calls(_) | Self::Commands(_) | Self::Fails(_) => kind == OpKind::CallModel,
            Self::ToolFails => match kind {
                OpKind::CallTool | OpKind::PrepareCommand | OpKind::RunCommand => true,
                OpKind::LoadContext | OpKind::CallModel => false,
            },
        }
    }

    /// The same in the words of a scenario, in the round of that number; none where they have no word for it.
    pub(super) fn deed(self, kind: OpKind, round: usize) -> Option<Deed> {
        match self {
            Self::Plain => Some(plain(kind)),
            Self::Calls(count) => Some(calls(Vec::new(), ids(round, count))),
            Self::Commands(count) => Some(calls(ids(round, count), Vec::new())),
            Self::Fails(kind) => Some(Deed::Fails {
                kind,
                retry_after: (kind == FailureKind::RateLimited).then_some(3),
                resets_in: (kind == FailureKind::Quota).then_some(20_000_000),
            }),
            Self::ToolFails if kind == OpKind::PrepareCommand => Some(Deed::PrepareFails),
            Self::ToolFails => Some(Deed::ToolFails),
            Self::Breaks | Self::Misfits => None,
        }
    }

    /// Whether it is a command that ends so, with a record of it.
    pub(super) fn is_recorded(self) -> bool {
        match self {
            Self::Plain | Self::ToolFails => true,
            Self::Calls(_) | Self::Commands(_) | Self::Fails(_) | Self::Breaks | Self::Misfits => false,
        }
    }

    pub(super) fn outcome(self, working: &Working, round: usize, wall: Wall) -> Outcome {
        let kind = working.kind;
        let deed = self.deed(kind, round).or_else(|| (self == Self::Misfits).then(|| plain(another(kind))));
        let delivered = deed.and_then(|deed| {
            let line = Line { agent: 0, nth: 0, after: 0, deed };
            line.deliveries(wall, Some(&working.supervisor())).pop().map(|(_, outcome)| outcome)
        });
        delivered.unwrap_or_else(|| Outcome::Failed {
            failure: OpFailure { certainty: Certainty::Ambiguous, message: Text::short("it broke down") },
        })
    }
}

/// What a performer does when all is well.
fn plain(kind: OpKind) -> Deed {
    match kind {
        OpKind::LoadContext => Deed::Reads,
        OpKind::CallModel => Deed::Says { text: "done".into(), calls: Vec::new(), patches: Vec::new() },
        OpKind::CallTool | OpKind::RunCommand => Deed::ToolDone { output: "ok".into() },
        OpKind::PrepareCommand => Deed::Prepares,
    }
}

fn ids(round: usize, count: u8) -> Vec<String> {
    (0..count).map(|number| format!("c{round}-{number}")).collect()
}

fn calls(commands: Vec<String>, patches: Vec<String>) -> Deed {
    Deed::Says { text: String::new(), calls: commands, patches }
}

fn another(kind: OpKind) -> OpKind {
    match kind {
        OpKind::LoadContext => OpKind::CallModel,
        OpKind::CallModel => OpKind::CallTool,
        OpKind::CallTool => OpKind::LoadContext,
        OpKind::PrepareCommand => OpKind::RunCommand,
        OpKind::RunCommand => OpKind::PrepareCommand,
    }
}

impl Move {
    /// One line for a person.
    pub fn told(self, world: &SmallWorld) -> String {
        let request = |at: u8| match world.offers.get(usize::from(at)) {
            Some(offer) => {
                let what = serde_json::to_string(&offer.action).unwrap_or_default();
                format!("agent {}: {what}", offer.agent)
            }
            None => String::new(),
        };
        match self {
            Self::Ask(at) => request(at),
            Self::Again(at) => format!("{} again", request(at)),
            Self::Start(agent) => format!("agent {agent}: start"),
            Self::End(agent, ending) => format!("agent {agent}: its performer is done: {ending:?}"),
            Self::Stray(agent) => format!("agent {agent}: an outcome of an operation that is over"),
            Self::Pass => "time passes until the next deadline".into(),
            Self::Ring => "the timer rings".into(),
            Self::Sync => "the disk syncs".into(),
            Self::Crash(0) => "the process dies with all rows that are not synced".into(),
            Self::Crash(kept) => format!("the process dies, rows that are not synced but kept: {kept}"),
            Self::Finish(agent, ending) => format!("agent {agent}: its command ends meanwhile: {ending:?}"),
            Self::Lose(agent) => format!("agent {agent}: its supervisor is lost"),
            Self::Boot => "the process starts".into(),
            Self::Leave => "the process leaves".into(),
            Self::Park(agent) => format!("agent {agent} leaves memory"),
        }
    }
}
