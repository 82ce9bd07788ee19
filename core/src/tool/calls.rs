//! What the arguments of a call come to where the core itself executes it.

use holon_facts::receipt::{SelfCall, TaskCall, WorkCall};
use holon_facts::time::Millis;

use super::arguments::{
    AgentGet, CompleteWorkItem, CreateWorkItem, Enqueue, GetWorkItem, ListWorkItems, NotifyOperator,
    PickWorkItem, Sleep, TaskInput, TaskList, TaskOutput, TaskStatus, TaskStop, UpdateWorkItem,
};

impl From<TaskList> for TaskCall {
    fn from(TaskList {}: TaskList) -> Self {
        Self::List
    }
}

impl From<TaskStatus> for TaskCall {
    fn from(it: TaskStatus) -> Self {
        Self::Status { task: it.task_id }
    }
}

impl From<TaskOutput> for TaskCall {
    fn from(it: TaskOutput) -> Self {
        Self::Output { task: it.task_id, wait: it.block.then_some(Millis(it.timeout_ms)) }
    }
}

impl From<TaskInput> for TaskCall {
    fn from(it: TaskInput) -> Self {
        Self::Input { task: it.task_id, text: Some(it.input) }
    }
}

impl From<TaskStop> for TaskCall {
    fn from(it: TaskStop) -> Self {
        Self::Stop { task: it.task_id, force: it.force }
    }
}

impl From<CreateWorkItem> for WorkCall {
    fn from(it: CreateWorkItem) -> Self {
        let plan = it.plan.is_some();
        Self::Create { objective: it.objective, plan_status: it.plan_status, todo_list: it.todo_list, plan }
    }
}

impl From<PickWorkItem> for WorkCall {
    fn from(it: PickWorkItem) -> Self {
        Self::Pick { work_item: it.work_item_id, reason: it.reason, clear_blocker: it.clear_blocker }
    }
}

impl From<GetWorkItem> for WorkCall {
    fn from(it: GetWorkItem) -> Self {
        Self::Get { work_item: it.work_item_id, todo_list: it.include_todo_list }
    }
}

impl From<ListWorkItems> for WorkCall {
    fn from(it: ListWorkItems) -> Self {
        Self::List { filter: it.filter, limit: it.limit, todo_list: it.include_todo_list }
    }
}

impl From<UpdateWorkItem> for WorkCall {
    fn from(it: UpdateWorkItem) -> Self {
        Self::Update {
            work_item: it.work_item_id,
            objective: it.objective,
            plan_status: it.plan_status,
            todo_list: it.todo_list,
            blocked_by: it.blocked_by,
            recheck_after: it.recheck_after_ms.map(Millis),
        }
    }
}

impl From<CompleteWorkItem> for WorkCall {
    fn from(it: CompleteWorkItem) -> Self {
        Self::Complete { work_item: it.work_item_id }
    }
}

impl From<Enqueue> for SelfCall {
    fn from(it: Enqueue) -> Self {
        Self::Enqueue { text: it.text, priority: it.priority }
    }
}

impl From<NotifyOperator> for SelfCall {
    fn from(it: NotifyOperator) -> Self {
        Self::Notify { message: it.message, urgency: it.urgency }
    }
}

impl From<Sleep> for SelfCall {
    fn from(it: Sleep) -> Self {
        let duration = it.duration_ms.filter(|duration| *duration > 0).map(Millis);
        Self::Sleep { reason: it.reason, duration }
    }
}

impl From<AgentGet> for SelfCall {
    fn from(it: AgentGet) -> Self {
        Self::Get { agent: it.agent_id }
    }
}
