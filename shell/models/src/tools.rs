//! The tools that requests may offer, as providers are sent them.

use std::collections::BTreeMap;

use holon_facts::call::ToolName;
use holon_facts::tool::ToolSpec;
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
    strict: Value,
}

impl Tools {
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self(specs.into_iter().map(|spec| (spec.name.clone(), Offered::new(spec))).collect())
    }

    pub(super) fn get(&self, name: &ToolName) -> Option<&Offered> {
        self.0.get(name)
    }
}

impl Offered {
    fn new(spec: ToolSpec) -> Self {
        let [relaxed, strict] = [SchemaMode::Relaxed, SchemaMode::Strict].map(|mode| parameters(&spec, mode));
        Self { spec, relaxed, strict }
    }

    /// The schema of its arguments, as the options ask for.
    pub(super) fn parameters(&self, options: &ProviderOptions) -> &Value {
        if options.strict_tools { &self.strict } else { &self.relaxed }
    }
}

/// The schema of a tool's arguments in the dialect that every provider takes.
pub fn parameters(spec: &ToolSpec, mode: SchemaMode) -> Value {
    let mut schema = spec.schema.clone();
    translate(&mut schema, mode);
    schema
}
