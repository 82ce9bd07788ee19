//! What an answer was about that was sent before: a repeat of it is about the same, whatever is open by then.

use holon_facts::AgentId;
use holon_facts::event::{Event, InboxFact};
use holon_facts::ids::BriefId;

use super::{ClientError, Control, EventsQuery, Order};

/// Events of one page, and pages that are looked at.
const PAGE: u32 = 512;
const PAGES: u32 = 40;

/// The ask that a message of an agent has answered under an idempotency key; none where no recent message has the key, or
/// where it was no answer.
///
/// # Errors
/// The runtime does not answer, or refuses.
pub async fn earlier_answer(
    runtime: &impl Control,
    agent: &AgentId,
    key: &str,
) -> Result<Option<BriefId>, ClientError> {
    let mut before_seq = None;
    for _ in 0..PAGES {
        let query =
            EventsQuery { before_seq, limit: Some(PAGE), order: Some(Order::Desc), ..EventsQuery::default() };
        let page = runtime.events(agent, query).await?.into_reply();
        for event in page.events.iter().filter(|event| event.kind == "message_admitted") {
            let Ok(record) = event.record() else { continue };
            let Event::Inbox(InboxFact::MessageAdmitted(admitted)) = record.event else { continue };
            if admitted.idempotency.is_some_and(|it| it.key == key) {
                return Ok(admitted.message.causation_id.and_then(|brief| brief.parse().ok()));
            }
        }
        before_seq = page.events.last().map(|event| event.event_seq);
        if !page.more || before_seq.is_none() {
            break;
        }
    }
    Ok(None)
}
