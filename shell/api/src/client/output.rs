//! What a task writes, as it does, each byte once and in order: after a cut, from behind the last one that was handed over.

use super::Client;
use super::request::{Prepared, odd};
use super::sse::{Message, Sse};
use crate::path::TaskPath;
use crate::rows::FollowOutput;
use crate::{ClientError, Empty, Output, OutputPiece, OutputStreamQuery, Request, Written};

/// What is followed.
pub struct HttpOutput {
    task: TaskPath,
    /// Bytes that were handed over, or left out.
    offset: u64,
    events: Sse,
}

impl HttpOutput {
    pub(super) fn new(client: Client, task: TaskPath, offset: u64) -> Self {
        Self { task, offset, events: Sse::new(client) }
    }
}

impl Output for HttpOutput {
    async fn next(&mut self) -> Result<Written, ClientError> {
        loop {
            let query = OutputStreamQuery { offset: Some(self.offset), token: None };
            let request = Request::<FollowOutput> { path: self.task.clone(), query, body: Empty, key: None };
            let Message { kind, data } = self.events.next(&Prepared::of(request)?).await?;
            match kind.as_str() {
                "output" => {
                    let piece: OutputPiece = serde_json::from_str(&data).map_err(|error| odd(&error))?;
                    self.offset = piece.next_offset;
                    return Ok(Written::Piece(piece));
                }
                "end" => {
                    let end = serde_json::from_str(&data).map_err(|error| odd(&error))?;
                    return Ok(Written::End(Box::new(end)));
                }
                // A newer runtime may send more.
                _ => {}
            }
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }
}
