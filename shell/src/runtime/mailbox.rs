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
pub(super) type Answered = oneshot::Sender<Result<Answer, Unavailable>>;

/// One request. Dropping it unanswered tells its sender that the runtime is leaving.
pub(super) enum Request {
    Ask { agent: Option<AgentId>, urgency: Urgency, make: Make, answered: Answered },
    Read { agent: Option<AgentId>, read: Read },
    Fork { order: Box<ForkOrder>, forked: oneshot::Sender<Result<EventSeq, ForkError>> },
    Leave,
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
