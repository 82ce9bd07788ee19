//! What came in, and what became of it.

use holon_facts::event::InboxFact;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::MessageKind;

use super::detail::{Extent, message_lines};
use super::line::one_line;
use super::{Category, Rendered, Visibility};

/// Of the output of a command, in lines.
const EXTENT: Extent = Extent { patch: 60, output: 10 };

pub(super) fn render(fact: &InboxFact) -> Rendered {
    let debug = |summary: &str| Rendered::new(Visibility::Debug, Category::Message, "message", summary);
    match fact {
        InboxFact::MessageAdmitted(fact) => {
            let message = &fact.message;
            let mut text = shown(message);
            for skill in &message.skills {
                text.push_str(&format!("\n[skill {}]", one_line(&skill.name)));
            }
            for image in &message.images {
                text.push_str(&format!("\n[image {}]", image.line()));
            }
            Rendered::said(visibility(message.kind), Category::Message, &message.id.to_string(), &text)
        }
        InboxFact::MessageDuplicate(fact) => debug(&format!("{} was sent again", fact.message_id)),
        InboxFact::MessageDequeued(fact) => debug(&match fact.run_id {
            Some(run) => format!("{} begins {run}", fact.message_id),
            None => format!("{} needs no model", fact.message_id),
        }),
        InboxFact::MessageProcessed(fact) => debug(&format!("{} is {}", fact.message_id, fact.disposition)),
        InboxFact::MessageAborted(fact) => {
            debug(&format!("{} was aborted with {}", fact.message_id, fact.run_id))
        }
        InboxFact::MessageDropped(fact) => {
            let summary =
                format!("{} is given up: its runs crashed {} times in a row", fact.message_id, fact.crashes);
            Rendered::new(Visibility::Info, Category::OperatorNotification, "message", &summary)
        }
        InboxFact::MessageRequeued(fact) => {
            let with = fact.interjected_into.map_or_else(String::new, |host| format!(" with {host}"));
            debug(&format!(
                "{} is queued again{with}: {} ended by {}",
                fact.message_id, fact.run_id, fact.cause
            ))
        }
        InboxFact::OperatorInterjectionAdmitted(fact) => {
            let summary = format!("{} joins the turn", fact.message_id);
            Rendered::new(Visibility::Verbose, Category::Message, "interjection", &summary)
        }
    }
}

/// Its text, or of the end of a command that ran as a task the lines.
fn shown(message: &Message) -> String {
    let text = message.body.text.preview();
    let Origin::Task { task_id } = &message.origin else { return text.to_owned() };
    if message.body.text.content().is_some() && text.starts_with('{') {
        return format!("the result of {task_id}");
    }
    let lines = message_lines(message.kind, text, EXTENT).into_iter().map(|(_, line)| line);
    lines.collect::<Vec<_>>().join("\n")
}

/// What comes from outside is what agents are for; the rest is between the runtime and the agent.
fn visibility(kind: MessageKind) -> Visibility {
    match kind {
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent => Visibility::Info,
        MessageKind::Control
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::BriefAck
        | MessageKind::BriefResult => Visibility::Verbose,
    }
}
