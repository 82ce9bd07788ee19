//! Arguments of tools: what is read is what is described.

use holon_facts::AgentId;
use holon_facts::EventSeq;
use holon_facts::call::WorkFilter;
use holon_facts::ids::{BriefId, MessageId, TaskId};
use holon_facts::model_ref::ModelRef;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::ToolError;

/// Longest wait of a call: clients give calls up after a minute.
pub(crate) const MOST_WAIT_MS: u32 = 50_000;

/// Which agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfAgent {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAgents {
    /// Only agents whose names come after this one: the `next` of the page before.
    pub(crate) after: Option<AgentId>,
    /// At most so many; 50 where none is given.
    #[schemars(range(min = 1, max = 200))]
    pub(crate) limit: Option<u32>,
    /// Also those that are archived.
    #[serde(default)]
    pub(crate) all: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateAgent {
    /// The id of the new agent: letters, digits, `-` and `_`.
    pub(crate) agent: AgentId,
    /// The folder that it works in, as an absolute path; its own home where none is given.
    #[schemars(regex(pattern = "^/"))]
    pub(crate) workspace_root: Option<String>,
    /// The model that it asks first, as provider/model.
    pub(crate) model: Option<ModelRef>,
    /// Its standing instructions.
    pub(crate) instructions: Option<String>,
    /// What it is for, in one line.
    pub(crate) description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptAgent {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    /// What the agent is to do or to know.
    #[schemars(length(min = 1))]
    pub(crate) text: String,
    /// Wait so many milliseconds for the end of the turn; 30000 where none is given. A turn that takes longer goes on, and
    /// prompt_result asks for it again.
    #[schemars(range(min = 0, max = MOST_WAIT_MS))]
    pub(crate) wait_ms: Option<u32>,
    /// Deliver it into the turn in progress.
    #[serde(default)]
    pub(crate) interject: bool,
    /// Names this prompt: a repeat under the same key counts once.
    #[schemars(length(min = 1, max = 256))]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptResult {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    /// As prompt_agent gave it.
    #[schemars(with = "String")]
    pub(crate) message_id: MessageId,
    /// Wait so many milliseconds for the end of the turn; 30000 where none is given.
    #[schemars(range(min = 0, max = MOST_WAIT_MS))]
    pub(crate) wait_ms: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadTranscript {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    /// Only what is older than this event: the `next` of the page before.
    pub(crate) before: Option<EventSeq>,
    /// Only what is newer than this event.
    pub(crate) after: Option<EventSeq>,
    /// At most so many entries; 20 where none is given.
    #[schemars(range(min = 1, max = 200))]
    pub(crate) limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListWork {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    /// Only items of this kind.
    pub(crate) filter: Option<WorkFilter>,
    /// At most so many; 50 where none is given.
    #[schemars(range(min = 1, max = 200))]
    pub(crate) limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddWork {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    /// What is to be brought about.
    #[schemars(length(min = 1))]
    pub(crate) objective: String,
    /// The text of its plan.
    pub(crate) plan: Option<String>,
    /// Names this work item: a repeat under the same key begins nothing new.
    #[schemars(length(min = 1, max = 256))]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerQuestion {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    #[schemars(length(min = 1))]
    pub(crate) text: String,
    /// The brief that asked; the newest open question of the agent where none is given.
    #[schemars(with = "Option<String>")]
    pub(crate) brief_id: Option<BriefId>,
    /// Wait so many milliseconds for the end of the turn; 30000 where none is given.
    #[schemars(range(min = 0, max = MOST_WAIT_MS))]
    pub(crate) wait_ms: Option<u32>,
    /// Names this answer: a repeat under the same key counts once.
    #[schemars(length(min = 1, max = 256))]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTask {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    /// The command, as one would type it into a shell.
    #[schemars(length(min = 1))]
    pub(crate) cmd: String,
    /// Folder to run in, relative to the agent's own and inside its workspace.
    pub(crate) workdir: Option<String>,
    /// Names this task: a repeat under the same key begins nothing new.
    #[schemars(length(min = 1, max = 256))]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskOutput {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    #[schemars(with = "String")]
    pub(crate) task_id: TaskId,
    /// Wait so many milliseconds for the end of the task; 0 where none is given.
    #[schemars(range(min = 0, max = MOST_WAIT_MS))]
    pub(crate) wait_ms: Option<u32>,
    /// Most characters of the output; 8000 where none is given.
    #[schemars(range(min = 1, max = 50_000))]
    pub(crate) characters: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchMemory {
    /// Id or name of the agent; the default agent of the runtime where none is given.
    pub(crate) agent: Option<AgentId>,
    /// Words that stand in what is looked for; nothing of it is syntax.
    #[schemars(length(min = 1, max = 1_000))]
    pub(crate) query: String,
    /// At most so many results; 10 where none is given.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) limit: Option<u32>,
    /// Search all workspaces, rather than the active one alone.
    #[serde(default)]
    pub(crate) all_workspaces: bool,
}

/// Reads the arguments of a call. The error names the field.
pub(crate) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolError> {
    let none = Value::Object(Map::new());
    let arguments = if arguments.is_null() { &none } else { arguments };
    // An array would be taken for the values of the fields, one after the other.
    if !arguments.is_object() {
        return Err(ToolError::invalid("arguments: expected an object"));
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let (path, problem) = (error.path().to_string(), error.inner());
        // What is missing or unknown is named by the problem itself.
        ToolError::invalid(if path == "." { problem.to_string() } else { format!("{path}: {problem}") })
    })
}

/// A number within its bounds, or the usual one.
pub(crate) fn within(
    field: &str,
    given: Option<u32>,
    (usual, most): (u32, u32),
) -> Result<Option<u32>, ToolError> {
    match given {
        Some(given) if given > most => {
            Err(ToolError::invalid(format!("{field}: {given} is more than the limit of {most}")))
        }
        given => Ok(Some(given.unwrap_or(usual))),
    }
}

/// The JSON schema of arguments, without references.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        members.remove("title");
        members.remove("$schema");
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_name_the_field_and_what_is_expected() {
        for (arguments, says) in [
            (json!({ "text": "do it", "wait_ms": "5" }), "wait_ms: invalid type: string \"5\", expected u32"),
            (json!({ "text": 5 }), "text: invalid type: integer `5`, expected a string"),
            (json!({ "text": "do it", "agent": "a b" }), "agent: "),
            (json!({}), "missing field `text`"),
            (json!({ "text": "do it", "pause": 1 }), "unknown field `pause`"),
            (json!(["main", "do it"]), "arguments: expected an object"),
        ] {
            let error = read::<PromptAgent>(&arguments).unwrap_err();
            assert!(error.to_string().contains(says), "{arguments}: {error}");
        }
    }
}
