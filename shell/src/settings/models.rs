//! The table of what can be said of a model: `models.<provider/model>.<option>`.

use std::collections::BTreeMap;

use holon_facts::model_ref::ModelRef;
use holon_models::{ModelOptions, Transport, built_in};
use serde_json::Value as Json;

use super::field::Field;
use super::keys::{Key, key, number};
use super::kind::Kind;
use super::source::{join, split};
use super::{Problem, Settings, problem};

/// Every option, in the order in which it is listed.
pub const MODEL_KEYS: &[Key<ModelOptions>] = &[
    key!(
        "context_window_tokens",
        context_window_tokens,
        number(8_192, 100_000_000),
        "tokens that it takes, question and answer together; by default what is known of it (`holon config models`)"
    ),
    key!(
        "max_output_tokens",
        max_output_tokens,
        number(1, 10_000_000),
        "most tokens of one answer; by default what is known of it, and never more than `runtime.max_output_tokens`"
    ),
    key!(
        "reasoning",
        reasoning,
        Kind::Flag,
        "whether it thinks before it answers; by default what is known of it"
    ),
    key!("images", images, Kind::Flag, "whether it reads images; by default what is known of it"),
    key!(
        "reasoning_effort",
        reasoning_effort,
        Kind::Word(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        "how much it thinks"
    ),
    key!(
        "thinking",
        thinking,
        Kind::Word(&["adaptive", "disabled"]),
        "whether a model of Anthropic thinks; `adaptive` leaves it to the model"
    ),
    key!(
        "thinking_budget_tokens",
        thinking_budget_tokens,
        number(1_024, 1_000_000),
        "most tokens of an answer that a model of Anthropic thinks with"
    ),
    key!("temperature", temperature, Kind::Temperature, "how freely it chooses words"),
    key!("verbosity", verbosity, Kind::Word(&["low", "medium", "high"]), "how long its answers are"),
    key!("parallel_tool_calls", parallel_tool_calls, Kind::Flag, "whether one answer may call several tools"),
];

/// What the runtime reads itself: every provider has it.
const OWN: [&str; 4] = ["context_window_tokens", "max_output_tokens", "reasoning", "images"];

/// A name below `models` in its parts.
pub(super) enum ModelKey {
    Option(ModelRef, &'static Key<ModelOptions>),
    Unknown(ModelRef, String),
    BadModel,
}

/// Reads what stands behind `models.`; the name of the model need not be in quotes.
pub(super) fn model_key(rest: &str) -> ModelKey {
    let quoted = split(rest).and_then(|parts| <[String; 2]>::try_from(parts).ok());
    let plain = || rest.rsplit_once('.').map(|(model, option)| [model.to_owned(), option.to_owned()]);
    let Some([model, option]) = quoted.or_else(plain) else { return ModelKey::BadModel };
    let Ok(model) = ModelRef::new(&model) else { return ModelKey::BadModel };
    match MODEL_KEYS.iter().find(|key| key.name == option) {
        Some(key) => ModelKey::Option(model, key),
        None => ModelKey::Unknown(model, option),
    }
}

/// The dotted name of an option, as it is written in the file.
pub(super) fn key_name(model: &ModelRef, option: &str) -> String {
    join(&join("models", model.as_str()), option)
}

/// A dotted name as it is written in the file.
pub fn canonical(name: &str) -> String {
    match name.strip_prefix("models.").map(model_key) {
        Some(ModelKey::Option(model, key)) => key_name(&model, key.name),
        Some(ModelKey::Unknown(model, option)) => key_name(&model, &option),
        Some(ModelKey::BadModel) | None => name.to_owned(),
    }
}

impl Settings {
    /// What the file says of the models of a provider, by their names.
    pub fn models_of(&self, provider: &str) -> BTreeMap<String, ModelOptions> {
        let own = self.models.iter().filter(|(model, _)| model.provider() == provider);
        own.map(|(model, options)| (model.model().to_owned(), options.clone())).collect()
    }

    /// How a provider is spoken to, as far as its transport is one.
    pub(super) fn transport_of(&self, provider: &str) -> Option<Transport> {
        match self.providers.get(provider).and_then(|own| own.transport.as_deref()) {
            Some(name) => holon_models::transport(name),
            None => {
                built_in(|_| None).into_iter().find(|spec| spec.id == provider).map(|spec| spec.transport)
            }
        }
    }
}

/// Options that a model's provider has no place for, or that contradict each other.
pub(super) fn broken(settings: &Settings) -> impl Iterator<Item = Problem> {
    settings.models.iter().flat_map(|(model, own)| {
        let blamed = |option: &str, what: String| {
            let name = key_name(model, option);
            problem(&settings.origin(&name), &name, what)
        };
        let mut problems = Vec::new();
        if let Some(transport) = settings.transport_of(model.provider()) {
            let set = MODEL_KEYS.iter().filter(|key| key.get(own) != Json::Null && !OWN.contains(&key.name));
            let refused = set.filter(|key| !transport.settings().contains(&key.name));
            problems.extend(refused.map(|key| {
                let (provider, way) = (model.provider(), transport.name());
                let has = match transport.settings() {
                    [] => "nothing".to_owned(),
                    settings => settings.join(", "),
                };
                blamed(
                    key.name,
                    format!("{provider} is spoken to by {way}, which has no {}; it has {has}", key.name),
                )
            }));
        }
        let most = own.max_output_tokens.unwrap_or(u64::MAX).min(settings.core.turn.max_output_tokens);
        if own.thinking_budget_tokens.is_some_and(|budget| budget >= most) {
            let what = format!("must be less than the {most} tokens of an answer, which it is a part of");
            problems.push(blamed("thinking_budget_tokens", what));
        }
        let effort = own.reasoning_effort.as_deref();
        let of_anthropic =
            settings.transport_of(model.provider()).map(Transport::name) == Some("anthropic_messages");
        if let (Some(effort @ ("none" | "minimal")), true) = (effort, of_anthropic) {
            let what = format!(
                "{effort} is no effort of Anthropic's models; expected low, medium, high, xhigh or max"
            );
            problems.push(blamed("reasoning_effort", what));
        }
        if own.thinking.is_some() && own.thinking_budget_tokens.is_some() {
            problems.push(blamed("thinking", "contradicts thinking_budget_tokens".to_owned()));
        }
        let thinks = own.thinking_budget_tokens.is_some() || own.thinking.as_deref() == Some("adaptive");
        if thinks && own.temperature.is_some() {
            let what = "a model of Anthropic that thinks takes no temperature".to_owned();
            problems.push(blamed("temperature", what));
        }
        problems
    })
}
