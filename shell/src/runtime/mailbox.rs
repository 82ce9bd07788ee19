//! Requests to the runtime's actor, in two bounded queues: urgent ones do not wait behind the rest.

use holon_core::view::View;
use holon_core::{Answer, Input};
use holon_facts::{AgentId, EventSeq, ReplyId};
use holon_ledger::write::ForkError;
use tokio::sync::{mpsc, oneshot};

use super::Unavailable;
use crate::driver::ForkOrder;

/// Requests in a queue at most; later senders wait.
const LINE: usize = 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    Normal,
    Urgent,
}

pub(super) type Make = Box<dyn FnOnce(ReplyId) -> Input + Send>;
pub(super) type Read = Box<dyn FnOnce(Result<View<'_>, Unavailable>) + Send>;
type Answers = oneshot::Sender<Result<Answer, Unavailable>>;

/// Whoever asked and waits. Dropped before the request was taken in, it answers that the runtime is leaving.
pub(super) struct Asker(Option<Answers>);

/// One request. Dropping it unanswered tells its sender that the runtime is leaving.
pub(super) enum Request {
    Ask { agent: Option<AgentId>, urgency: Urgency, make: Make, asker: Asker },
    Read { agent: Option<AgentId>, read: Read },
    Fork { order: Box<ForkOrder>, forked: oneshot::Sender<Result<EventSeq, ForkError>> },
    Leave,
}

impl Asker {
    pub(super) fn new() -> (Self, oneshot::Receiver<Result<Answer, Unavailable>>) {
        let (answers, receiver) = oneshot::channel();
        (Self(Some(answers)), receiver)
    }

    pub(super) fn answer(mut self, answer: Result<Answer, Unavailable>) {
        if let Some(answers) = self.0.take() {
            // Whoever has gone away needs no answer.
            drop(answers.send(answer));
        }
    }

    /// The request is taken in: without an answer it is not known what became of it.
    pub(super) fn taken_in(mut self) -> Option<Answers> {
        self.0.take()
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        if let Some(answers) = self.0.take() {
            drop(answers.send(Err(Unavailable::Leaving)));
        }
    }
}

/// The senders' end.
#[derive(Clone)]
pub(super) struct MailboxSender {
    normal: mpsc::Sender<Request>,
    urgent: mpsc::Sender<Request>,
}

/// The actor's end.
pub(super) struct Mailbox {
    pub(super) normal: mpsc::Receiver<Request>,
    pub(super) urgent: mpsc::Receiver<Request>,
}

impl Mailbox {
    pub(super) fn open() -> (MailboxSender, Self) {
        let (normal, normal_line) = mpsc::channel(LINE);
        let (urgent, urgent_line) = mpsc::channel(LINE);
        (MailboxSender { normal, urgent }, Self { normal: normal_line, urgent: urgent_line })
    }
}

impl MailboxSender {
    pub(super) async fn send(&self, urgency: Urgency, request: Request) -> Result<(), Unavailable> {
        let line = match urgency {
            Urgency::Normal => &self.normal,
            Urgency::Urgent => &self.urgent,
        };
        line.send(request).await.map_err(|_| Unavailable::Leaving)
    }
}
