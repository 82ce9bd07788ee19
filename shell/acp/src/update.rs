//! From entries of a transcript to updates of a session.

use holon_api::{Block, Item, TranscriptEntry};
use holon_facts::AgentId;
use holon_facts::content::Text;
use holon_facts::ids::{MessageId, RoundIndex, RunId};
use holon_facts::provenance::MessageKind;
use holon_facts::work::{Todo, TodoState};
use holon_present::call;
use holon_rpc::Peer;
use serde_json::{Value, json};

use crate::diff::diffs;

/// Longest text of a result, in characters.
const RESULT: usize = 20_000;

/// What an entry says.
pub(crate) enum Told {
    /// The text of a round, as a whole.
    Text(String),
    Update(Value),
    /// The turn of a message failed: with which kind of failure, and why.
    Failed(MessageId, String, String),
}

/// Names the calls of the round in progress.
pub(crate) struct Updates {
    root: String,
    /// Calls of the newest round that have no result: where they stand in it, and their tool.
    open: Vec<(u32, String)>,
}

impl Updates {
    /// Relative paths begin at `root`.
    pub(crate) fn new(root: &str) -> Self {
        Self { root: root.to_owned(), open: Vec::new() }
    }

    /// What a call is named.
    pub(crate) fn call_of(&self, run: RunId, round: RoundIndex, index: u32) -> String {
        format!("{run}-{round}-{index}")
    }

    /// What an entry comes to, in the order of entries. A result is that of the call at `index` of its round, or of the
    /// first one of its tool that has none; one whose round was not shown comes to nothing.
    pub(crate) fn of(&mut self, entry: &TranscriptEntry, index: Option<u32>) -> Vec<Told> {
        match &entry.item {
            Item::IncomingMessage { message_kind: MessageKind::OperatorPrompt, text, .. } => {
                vec![Told::Update(chunk("user_message_chunk", text))]
            }
            Item::IncomingMessage { message_kind, text, .. } => {
                let line = holon_present::whole_line(text);
                vec![Told::Update(chunk("agent_thought_chunk", &format!("[{message_kind}: {line}]\n\n")))]
            }
            Item::AssistantRound { run_id, round, blocks, .. } => self.round(*run_id, *round, blocks),
            Item::ToolResults { run_id, round, tool_name, text, changed_files, error, .. } => {
                let Some(index) = index.or_else(|| self.next(tool_name)) else { return Vec::new() };
                let failure = error.as_ref().map(|error| error.message.preview().to_owned());
                let said = failure.as_deref().or(text.as_deref()).unwrap_or_default();
                let files = changed_files.iter().map(|file| json!({ "path": self.path(file) }));
                vec![Told::Update(json!({
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": self.call_of(*run_id, *round, index),
                    "status": if error.is_some() { "failed" } else { "completed" },
                    "content": [content(&clipped(said))],
                    "locations": files.collect::<Vec<_>>(),
                }))]
            }
            Item::RuntimeFailure { message_id, text, failure, .. } => {
                vec![Told::Failed(*message_id, failure.kind.to_string(), text.clone())]
            }
            Item::ContinuationPrompt { .. } => Vec::new(),
        }
    }

    fn next(&mut self, tool_name: &str) -> Option<u32> {
        let at = self.open.iter().position(|(_, tool)| tool == tool_name)?;
        Some(self.open.remove(at).0)
    }

    fn round(&mut self, run: RunId, round: RoundIndex, blocks: &[Block]) -> Vec<Told> {
        self.open.clear();
        let texts = blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::ToolCall { .. } => None,
        });
        let text: String = texts.collect();
        let mut told = if text.is_empty() { Vec::new() } else { vec![Told::Text(text)] };
        let mut index = 0;
        for block in blocks {
            let Block::ToolCall { tool_name, arguments, .. } = block else { continue };
            told.push(Told::Update(self.call(self.call_of(run, round, index), tool_name, arguments)));
            self.open.push((index, tool_name.clone()));
            index += 1;
        }
        told
    }

    fn call(&self, id: String, tool: &str, arguments: &str) -> Value {
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
        let changed = diffs(&input["patch"]);
        let changed = changed.into_iter().map(|(path, old, new)| {
            json!({ "type": "diff", "path": self.path(&path), "oldText": old, "newText": new })
        });
        json!({
            "sessionUpdate": "tool_call",
            "toolCallId": id,
            "title": call(tool, &Text::Inline(arguments.to_owned())),
            "kind": kind(tool),
            "status": "pending",
            "content": changed.collect::<Vec<_>>(),
            "rawInput": input,
        })
    }

    /// A path as an editor opens it.
    fn path(&self, path: &str) -> String {
        if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", self.root.trim_end_matches('/'))
        }
    }
}

/// What a tool does, in the words of the protocol.
fn kind(tool: &str) -> &'static str {
    match tool {
        "ExecCommand" | "ExecCommandBatch" => "execute",
        "ApplyPatch" => "edit",
        "ViewImage" => "read",
        "MemorySearch" | "MemoryGet" => "search",
        _ => "other",
    }
}

fn content(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

fn clipped(text: &str) -> String {
    let count = text.chars().count();
    if count <= RESULT {
        return text.to_owned();
    }
    let kept: String = text.chars().take(RESULT).collect();
    format!("{kept}\n[… {} more characters]", count - RESULT)
}

/// A piece of text.
pub(crate) fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

/// The steps of the work item that an agent is at.
pub(crate) fn plan(todos: &[Todo]) -> Value {
    let entries = todos.iter().map(|todo| {
        let status = match todo.state {
            TodoState::Pending => "pending",
            TodoState::InProgress => "in_progress",
            TodoState::Completed => "completed",
        };
        json!({ "content": todo.text, "priority": "medium", "status": status })
    });
    json!({ "sessionUpdate": "plan", "entries": entries.collect::<Vec<_>>() })
}

/// Sends an update of a session; none once the editor is gone.
pub(crate) async fn notify(peer: &Peer, agent: &AgentId, update: &Value) -> Option<()> {
    peer.notify("session/update", &json!({ "sessionId": agent, "update": update })).await.ok()
}
