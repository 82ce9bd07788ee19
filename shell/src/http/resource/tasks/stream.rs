//! The output of a task while it is written, as server-sent events: from a byte on, to the end of the task. What a
//! follower has not taken stays in the log.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use holon_api::rows::FollowOutput;
use holon_api::{OutputEnd, OutputPiece, TaskPath};
use holon_core::agent::task::Task;
use holon_core::effect::Retrieval;
use holon_facts::AgentId;
use holon_facts::ids::TaskId;
use holon_supervise::output_log::{self, Chunk};
use tokio::time::Instant;

use super::super::super::App;
use super::super::super::failure::Failure;
use super::super::super::reply::Stream;
use super::super::super::route::{Call, Handled};
use super::super::sse::{self, ALIVE, HEARTBEAT, Steps};
use super::ended::{Happened, Watch};
use super::{known, snapshot};
use crate::tasks::{self, OutputRequest};

/// Most bytes of output in one event.
const PIECE: usize = 64 << 10;
/// A log says nothing when it grows: it is looked at again so soon, and less often the longer nothing comes.
const SOON: Duration = Duration::from_millis(25);
const LATER: Duration = Duration::from_millis(500);
const GONE: &str = "the log is gone; what its end has left on record of it is shown without following";
/// What the client is told to wait before it connects again.
const BEGIN: &str = ": output\nretry: 1000\n\n";

pub(in super::super::super) async fn stream(app: App, call: Call<FollowOutput>) -> Handled<Stream> {
    let TaskPath { agent_id: agent, task_id: id } = call.path;
    let seen = sse::last_event_id(&call.from.headers, "a number of bytes")?;
    let offset = seen.or(call.query.offset).unwrap_or_default();
    Ok(sse::stream(Follower::open(app, agent, id, offset).await?, BEGIN))
}

/// What comes next for a follower.
pub(in super::super::super) enum Moment {
    Piece(OutputPiece),
    /// The task has ended, and everything was sent.
    End(Box<OutputEnd>),
    /// Nothing came for a while.
    Silence,
}

/// One who follows.
pub(in super::super::super) struct Follower {
    app: App,
    agent: AgentId,
    id: TaskId,
    /// Bytes that were sent, or left out.
    offset: u64,
    watch: Watch,
    stage: Stage,
    pause: Duration,
    /// When something was sent last.
    said: Instant,
    leave: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// How far the follower is.
enum Stage {
    Running,
    /// The rest of the output is still to be sent.
    Ended(Box<Task>),
    /// Everything was sent.
    Told,
}

impl Steps for Follower {
    async fn step(mut self) -> Option<(Self, Bytes)> {
        // A stream that can't go on ends; the client resumes behind what it has, and is told why.
        let text = match self.next().await.ok()?? {
            Moment::Piece(piece) => Bytes::from(sse::at(piece.next_offset, "output", &piece)?),
            Moment::End(end) => Bytes::from(sse::at(end.next_offset, "end", &*end)?),
            Moment::Silence => ALIVE,
        };
        self.said = Instant::now();
        Some((self, text))
    }
}

impl Follower {
    /// # Errors
    /// What can't be read is refused, rather than a stream that breaks again and again.
    pub(in super::super::super) async fn open(
        app: App,
        agent: AgentId,
        id: TaskId,
        offset: u64,
    ) -> Handled<Self> {
        let watch = Watch::begin(&app, &agent, id).await?;
        let task = known(&app, &agent, id).await?;
        let ended = task.status.is_terminal();
        let leave = Box::pin(app.shutdown.asked());
        let stage = if ended { Stage::Ended(Box::new(task)) } else { Stage::Running };
        let said = Instant::now();
        let mut follower = Self { app, agent, id, offset, watch, stage, pause: SOON, said, leave };
        follower.read().await?;
        Ok(follower)
    }

    /// None at the end.
    pub(in super::super::super) async fn next(&mut self) -> Handled<Option<Moment>> {
        loop {
            if matches!(self.stage, Stage::Told) {
                return Ok(None);
            }
            let chunk = self.read().await?;
            if chunk.next_offset > self.offset {
                self.pause = SOON;
                return Ok(Some(self.piece(chunk)));
            }
            if let Stage::Ended(task) = std::mem::replace(&mut self.stage, Stage::Told) {
                return self.end(*task).await.map(Some);
            }
            self.stage = Stage::Running;
            if let Some(said) = self.wait().await? {
                return Ok(said);
            }
        }
    }

    async fn read(&mut self) -> Handled<Chunk> {
        let (agent, id, offset) = (self.agent.clone(), self.id, self.offset);
        let ended = !matches!(self.stage, Stage::Running);
        let read = move |app: &App| {
            let log = tasks::log(&app.home.agent(&agent), id);
            output_log::from(app.runtime.texts(), &log, offset, PIECE, ended)
                .map_err(|problem| Failure::internal(format!("the log of {id} can't be read: {problem}")))
        };
        self.app.blocking(read).await
    }

    fn piece(&mut self, chunk: Chunk) -> Moment {
        let Chunk { offset, next_offset, text, lost_bytes } = chunk;
        self.offset = next_offset;
        Moment::Piece(OutputPiece { offset, next_offset, text, lost_bytes })
    }

    async fn end(&mut self, task: Task) -> Handled<Moment> {
        let problem = self.missing(task.clone()).await?;
        let task = snapshot(&self.app, self.agent.clone(), task).await?;
        let end = OutputEnd { next_offset: self.offset, task: task.into(), problem };
        Ok(Moment::End(Box::new(end)))
    }

    /// Why this is not all of the output. A log that is gone is told from an output that there never was by what the end
    /// has left on record.
    async fn missing(&mut self, task: Task) -> Handled<Option<String>> {
        let agent = self.agent.clone();
        let look = move |app: &App| {
            let log = tasks::log(&app.home.agent(&agent), task.id);
            let wanted = OutputRequest { retrieval: Retrieval::Success, characters: 1 };
            let left = tasks::output(app.runtime.texts(), &agent, &task, &log, wanted).task;
            let gone = task.child().is_none() && left.artifacts.is_empty() && !left.output_preview.is_empty();
            Ok(gone.then(|| GONE.to_owned()).or(left.output_problem))
        };
        self.app.blocking(look).await
    }

    /// Waits until there may be more. Inside: what is to be said at once, none to end.
    async fn wait(&mut self) -> Handled<Option<Option<Moment>>> {
        let silent_until = self.said + HEARTBEAT;
        tokio::select! {
            biased;
            () = &mut self.leave => Ok(Some(None)),
            happened = self.watch.next() => {
                match happened? {
                    Happened::Nothing => {}
                    Happened::Something => self.pause = SOON,
                    Happened::Ended => {
                        let task = known(&self.app, &self.agent, self.id).await?;
                        self.stage = Stage::Ended(Box::new(task));
                    }
                }
                Ok(None)
            }
            () = tokio::time::sleep_until(silent_until) => Ok(Some(Some(Moment::Silence))),
            () = tokio::time::sleep(self.pause) => {
                self.pause = (self.pause * 2).min(LATER);
                Ok(None)
            }
        }
    }
}
