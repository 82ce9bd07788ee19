//! What a task writes, as it does, each byte once and in order: after a cut, from behind the last one that was seen.

use holon_api::OutputPiece;
use holon_core::AgentId;
use holon_core::ids::TaskId;
use serde_json::Value;

use super::request::{Ask, odd};
use super::sse::Sse;
use super::{Client, ClientError};

/// What is followed.
pub struct FollowOutput {
    path: String,
    /// Bytes that were handed over, or left out.
    offset: u64,
    events: Sse,
}

/// What comes along.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    Piece(OutputPiece),
    /// The task has ended, and everything was handed over: the task as it stands now.
    End {
        task: Value,
        /// Why that is not all of the output.
        problem: Option<String>,
    },
}

impl FollowOutput {
    /// Begins after so many bytes.
    pub fn from(client: Client, agent: &AgentId, task: TaskId, offset: u64) -> Self {
        let path = format!("/agents/{agent}/tasks/{task}/output/stream");
        Self { path, offset, events: Sse::new(client) }
    }

    /// Bytes that were handed over, or left out.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Waits for what comes next; nothing does after the end. Giving the wait up loses nothing.
    ///
    /// # Errors
    /// What can't be followed, or a runtime that stays away.
    pub async fn next(&mut self) -> Result<Written, ClientError> {
        loop {
            let ask = Ask::get(&self.path, &[("offset", Some(self.offset.to_string()))]);
            let message = self.events.next(&ask).await?;
            match message.kind.as_str() {
                "output" => {
                    let piece: OutputPiece =
                        serde_json::from_value(message.data).map_err(|error| odd(&error))?;
                    self.offset = piece.next_offset;
                    return Ok(Written::Piece(piece));
                }
                "end" => {
                    let task = message.data.get("task").cloned().unwrap_or_default();
                    let problem = message.data.get("problem").and_then(Value::as_str).map(str::to_owned);
                    return Ok(Written::End { task, problem });
                }
                // A newer runtime may tell more.
                _ => {}
            }
        }
    }
}
