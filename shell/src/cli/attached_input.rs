//! A run of the home's runtime that takes instructions while it goes on.

use std::time::Duration;

use holon_api::{Client, ClientError, Control, Events, Follow, Followed, InboxQuery};
use holon_facts::ids::BriefId;
use holon_facts::{AgentId, EventSeq, MessageId, Record};

use super::interrupts::Ending;
use super::output::Failure;
use super::patience::until_answered;
use super::prompt::{Sent, patiently};
use super::run_input::RunInput;
use crate::run_stream::{Delivery, Instruction, Refusal};

/// A runtime that is away is waited for this long by who follows its events; a look in between finds nothing else.
const LOOK: Duration = Duration::from_secs(5);
/// Agents of one page of the inbox.
const AGENTS: u32 = 500;

/// The instructions for an agent of a runtime.
pub(super) struct Instructed<'a> {
    pub(super) client: &'a Client,
    pub(super) agent: &'a AgentId,
    pub(super) ending: &'a Ending,
}

impl Instructed<'_> {
    /// Gives the agent what comes over the input until its end, or until the end is asked for, and shows what happens
    /// meanwhile. Gives the last event that was shown.
    pub(super) async fn until_end(
        &self,
        input: &mut RunInput,
        before: EventSeq,
        see: &mut impl FnMut(Seen<'_>),
    ) -> Result<EventSeq, Failure> {
        let mut events = self.client.follow(self.agent, Some(before), false);
        while input.is_open() {
            tokio::select! {
                biased;
                () = self.ending.wait() => break,
                instruction = input.next(), if input.takes_more() => {
                    if let Some(instruction) = instruction {
                        let source = instruction.source.clone();
                        let told = self.instruct(instruction).await?;
                        if let Ok(message) = &told {
                            see(Seen::Prompted(*message));
                        }
                        input.answer(source, told);
                    }
                }
                followed = tokio::time::timeout(LOOK, events.next()) => {
                    // Nothing has happened.
                    let Ok(followed) = followed else { continue };
                    let Followed::Event(event) = followed? else { continue };
                    // An event of a newer build is not shown.
                    if let Ok(record) = event.record() {
                        see(Seen::Record(&record));
                    }
                }
            }
        }
        Ok(events.cursor().unwrap_or(before))
    }

    async fn instruct(&self, instruction: Instruction) -> Result<Result<MessageId, Refusal>, Failure> {
        let Instruction { source, text, images, skills, delivery } = instruction;
        let answers = match delivery {
            Delivery::Prompt | Delivery::Interjection => None,
            Delivery::Answer(brief) => {
                let asked = || async { Ok(self.asks().await?) };
                let open = until_answered(self.ending, asked).await?;
                match Refusal::unless_asked(self.agent, open.into_iter(), brief) {
                    Ok(brief) => Some(brief),
                    Err(refusal) => return Ok(Err(refusal)),
                }
            }
        };
        let sent = Sent {
            prompt: &text,
            images: &images,
            skills: &skills,
            interject: delivery == Delivery::Interjection,
            key: None,
            wait: None,
            answers,
            correlation_id: source.id,
        };
        match patiently(self.ending, self.client, self.agent, sent).await {
            Ok(prompted) => Ok(Ok(prompted.message_id)),
            Err(failure) => match failure.error.downcast_ref().and_then(Refusal::by_runtime) {
                Some(refusal) => Ok(Err(refusal)),
                None => Err(failure),
            },
        }
    }

    /// What the agent has asked and nobody has answered, the oldest first.
    async fn asks(&self) -> Result<Vec<BriefId>, ClientError> {
        let mut after = None;
        loop {
            let page = self.client.inbox(InboxQuery { after, limit: Some(AGENTS) }).await?.into_reply();
            let own = page.asks.iter().filter(|ask| ask.agent_id == *self.agent);
            let own: Vec<BriefId> = own.map(|ask| ask.brief_id).collect();
            if !own.is_empty() || page.next.is_none() {
                return Ok(own);
            }
            after = page.next;
        }
    }
}

/// What happens while the input is open.
pub(super) enum Seen<'a> {
    Record(&'a Record),
    /// The agent took a message in.
    Prompted(MessageId),
}
