//! Who asked for something, and what they are told: once it is durable, or that it can't become so for now.

use holon_core::{Answer, Input};
use holon_facts::event::InboxFact;
use holon_facts::{Event, Now, Record, ReplyId, StepSeq};
use holon_ledger::{LedgerReader, LedgerWriter};

use super::Engine;
use crate::error::{DiskFull, EngineError};

/// Why whoever asked is not told what they asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// It was not taken in.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// It was taken in and can't be taken back.
    #[error("it waits for free space on the disk of the ledger: it is done as soon as there is some")]
    Waits,
}

/// Whether something may be asked for now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it is looked at once, where it is made")]
pub enum Admits {
    Now,
    /// The disk is behind: after the next report.
    Later,
    /// It is not taken in, and this is the answer.
    Refused(Result<Answer, NoAnswer>),
}

/// Somebody who asked.
#[derive(Debug)]
pub(crate) struct Waiting<C> {
    caller: C,
    /// Once this step is durable, there is an answer.
    through: StepSeq,
    /// Waits for a full disk, too, instead of being told that it is one.
    patient: bool,
}

impl<W: LedgerWriter, R: LedgerReader<Error = W::Error>, C> Engine<W, R, C> {
    /// The name of the next answer.
    pub fn next_reply(&mut self) -> ReplyId {
        self.next_reply = self.next_reply.next();
        self.next_reply
    }

    /// Whether something may be asked for now.
    pub fn admits(&self, input: &Input, patient: bool) -> Admits {
        let urgent = input.is_urgent();
        let has_capacity = self.has_capacity(urgent);
        if self.stall.is_some() && (!urgent || !(has_capacity || patient)) {
            let known = self.known(input).filter(|told| !patient || *told != Err(NoAnswer::Waits));
            return Admits::Refused(known.unwrap_or(Err(DiskFull.into())));
        }
        if has_capacity { Admits::Now } else { Admits::Later }
    }

    /// Asks for what was admitted; the caller is given back with the answer, or as soon as it is known that the disk has
    /// no room for it, unless it is patient. Says whether another step is to follow.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn ask(
        &mut self,
        clock: Now,
        input: Input,
        reply: ReplyId,
        caller: C,
        patient: bool,
    ) -> Result<bool, EngineError<W::Error>> {
        let more = self.step(clock, input)?;
        let through = self.ahead.back().map(|ahead| ahead.step.seq()).unwrap_or_default();
        self.waiting.insert(reply, Waiting { caller, through, patient });
        Ok(more)
    }

    /// Who waits for an answer, which is durable now. Whoever asked may have been told that it waits.
    pub fn answered(&mut self, reply: ReplyId) -> Option<C> {
        self.waiting.remove(&reply).map(|waiting| waiting.caller)
    }

    /// Those who are to be told that what they asked for waits for room on the disk.
    pub fn take_put_off(&mut self) -> Vec<C> {
        std::mem::take(&mut self.put_off)
    }

    /// What became of a message that came before under its key: nobody is notified of it that it was not taken in.
    fn known(&self, input: &Input) -> Option<Result<Answer, NoAnswer>> {
        let Input::Ingress { agent, ingress, .. } = input else { return None };
        let message_id = self.view().admitted(agent, ingress.idempotency.as_ref()?)?;
        let admits = |record: &Record| {
            let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return false };
            record.agent == *agent && fact.message.id == message_id
        };
        let waits = self.ahead.iter().any(|ahead| ahead.step.records().iter().any(admits));
        Some(if waits { Err(NoAnswer::Waits) } else { Ok(Answer::Admitted { message_id, duplicate: true }) })
    }

    /// Everybody whose answer waits for room on the disk is to be told so.
    pub(crate) fn put_off(&mut self, through: StepSeq) {
        let waits = |waiting: &Waiting<C>| waiting.through <= through && !waiting.patient;
        let put_off = self.waiting.extract_if(.., |_, waiting| waits(waiting));
        self.put_off.extend(put_off.map(|(_, waiting)| waiting.caller));
    }
}
