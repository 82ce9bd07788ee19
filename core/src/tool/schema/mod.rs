//! JSON schemas of the tools, derived from the argument types, in a canonical key order and in the small
//! dialect that every provider takes.

mod dialect;
#[cfg(test)]
mod tests;

use holon_facts::call::{SpawnAgent, UseWorkspace};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{
    AgentGet, ApplyPatch, CompleteWorkItem, CreateWorkItem, Enqueue, ExecCommand, ExecCommandBatch,
    GetWorkItem, ListWorkItems, NotifyOperator, PickWorkItem, Sleep, TaskInput, TaskList, TaskOutput,
    TaskStatus, TaskStop, Tool, UpdateWorkItem, WaitFor,
};

/// How optional properties are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMode {
    /// Optional properties may be left out; `strict: false` on the wire.
    Relaxed,
    /// Every property required, optional ones nullable; no keyword that a provider's strict mode refuses.
    Strict,
}

/// The schema of a tool's arguments.
pub fn schema(tool: Tool, mode: SchemaMode) -> Value {
    match tool {
        Tool::ExecCommand => of::<ExecCommand>(mode),
        Tool::ExecCommandBatch => of::<ExecCommandBatch>(mode),
        Tool::ApplyPatch => of::<ApplyPatch>(mode),
        Tool::TaskList => of::<TaskList>(mode),
        Tool::TaskStatus => of::<TaskStatus>(mode),
        Tool::TaskOutput => of::<TaskOutput>(mode),
        Tool::TaskInput => of::<TaskInput>(mode),
        Tool::TaskStop => of::<TaskStop>(mode),
        Tool::CreateWorkItem => of::<CreateWorkItem>(mode),
        Tool::PickWorkItem => of::<PickWorkItem>(mode),
        Tool::GetWorkItem => of::<GetWorkItem>(mode),
        Tool::ListWorkItems => of::<ListWorkItems>(mode),
        Tool::UpdateWorkItem => of::<UpdateWorkItem>(mode),
        Tool::CompleteWorkItem => of::<CompleteWorkItem>(mode),
        Tool::Enqueue => of::<Enqueue>(mode),
        Tool::NotifyOperator => of::<NotifyOperator>(mode),
        Tool::WaitFor => of::<WaitFor>(mode),
        Tool::Sleep => of::<Sleep>(mode),
        Tool::AgentGet => of::<AgentGet>(mode),
        Tool::SpawnAgent => of::<SpawnAgent>(mode),
        Tool::UseWorkspace => of::<UseWorkspace>(mode),
    }
}

/// The schema of one argument type. Types that contain themselves have none that every provider takes.
fn of<T: JsonSchema>(mode: SchemaMode) -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(root) = value.as_object_mut() {
        // The tool's own description says what it is for.
        root.remove("description");
        // Providers ask for it, even where there is nothing to say.
        root.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    dialect::translate(&mut value, mode);
    value
}
