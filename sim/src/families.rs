//! Calls of models about other agents: they begin children and public agents, send messages to children, look at them
//! and end them; and messages of children that can't go on.

use holon_core::tool::Tool;
use holon_facts::ids::TaskId;

use crate::performer::Circumstances;

/// Smaller numbers are those of scenarios; each of their agents may name so many public agents.
const OF_SCENARIOS: u32 = 100;
const NAMES: u32 = 2;

/// The numbers of the public agents that an agent may begin. No other agent uses their names, so that agents stay
/// independent.
pub(crate) fn public(of: u32) -> impl Iterator<Item = u32> {
    let own = (1..OF_SCENARIOS).contains(&of);
    (1..=NAMES).filter(move |_| own).map(move |nth| of * OF_SCENARIOS + nth)
}

/// The argument of a call that asks for a template, now and then.
fn template(here: &mut Circumstances<'_>) -> &'static str {
    match here.below("with a template", 40) {
        0 => r#","template":"holon-reviewer""#,
        1 => r#","template":"Not One""#,
        _ => "",
    }
}

/// A call that begins another agent, or one about a child.
pub(crate) fn about_children(here: &mut Circumstances<'_>) -> (Tool, String) {
    let message = here.below("for what", 24);
    match here.below("about a family", 20) {
        0 | 1 => (Tool::SpawnAgent, public_named(here)),
        2 => (
            Tool::SpawnAgent,
            format!(r#"{{"initial_message":"try {message}","workspace_mode":"worktree"{}}}"#, template(here)),
        ),
        3..=5 => (Tool::TaskInput, of_child(here, &format!(r#","input":"and {message}""#))),
        6 => (Tool::TaskStatus, of_child(here, "")),
        7 => (Tool::TaskStop, of_child(here, "")),
        8 => (Tool::TaskStop, of_child(here, r#","force":true"#)),
        9 => (Tool::TaskOutput, of_child(here, r#","timeout_ms":600000"#)),
        10 | 11 => (Tool::WaitFor, r#"{"reason":"which one?","wake":"operator_input"}"#.into()),
        12 => {
            let task = child(here);
            let arguments =
                format!(r#"{{"reason":"the child","wake":"task_result","resource":"task_{task}"}}"#);
            (Tool::WaitFor, arguments)
        }
        _ => (Tool::SpawnAgent, format!(r#"{{"initial_message":"look into {message}"{}}}"#, template(here))),
    }
}

/// A living child, if there is one; else a task that may be something else, or nothing.
fn child(here: &mut Circumstances<'_>) -> u64 {
    let alive = here.children;
    match here.pick("which child", alive) {
        Some(TaskId(task)) => task,
        None => 1 + u64::from(here.below("task", 3)),
    }
}

fn of_child(here: &mut Circumstances<'_>, rest: &str) -> String {
    let task = child(here);
    format!(r#"{{"task_id":"task_{task}"{rest}}}"#)
}

/// A public agent: its name is unused, used before, its own, or reserved for the runtime; first with the model that
/// always exists.
fn public_named(here: &mut Circumstances<'_>) -> String {
    let own = here.site.agent;
    let free: Vec<u32> = public(own).collect();
    let name = match (here.below("public name", 4), here.pick("which name", &free)) {
        (0, _) if own < OF_SCENARIOS => format!("a{own}"),
        (_, Some(number)) => format!("a{number}"),
        (_, None) => "a--1".into(),
    };
    let model = if here.below("with a model", 2) == 0 { r#","model":"a/one""# } else { "" };
    let message = if here.below("with a message", 4) > 0 { r#","initial_message":"go""# } else { "" };
    let template = template(here);
    format!(r#"{{"preset":"public_named","agent_id":"{name}"{model}{message}{template}}}"#)
}
