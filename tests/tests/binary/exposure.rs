//! A tool that an agent is not offered is not executed for it, whatever the model knows of it.

use end_to_end::provider::{Reply, calls, command, says};
use end_to_end::trial::{Told, Trial, streamed};
use serde_json::{Value, json};

/// Result of the only call of a run.
fn refused(told: &Told) -> &Value {
    let results = told.results();
    let [result] = results[..] else { panic!("{results:?}") };
    &result["receipt"]["error"]
}

fn asks(tool: &str, arguments: Value) -> [Reply; 2] {
    [calls(&[(tool, arguments)]), says("Then not.")]
}

#[test]
fn a_temporary_run_executes_what_it_is_offered() {
    let lasting = [
        ("Enqueue", json!({ "text": "later" })),
        ("CreateWorkItem", json!({ "objective": "go" })),
        ("Sleep", json!({ "duration_ms": 1_000 })),
        ("SpawnAgent", json!({ "initial_message": "go" })),
        ("UseWorkspace", json!({ "workspace_id": "agent_home" })),
    ];
    for ((tool, arguments), trial) in lasting.into_iter().zip(streamed().chain(streamed())) {
        let (told, provider) = trial.against(asks(tool, arguments));
        let error = refused(&told);
        assert_eq!((&error["kind"], &error["retryable"]), (&json!("tool_not_exposed"), &json!(true)));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(tool) && message.contains("agents that last longer"), "{message}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("ExecCommand") && !hint.contains(tool), "{hint}");
        // The model reads it, and nothing has happened.
        assert!(provider.requests()[1].to_string().contains("tool_not_exposed"));
        for fact in ["tool_started", "work_item_created", "task_created", "sleep_begun"] {
            assert!(told.facts(fact).is_empty(), "{fact}");
        }
        assert_eq!(told.facts("message_admitted").len(), 1);
        assert_eq!(told.facts("turn_started")[0]["only_offered"], true);
    }
}

#[test]
fn a_small_window_and_a_missing_tool_have_reasons_of_their_own() {
    let small = Trial::new("local/test").lasting().set("runtime.context_window_tokens", "8192");
    let small = small.set("runtime.max_output_tokens", "1000");
    let (told, _) = small.against(asks("AgentGet", json!({})));
    assert!(refused(&told)["message"].as_str().unwrap().contains("models with a larger window"));
    let (told, _) = Trial::new("local/test").against(asks("Levitate", json!({})));
    assert_eq!(refused(&told)["kind"], "unknown_tool");
    let (told, _) = Trial::new("local/test").lasting().against(asks("AgentGet", json!({})));
    assert!(refused(&told).is_null());
}

/// Bad arguments of a tool that is not offered need no correction, and the calls beside it are executed.
#[test]
fn the_calls_beside_it_are_executed() {
    let round = calls(&[("Sleep", json!({ "duration_ms": "long" })), command("echo done-here")]);
    let (told, _) = Trial::new("openai/test").against([round, says("Done.")]);
    let kinds: Vec<&Value> =
        told.results().iter().map(|result| &result["receipt"]["error"]["kind"]).collect();
    assert_eq!(kinds, [&json!("tool_not_exposed"), &Value::Null]);
}
