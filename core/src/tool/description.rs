//! What models are told about each tool. The same bytes for every agent of one build.

pub(super) const EXEC_COMMAND: &str = "\
    Run a shell command in the execution root. One that takes longer than yield_time_ms goes on as a \
    background task: you get its task_id, and its result comes as a message when it ends. Use it to \
    inspect the repository (rg --files, rg -n, sed -n, head, tail), to build and to test.";
pub(super) const EXEC_COMMAND_BATCH: &str = "\
    Run up to 12 shell commands one after the other, each in a shell of its own and with a result \
    of its own. Use it for several short commands that don't need a look in between.";
pub(super) const APPLY_PATCH: &str = "\
    Create, change, rename or delete files with one unified diff (---/+++ headers with paths \
    relative to the execution root; /dev/null for a file that is created or deleted; git's \
    rename and mode headers). All files of the patch change, or none does.";
pub(super) const TASK_LIST: &str = "List your background tasks: those that run, and those that ended lately.";
pub(super) const TASK_STATUS: &str = "Say how a background task stands, without its output.";
pub(super) const TASK_OUTPUT: &str = "\
    Read what a background task has written, of long output the beginning and the end. By default it \
    waits up to timeout_ms for the task to end; with block false it looks only. No need to poll: the \
    result of an ended task comes to you as a message.";
pub(super) const TASK_INPUT: &str = "\
    Write text to the standard input or the terminal of a background task that was started with \
    accepts_input or tty. A line has to end with a newline.";
pub(super) const TASK_STOP: &str = "\
    End a background task and everything that it started: it is asked to end, and killed after a grace; \
    with force it is killed at once.";
pub(super) const CREATE_WORK_ITEM: &str = "\
    Create a work item: something to be brought about over many turns, with an objective, a plan and a \
    todo list. It does not take the focus; PickWorkItem does. The plan is a file of your own, which \
    the result names: change it with your ordinary tools.";
pub(super) const PICK_WORK_ITEM: &str = "\
    Turn to a work item: your turns are about it from the next one on. With clear_blocker, what stood in \
    its way is gone.";
pub(super) const GET_WORK_ITEM: &str = "Read one work item, with the beginning of its plan.";
pub(super) const LIST_WORK_ITEMS: &str =
    "List your work items: those that are open, then those completed lately.";
pub(super) const UPDATE_WORK_ITEM: &str = "\
    Change a work item. A todo list replaces the one before. blocked_by says what stands in the way; an \
    empty text says that nothing does any more.";
pub(super) const COMPLETE_WORK_ITEM: &str = "\
    Say that a work item is done. What you write beside the call is what the operator is told of it, so \
    complete one item in a round, and say what came of it.";
pub(super) const ENQUEUE: &str = "\
    Leave a message for yourself: it has a turn of its own after this one. What goes on over many turns \
    belongs into a work item, which brings you back by itself.";
pub(super) const NOTIFY_OPERATOR: &str = "\
    Tell the operator something now, and go on. With urgency action_required it says that somebody has to \
    act. What you say at the end of your turn is told anyway.";
pub(super) const WAIT_FOR: &str = "\
    Wait for something, and end your turn after this round: for input of the operator, for the result of a \
    background task, for an event from outside, or for a time. What you wait for begins a turn when it \
    comes, and the work item that waits is left alone until then. An item has one wait; another one \
    replaces it.";
pub(super) const SLEEP: &str = "\
    Rest: your turn ends after this round. With duration_ms, what your work items are owed waits so long, and \
    then you are woken; anything else that comes wakes you before. Without it you rest until something \
    comes, which you can't while the item in focus can be worked on.";
pub(super) const AGENT_GET: &str = "Look at yourself as your operator does: status, queue, model, use, waits, last turn, children; or at a child.";
pub(super) const SPAWN_AGENT: &str = "\
    Begin another agent. A private child works on its own beside you: it sees nothing of what you know but its \
    initial message, and what it says last comes to you as the result of a task (TaskStatus, TaskInput to tell it \
    more, TaskStop). You are its operator: it asks you when it can't go on. With workspace_mode worktree it begins at \
    the last commit, and what it leaves on its branch stays for you to look at. With preset public_named you make an \
    agent of its own, which reports to operators and not to you.";
pub(super) const USE_WORKSPACE: &str = "\
    Work in another folder from now on, or go back to your own home (workspace_id agent_home). Commands and patches stay \
    inside of its execution root, which only you and your children write to while you do. With mode isolated you get a \
    git worktree of it that begins at the last commit.";
