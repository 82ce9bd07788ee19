//! A provider that leaves old results out of long requests by itself: it is asked for that, and what it did is on record.

use end_to_end::Holon;
use end_to_end::provider::{Provider, Reply, calls, command, says};
use end_to_end::trial::{Told, Trial};
use serde_json::{Value, json};

const OPTION: &str = "context_management";
const ALL: &str = r#"{ clear_tool_uses = { trigger = { input_tokens = 60000 }, keep = 5, clear_at_least = 4000, exclude_tools = ["ApplyPatch"], clear_tool_inputs = true }, clear_thinking = 2 }"#;

fn trial(value: &str) -> Trial {
    Trial::new("anthropic/test").option(OPTION, value)
}

fn edits(told: &Told, at: usize) -> &Value {
    &told.attempts()[at]["delivery"]["edits"]
}

fn reported() -> Value {
    json!([
        { "type": "clear_thinking_20251015", "cleared_thinking_turns": 3, "cleared_input_tokens": 1_500 },
        { "type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000 },
    ])
}

#[test]
fn it_is_asked_for_and_what_it_did_is_on_record() {
    for stream in ["true", "false"] {
        let trial = trial(ALL)
            .option("stream", stream)
            .set("models.\"anthropic/test\".thinking_budget_tokens", "2000")
            .set("providers.anthropic.headers", r#"{ anthropic-beta = "other-2025-01-01" }"#)
            .lasting();
        let provider = Provider::start([calls(&[command("true")]), says("Done.").editing(reported())]);
        let holon = trial.home(&provider.url);
        let told = trial.run(&holon, "go");
        assert_eq!(told.report["final_text"], "Done.");
        let asked = provider.asked();
        assert_eq!(
            asked[0].body["context_management"],
            json!({ "edits": [
                { "type": "clear_thinking_20251015", "keep": { "type": "thinking_turns", "value": 2 } },
                {
                    "type": "clear_tool_uses_20250919",
                    "trigger": { "type": "input_tokens", "value": 60_000 },
                    "keep": { "type": "tool_uses", "value": 5 },
                    "clear_at_least": { "type": "input_tokens", "value": 4_000 },
                    "exclude_tools": ["ApplyPatch"],
                    "clear_tool_inputs": true,
                },
            ] })
        );
        let betas: Vec<&str> = asked[0]
            .headers
            .iter()
            .filter(|(name, _)| name == "anthropic-beta")
            .map(|(_, value)| &**value)
            .collect();
        assert_eq!(betas, ["other-2025-01-01", "context-management-2025-06-27"]);
        assert!(edits(&told, 0).is_null());
        assert_eq!(
            *edits(&told, 1),
            json!([
                { "kind": "clear_thinking_20251015", "cleared": 3, "cleared_input_tokens": 1_500 },
                { "kind": "clear_tool_uses_20250919", "cleared": 8, "cleared_input_tokens": 50_000 },
            ])
        );
        assert_eq!(told.facts("provider_round_completed")[1]["cleared_tokens"], 51_500);
        let shown = holon.run(&["debug", "prompt", "--agent", "main", "--turn", "1", "--sizes"]);
        assert!(shown.stdout.contains("the provider left out 8 tool results"), "{shown:?}");
    }
}

#[test]
fn without_the_option_or_a_thought_nothing_is_asked_for() {
    let asks = |trial: Trial| {
        let (_, provider) = trial.against([says("Done.")]);
        let asked = provider.asked();
        let beta = asked[0].header("anthropic-beta").map(str::to_owned);
        (asked[0].body["context_management"].clone(), beta)
    };
    assert_eq!(asks(Trial::new("anthropic/test")), (Value::Null, None));
    // Thoughts of a model that does not think can't be left out: the provider refuses to be asked.
    assert_eq!(asks(trial("{ clear_thinking = \"all\" }")).0, Value::Null);
    assert_eq!(
        asks(trial("{ clear_tool_uses = {} }")).0,
        json!({ "edits": [{ "type": "clear_tool_uses_20250919" }] })
    );
}

#[test]
fn reports_that_can_t_be_true_are_taken_for_what_they_are() {
    let edit = |uses: Value, tokens: Value| json!([{ "type": "clear_tool_uses_20250919", "cleared_tool_uses": uses, "cleared_input_tokens": tokens }]);
    let kept = |cleared: u64, tokens: u64| json!([{ "kind": "clear_tool_uses_20250919", "cleared": cleared, "cleared_input_tokens": tokens }]);
    for (said, expected) in [
        (edit(json!(-3), json!("many")), kept(0, 0)),
        (edit(json!(u64::MAX), json!(u64::MAX)), kept(1 << 40, 1 << 40)),
        (json!([{ "type": "compact_20260112" }, 7, null]), Value::Null),
        (json!("none"), Value::Null),
        (json!(vec![edit(json!(1), json!(1))[0].clone(); 50]), json!(vec![kept(1, 1)[0].clone(); 8])),
    ] {
        let (told, _) = trial("{ clear_tool_uses = {} }").against([says("Done.").editing(said.clone())]);
        assert_eq!(*edits(&told, 0), expected, "{said}");
    }
}

#[test]
fn what_is_wrong_is_refused_with_what_is_right() {
    let holon = Holon::new();
    for (value, says) in [
        ("true", "expected at least one of clear_tool_uses"),
        ("{ clear_tool_uses = { keep = -1 } }", "numbers up to 10000000"),
        ("{ clear_tool_uses = { exclude_tools = [\"Nothing\"] } }", "names of tools"),
    ] {
        let refused = holon.run(&["config", "set", "providers.anthropic.context_management", value]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(says), "{refused:?}");
    }
    for provider in ["openai", "local", "openai-codex"] {
        let key = format!("providers.{provider}.{OPTION}");
        let refused = holon.run(&["config", "set", &key, "{ clear_tool_uses = {} }"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.stderr.contains("which has no context_management; anthropic_messages has it"),
            "{refused:?}"
        );
    }
    let set = holon.run(&["config", "set", "providers.anthropic.context_management", ALL]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let shown = holon.run(&["config", "get", "providers.anthropic.context_management"]);
    assert!(shown.stdout.contains("60000") && shown.stdout.contains("ApplyPatch"), "{shown:?}");
}

/// A provider that does not know the field refuses the request: the error is the provider's.
#[test]
fn a_provider_that_does_not_know_it_says_so() {
    let refusal = Reply::Status {
        code: 400,
        headers: vec![],
        body: r#"{"error":{"message":"context_management: Extra inputs are not permitted"}}"#.to_owned(),
    };
    let (told, _) = trial("{ clear_tool_uses = {} }").against([refusal]);
    let summary = told.report["failure_artifact"]["summary"].as_str().unwrap();
    assert!(summary.contains("context_management: Extra inputs"), "{summary}");
}
