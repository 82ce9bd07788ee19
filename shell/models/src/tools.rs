//! The tools that requests may offer, as providers are sent them.

use std::collections::BTreeMap;

use holon_facts::call::ToolName;
use holon_facts::tool::ToolSpec;
use serde::Deserialize;
use serde_json::Value;

use super::dialect::{SchemaMode, translate};
use super::options::ProviderOptions;

/// The tools of a runtime: their schemas are made once, for all requests.
#[derive(Default)]
pub struct Tools(BTreeMap<ToolName, Offered>);

/// A tool, as it is sent.
pub(super) struct Offered {
    pub(super) spec: ToolSpec,
    relaxed: Value,
    /// None for tools of other programs, whose schemas promise nothing.
    strict: Option<Value>,
}

/// A tool of another program, as it is on record.
#[derive(Deserialize)]
struct Definition {
    name: ToolName,
    description: String,
    parameters: Value,
}

impl Tools {
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self(specs.into_iter().map(|spec| (spec.name.clone(), Offered::new(spec))).collect())
    }

    /// Tools of other programs, as they are on record: their schemas are sent as they are.
    pub(super) fn of_servers(definitions: &str) -> Self {
        let listed: Vec<Definition> = serde_json::from_str(definitions).unwrap_or_default();
        Self(listed.into_iter().map(|listed| (listed.name.clone(), Offered::of_server(listed))).collect())
    }

    pub(super) fn get(&self, name: &ToolName) -> Option<&Offered> {
        self.0.get(name)
    }
}

impl Offered {
    fn new(spec: ToolSpec) -> Self {
        let [relaxed, strict] = [SchemaMode::Relaxed, SchemaMode::Strict].map(|mode| parameters(&spec, mode));
        Self { spec, relaxed, strict: Some(strict) }
    }

    fn of_server(listed: Definition) -> Self {
        let Definition { name, description, parameters } = listed;
        let spec = ToolSpec { name, description: description.into(), schema: Value::Null, est_tokens: 0 };
        Self { spec, relaxed: parameters, strict: None }
    }

    /// Whether its schema is strict, as the options ask for.
    pub(super) fn is_strict(&self, options: &ProviderOptions) -> bool {
        options.strict_tools && self.strict.is_some()
    }

    /// The schema of its arguments, as the options ask for.
    pub(super) fn parameters(&self, options: &ProviderOptions) -> &Value {
        self.strict.as_ref().filter(|_| options.strict_tools).unwrap_or(&self.relaxed)
    }
}

/// The schema of a tool's arguments in the dialect that every provider takes.
pub fn parameters(spec: &ToolSpec, mode: SchemaMode) -> Value {
    let mut schema = spec.schema.clone();
    translate(&mut schema, mode);
    schema
}
