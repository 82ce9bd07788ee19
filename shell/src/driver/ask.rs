//! Who asked for something, and what they are told: once it is durable, or that it can't become so for now.

use holon_core::event::InboxFact;
use holon_core::{Answer, Event, Input, Record, ReplyId, StepSeq};
use tokio::sync::oneshot;

use super::{Driver, DriverError};
use crate::ledger::is_urgent;

/// Told what is answered, once it is durable. Dropped when the runtime ends before.
pub type Answered = Box<dyn FnOnce(Result<Answer, NoAnswer>) + Send>;

/// Why whoever asked is not told what they asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// It was not taken in.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// It was taken in and can't be taken back.
    #[error("it waits for room on the disk of the ledger: it is done as soon as there is some")]
    Waits,
}

/// Nothing new is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the disk of the ledger is full (a home keeps 32 MiB in reserve): free some space and try again")]
pub struct DiskFull;

/// Somebody who asked.
pub(super) struct Waiting {
    pub(super) answered: Answered,
    /// Once this step is durable, there is an answer.
    through: StepSeq,
    /// Waits for a full disk, too, instead of being told that it is one.
    patient: bool,
}

impl Driver {
    /// Asks for something, and waits until what was answered is durable.
    ///
    /// # Errors
    /// When the disk is full, or the runtime can't go on.
    pub async fn ask(&mut self, make: impl FnOnce(ReplyId) -> Input) -> Result<Answer, DriverError> {
        let (sender, mut receiver) = oneshot::channel();
        self.submit(make, Box::new(move |told| drop(sender.send(told))), true).await?;
        loop {
            match receiver.try_recv() {
                Ok(Ok(answer)) => return Ok(answer),
                // Whoever is patient is never told that it waits.
                Ok(Err(NoAnswer::DiskFull(full))) => return Err(full.into()),
                Ok(Err(NoAnswer::Waits)) | Err(_) => {}
            }
            self.pump().await?;
        }
    }

    /// Asks for something; whoever asks is told when the answer is durable, or as soon as it is known that the disk
    /// has no room for it.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub async fn post(
        &mut self,
        make: impl FnOnce(ReplyId) -> Input,
        answered: Answered,
    ) -> Result<(), DriverError> {
        self.submit(make, answered, false).await
    }

    async fn submit(
        &mut self,
        make: impl FnOnce(ReplyId) -> Input,
        answered: Answered,
        patient: bool,
    ) -> Result<(), DriverError> {
        let reply = ReplyId(self.next_reply);
        self.next_reply += 1;
        let input = make(reply);
        let urgent = is_urgent(&input);
        loop {
            let has_room = self.writer.has_room(urgent);
            if self.room.is_full() && (!urgent || !(has_room || patient)) {
                let known = self.known(&input).filter(|told| !patient || *told != Err(NoAnswer::Waits));
                answered(known.unwrap_or(Err(DiskFull.into())));
                return Ok(());
            }
            if has_room {
                break;
            }
            self.pump().await?;
        }
        self.step(input)?;
        let through = self.ahead.back().map(|ahead| ahead.step.seq()).unwrap_or_default();
        self.waiting.insert(reply, Waiting { answered, through, patient });
        Ok(())
    }

    /// What became of a message that came before under its key: nobody is told of it that it was not taken in.
    fn known(&self, input: &Input) -> Option<Result<Answer, NoAnswer>> {
        let Input::Ingress { agent, ingress, .. } = input else { return None };
        let message_id = self.host.view().admitted(agent, ingress.idempotency.as_ref()?)?;
        let admits = |record: &Record| match &record.event {
            Event::Inbox(InboxFact::MessageAdmitted(fact)) => {
                record.agent == *agent && fact.message.id == message_id
            }
            Event::Inbox(_)
            | Event::Lifecycle(_)
            | Event::Scheduling(_)
            | Event::Turn(_)
            | Event::Operation(_)
            | Event::Task(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wait(_)
            | Event::Wake(_)
            | Event::Outbox(_)
            | Event::Workspace(_)
            | Event::Brief(_) => false,
        };
        let waits = self.ahead.iter().any(|ahead| ahead.step.records().iter().any(admits));
        Some(if waits { Err(NoAnswer::Waits) } else { Ok(Answer::Admitted { message_id, duplicate: true }) })
    }

    /// Tells everybody whose answer waits for room on the disk that it does.
    pub(super) fn tell_who_waits(&mut self, through: StepSeq) {
        let waits = |waiting: &Waiting| waiting.through <= through && !waiting.patient;
        let told = self.waiting.extract_if(.., |_, waiting| waits(waiting));
        told.for_each(|(_, waiting)| (waiting.answered)(Err(NoAnswer::Waits)));
    }
}
