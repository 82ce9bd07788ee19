//! Instructions and numbers that can't be used as they are: what a model is shown then, and what a person reads.

use std::fs;
use std::process::Command;

use end_to_end::provider::{Provider, calls, command, says};
use end_to_end::trial::Trial;
use end_to_end::{Holon, payloads};
use serde_json::{Value, json};

const RULE: &str = "Keep the tests green, and say in each message why a change is made.\n";

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().expect("a system message")
}

/// Nothing of the standing set may be left out, so there is nothing to send.
#[test]
fn a_window_that_the_instructions_fill_asks_no_model() {
    let provider = Provider::answering(|_| says("Done."));
    let trial = Trial::new("local/test").set("runtime.context_window_tokens", "12000").lasting();
    let holon = trial.home(&provider.url);
    let file = holon.file("AGENTS.md", &RULE.repeat(900));
    let told = trial.run(&holon, "go");
    assert_eq!(told.ended.code, Some(1));
    assert_eq!(told.report["turn_kind"], "context_length_exceeded", "{:#}", told.report);
    assert!(provider.requests().is_empty(), "what can't fit is not sent");
    let failure = told.report["failure_artifact"]["summary"].to_string();
    assert!(
        failure.contains("fit local/test") && failure.contains("runtime.context_window_tokens"),
        "{failure}"
    );
    // Once they are shorter, the same agent goes on.
    fs::write(file, RULE).expect("a file");
    assert_eq!(trial.run(&holon, "and now?").report["final_text"], "Done.");
}

#[test]
fn instructions_of_ten_megabytes_are_cut_where_the_model_reads_it() {
    let provider = Provider::start([says("Done.")]);
    let holon = with(&provider);
    holon.file("AGENTS.md", &RULE.repeat((10 << 20) / RULE.len()));
    assert_eq!(holon.run(&["run", "go"]).code, Some(0));
    let requests = provider.requests();
    let shown = system(&requests[0]);
    assert!(shown.contains(RULE) && shown.contains("cut"), "{:?}", &shown[shown.len() - 500..]);
    assert!(shown.len() < 90_000, "{} bytes", shown.len());
}

#[test]
fn instructions_that_are_no_file_end_the_turn_with_their_path() {
    let provider = Provider::start([says("never")]);
    let holon = with(&provider);
    let path = holon.work().join("AGENTS.md");
    let is_refused = || {
        let ended = holon.run(&["run", "go"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("AGENTS.md can't be read"), "{ended:?}");
    };
    fs::create_dir(&path).expect("a folder");
    is_refused();
    fs::remove_dir(&path).expect("it is empty");
    // Whoever opened it would wait for somebody to write.
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    is_refused();
    assert!(provider.requests().is_empty());
}

/// Counts that can't be true correct no estimate, so what is sent next is bounded as before.
#[test]
fn counts_that_can_t_be_true_correct_no_estimate() {
    for count in [json!(0), json!(-5), json!(1), json!(1e300), json!("many")] {
        let round = |at: usize| calls(&[command(&format!("echo {at}"))]).counting(count.clone(), json!(1));
        let replies = (0..5).map(round).chain([says("Done.")]);
        let (told, _) = Trial::new("local/test").against(replies);
        assert_eq!(told.report["final_text"], "Done.");
        let opened = payloads(&told.records, "operation_opened");
        let ratios: Vec<&Value> = opened
            .iter()
            .map(|fact| &fact["request"]["size"]["ratio"])
            .filter(|ratio| !ratio.is_null())
            .collect();
        assert_eq!(ratios.len(), 6);
        assert!(ratios.iter().all(|ratio| *ratio == ratios[0]), "{count}: {ratios:?}");
    }
}
