//! The tools that requests may offer, as providers are sent them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use holon_facts::call::ToolName;
use holon_facts::tool::ToolSpec;
use serde::Deserialize;
use serde_json::Value;

use super::dialect::{SchemaMode, translate};
use super::options::ProviderOptions;

/// The tools of a runtime: their schemas are made once, for all requests.
#[derive(Default)]
pub struct Tools {
    offered: BTreeMap<ToolName, Offered>,
    /// As providers are sent them.
    texts: Mutex<BTreeMap<(String, ToolName), Arc<str>>>,
}

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
        Self::of(specs.into_iter().map(|spec| (spec.name.clone(), Offered::new(spec))).collect())
    }

    /// Tools of other programs, as they are on record: their schemas are sent as they are.
    pub(super) fn of_servers(definitions: &str) -> Self {
        let listed: Vec<Definition> = serde_json::from_str(definitions).unwrap_or_default();
        Self::of(listed.into_iter().map(|listed| (listed.name.clone(), Offered::of_server(listed))).collect())
    }

    fn of(offered: BTreeMap<ToolName, Offered>) -> Self {
        Self { offered, texts: Mutex::default() }
    }

    pub(super) fn get(&self, name: &ToolName) -> Option<&Offered> {
        self.offered.get(name)
    }

    /// A tool as a provider is sent it, which is made with its first request: a provider's options never change.
    pub(super) fn text(
        &self,
        provider: &str,
        offered: &Offered,
        form: impl FnOnce(&Offered) -> Value,
    ) -> Arc<str> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let text = texts.entry((provider.to_owned(), offered.spec.name.clone()));
        text.or_insert_with(|| form(offered).to_string().into()).clone()
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
