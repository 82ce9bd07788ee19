//! Calls about tasks: what they ask is decided here, on the state; what they show is rendered by a performer
//! (contract: tools.md).

use alloc::boxed::Box;

use holon_facts::content::Text;
use holon_facts::event::operation::OpKind;
use holon_facts::event::task::TaskCause;
use holon_facts::ids::{RunId, TaskId};
use holon_facts::receipt::{TaskCall, ToolError, ToolErrorKind};

use crate::agent::task::Task;
use crate::effect::Look;
pub(crate) use crate::effect::{InputSource, Retrieval, TaskWork};
use crate::handler::task::{child, stop};
use crate::handler::turn::tools::{self, Begun};
use crate::tx::{Opening, Tx};

/// Begins a call.
///
/// # Errors
/// The one result of a call about a task that is not known.
pub(crate) fn call(
    tx: &mut Tx<'_>,
    run_id: RunId,
    call: &TaskCall,
    arguments: Text,
) -> Result<Begun, ToolError> {
    let work = match *call {
        TaskCall::List => {
            let tasks = &tx.agent().tasks;
            let tasks = tasks.active().chain(tasks.ended()).cloned().collect();
            return Ok(Begun::Looks(Box::new(Look::Tasks { tasks })));
        }
        TaskCall::Status { task } => {
            let look = Look::Task { task: known(tx, task)?, child: None };
            return Ok(Begun::Looks(Box::new(look)));
        }
        TaskCall::Output { task, wait } => {
            let known = known(tx, task)?;
            match wait {
                _ if known.status.is_terminal() => tools::task_output(tx, task, Retrieval::Success),
                None => tools::task_output(tx, task, Retrieval::NotReady),
                Some(wait) => {
                    let opening = Opening {
                        run_id: Some(run_id),
                        task_id: Some(task),
                        ..Opening::new(OpKind::AwaitTask, wait)
                    };
                    tx.open(opening, None);
                }
            }
            return Ok(Begun::Performed);
        }
        TaskCall::Input { task, text: Some(ref text) } if known(tx, task)?.child().is_some() => {
            let input = child::follow_up(tx, task, Text::whole(text.clone()));
            TaskWork::Input { task: known(tx, task)?, op: None, source: InputSource::Letter { input } }
        }
        TaskCall::Input { task, text: _ } => TaskWork::Input {
            task: known(tx, task)?,
            op: stop::executing(tx, task),
            source: InputSource::Call { arguments },
        },
        TaskCall::Stop { task, force } => {
            known(tx, task)?;
            let changed = stop::request(tx, task, TaskCause::AgentAsked, force);
            TaskWork::Stop { task: known(tx, task)?, changed }
        }
    };
    tools::work(tx, run_id, None, work);
    Ok(Begun::Performed)
}

fn known(tx: &Tx<'_>, id: TaskId) -> Result<Box<Task>, ToolError> {
    tx.agent().tasks.get(id).cloned().map(Box::new).ok_or_else(|| {
        let message = format!("there is no task {id}");
        ToolError::new(ToolErrorKind::UnknownTask, message)
            .hint("TaskList names the tasks that run and those that ended lately")
    })
}
