//! Which of an agent's briefs is the answer to a prompt (contract: work.md, `final_text`; agent.md, Briefs): the same
//! for everybody who waits for the end of what a prompt brings. It reads no text.

use std::collections::BTreeMap;

use holon_facts::event::brief::{BriefCreated, BriefKind, BriefVisibility};
use holon_facts::event::wait::Resolution;
use holon_facts::event::{BriefFact, Event, InboxFact, WaitFact};
use holon_facts::ids::{BriefId, MessageId};
use holon_facts::provenance::{MessageKind, Surface};
use holon_facts::{EventSeq, Record, Text};

/// Messages that are remembered: what is told is about one of the last.
const MESSAGES: usize = 256;

/// What the records after the prompt say so far.
#[derive(Debug, Default)]
pub struct Answer {
    prompt: Option<MessageId>,
    /// The last messages since the prompt whose turns may add to the answer.
    going_on: BTreeMap<MessageId, GoesOn>,
    delivered: Option<AnswerBrief>,
    told: Option<AnswerBrief>,
}

/// A brief that is the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerBrief {
    pub id: BriefId,
    pub event_seq: EventSeq,
    pub text: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GoesOn {
    Always,
    /// Once it has ended a wait of the agent: otherwise it is about something else.
    IfAwaited,
    Never,
}

impl Answer {
    /// To this prompt. Without one it is the prompt of this process, which is the only one that comes as such.
    pub fn to(prompt: MessageId) -> Self {
        Self { prompt: Some(prompt), ..Self::default() }
    }

    /// Takes the next durable record of the agent.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub fn record(&mut self, record: &Record) {
        match &record.event {
            Event::Inbox(InboxFact::MessageAdmitted(fact)) => {
                let message = &fact.message;
                if self.prompt.is_none() && message.delivery_surface == Surface::RunOnce {
                    self.prompt = Some(message.id);
                }
                self.admitted(message.id, goes_on(message.kind));
            }
            Event::Wait(WaitFact::WaitResolved(fact)) => {
                if let Resolution::Message { message_id } = fact.by {
                    self.awaited(message_id);
                }
            }
            Event::Brief(BriefFact::BriefCreated(brief)) => self.brief(brief, record.event_seq),
            _ => {}
        }
    }

    /// The newest delivery, or else what was said last; none while nothing was.
    pub fn told(&self) -> Option<&AnswerBrief> {
        self.delivered.as_ref().or(self.told.as_ref())
    }

    fn admitted(&mut self, message: MessageId, goes_on: GoesOn) {
        // The agent may have had earlier messages to deal with: what they bring is not this answer.
        if goes_on == GoesOn::Never || self.prompt.is_none_or(|prompt| message <= prompt) {
            return;
        }
        self.going_on.insert(message, goes_on);
        if self.going_on.len() > MESSAGES {
            self.going_on.pop_first();
        }
    }

    fn awaited(&mut self, message: MessageId) {
        if let Some(goes_on) = self.going_on.get_mut(&message) {
            *goes_on = GoesOn::Always;
        }
    }

    fn brief(&mut self, brief: &BriefCreated, event_seq: EventSeq) {
        // A turn that had nothing to say leaves what was said before.
        if brief.kind != BriefKind::Result || brief.text.is_empty() || !self.is_own(brief) {
            return;
        }
        let told = AnswerBrief { id: brief.id, event_seq, text: brief.text.clone() };
        match brief.visibility {
            BriefVisibility::WorkDone => self.delivered = Some(told),
            BriefVisibility::ActionRequired | BriefVisibility::TurnResult => self.told = Some(told),
        }
    }

    fn is_own(&self, brief: &BriefCreated) -> bool {
        let Some(prompt) = self.prompt else { return false };
        let about = |message| message == prompt || self.going_on.get(&message) == Some(&GoesOn::Always);
        brief.related_message_id.is_some_and(about) || brief.interjected_message_ids.contains(&prompt)
    }
}

/// Whether what a message brings belongs to what went before it.
fn goes_on(kind: MessageKind) -> GoesOn {
    match kind {
        MessageKind::TaskResult | MessageKind::SystemTick | MessageKind::InternalFollowup => GoesOn::Always,
        MessageKind::TimerTick
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent => GoesOn::IfAwaited,
        MessageKind::OperatorPrompt
        | MessageKind::Control
        | MessageKind::TaskStatus
        | MessageKind::BriefAck
        | MessageKind::BriefResult => GoesOn::Never,
    }
}
