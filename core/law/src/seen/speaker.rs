//! Whose word a record is.

use holon_facts::event::Event;
use holon_facts::event::operation::{OpKind, OperationFact, Settlement};
use holon_facts::event::turn::TurnFact;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::MessageKind;

use super::Seen;

/// Whose word a message of a supervisor is.
const SUPERVISOR: &str = "supervisor";

impl Seen {
    /// Whether a message is what the supervisor of a child has to say.
    pub(crate) fn is_of_supervisor(&self, message: &Message) -> bool {
        let named = matches!(&message.origin, Origin::System { subsystem } if subsystem == SUPERVISOR);
        self.kin.depth > 0 && named && message.kind == MessageKind::InternalFollowup
    }

    /// Whether the record is what a model or a tool said. What the runtime itself tells a call is neither.
    pub(crate) fn says(&self, event: &Event) -> bool {
        match event {
            Event::Turn(TurnFact::AssistantRoundRecorded(_)) => true,
            Event::Operation(OperationFact::OperationSettled(fact)) => {
                let asked = self.ops.get(&fact.op);
                fact.settlement == Settlement::Done
                    && asked.is_some_and(|op| match op.kind {
                        OpKind::CallModel
                        | OpKind::CallTool
                        | OpKind::RunCommand
                        | OpKind::PromoteCommand => true,
                        OpKind::LoadContext
                        | OpKind::PrepareCommand
                        | OpKind::AwaitTask
                        | OpKind::SuperviseChild
                        | OpKind::FindWorkspace
                        | OpKind::RemoveWorktree
                        | OpKind::WriteInput => false,
                    })
            }
            Event::Lifecycle(_)
            | Event::Inbox(_)
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
        }
    }
}
