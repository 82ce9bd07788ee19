//! What must hold of arguments beyond their shape, where several tools ask for the same.

use alloc::string::ToString;

use holon_facts::call::COMMAND_BYTES;
use holon_facts::content::{Text, clip};
use holon_facts::receipt::{ToolError, ToolErrorKind};
use holon_facts::work::{LINE_BYTES, OBJECTIVE_BYTES, TODOS, Todo};

/// Most bytes of a message to itself, or to the operator.
const NOTE_BYTES: usize = 4 * 1024;

/// A field with a value that can't be used.
pub(super) fn invalid(field: &str, problem: &str, hint: &str) -> ToolError {
    ToolError {
        kind: ToolErrorKind::InvalidToolInput,
        message: Text::short(clip(&format!("{field} {problem}"), 200)),
        field: Some(field.to_string()),
        hint: Some(hint.to_string()),
        retryable: true,
        details: None,
    }
}

/// The value of a switch that is on where it is left out.
pub(super) fn yes() -> bool {
    true
}

/// A text with words, and at most so many bytes.
pub(super) fn filled(field: &str, text: &str, most: usize, hint: &str) -> Result<(), ToolError> {
    let bytes = text.len();
    if !text.trim().is_empty() && bytes <= most {
        return Ok(());
    }
    Err(invalid(field, &format!("has {bytes} bytes, expected 1 to {most}"), hint))
}

/// A text that may be left out.
pub(super) fn at_most(field: &str, text: Option<&str>, most: usize, hint: &str) -> Result<(), ToolError> {
    let bytes = text.map_or(0, str::len);
    if bytes <= most {
        return Ok(());
    }
    Err(invalid(field, &format!("has {bytes} bytes, the most is {most}"), hint))
}

pub(super) fn command(field: &str, cmd: &str) -> Result<(), ToolError> {
    if cmd.trim().is_empty() {
        return Err(invalid(field, "is empty", "say what is to be executed"));
    }
    if cmd.len() > COMMAND_BYTES {
        let problem = format!("is {} bytes, the limit is {COMMAND_BYTES}", cmd.len());
        return Err(invalid(field, &problem, "write larger inputs to a file first"));
    }
    if cmd.contains('\0') {
        let hint = "leave it out: no argument of a program can have one";
        return Err(invalid(field, "contains a NUL byte", hint));
    }
    Ok(())
}

pub(super) fn note(field: &str, note: &str) -> Result<(), ToolError> {
    filled(field, note, NOTE_BYTES, "details belong into a file, which it can name")
}

pub(super) fn objective(objective: &str) -> Result<(), ToolError> {
    let hint = "say what is to be brought about; details belong into the plan";
    filled("objective", objective, OBJECTIVE_BYTES, hint)
}

pub(super) fn todo_list(todo_list: &[Todo]) -> Result<(), ToolError> {
    if todo_list.len() > TODOS {
        let problem = format!("has {} entries, the most is {TODOS}", todo_list.len());
        return Err(invalid("todo_list", &problem, "details belong into the plan"));
    }
    let mut entries = todo_list.iter().enumerate();
    entries.try_for_each(|(at, todo)| {
        let hint = "name the step in one line; details belong into the plan";
        filled(&format!("todo_list[{at}].text"), &todo.text, LINE_BYTES, hint)
    })
}

pub(super) fn line(field: &str, line: Option<&str>) -> Result<(), ToolError> {
    at_most(field, line, LINE_BYTES, "details belong into the plan")
}

/// When something is looked at again.
pub(super) fn recheck(after_ms: Option<u64>) -> Result<(), ToolError> {
    let (least, most) = (holon_facts::wait::LEAST.0, holon_facts::wait::MOST.0);
    match after_ms {
        Some(after) if !(least..=most).contains(&after) => {
            let problem = format!("is {after}, expected {least} to {most}");
            Err(invalid("recheck_after_ms", &problem, "for a shorter wait, wait for a timer"))
        }
        Some(_) | None => Ok(()),
    }
}
