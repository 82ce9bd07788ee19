//! Work items that operators make and complete, outside the agent's turns.

use alloc::boxed::Box;

use holon_facts::event::work::{WorkAuthor, WorkChange};
use holon_facts::ids::{ReplyId, WorkItemId};
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::reject::Reject;
use holon_facts::work::{LINE_BYTES, NewWorkItem, OBJECTIVE_BYTES, TODOS};

use crate::effect::Answer;
use crate::handler::work::tools;
use crate::handler::{admission, keyed};
use crate::tx::Tx;

/// The focus stays where it is.
pub(crate) fn create(tx: &mut Tx<'_>, item: NewWorkItem, key: Option<Idempotency>, reply: ReplyId) {
    match keyed::known(tx, key.as_ref()) {
        Ok(None) => {}
        Ok(Some(made)) => return made_before(tx, made, reply),
        Err(reject) => return tx.reply(reply, Answer::Refused { reject }),
    }
    if let Some(reject) = admission::closed(tx).or_else(|| refusal(&item)) {
        tx.reply(reply, Answer::Refused { reject });
        return;
    }
    let NewWorkItem { objective, plan_status, todo_list, plan } = item;
    let change = WorkChange::Created { objective, plan_status, todo_list, plan };
    match tools::create(tx, WorkAuthor::Operator, None, change) {
        Ok(id) => {
            keyed::keep(tx, key, Made::WorkItem(id));
            answer(tx, id, true, reply);
        }
        Err(_) => {
            let (count, limit) = (tx.agent().work.open_count() + 1, crate::agent::work::OPEN as u64);
            let reject = Reject::TooMany { what: "open work items".into(), count, limit };
            tx.reply(reply, Answer::Refused { reject });
        }
    }
}

fn made_before(tx: &mut Tx<'_>, made: Made, reply: ReplyId) {
    match made {
        Made::WorkItem(id) if tx.agent().work.get(id).is_some() => answer(tx, id, false, reply),
        Made::WorkItem(_) => tx.reply(reply, Answer::Refused { reject: Reject::KeySpent { made } }),
        Made::Task(_) | Made::Timer(_) => {
            tx.reply(reply, Answer::Refused { reject: Reject::KeyTaken { made } })
        }
    }
}

/// Completing what is completed changes nothing.
pub(crate) fn complete(tx: &mut Tx<'_>, id: WorkItemId, reply: ReplyId) {
    let open = tx.agent().work.is_open(id);
    if open {
        tools::complete(tx, WorkAuthor::Operator, None, id, None);
    }
    answer(tx, id, open, reply);
}

fn refusal(item: &NewWorkItem) -> Option<Reject> {
    let bytes = if item.objective.trim().is_empty() { 0 } else { item.objective.len() };
    if bytes == 0 || bytes > OBJECTIVE_BYTES {
        let (what, value) = ("the length of the objective in bytes".into(), bytes as u64);
        let (field, most) = ("objective".into(), OBJECTIVE_BYTES as u64);
        return Some(Reject::OutOfRange { field, what, value, least: 1, most });
    }
    if item.todo_list.len() > TODOS {
        let (what, count, limit) = ("entries".into(), item.todo_list.len() as u64, TODOS as u64);
        return Some(Reject::TooMany { what, count, limit });
    }
    item.todo_list.iter().find_map(|todo| step_refusal(&todo.text))
}

fn step_refusal(text: &str) -> Option<Reject> {
    if text.trim().is_empty() {
        let (field, what) = ("todo_list".into(), "the length of an entry in bytes".into());
        return Some(Reject::OutOfRange { field, what, value: 0, least: 1, most: LINE_BYTES as u64 });
    }
    let (what, bytes, limit) = ("an entry of the todo list".into(), text.len() as u64, LINE_BYTES as u64);
    (text.len() > LINE_BYTES).then_some(Reject::TooLarge { what, bytes, limit })
}

fn answer(tx: &mut Tx<'_>, id: WorkItemId, changed: bool, reply: ReplyId) {
    let answer = match tx.agent().work.get(id) {
        Some(item) => Answer::WorkItem { item: Box::new(item.clone()), changed },
        None => Answer::Refused { reject: Reject::UnknownWorkItem { work_item: id } },
    };
    tx.reply(reply, answer);
}
