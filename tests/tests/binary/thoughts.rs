//! What a model thought and its provider takes back no more is left out: of the request that it refused, and of every later
//! one of the episode.

use end_to_end::provider::{Call, Provider, Reply, THOUGHT, fails, raw_calls, says};
use end_to_end::trial::{Told, Trial};
use serde_json::{Value, json};

/// Each model that thinks, and how its provider refuses a thought.
fn cases() -> [(Trial, Reply); 2] {
    let thinks = Trial::new("anthropic/test").set("models.\"anthropic/test\".thinking_budget_tokens", "2000");
    let reasons = Trial::new("openai/test").set("models.\"openai/test\".reasoning", "true");
    let refusal = |text: &str| fails(400, &json!({ "error": { "message": text } }).to_string());
    [
        (thinks.lasting(), refusal("messages.1.content.0: Invalid `signature` in `thinking` block")),
        (reasons.lasting(), refusal("The encrypted content gAAA... could not be verified.")),
    ]
}

fn work(round: usize) -> Reply {
    let call = Call::new("ExecCommand", &json!({ "cmd": format!("echo {round}") }).to_string());
    raw_calls([call.id(json!(format!("call_{round}")))])
}

/// Thoughts in each request.
fn thoughts(provider: &Provider) -> Vec<usize> {
    let input = |body: &Value| [&body["messages"], &body["input"]].map(Value::to_string).concat();
    provider.requests().iter().map(|body| input(body).matches(THOUGHT).count()).collect()
}

fn refused(told: &Told) -> Vec<bool> {
    told.attempts().iter().map(|attempt| attempt["delivery"]["thoughts_refused"] == true).collect()
}

#[test]
fn refused_thoughts_are_sent_once() {
    for (trial, refusal) in cases() {
        let provider =
            Provider::start([work(1), work(2), refusal, work(3), work(4), says("Done."), says("Again.")]);
        let holon = trial.home(&provider.url);
        let told = trial.run(&holon, "go");
        assert_eq!(refused(&told), [false, false, true, false, false]);
        assert!(told.attempts().iter().all(|attempt| attempt["outcome"] == "succeeded"));
        let later = trial.run(&holon, "go on");
        assert_eq!(refused(&later), [false]);
        let sent = thoughts(&provider);
        assert_eq!(sent[..4], [0, 1, 2, 0], "refused, and repeated without them: {sent:?}");
        // What was thought before is gone; what is thought later comes back.
        let most = [1, 2, 3];
        assert!(sent[4..].iter().zip(most).all(|(count, most)| *count <= most), "{sent:?}");
        assert_eq!(provider.requests().len(), 7, "nothing is refused again");
        let shown =
            holon.run(&["debug", "prompt", "--agent", "main", "--turn", "1", "--round", "3", "--sizes"]);
        assert!(shown.stdout.contains("the provider refused what the model had thought"), "{shown:?}");
    }
}

/// A refusal for the same words with no thoughts in the request is the provider's last word.
#[test]
fn a_request_without_thoughts_is_not_repeated() {
    for (trial, refusal) in cases() {
        let (told, _) = trial.against([refusal]);
        assert_eq!((refused(&told), &told.report["verdict"]), (vec![false], &json!("failed")));
    }
}
