//! Settings of a model, as each protocol carries them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::exchange::{Lowering, Protocol};
use super::model_options::{ModelOptions, Temperature};
use super::options::ProviderOptions;
use super::protocol::anthropic::AnthropicMessages;
use super::protocol::openai_chat::OpenaiChat;
use super::protocol::openai_responses::OpenaiResponses;
use super::testing::{request, spec, texts};
use super::tools::Tools;

fn lowered<P: Protocol>(id: &str, model: &str, own: ModelOptions, most: u64) -> Value {
    let (texts, tools) = (texts(), Tools::new(holon_core::tool::catalogue()));
    let mut request = request(&texts, &format!("{id}/{model}"), 1_000);
    request.max_output_tokens = most;
    let mut spec = spec(id, "http://server/v1", ProviderOptions::default());
    spec.models = BTreeMap::from([(model.to_owned(), own)]);
    let lowering = Lowering::new(&texts, &request, &spec, &tools);
    P::lower(&lowering).unwrap().document()
}

fn all() -> ModelOptions {
    ModelOptions {
        reasoning_effort: Some("high".into()),
        temperature: Temperature::new(0.7),
        verbosity: Some("low".into()),
        parallel_tool_calls: Some(false),
        ..ModelOptions::default()
    }
}

#[test]
fn each_protocol_has_its_own_fields_for_them() {
    let chat = lowered::<OpenaiChat>("openai-chat", "m", all(), 9_000);
    assert_eq!((&chat["reasoning_effort"], &chat["verbosity"]), (&json!("high"), &json!("low")));
    assert_eq!((&chat["temperature"], &chat["parallel_tool_calls"]), (&json!(0.7), &json!(false)));
    let responses = lowered::<OpenaiResponses>("openai", "m", all(), 9_000);
    assert_eq!(responses["reasoning"], json!({"effort": "high"}));
    assert_eq!(responses["text"], json!({"verbosity": "low"}));
    assert_eq!((&responses["temperature"], &responses["parallel_tool_calls"]), (&json!(0.7), &json!(false)));
    let thinks = ModelOptions { thinking_budget_tokens: Some(2_000), temperature: None, ..all() };
    let messages = lowered::<AnthropicMessages>("anthropic", "m", thinks, 9_000);
    // The calls of the sample began without a thought.
    assert_eq!(
        (&messages["output_config"], &messages["thinking"]),
        (&json!({"effort": "high"}), &json!({"type": "enabled", "budget_tokens": 2_000}))
    );
    assert_eq!(messages["tool_choice"], json!({"type": "auto", "disable_parallel_tool_use": true}));
}

#[test]
fn what_a_model_thinks_is_asked_for_where_it_thinks() {
    let included = |model: &str, own: ModelOptions| {
        let body = lowered::<OpenaiResponses>("openai", model, own, 9_000);
        body.get("include").cloned() == Some(json!(["reasoning.encrypted_content"]))
    };
    let effort = |word: &str| ModelOptions { reasoning_effort: Some(word.into()), ..ModelOptions::default() };
    let said = |reasoning| ModelOptions { reasoning: Some(reasoning), ..ModelOptions::default() };
    for (model, own, expected) in [
        ("gpt-5.1-2025-11-13", ModelOptions::default(), true),
        ("gpt-4.1", ModelOptions::default(), false),
        ("my-deployment", ModelOptions::default(), false),
        ("my-deployment", said(true), true),
        ("my-deployment", effort("low"), true),
        ("gpt-5.1", effort("none"), false),
        ("gpt-5.1", said(false), false),
    ] {
        assert_eq!(included(model, own.clone()), expected, "{model} {own:?}");
    }
}

#[test]
fn each_protocol_names_what_it_carries() {
    for (settings, body) in [
        (OpenaiChat::SETTINGS, lowered::<OpenaiChat>("openai-chat", "m", all(), 9_000)),
        (OpenaiResponses::SETTINGS, lowered::<OpenaiResponses>("openai", "m", all(), 9_000)),
    ] {
        assert_eq!(settings.len(), 4);
        assert!(body.get("thinking").is_none());
    }
    assert!(!AnthropicMessages::SETTINGS.contains(&"verbosity"));
    let body = lowered::<AnthropicMessages>("anthropic", "m", all(), 9_000);
    assert!(!body.to_string().contains("verbosity"));
}
