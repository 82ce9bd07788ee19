use holon_facts::model_ref::ModelRef;
use holon_platform::Environment;

use super::source::Source;
use super::{Problem, Settings, canonical, kind_of, nearest_key};

fn read(text: &str) -> (Settings, Vec<Problem>) {
    let source = Source { path: "config.toml".into(), text: text.to_owned(), mode: None };
    Settings::of(&source, &Environment::default()).unwrap()
}

fn model(text: &str) -> ModelRef {
    ModelRef::new(text).unwrap()
}

#[test]
fn a_model_has_settings_of_its_own() {
    let (settings, problems) = read(
        r#"[models."openai/gpt-5.1"]
reasoning_effort = "high"
verbosity = "low"
[models."anthropic/claude-sonnet-4-5"]
thinking_budget_tokens = 4000
[models."local/qwen3:8b"]
context_window_tokens = 32768
temperature = 0.7
"#,
    );
    assert!(problems.is_empty(), "{problems:?}");
    let own = settings.models_of("openai");
    assert_eq!(own["gpt-5.1"].reasoning_effort.as_deref(), Some("high"));
    assert_eq!(settings.entry("models.local/qwen3:8b.temperature").unwrap().value, 0.7);
    let listed: Vec<String> = settings.entries().into_iter().map(|entry| entry.key).collect();
    assert!(listed.contains(&"models.\"openai/gpt-5.1\".verbosity".to_owned()), "{listed:?}");
}

#[test]
fn names_need_no_quotes() {
    let quoted = "models.\"openai/gpt-5.1\".verbosity";
    assert_eq!(canonical("models.openai/gpt-5.1.verbosity"), quoted);
    assert_eq!(canonical(quoted), quoted);
    assert!(
        kind_of("models.openai/gpt-5.1.verbosity").is_some() && kind_of("models.gpt.verbosity").is_none()
    );
    assert!(nearest_key("models.openai/gpt-5.1.verbosty").contains("verbosity"));
}

/// What the transport of a model has no place for is refused where it stands, with what there is.
#[test]
fn what_a_provider_does_not_take_is_refused() {
    for (text, says) in [
        (
            "[models.\"anthropic/x\"]\nverbosity = \"low\"",
            "anthropic is spoken to by anthropic_messages, which has no verbosity; it has",
        ),
        ("[models.\"openai/x\"]\nthinking_budget_tokens = 2000", "which has no thinking_budget_tokens"),
        ("[models.\"scripted/demo\"]\ntemperature = 1", "it has nothing"),
        (
            "[models.\"anthropic/x\"]\nthinking_budget_tokens = 20000",
            "must be less than the 16384 tokens of an answer",
        ),
        ("[models.\"anthropic/x\"]\nthinking = \"adaptive\"\ntemperature = 1", "takes no temperature"),
        ("[models.\"anthropic/x\"]\nthinking = \"disabled\"\nthinking_budget_tokens = 2000", "contradicts"),
        ("[models.\"anthropic/x\"]\nreasoning_effort = \"none\"", "expected low, medium"),
        ("[models.\"openai/x\"]\ntemperature = 2.5", "a number from 0 to 2"),
        ("[models.\"openai/x\"]\nreasoning_effort = \"much\"", "one of none, minimal"),
        ("[models.\"openai/x\"]\neffort = \"high\"", "there is no such key"),
        ("[models.gpt]\nverbosity = \"low\"", "expected models.<model>.<option>"),
        ("[models.\"openai/x\"]\ncontext_window_tokens = 100", "at least 8192"),
    ] {
        let (_, problems) = read(text);
        let [problem] = &problems[..] else { panic!("{text}: {problems:?}") };
        assert!(problem.to_string().contains(says), "{problem}");
        assert!(problem.to_string().starts_with("config.toml:"), "{problem}");
    }
    let own = "[providers.mine]\ntransport = \"openai_chat_completions\"\nbase_url = \"http://h/v1\"\n[models.\"mine/x\"]\nverbosity = \"low\"";
    assert!(read(own).1.is_empty());
}

#[test]
fn the_docs_list_every_setting_of_a_model() {
    let docs = include_str!("../../../docs/configuration.md");
    let (_, models) = docs.split_once("## Models").unwrap();
    for key in super::MODEL_KEYS {
        let row = models.lines().find(|line| line.starts_with(&format!("| `{}`", key.name)));
        assert!(row.is_some_and(|row| row.contains(key.doc)), "{}: {}", key.name, key.doc);
    }
}

#[test]
fn a_window_is_the_one_that_is_said_otherwise_the_one_that_is_known() {
    let window = |text: &str, name: &str| {
        let (mut settings, problems) = read(text);
        assert!(problems.is_empty(), "{problems:?}");
        settings.model = Some(model(name));
        let context = settings.core_config().unwrap().context;
        (context.window(&model(name)), context.output(&model(name)))
    };
    assert_eq!(window("", "anthropic/claude-3-5-haiku-20241022"), (200_000, Some(8_192)));
    assert_eq!(window("", "local/qwen3"), (128_000, None));
    assert_eq!(window("[runtime]\ncontext_window_tokens = 9000", "local/qwen3"), (9_000, None));
    let of_provider = "[providers.openai]\ncontext_window_tokens = 50000\n";
    assert_eq!(window(of_provider, "openai/gpt-5.1"), (50_000, Some(128_000)));
    let own = format!(
        "{of_provider}[models.\"openai/gpt-5.1\"]\ncontext_window_tokens = 60000\nmax_output_tokens = 5000"
    );
    assert_eq!(window(&own, "openai/gpt-5.1"), (60_000, Some(5_000)));
}
