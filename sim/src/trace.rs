//! What happened, as a hash for comparing two runs and as lines for a person.

use holon_core::replay::Call;
use holon_core::{Effect, Now};

use crate::choices::{chain, hash};
use crate::disk::Row;

/// A hash chain over calls, records and effects.
#[derive(Debug, Clone)]
pub struct Trace {
    pub hash: u64,
    /// Filled when somebody wants to read it.
    pub lines: Option<Vec<String>>,
}

impl Trace {
    pub fn new(readable: bool) -> Self {
        Self { hash: hash(b"holon"), lines: readable.then(Vec::new) }
    }

    fn mix(&mut self, text: &str) {
        self.hash = chain(chain(self.hash, text.as_bytes()), &[0]);
    }

    fn line(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    pub fn row(&mut self, row: &Row, at: u64) {
        self.line(|| format!("{:>12} {}", seconds(at), call(&row.call)));
        for record in &row.records {
            let payload = record.event.payload().unwrap_or_default();
            let (agent, seq, kind) = (&record.agent, record.event_seq, record.event.kind());
            self.mix(agent.as_str());
            self.hash = chain(self.hash, &seq.0.to_le_bytes());
            self.hash = chain(self.hash, &record.at.0.to_le_bytes());
            self.mix(kind);
            self.mix(&payload);
            self.line(|| format!("{:>12}   {agent} #{seq} {kind} {payload}", ""));
        }
    }

    pub fn effect(&mut self, effect: &Effect) {
        let text = match effect {
            Effect::Reply { reply, answer } => {
                format!("reply {reply} {}", serde_json::to_string(answer).unwrap_or_default())
            }
            Effect::LoadContext { agent, op, .. } => format!("load_context {agent} {op}"),
            Effect::CallModel { agent, op, request } => {
                let (items, frame) = (request.conversation.len(), &request.frame.cache.context_fingerprint);
                format!("call_model {agent} {op} {} {items} items, frame {frame}", request.model)
            }
            Effect::CallTool { agent, op, call } => format!("call_tool {agent} {op} {}", call.call_id),
            Effect::Cancel { agent, op } => format!("cancel {agent} {op}"),
        };
        self.mix(&text);
        self.line(|| format!("{:>12}   → {text}", ""));
    }

    /// Something of the world's own: a crash, a start, a jump of the clock.
    pub fn note(&mut self, at: u64, note: &str) {
        self.mix(note);
        self.line(|| format!("{:>12} == {note}", seconds(at)));
    }
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
        Call::Step { now, input } => {
            format!("{} ({})", serde_json::to_string(input).unwrap_or_default(), moment(now))
        }
    }
}
