//! A run as a hash for comparing runs, and as lines for a person.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::effect::Work;
use holon_core::replay::Call;
use holon_core::{Effect, Input};
use holon_facts::{AgentId, Now};

use crate::choices::{chain, hash};
use crate::disk::Row;

/// How much of a run is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kept {
    /// Writing every record as text costs a tenth of a run.
    #[default]
    Nothing,
    Hash,
    /// The hash, and lines and moments for a person.
    Lines,
}

/// A hash chain over calls, records and effects.
#[derive(Debug, Clone)]
pub struct Trace {
    hashes: bool,
    pub hash: u64,
    /// The hash of each agent's records alone, without their steps.
    pub agents: BTreeMap<AgentId, u64>,
    /// Lines for a person, if requested.
    pub lines: Option<Vec<String>>,
    /// Short lines for a timeline.
    pub moments: Vec<Moment>,
}

/// Something that happened to one agent, or to the world.
#[derive(Debug, Clone)]
pub struct Moment {
    pub at: u64,
    pub agent: Option<AgentId>,
    pub what: String,
}

impl Trace {
    pub fn new(kept: Kept) -> Self {
        Self {
            hashes: kept != Kept::Nothing,
            hash: hash(b"holon"),
            agents: BTreeMap::new(),
            lines: (kept == Kept::Lines).then(Vec::new),
            moments: Vec::new(),
        }
    }

    fn mix(&mut self, text: &str) {
        self.hash = chain(chain(self.hash, text.as_bytes()), &[0]);
    }

    fn line(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    fn moment(&mut self, at: u64, agent: Option<&AgentId>, what: impl FnOnce() -> String) {
        if self.lines.is_some() {
            self.moments.push(Moment { at, agent: agent.cloned(), what: what() });
        }
    }

    pub fn row(&mut self, row: &Row, at: u64) {
        if !self.hashes {
            return;
        }
        if let Some((agent, what)) = named(&row.call) {
            self.moment(at, Some(agent), || format!("<{what}>"));
        }
        self.line(|| format!("{:>12} {}", seconds(at), call(&row.call)));
        for record in &row.records {
            let payload = record.event.payload().unwrap_or_default();
            let (agent, seq, kind) = (&record.agent, record.event_seq, record.event.kind());
            let mut hash = chain(hash(kind.as_bytes()), payload.as_bytes());
            hash = chain(chain(hash, &seq.0.to_le_bytes()), &record.at.0.to_le_bytes());
            self.mix(agent.as_str());
            self.hash = chain(self.hash, &hash.to_le_bytes());
            match self.agents.get_mut(agent) {
                Some(own) => *own = chain(*own, &hash.to_le_bytes()),
                None => drop(self.agents.insert(agent.clone(), hash)),
            }
            self.moment(at, Some(agent), || kind.into());
            self.line(|| format!("{:>12}   {agent} #{seq} {kind} {payload}", ""));
        }
    }

    pub fn effect(&mut self, effect: &Effect) {
        if !self.hashes {
            return;
        }
        let text = match effect {
            Effect::Reply { reply, answer } => {
                format!("reply {reply} {}", serde_json::to_string(answer).unwrap_or_default())
            }
            Effect::Perform { agent, op, work } => format!("{} {agent} {op} {}", work.kind(), carried(work)),
            Effect::StopCommand { agent, op, force } => format!("stop_command {agent} {op} {force}"),
            Effect::ProbePlan { agent, item, known } => {
                format!("probe_plan {agent} {item} {}", serde_json::to_string(known).unwrap_or_default())
            }
            Effect::KeepTree { agent, execution, moment } => {
                format!("keep_tree {agent} {} {}", execution.execution_root, moment.name())
            }
            Effect::Borrow { loan } => format!("borrow {}", serde_json::to_string(loan).unwrap_or_default()),
            Effect::ShareTurns { used } => {
                format!("share_turns {} of {}, {} waiting", used.running, used.lent, used.waiting)
            }
            Effect::LoadChild { agent, op, child } => format!("load_child {agent} {op} {child}"),
            Effect::Cancel { agent, op } => format!("cancel {agent} {op}"),
        };
        self.mix(&text);
        self.line(|| format!("{:>12}   → {text}", ""));
    }

    /// Notes an event of the world: a crash, a start, a jump of the clock.
    pub fn note(&mut self, at: u64, note: &str) {
        self.mix(note);
        self.moment(at, None, || note.into());
        self.line(|| format!("{:>12} == {note}", seconds(at)));
    }

    /// Notes something for a person, which is not part of the hash.
    pub fn remark(&mut self, at: u64, remark: &str) {
        self.moment(at, None, || remark.into());
        self.line(|| format!("{:>12} == {remark}", seconds(at)));
    }
}

/// The agent of a call, and the call's name.
fn named(call: &Call) -> Option<(&AgentId, &'static str)> {
    match call {
        Call::RuntimeStarted { .. } | Call::AgentsLeft { .. } => None,
        Call::Admit { agent, .. } => Some((agent, "admit")),
        Call::Recover { agent, .. } => Some((agent, "recover")),
        Call::Park { agent } => Some((agent, "park")),
        Call::Copy { agent, .. } => Some((agent, "copy")),
        Call::Step { input, .. } => match input {
            Input::CreateAgent { agent, .. } => Some((agent, "create")),
            Input::Ingress { agent, .. } => Some((agent, "message")),
            Input::Control { agent, .. } => Some((agent, "control")),
            Input::SetModel { agent, .. } => Some((agent, "model")),
            Input::Label { agent, .. } => Some((agent, "label")),
            Input::CloseAsk { agent, .. } => Some((agent, "close_ask")),
            Input::Compact { agent, .. } => Some((agent, "compact")),
            Input::RunTask { agent, .. } => Some((agent, "run_task")),
            Input::StopTask { agent, .. } => Some((agent, "stop_task")),
            Input::WriteTask { agent, .. } => Some((agent, "write_task")),
            Input::CreateTimer { agent, .. } => Some((agent, "create_timer")),
            Input::CancelTimer { agent, .. } => Some((agent, "cancel_timer")),
            Input::CreateWorkItem { agent, .. } => Some((agent, "create_work_item")),
            Input::CompleteWorkItem { agent, .. } => Some((agent, "complete_work_item")),
            Input::Wake { agent, .. } => Some((agent, "wake")),
            Input::Deliver { agent, .. } => Some((agent, "deliver")),
            Input::ChangeTrigger { agent, .. } => Some((agent, "change_trigger")),
            Input::ChangeWorkspace { agent, .. } => Some((agent, "change_workspace")),
            Input::Completed { agent, .. } => Some((agent, "completed")),
            Input::PlanProbed { agent, .. } => Some((agent, "plan_probed")),
            Input::TreeKept { agent, .. } => Some((agent, "tree_kept")),
            Input::LoginChanged { .. }
            | Input::Granted { .. }
            | Input::TurnsLent { .. }
            | Input::Tick
            | Input::Drain { .. } => None,
        },
    }
}

/// One column per agent, time going down, the last `most` moments.
pub fn timeline(moments: &[Moment], most: usize) -> String {
    let agents: BTreeSet<&AgentId> = moments.iter().filter_map(|moment| moment.agent.as_ref()).collect();
    let columns: Vec<&AgentId> = agents.into_iter().collect();
    let mut text = format!("{:>14}", "");
    for agent in &columns {
        text += &format!("  {:<28}", agent.as_str());
    }
    for moment in &moments[moments.len().saturating_sub(most)..] {
        let column = columns.iter().position(|agent| Some(*agent) == moment.agent.as_ref());
        let what = match column {
            Some(_) => moment.what.clone(),
            None => format!("== {}", moment.what),
        };
        let indent = 30 * column.unwrap_or(0) + 2;
        text += &format!("\n{:>14}{:indent$}{what}", seconds(moment.at), "");
    }
    text
}

/// Microseconds as seconds.
pub fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn call(call: &Call) -> String {
    let moment = |now: &Now| now.wall.to_string();
    match call {
        Call::RuntimeStarted { after, .. } => format!("runtime_started after step {after}"),
        Call::Admit { agent, through } => format!("admit {agent} through {through}"),
        Call::Recover { now, agent, .. } => format!("recover {agent} ({})", moment(now)),
        Call::Park { agent } => format!("park {agent}"),
        Call::Copy { agent, from, of } => format!("copy step {of} of {from} to {agent}"),
        Call::AgentsLeft { agents, to } => format!("{} agents left for cell {to}", agents.len()),
        Call::Step { now, input } => {
            format!("{} ({})", serde_json::to_string(input).unwrap_or_default(), moment(now))
        }
    }
}

/// What an operation is performed with, in short.
fn carried(work: &Work) -> String {
    let Work::CallModel { request } = work else { return serde_json::to_string(work).unwrap_or_default() };
    let (items, frame) = (request.conversation.len(), &request.frame.cache.context_fingerprint);
    format!("{} {items} items, frame {frame}", request.model)
}
