//! Calls that change nothing: those that follow each other in a round are answered together, in one step.

use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::ids::{OpId, RunId};
use holon_facts::outcome::ToolOutcome;
use holon_facts::receipt::{SelfCall, TaskCall, Verdict, WorkCall};

use crate::effect::{Look, Work};
use crate::handler::turn::request;
use crate::handler::turn::tools::{self, Begun};
use crate::tx::{Opening, Tx};

/// Whether a call only asks for what is known.
pub(super) fn looks(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::OnWork(call) => matches!(call, WorkCall::Get { .. } | WorkCall::List { .. }),
        // Output may be waited for, and that it was shown is on record.
        Verdict::OnTask(call) => matches!(call, TaskCall::List | TaskCall::Status { .. }),
        Verdict::OnSelf(call) => matches!(call, SelfCall::Get { .. }),
        Verdict::Accepted(_) | Verdict::Refused(_) => false,
    }
}

/// Lets a performer show what the call in progress asks for, and what those after it do, up to the first one that does
/// anything else or asks for what is not there.
pub(super) fn open(tx: &mut Tx<'_>, run_id: RunId, first: Look) {
    let mut looks = Vec::from([first]);
    for verdict in following(tx) {
        let Ok(Begun::Looks(look)) = tools::own(tx, run_id, &verdict, Text::default()) else { break };
        looks.push(*look);
    }
    let output_tokens = tools::output_tokens(tx);
    for look in &mut looks {
        if let Look::Work { view } = look {
            view.output_tokens = output_tokens;
        }
    }
    tx.open(Opening::of(run_id, OpKind::CallTool, tools::WORK_TIMEOUT), Work::Look { looks });
}

/// Calls right after the one in progress that only look.
fn following(tx: &Tx<'_>) -> Vec<Verdict> {
    let round = tx.agent().run.as_ref().and_then(|run| run.conversation.rounds.last());
    let after = round.into_iter().flat_map(|round| round.verdicts.iter().skip(round.results.len() + 1));
    after.take_while(|verdict| looks(verdict)).cloned().collect()
}

/// A performer has shown what they ask for.
pub(crate) fn looked(tx: &mut Tx<'_>, op: OpId, outcomes: Vec<ToolOutcome>) {
    tx.settle(op, Settlement::Done);
    tools::record_looked(tx, outcomes);
    request::advance(tx);
}
