//! What may happen next in a small world: single moves, small enough to be kept for every state.

use holon_facts::event::operation::OpKind;
use holon_facts::model::FailureKind;
use holon_facts::outcome::{Certainty, OpFailure, Outcome};
use holon_facts::{Text, Wall};

use super::SmallWorld;
use super::command::Working;
use crate::script::{Deed, Line};

/// Number of the command that soon goes on as a task.
const TASK: u32 = 6;

/// The folder that all agents use.
const FOLDER: &str = "/p0";

/// One nondeterministic step. Agents count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// A client makes one of the world's requests, by its position.
    Ask(u8),
    /// A client that was cut off makes its request again.
    Again(u8),
    /// An operator starts a stopped agent.
    Start(u8),
    /// An operator ends the first child of the agent, which would never end by itself.
    Dismiss(u8),
    /// A performer of the agent ends its operation, given by its position among the agent's.
    End(u8, u8, Ending),
    /// An outcome of an ended operation arrives.
    Stray(u8),
    /// Time passes until the next deadline, which the driver has not handled yet.
    Pass,
    /// The driver's timer rings.
    Ring,
    /// The disk syncs all rows, and their effects leave.
    Sync,
    /// The process dies; so many unsynced rows survive.
    Crash(u8),
    /// A command of a process that died ends, by its position among those of the agent.
    Finish(u8, u8, Ending),
    /// A supervisor of the agent is gone, with everything that it wrote.
    Lose(u8, u8),
    /// The process starts from what is on the disk.
    Boot,
    /// The process exits in good order.
    Leave,
    /// The agent is evicted from memory.
    Park(u8),
}

/// What a model may ask for: about the first task, which may be a child, the first work item, the one folder, or
/// itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    List,
    Output,
    Look,
    Stop,
    Force,
    Pick,
    Block,
    Complete,
    /// A child that works for the agent, and a message to it.
    Child,
    Tell,
    /// To work in the folder.
    Enter,
    /// To wait for anything from outside, for a second, or for the operator.
    AwaitAnything,
    AwaitTime,
    AwaitOperator,
}

impl Ask {
    fn call(self) -> (String, String) {
        const TASK: &str = r#""task_id":"task_1""#;
        const ITEM: &str = r#""work_item_id":"work_1""#;
        const WAIT: &str = r#""reason":"it has to come""#;
        let (tool, first, rest) = match self {
            Self::List => ("TaskList", "", ""),
            Self::Output => ("TaskOutput", TASK, ""),
            Self::Look => ("TaskOutput", TASK, r#","block":false"#),
            Self::Stop => ("TaskStop", TASK, ""),
            Self::Force => ("TaskStop", TASK, r#","force":true"#),
            Self::Pick => ("PickWorkItem", ITEM, r#","clear_blocker":true"#),
            Self::Block => ("UpdateWorkItem", ITEM, r#","blocked_by":"rain""#),
            Self::Complete => ("CompleteWorkItem", ITEM, ""),
            Self::Child => ("SpawnAgent", r#""initial_message":"go""#, ""),
            Self::Enter => ("UseWorkspace", r#""path":"/p0""#, ""),
            Self::Tell => ("TaskInput", TASK, r#","input":"go on""#),
            Self::AwaitAnything => ("WaitFor", WAIT, r#","wake":"external""#),
            Self::AwaitTime => ("WaitFor", WAIT, r#","wake":"timer","resource":"1s""#),
            Self::AwaitOperator => ("WaitFor", WAIT, r#","wake":"operator_input""#),
        };
        (tool.into(), format!("{{{first}{rest}}}"))
    }
}

/// How an operation ends. A new kind of outcome gets a row here, in `fits`, and in the worlds that offer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Success: files are read, the model answers, the tool works, a supervisor comes up.
    Plain,
    /// The model calls so many tools that need no supervisor.
    Calls(u8),
    /// The model calls so many commands.
    Commands(u8),
    /// The model calls so many commands that soon go on as tasks.
    Tasks(u8),
    /// The model makes this call.
    Asks(Ask),
    Fails(FailureKind),
    /// A command that was asked to end has ended.
    Stopped,
    /// The tool fails, or its supervisor does not come up.
    ToolFails,
    /// The performer itself breaks down, and nobody knows what it did.
    Breaks,
    /// An outcome of another operation's shape.
    Misfits,
}

impl Ending {
    /// Whether an operation of this kind may end so.
    pub(super) fn fits(self, kind: OpKind) -> bool {
        match self {
            Self::Plain | Self::Breaks | Self::Misfits => true,
            Self::Calls(_) | Self::Commands(_) | Self::Tasks(_) | Self::Asks(_) | Self::Fails(_) => {
                kind == OpKind::CallModel
            }
            Self::Stopped => kind == OpKind::RunCommand,
            Self::ToolFails => matches!(
                kind,
                OpKind::CallTool
                    | OpKind::PrepareCommand
                    | OpKind::RunCommand
                    | OpKind::PromoteCommand
                    | OpKind::WriteInput
            ),
        }
    }

    /// The scripted deed of a scenario for this ending, in the round of that number; none if a script can't express it.
    pub(super) fn deed(self, kind: OpKind, round: usize) -> Option<Deed> {
        match self {
            Self::Plain => Some(plain(kind)),
            Self::Calls(count) => Some(calls(Vec::new(), 0, ids(round, count))),
            Self::Commands(count) => Some(calls(ids(round, count), 0, Vec::new())),
            Self::Tasks(count) => Some(calls(ids(round, count), TASK, Vec::new())),
            Self::Asks(ask) => Some(asks(ask)),
            Self::Stopped => Some(Deed::CommandStopped),
            Self::Fails(kind) => Some(Deed::Fails {
                kind,
                retry_after: (kind == FailureKind::RateLimited).then_some(3),
                resets_in: (kind == FailureKind::Quota).then_some(20_000_000),
            }),
            Self::ToolFails if kind == OpKind::PrepareCommand => Some(Deed::PrepareFails),
            Self::ToolFails if kind == OpKind::PromoteCommand => Some(Deed::TaskFails),
            Self::ToolFails => Some(Deed::ToolFails),
            Self::Breaks | Self::Misfits => None,
        }
    }

    /// Whether a command may end so, with a record of its end.
    pub(super) fn is_recorded(self) -> bool {
        matches!(self, Self::Plain | Self::ToolFails)
    }

    pub(super) fn outcome(self, working: &Working, round: usize, wall: Wall) -> Outcome {
        let kind = working.kind;
        let deed = self.deed(kind, round).or_else(|| (self == Self::Misfits).then(|| plain(another(kind))));
        let delivered = deed.and_then(|deed| {
            let line = Line { agent: 0, nth: 0, after: 0, deed };
            line.deliveries(wall, Some(working.up())).pop().map(|(_, outcome)| outcome)
        });
        delivered.unwrap_or_else(|| Outcome::Failed {
            failure: OpFailure { certainty: Certainty::Ambiguous, message: Text::short("it broke down") },
        })
    }
}

/// The successful deed of a performer.
fn plain(kind: OpKind) -> Deed {
    match kind {
        OpKind::LoadContext => Deed::Reads,
        OpKind::CallModel | OpKind::Summarize => answers("done"),
        OpKind::CallTool | OpKind::RunCommand => Deed::ToolDone { output: "ok".into() },
        OpKind::PrepareCommand => Deed::Prepares,
        OpKind::PromoteCommand
        | OpKind::AwaitTask
        | OpKind::WriteInput
        | OpKind::SuperviseChild
        | OpKind::RemoveWorktree => Deed::TaskLooks,
        OpKind::FindWorkspace => Deed::Finds { root: FOLDER.into() },
    }
}

fn ids(round: usize, count: u8) -> Vec<String> {
    (0..count).map(|number| format!("c{round}-{number}")).collect()
}

fn answers(text: &str) -> Deed {
    let (calls, patches, asks) = (Vec::new(), Vec::new(), Vec::new());
    Deed::Says { text: text.into(), calls, command: 0, patches, asks }
}

fn calls(commands: Vec<String>, command: u32, patches: Vec<String>) -> Deed {
    Deed::Says { text: String::new(), calls: commands, command, patches, asks: Vec::new() }
}

fn asks(ask: Ask) -> Deed {
    let (calls, patches) = (Vec::new(), Vec::new());
    Deed::Says { text: String::new(), calls, command: 0, patches, asks: vec![ask.call()] }
}

fn another(kind: OpKind) -> OpKind {
    match kind {
        OpKind::LoadContext => OpKind::CallModel,
        OpKind::CallModel | OpKind::Summarize => OpKind::CallTool,
        OpKind::CallTool => OpKind::LoadContext,
        OpKind::PrepareCommand => OpKind::RunCommand,
        OpKind::RunCommand
        | OpKind::PromoteCommand
        | OpKind::AwaitTask
        | OpKind::WriteInput
        | OpKind::SuperviseChild
        | OpKind::FindWorkspace
        | OpKind::RemoveWorktree => OpKind::PrepareCommand,
    }
}

impl Move {
    /// One line for a person.
    pub fn line(self, world: &SmallWorld) -> String {
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
            Self::Dismiss(agent) => format!("agent {agent}: an operator ends its child"),
            Self::End(agent, nth, ending) => {
                format!("agent {agent}: its performer {nth} is done: {ending:?}")
            }
            Self::Stray(agent) => format!("agent {agent}: an outcome of an operation that is over"),
            Self::Pass => "time passes until the next deadline".into(),
            Self::Ring => "the timer rings".into(),
            Self::Sync => "the disk syncs".into(),
            Self::Crash(0) => "the process dies with all rows that are not synced".into(),
            Self::Crash(kept) => format!("the process dies, rows that are not synced but kept: {kept}"),
            Self::Finish(agent, nth, ending) => {
                format!("agent {agent}: its command {nth} ends meanwhile: {ending:?}")
            }
            Self::Lose(agent, nth) => format!("agent {agent}: its supervisor {nth} is lost"),
            Self::Boot => "the process starts".into(),
            Self::Leave => "the process leaves".into(),
            Self::Park(agent) => format!("agent {agent} leaves memory"),
        }
    }
}
