//! The ids that an agent hands out next: each of its kind is given once.

use holon_facts::ids::{
    BriefId, LetterId, MessageId, OpId, RunId, TaskId, TimerId, TurnIndex, WaitId, WorkItemId, WorktreeId,
};
use serde::{Deserialize, Serialize};

/// The ids that will be handed out next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub message: MessageId,
    pub run: RunId,
    pub op: OpId,
    pub brief: BriefId,
    pub turn: TurnIndex,
    /// Of commands: each has a number, whether it becomes a task or not.
    #[serde(default = "first_task")]
    pub task: TaskId,
    #[serde(default = "first_timer")]
    pub timer: TimerId,
    #[serde(default = "first_work_item")]
    pub work_item: WorkItemId,
    #[serde(default = "first_wait")]
    pub wait: WaitId,
    #[serde(default = "first_letter", skip_serializing_if = "is_first_letter")]
    pub letter: LetterId,
    #[serde(default = "first_worktree", skip_serializing_if = "is_first_worktree")]
    pub worktree: WorktreeId,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            message: MessageId(1),
            run: RunId(1),
            op: OpId(1),
            brief: BriefId(1),
            turn: TurnIndex(1),
            task: TaskId(1),
            timer: TimerId(1),
            work_item: WorkItemId(1),
            wait: WaitId(1),
            letter: first_letter(),
            worktree: first_worktree(),
        }
    }
}

fn first_task() -> TaskId {
    TaskId(1)
}

fn first_timer() -> TimerId {
    TimerId(1)
}

fn first_work_item() -> WorkItemId {
    WorkItemId(1)
}

fn first_wait() -> WaitId {
    WaitId(1)
}

fn first_letter() -> LetterId {
    LetterId(1)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_first_letter(letter: &LetterId) -> bool {
    *letter == first_letter()
}

fn first_worktree() -> WorktreeId {
    WorktreeId(1)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_first_worktree(worktree: &WorktreeId) -> bool {
    *worktree == first_worktree()
}
