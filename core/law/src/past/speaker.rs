//! Whose word a record is.

use holon_facts::event::Event;
use holon_facts::event::operation::{OpKind, OperationFact, Settlement};
use holon_facts::event::turn::TurnFact;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::MessageKind;

use super::Past;

/// Whether an operation brings what a model or a tool said.
fn answers(kind: OpKind) -> bool {
    matches!(kind, OpKind::CallModel | OpKind::CallTool | OpKind::RunCommand | OpKind::PromoteCommand)
}

/// Whose word a message of a supervisor is.
const SUPERVISOR: &str = "supervisor";

impl Past {
    /// Whether a message is what the supervisor of a child has to say.
    pub(crate) fn is_of_supervisor(&self, message: &Message) -> bool {
        let named = matches!(&message.origin, Origin::System { subsystem } if subsystem == SUPERVISOR);
        self.supervision.depth > 0 && named && message.kind == MessageKind::InternalFollowup
    }

    /// Whether the record is what a model or a tool said. What the runtime itself tells a call is neither.
    pub(crate) fn is_output(&self, event: &Event) -> bool {
        if let Event::Operation(OperationFact::OperationSettled(fact)) = event {
            let asked = self.ops.get(&fact.op);
            return fact.settlement == Settlement::Done && asked.is_some_and(|op| answers(op.kind));
        }
        matches!(event, Event::Turn(TurnFact::AssistantRoundRecorded(_)))
    }
}
