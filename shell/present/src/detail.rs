//! Calls and their results in lines: commands with the end of their output and how they ended, patches as diffs. Of JSON
//! that no rule knows, each field is a line.

use holon_facts::provenance::MessageKind;
use serde_json::{Map, Value};

use super::line::{one_line, whole_line};
use super::terminal::terminal_line;

/// A line and how it is meant.
pub type DetailLine = (Look, String);

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Plain,
    /// A line that a patch adds; what went well.
    Good,
    /// A line that a patch removes; what went wrong.
    Bad,
    /// What surrounds it.
    Aside,
}

/// How much of a text is shown, in lines.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Of a patch, from its beginning.
    pub patch: usize,
    /// Of the output of a command, from its end.
    pub output: usize,
}

/// What a call asks for.
pub fn call_lines(tool_name: &str, arguments: &str, extent: Extent) -> Vec<DetailLine> {
    let fields = serde_json::from_str::<Map<String, Value>>(arguments).unwrap_or_default();
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if let Some(patch) = text("patch").or(Some(arguments).filter(|text| text.starts_with("*** Begin Patch")))
    {
        let mut lines = vec![(Look::Aside, format!("$ {tool_name}"))];
        lines.extend(diff(patch, extent.patch));
        return lines;
    }
    let items = fields.get("items").and_then(Value::as_array);
    let listed = items.into_iter().flatten().filter_map(|item| item.get("cmd")?.as_str());
    let commands: Vec<&str> = text("cmd").into_iter().chain(listed).collect();
    if commands.is_empty() {
        let fields: Vec<String> = fields.iter().map(|(name, value)| field(name, value)).collect();
        return vec![(Look::Aside, one_line(&format!("$ {tool_name} {}", fields.join(", "))))];
    }
    commands.into_iter().flat_map(command).collect()
}

/// What a call has brought that succeeded.
pub fn result_lines(text: &str, changed_files: &[String], extent: Extent) -> Vec<DetailLine> {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text) else {
        return last(text, extent.output).into_iter().map(|line| (Look::Aside, line)).collect();
    };
    if !changed_files.is_empty() {
        return vec![(Look::Good, format!("✓ changed {}", changed_files.join(", ")))];
    }
    match fields.get("items").and_then(Value::as_array) {
        Some(items) => items.iter().filter_map(Value::as_object).flat_map(|item| of(item, extent)).collect(),
        None => of(&fields, extent),
    }
}

/// A message: the end of a command that ran as a task is shown as its result, anything else as it is.
pub fn message_lines(kind: MessageKind, text: &str, extent: Extent) -> Vec<DetailLine> {
    let fields = (kind == MessageKind::TaskResult).then(|| serde_json::from_str::<Map<String, Value>>(text));
    match fields {
        Some(Ok(fields)) if fields.contains_key("disposition") => of(&fields, extent),
        Some(Ok(_) | Err(_)) | None => {
            text.trim_end().lines().map(|line| (Look::Plain, line.to_owned())).collect()
        }
    }
}

/// What was wrong.
pub fn error_line(kind: &str, message: &str) -> DetailLine {
    (Look::Bad, format!("✗ {kind}: {}", whole_line(message)))
}

/// A patch, line by line, from its beginning.
pub fn diff(patch: &str, most: usize) -> Vec<DetailLine> {
    let all = patch.lines().count();
    let mut lines: Vec<DetailLine> = patch.lines().take(most).map(changed).collect();
    if all > most {
        lines.push((Look::Aside, format!("… {} more lines", all - most)));
    }
    lines
}

fn changed(line: &str) -> DetailLine {
    let head = ["+++", "---", "@@", "***", "diff ", "index "].iter().any(|head| line.starts_with(head));
    let look = match line.as_bytes().first() {
        _ if head => Look::Aside,
        Some(b'+') => Look::Good,
        Some(b'-') => Look::Bad,
        Some(_) | None => Look::Plain,
    };
    (look, line.to_owned())
}

fn command(cmd: &str) -> Vec<DetailLine> {
    let mut lines = cmd.trim_end().lines();
    let first = (Look::Plain, format!("$ {}", lines.next().unwrap_or_default()));
    std::iter::once(first).chain(lines.map(|line| (Look::Plain, format!("  {line}")))).collect()
}

/// The result of one command, or the fields of another tool's.
fn of(fields: &Map<String, Value>, extent: Extent) -> Vec<DetailLine> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    if let Some(task) = fields.get("task_handle").and_then(|handle| handle.get("task_id")?.as_str()) {
        let mut lines = output(text("initial_output_preview"), extent);
        lines.push((Look::Aside, format!("… continues as {task}")));
        return lines;
    }
    let status = fields.get("exit_status").and_then(Value::as_i64);
    let error = fields.get("error").and_then(Value::as_object);
    if status.is_none() && error.is_none() {
        return fields.iter().map(|(name, value)| (Look::Aside, one_line(&field(name, value)))).collect();
    }
    let mut lines: Vec<DetailLine> =
        Some(text("cmd")).filter(|cmd| !cmd.is_empty()).map(command).unwrap_or_default();
    lines.extend(output(text("stdout_preview"), extent));
    lines.extend(output(text("stderr_preview"), extent));
    lines.extend(status.map(|status| match status {
        0 => (Look::Good, "✓ exit status 0".to_owned()),
        status => (Look::Bad, format!("✗ exit status {status}")),
    }));
    lines.extend(error.map(|error| {
        let part = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        error_line(part("kind"), part("message"))
    }));
    lines
}

fn output(text: &str, extent: Extent) -> Vec<DetailLine> {
    last(text, extent.output).into_iter().map(|line| (Look::Aside, line)).collect()
}

/// The last lines of a text as a terminal would have them, and how many there are before them.
fn last(text: &str, most: usize) -> Vec<String> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(most);
    let mut shown: Vec<String> = lines[skipped..].iter().map(|line| terminal_line(line)).collect();
    if skipped > 0 {
        let plural = if skipped == 1 { "line" } else { "lines" };
        shown.insert(0, format!("… {skipped} {plural} before"));
    }
    shown
}

fn field(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => format!("{name}: {}", whole_line(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("{name}: {value}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Extent = Extent { patch: 4, output: 2 };

    fn texts(lines: Vec<DetailLine>) -> Vec<String> {
        lines.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn calls_are_commands_and_diffs() {
        let shown = |arguments: &str| call_lines("Tool", arguments, SHORT);
        assert_eq!(texts(shown(r#"{"cmd":"a\nb\n"}"#)), ["$ a", "  b"]);
        assert_eq!(texts(shown(r#"{"items":[{"cmd":"a"},{"cmd":"b"}]}"#)), ["$ a", "$ b"]);
        assert_eq!(texts(shown(r#"{"until":"noon","n":1}"#)), ["$ Tool n: 1, until: noon"]);
        let patch = shown(r#"{"patch":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"}"#);
        let expected = [
            (Look::Aside, "$ Tool"),
            (Look::Aside, "--- a/x"),
            (Look::Aside, "+++ b/x"),
            (Look::Aside, "@@ -1 +1 @@"),
            (Look::Bad, "-old"),
            (Look::Aside, "… 1 more lines"),
        ];
        assert_eq!(patch, expected.map(|(look, text)| (look, text.to_owned())));
        assert_eq!(diff("+new", 9), [(Look::Good, "+new".to_owned())]);
    }

    #[test]
    fn results_are_the_end_of_the_output_and_the_status() {
        let shown = |text: &str| result_lines(text, &[], SHORT);
        let long = r#"{"disposition":"completed","exit_status":3,"stdout_preview":"1\n2\n3\n","stderr_preview":"no\n"}"#;
        assert_eq!(texts(shown(long)), ["… 1 line before", "2", "3", "no", "✗ exit status 3"]);
        let batch = r#"{"items":[{"cmd":"a","exit_status":0,"stdout_preview":"x"},{"cmd":"b","error":{"kind":"interrupted","message":"gone"}}],"failed":1}"#;
        assert_eq!(texts(shown(batch)), ["$ a", "x", "✓ exit status 0", "$ b", "✗ interrupted: gone"]);
        let task = r#"{"disposition":"promoted_to_task","task_handle":{"task_id":"task_1"},"initial_output_preview":"go"}"#;
        assert_eq!(texts(shown(task)), ["go", "… continues as task_1"]);
        assert_eq!(texts(shown("plain\ntext")), ["plain", "text"]);
        assert_eq!(texts(shown(r#"{"timer_id":"timer_1"}"#)), ["timer_id: timer_1"]);
        assert_eq!(texts(result_lines("{}", &["x".to_owned()], SHORT)), ["✓ changed x"]);
        let message = |kind, text| texts(message_lines(kind, text, SHORT));
        assert_eq!(message(MessageKind::TaskResult, long)[1..], ["2", "3", "no", "✗ exit status 3"]);
        assert_eq!(message(MessageKind::TaskResult, r#"{"report":1}"#), [r#"{"report":1}"#]);
        assert_eq!(message(MessageKind::OperatorPrompt, long), [long]);
    }

    #[test]
    fn output_is_shown_without_its_colours_and_what_was_written_over() {
        let shown = |text: &str| texts(result_lines(text, &[], SHORT));
        let coloured = "\u{1b}[1m\u{1b}[32mPASS\u{1b}[0m one\n10 %\r50 %\r100 %\n";
        let fields = serde_json::json!({ "exit_status": 0, "stdout_preview": coloured });
        assert_eq!(shown(&fields.to_string()), ["PASS one", "100 %", "✓ exit status 0"]);
        assert_eq!(shown(coloured), ["PASS one", "100 %"]);
    }
}
