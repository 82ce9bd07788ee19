//! The argument types. Their JSON schemas are derived from them; unknown fields are refused by name.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::{Text, clip};
use holon_facts::ids::TaskId;
use holon_facts::receipt::{ToolError, ToolErrorKind};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::unreadable::{self, Unreadable};

pub use super::itself::{AgentGet, Enqueue, NotifyOperator, Sleep};
pub use super::wait::WaitFor;
pub use super::work_items::{
    CompleteWorkItem, CreateWorkItem, GetWorkItem, ListWorkItems, PickWorkItem, UpdateWorkItem,
};

/// Longest command in bytes; the kernel's own limit for one argument is 128 KiB.
pub const COMMAND_BYTES: usize = 100 * 1024;
/// Longest text for a task in bytes.
pub const INPUT_BYTES: usize = 64 * 1024;
/// Longest wait for the end of a task, in milliseconds.
pub const LONGEST_WAIT: u64 = 600_000;
/// Most commands of one batch.
pub const BATCH_ITEMS: usize = 12;

/// Run a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecCommand {
    /// The command, as one would type it into a shell.
    pub cmd: String,
    /// Folder to run in, relative to the current folder and inside the execution root; the current folder
    /// when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Shell to run it with; `bash` when omitted, `sh` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Whether the shell is a login shell.
    #[serde(default = "yes")]
    pub login: bool,
    /// Whether the command gets a terminal; its output is then one stream.
    #[serde(default)]
    pub tty: bool,
    /// Whether input may be written to the command while it runs; as with a terminal when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts_input: Option<bool>,
    /// What happens when the same command is running already.
    #[serde(default)]
    pub duplicate_policy: DuplicatePolicy,
    /// How long to wait for the end of the command, in milliseconds; past it the command goes on as a
    /// background task.
    #[serde(default = "default_yield")]
    pub yield_time_ms: u64,
    /// Bound on the output that is shown, in estimated tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

impl ExecCommand {
    /// Whether input may be written to the command while it runs: with a terminal, unless it says otherwise.
    pub fn takes_input(&self) -> bool {
        self.accepts_input.unwrap_or(self.tty)
    }
}

/// Whether an equal command that runs already stands in for a new one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DuplicatePolicy {
    #[default]
    ReuseRunning,
    StartNew,
}

/// Run several commands, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecCommandBatch {
    /// The commands, in order.
    #[schemars(length(min = 1, max = 12))]
    pub items: Vec<BatchItem>,
    /// Whether the first command that fails is the last one that is run.
    #[serde(default)]
    pub stop_on_error: bool,
}

/// One command of a batch: without a terminal and without input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchItem {
    /// The command, as one would type it into a shell.
    pub cmd: String,
    /// Folder to run in, relative to the current folder and inside the execution root; the current folder
    /// when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Shell to run it with; `bash` when omitted, `sh` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Whether the shell is a login shell.
    #[serde(default = "yes")]
    pub login: bool,
    /// How long to wait for the end of the command, in milliseconds; past it the command is ended.
    #[serde(default = "default_yield")]
    pub yield_time_ms: u64,
    /// Bound on the output that is shown of this command, in estimated tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

/// Change files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyPatch {
    /// A unified diff over one or more files.
    pub patch: String,
}

/// List the background tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskList {}

/// Look at a background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskStatus {
    /// The task, for example `task_3`.
    pub task_id: TaskId,
}

/// Read the output of a background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskOutput {
    /// The task, for example `task_3`.
    pub task_id: TaskId,
    /// Whether to wait for the end of the task.
    #[serde(default = "yes")]
    pub block: bool,
    /// How long to wait for it, in milliseconds.
    #[serde(default = "default_wait")]
    #[schemars(range(max = 600_000))]
    pub timeout_ms: u64,
}

/// Write to a background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    /// The task, for example `task_3`.
    pub task_id: TaskId,
    /// The text, as it is: nothing is appended to it.
    pub input: String,
}

/// End a background task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskStop {
    /// The task, for example `task_3`.
    pub task_id: TaskId,
    /// Whether it is killed at once, without time to clean up.
    #[serde(default)]
    pub force: bool,
}

fn default_wait() -> u64 {
    30_000
}

fn yes() -> bool {
    true
}

fn default_yield() -> u64 {
    10_000
}

/// What must hold beyond the shape.
pub trait Check {
    fn check(&self) -> Result<(), ToolError>;
}

impl Check for ExecCommand {
    fn check(&self) -> Result<(), ToolError> {
        check_command("cmd", &self.cmd)
    }
}

impl Check for ExecCommandBatch {
    fn check(&self) -> Result<(), ToolError> {
        if self.items.is_empty() || self.items.len() > BATCH_ITEMS {
            let problem = format!("has {} commands, expected 1 to {BATCH_ITEMS}", self.items.len());
            return Err(invalid("items", &problem, "make several calls"));
        }
        let total: usize = self.items.iter().map(|item| item.cmd.len()).sum();
        if total > COMMAND_BYTES {
            let problem = format!("has {total} bytes of commands, the limit is {COMMAND_BYTES}");
            return Err(invalid("items", &problem, "make several calls"));
        }
        let mut commands = self.items.iter().enumerate();
        commands.try_for_each(|(at, item)| check_command(&format!("items[{at}].cmd"), &item.cmd))
    }
}

fn check_command(field: &str, cmd: &str) -> Result<(), ToolError> {
    if cmd.trim().is_empty() {
        return Err(invalid(field, "is empty", "say what is to be executed"));
    }
    if cmd.len() > COMMAND_BYTES {
        let problem = format!("is {} bytes, the limit is {COMMAND_BYTES}", cmd.len());
        return Err(invalid(field, &problem, "write larger inputs to a file first"));
    }
    if cmd.contains('\0') {
        return Err(invalid(
            field,
            "contains a NUL byte",
            "leave it out: no argument of a program can have one",
        ));
    }
    Ok(())
}

impl Check for ApplyPatch {
    fn check(&self) -> Result<(), ToolError> {
        if self.patch.trim().is_empty() {
            return Err(invalid("patch", "is empty", "send a unified diff with ---, +++ and @@ lines"));
        }
        Ok(())
    }
}

impl Check for TaskList {
    fn check(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

impl Check for TaskStatus {
    fn check(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

impl Check for TaskOutput {
    fn check(&self) -> Result<(), ToolError> {
        if self.timeout_ms > LONGEST_WAIT {
            let problem = format!("is {}, the most is {LONGEST_WAIT}", self.timeout_ms);
            return Err(invalid("timeout_ms", &problem, "wait less: the result comes as a message anyway"));
        }
        Ok(())
    }
}

impl Check for TaskInput {
    fn check(&self) -> Result<(), ToolError> {
        let bytes = self.input.len();
        if bytes == 0 || bytes > INPUT_BYTES {
            let problem = format!("has {bytes} bytes, expected 1 to {INPUT_BYTES}");
            return Err(invalid("input", &problem, "write larger inputs to a file that the command reads"));
        }
        Ok(())
    }
}

impl Check for TaskStop {
    fn check(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

/// Reads a tool's arguments; the error names the field where it can. Where strict schemas are in use models
/// write null for what they leave out, so null is as good as absent for every optional field.
pub fn parse<T: DeserializeOwned + Check>(json: &str) -> Result<T, ToolError> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    let arguments: T = match serde_json::from_str(json) {
        Ok(arguments) => arguments,
        Err(problem) => leniently(json, &problem)?,
    };
    arguments.check()?;
    Ok(arguments)
}

fn leniently<T: DeserializeOwned>(json: &str, problem: &serde_json::Error) -> Result<T, ToolError> {
    // A value keeps one of two fields of the same name: which one is meant is not for us to say.
    let ambiguous = problem.to_string().starts_with("duplicate field");
    let value = match serde_json::from_str::<Value>(json) {
        Ok(value) if !ambiguous => value,
        Ok(_) | Err(_) => return Err(unreadable(None, problem)),
    };
    if !value.is_object() {
        return Err(of(unreadable::not_an_object(&value)));
    }
    let value = without_nulls(value);
    T::deserialize(&value).map_err(|problem| unreadable(culprit::<T>(&value).as_deref(), &problem))
}

/// The nesting is bounded by the parser.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// The field that can't be read even without the others.
fn culprit<T: DeserializeOwned>(value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    let alone =
        |name: &String, value: &Value| Value::Object([(name.clone(), value.clone())].into_iter().collect());
    let refused = fields.iter().find(|(name, value)| {
        T::deserialize(alone(name, value))
            .is_err_and(|problem| !problem.to_string().starts_with("missing field"))
    });
    refused.map(|(name, _)| name.clone())
}

fn unreadable(culprit: Option<&str>, problem: &serde_json::Error) -> ToolError {
    of(unreadable::explain(culprit, problem))
}

fn of(Unreadable { field, message }: Unreadable) -> ToolError {
    ToolError {
        kind: ToolErrorKind::InvalidToolInput,
        message: Text::short(clip(&message, EXPLANATION_BYTES)),
        field: field.map(|field| clip(&field, 100)),
        hint: Some("send one JSON object that fits the tool's schema".into()),
        retryable: true,
        details: None,
    }
}

/// Longest message about arguments that can't be read, in bytes.
const EXPLANATION_BYTES: usize = 600;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_contract() {
        let call: ExecCommand = parse(r#"{"cmd":"ls"}"#).unwrap();
        assert!(call.login && call.yield_time_ms == 10_000 && call.workdir.is_none());
        assert!(!call.tty && call.accepts_input.is_none());
        assert_eq!(call.duplicate_policy, DuplicatePolicy::ReuseRunning);
        let batch: ExecCommandBatch = parse(r#"{"items":[{"cmd":"ls"}]}"#).unwrap();
        assert!(batch.items[0].login && batch.items[0].yield_time_ms == 10_000 && !batch.stop_on_error);
    }

    #[test]
    fn a_terminal_takes_input_unless_it_says_otherwise() {
        let takes =
            |rest: &str| parse::<ExecCommand>(&format!(r#"{{"cmd":"cat"{rest}}}"#)).unwrap().takes_input();
        assert!(!takes("") && takes(r#","tty":true"#) && takes(r#","accepts_input":true"#));
        assert!(!takes(r#","tty":true,"accepts_input":false"#));
    }

    #[test]
    fn what_happens_to_a_duplicate_is_one_of_two_words() {
        assert!(parse::<ExecCommand>(r#"{"cmd":"cat","duplicate_policy":"start_new"}"#).is_ok());
        assert!(parse::<ExecCommand>(r#"{"cmd":"cat","duplicate_policy":"sometimes"}"#).is_err());
    }

    #[test]
    fn a_batch_has_one_to_twelve_plain_commands() {
        let field = |json: &str| parse::<ExecCommandBatch>(json).unwrap_err().field;
        assert_eq!(field(r#"{"items":[]}"#).as_deref(), Some("items"));
        let many = [r#"{"cmd":"ls"}"#; 13].join(",");
        assert_eq!(field(&format!(r#"{{"items":[{many}]}}"#)).as_deref(), Some("items"));
        assert_eq!(field(r#"{"items":[{"cmd":"ls"},{"cmd":" "}]}"#).as_deref(), Some("items[1].cmd"));
        assert_eq!(field(r#"{"items":[{"cmd":"ls","tty":true}]}"#).as_deref(), Some("tty"));
        assert_eq!(
            field(r#"{"items":[{"cmd":"ls","accepts_input":false}]}"#).as_deref(),
            Some("accepts_input")
        );
    }

    #[test]
    fn a_value_of_the_wrong_type_is_blamed_on_its_field() {
        for (json, field) in [
            (r#"{"cmd":"ls","yield_time_ms":"5"}"#, "yield_time_ms"),
            (r#"{"cmd":["ls"],"login":null}"#, "cmd"),
            (r#"{"cmd":"ls","login":"yes"}"#, "login"),
            (r#"{"cmd":"ls","yield_time_ms":-1}"#, "yield_time_ms"),
            (r#"{"cmd":"ls","cmd":"rm","login":null}"#, "cmd"),
        ] {
            let error = parse::<ExecCommand>(json).unwrap_err();
            assert_eq!(error.field.as_deref(), Some(field), "{json}");
            assert!(error.message.preview().contains(field), "{}", error.message.preview());
        }
        let deep = format!(r#"{{"cmd":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse::<ExecCommand>(&deep).is_err());
        let nulls = format!(r#"{{"login":null,"cmd":{deep}}}"#);
        assert!(parse::<ExecCommand>(&nulls).is_err());
    }

    #[test]
    fn errors_name_the_field() {
        let unknown = parse::<ExecCommand>(r#"{"cmd":"ls","cwd":"/"}"#).unwrap_err();
        assert_eq!(unknown.field.as_deref(), Some("cwd"));
        let missing = parse::<ExecCommand>("").unwrap_err();
        assert_eq!(missing.field.as_deref(), Some("cmd"));
        let empty = parse::<ApplyPatch>(r#"{"patch":" "}"#).unwrap_err();
        assert_eq!((empty.kind, empty.field.as_deref()), (ToolErrorKind::InvalidToolInput, Some("patch")));
        assert!(parse::<ExecCommand>("[1]").is_err());
        for (json, says) in [
            (r#"{"cmd":"ls","cwd":"/"}"#, "there is no field cwd; there are cmd, workdir, "),
            ("{}", "cmd is missing"),
            (r#"{"cmd":"ls","cmd":"rm"}"#, "cmd stands there twice"),
            (r#"{"cmd":["ls"],"login":null}"#, "cmd: expected a text, got a list"),
            (
                r#"{"cmd":"ls","yield_time_ms":"5"}"#,
                "yield_time_ms: expected a whole number, got the text \"5\"",
            ),
            (
                r#"{"cmd":"ls","yield_time_ms":-1}"#,
                "yield_time_ms: expected a whole number of at least 0, got -1",
            ),
            (r#"{"cmd":"ls","yield_time_ms":1.5}"#, "yield_time_ms: expected a whole number, got 1.5"),
            (r#"{"cmd":"ls","login":"yes"}"#, "login: expected true or false, got the text \"yes\""),
            (
                r#"{"cmd":"ls","duplicate_policy":"x"}"#,
                "duplicate_policy: x is none of reuse_running, start_new",
            ),
            (r#"{"cmd":"ls""#, "the arguments end too early"),
            (r#"{"cmd":ls}"#, "the arguments are no JSON, from line 1, column 8 on"),
            ("[1]", "expected an object, got a list"),
            ("7", "expected an object, got 7"),
        ] {
            let error = parse::<ExecCommand>(json).unwrap_err();
            let message = error.message.preview().to_string();
            assert!(message.starts_with(says) && error.retryable, "{json}: {message}");
            for word in ["struct", "u64", "sequence", "variant", "invalid type", "EOF", "`"] {
                assert!(!message.contains(word), "{message}");
            }
        }
        let long =
            parse::<ExecCommand>(&format!(r#"{{"cmd":"ls","{}":1}}"#, "x".repeat(50_000))).unwrap_err();
        assert!(long.field.unwrap().len() <= 100);
    }
}
