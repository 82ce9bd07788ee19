//! Requests that are too long, and numbers of tokens that can't be true (fault catalogue: PV7, PV14).

use end_to_end::count;
use end_to_end::provider::{Asked, Fault, Place, Reply, calls, command, fails, says};
use end_to_end::trial::{Trial, both, streamed};
use serde_json::{Value, json};

/// How a server of this protocol says that a request is too long.
fn too_long(model: &str) -> Reply {
    match model {
        "anthropic/test" => {
            fails(400, r#"{"type":"error","error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}"#)
        }
        "openai/test" => says("x").faulty(Fault::Error(Place::Start, "context_length_exceeded", "Too long")),
        _ => {
            fails(400, r#"{"error":{"message":"the request exceeds the available context size (8 tokens)"}}"#)
        }
    }
}

fn work(round: usize) -> Reply {
    calls(&[command(&format!("echo result-{round}-; head -c 2000 /dev/zero | tr '\\0' {round}"))])
}

fn whole(asked: &Asked) -> String {
    asked.body.to_string()
}

#[test]
fn a_refusal_as_too_long_is_answered_once_with_a_recap() {
    for trial in streamed() {
        let rounds = (1..=5).map(work);
        let (told, provider) = trial.against(rounds.chain([too_long(&trial.model), work(6), says("Done.")]));
        assert_eq!(told.report["final_text"], "Done.");
        let refused = &told.attempts()[5];
        assert_eq!(refused["failure_kind"], "context_length_exceeded", "{refused}");
        assert_eq!(refused["outcome"], "fail_fast_aborted");
        let compacted = told.facts("episode_closed");
        // The one recap; what follows stays well below what was refused, which may take another one.
        let causes: Vec<&Value> = compacted.iter().map(|fact| &fact["boundary"]).collect();
        assert_eq!(causes.iter().filter(|cause| **cause == "refused").count(), 1, "{causes:?}");
        assert_eq!(
            (&compacted[0]["boundary"], &compacted[0]["hidden_rounds"]),
            (&json!("refused"), &json!(3))
        );
        let asked = provider.asked();
        let (before, after) = (whole(&asked[5]), whole(&asked[6]));
        assert!(after.len() + 3_000 < before.len(), "{} and {}", before.len(), after.len());
        assert!(after.contains("recap by the runtime") && !before.contains("recap by the runtime"));
        // The newest rounds are whole, and the commands that were told in short are not run again.
        for (round, zeros) in [(1, false), (3, false), (4, true), (5, true)] {
            assert_eq!(after.contains(&round.to_string().repeat(1_000)), zeros, "{round}");
        }
        assert_eq!(count(&told.records, "tool_executed"), 6);
        assert_eq!(count(&told.records, "message_requeued"), 0);
    }
}

#[test]
fn a_second_refusal_ends_the_turn_and_nothing_starts_it_again() {
    for trial in streamed() {
        let refused = || too_long(&trial.model);
        let replies = (1..=4).map(work).chain([refused(), refused()]);
        // No other model is asked: the request itself is the problem.
        let (told, _) = trial.clone().fallbacks(&["local/other"]).against(replies);
        assert_eq!(told.report["turn_kind"], "context_length_exceeded");
        let artifact = &told.report["failure_artifact"];
        assert_eq!(
            (&artifact["kind"], &artifact["category"]),
            (&json!("context_length_exceeded"), &json!("protocol"))
        );
        let brief = told.facts("brief_created")[0]["text"].to_string();
        assert!(brief.contains("context_length_exceeded"), "{brief}");
        assert_eq!(count(&told.records, "episode_closed"), 1);
        assert_eq!(count(&told.records, "turn_started"), 1);
        assert_eq!(count(&told.records, "message_admitted"), 1);
        let last = told.facts("scheduler_decision").last().copied().cloned().unwrap();
        assert_eq!(last["kind"], "sleep");
        assert_eq!(told.facts("closure_decided").last().unwrap()["outcome"], "failed");
    }
}

#[test]
fn a_first_request_that_is_too_long_has_nothing_to_leave_out() {
    for trial in both() {
        let (told, _) = trial.against([fails(413, "")]);
        assert_eq!(told.report["turn_kind"], "context_length_exceeded");
        assert_eq!(told.report["failure_artifact"]["status"], 413);
        assert_eq!(count(&told.records, "episode_closed"), 0);
    }
}

#[test]
fn numbers_of_tokens_that_can_t_be_true_saturate() {
    const MOST: u64 = 1 << 40;
    let rows: [(Value, Value, u64, u64); 7] = [
        (json!(-5), json!(7), 0, 7),
        (json!(1e300), json!(7), MOST, 7),
        (json!(3.7), json!(u64::MAX), 3, MOST),
        (json!(u64::MAX), json!(u64::MAX), MOST, MOST),
        (json!("7"), json!("x"), 0, 0),
        (json!({}), json!([5]), 0, 0),
        (json!(true), json!(-1e300), 0, 0),
    ];
    for (at, trial) in both().chain(both()).enumerate() {
        let (input, output, read_in, read_out) = rows[at % rows.len()].clone();
        let called = calls(&[command("true")]).counting(input.clone(), output.clone());
        let (told, _) = trial.against([called, says("Done.").counting(input, output)]);
        assert_eq!(told.report["final_text"], "Done.");
        let usage = &told.attempts()[0]["token_usage"];
        assert_eq!(usage["input_tokens"], read_in, "{usage}");
        assert_eq!(usage["output_tokens"], read_out, "{usage}");
        let both = (read_in + read_out).min(MOST);
        assert_eq!(usage["total_tokens"], both, "{usage}");
        let total = both * 2;
        assert_eq!(told.report["token_usage"]["total_tokens"], total);
        let timeline = &told.report["provider_attempt_timeline"];
        assert_eq!(timeline["aggregated_token_usage"], told.report["token_usage"]);
        assert_eq!(told.facts("turn_terminal")[0]["token_usage"], told.report["token_usage"]);
    }
}

#[test]
fn only_a_budget_decides_by_reported_tokens() {
    for trial in streamed() {
        let trial = trial.set("budget.turn_tokens", "1000000");
        let tokens = |input: Value| calls(&[command("true")]).counting(input, json!(1));
        let (told, _) = trial.against([tokens(json!(-1)), tokens(json!(u64::MAX))]);
        assert_eq!(told.report["verdict"], "budget_exhausted");
        assert_eq!(told.report["failure_artifact"]["kind"], "budget_exhausted");
        // No request can take more, whatever a provider says.
        let most = 1_u64 << 40;
        assert_eq!(told.facts("budget_exhausted")[0]["used"], json!(most + 1));
        assert_eq!(told.facts("brief_created")[0]["visibility"], "action_required");
    }
}

/// Failed attempts that used tokens nobody reported count nothing, and are in the timeline all the same.
#[test]
fn a_model_without_numbers_counts_nothing() {
    let trial = Trial::new("local/test");
    let plain = json!({ "choices": [{ "message": { "content": "Done." }, "finish_reason": "stop" }] });
    let (told, _) = trial.against([fails(500, "x"), Reply::Json(plain)]);
    assert_eq!(
        told.report["token_usage"],
        json!({ "input_tokens": 0, "output_tokens": 0, "total_tokens": 0 })
    );
}
