//! Effects with an outcome: opened before they are emitted, settled once.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use super::family;
use crate::ids::{OpId, RunId};
use crate::names::names;
use crate::outcome::SupervisorIdentity;
use crate::time::Millis;

family! {
    OperationFact {
        OperationOpened "operation_opened" v 1,
        OperationSettled "operation_settled" v 1,
    }
}

names! {
    OpKind {
        LoadContext "load_context", CallModel "call_model", CallTool "call_tool",
        /// A supervisor comes up; nothing is executed.
        PrepareCommand "prepare_command",
        /// The supervisor that was prepared executes its command.
        RunCommand "run_command",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationOpened {
    pub op: OpId,
    pub kind: OpKind,
    pub run_id: RunId,
    /// After so long the core stops waiting.
    pub timeout_ms: Millis,
    /// Who executes the command, when that is what the operation is: on record before anything runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<SupervisorIdentity>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSettled {
    pub op: OpId,
    pub settlement: Settlement,
}

names! {
    /// How an operation ended, as far as is known.
    Settlement {
        Done "done", Failed "failed", TimedOut "timed_out", Cancelled "cancelled",
        /// The runtime ended before the outcome was recorded.
        Lost "lost",
    }
}
