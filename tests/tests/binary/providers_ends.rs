//! How answers end: only a real end is a success, what was cut off is continued, and everything else fails by name
//! (contract: decisions.md 32).

use end_to_end::provider::{Reply, Stop, calls, command, says};
use end_to_end::trial::{Trial, both, streamed};
use serde_json::{Value, json};

/// The answer; how its turn fails, and words of the failure.
type Row = (Reply, &'static str, &'static str);

fn rows(model: &str) -> Vec<Row> {
    let mut rows = vec![
        (says(""), "empty_answer", "has neither text nor a tool call"),
        (says("I can't do that.").stopped(Stop::Refused), "refusal", "refused to answer: I can't do that."),
        (says("It works li").stopped(Stop::Other), "unknown_stop_reason", "It works li"),
    ];
    if model.starts_with("anthropic") {
        // The protocol has one word for both, and an answer without any text.
        rows.push((says("").stopped(Stop::Refused), "refusal", "the model refused to answer"));
    } else {
        rows.push((says("").stopped(Stop::Filtered), "content_filter", "a content filter"));
        rows.push((says("It works li").stopped(Stop::Filtered), "content_filter", "the answer: It works li"));
    }
    if !model.starts_with("openai/") {
        rows.push((says("I look.").stopped(Stop::NoCall), "missing_tool_call", "stopped for a tool call"));
    }
    rows
}

#[test]
fn an_answer_without_a_real_end_fails_its_turn_by_name() {
    for trial in both() {
        for (reply, kind, says) in rows(&trial.model) {
            let (told, _) = trial.against([reply.clone()]);
            let report = &told.report;
            assert_eq!(report["turn_kind"], "failed", "{reply:?}: {:#?}", told.story());
            assert_eq!((&report["verdict"], &report["turn_reason"]), (&json!("failed"), &json!(kind)));
            assert_eq!((told.ended.code, &report["exit_code"]), (Some(1), &json!(1)), "{reply:?}");
            assert_eq!(report["failure_artifact"]["kind"], kind, "{report}");
            assert_eq!(report["failure_artifact"]["model_ref"], trial.model);
            let summary = report["failure_artifact"]["summary"].as_str().unwrap();
            assert!(summary.contains(says), "{reply:?}: {summary}");
            let briefs = told.facts("brief_created");
            assert_eq!((briefs.len(), &briefs[0]["kind"]), (1, &json!("failure")), "{reply:?}");
            assert_eq!(report["final_text"], Value::Null, "what failed is no answer");
        }
    }
}

#[test]
fn what_was_said_of_an_answer_that_failed_is_printed() {
    let (told, provider) =
        Trial::new("local/test").against([says("I can't do that.").stopped(Stop::Refused)]);
    assert_eq!(told.report["raw_final_text"], "I can't do that.");
    drop(provider);
    let provider = end_to_end::provider::Provider::start([says("I can't do that.").stopped(Stop::Refused)]);
    let ended = Trial::new("local/test").home(&provider.url).run(&["run", "go"]);
    assert_eq!((ended.code, ended.stdout.trim()), (Some(1), "I can't do that."), "{ended:?}");
    assert!(ended.stderr.contains("failed: the model refused to answer"), "{}", ended.stderr);
}

#[test]
fn an_answer_that_was_cut_short_is_continued_and_told_as_one() {
    let long = "All tests pass and ".repeat(40);
    for trial in both() {
        let first = says(&long).cut_short();
        let (told, provider) = trial.against([first, says("so does ").cut_short(), says("the last one.")]);
        let whole = format!("{long}so does the last one.");
        assert_eq!(told.report["verdict"], "completed", "{:#?}", told.story());
        assert_eq!(
            (&told.report["final_text"], &told.report["raw_final_text"]),
            (&json!(whole), &json!(whole))
        );
        assert_eq!((&told.report["stop_reason"], &told.report["rounds"]), (&json!("end_turn"), &json!(3)));
        // The model sees what it said, and is asked to go on.
        let asked = provider.asked()[2].body.to_string();
        assert!(asked.contains("so does ") && asked.contains("was cut off. Continue exactly"), "{asked}");
    }
}

/// Reasoning may take all of the output: nothing was said then.
#[test]
fn an_answer_that_is_cut_short_before_its_first_word_is_asked_for_again() {
    for trial in streamed() {
        let (told, provider) = trial.against([says("").cut_short(), says("42.")]);
        assert_eq!(told.report["final_text"], "42.");
        let asked = provider.asked()[1].body.to_string();
        assert!(asked.contains("before it had any text"), "{asked}");
        let (told, _) = trial.against(std::array::from_fn::<_, 4, _>(|_| says("").cut_short()));
        assert_eq!((told.ended.code, &told.report["turn_reason"]), (Some(1), &json!("output_limit")));
        assert!(told.report["failure_artifact"]["summary"].to_string().contains("4 times in a row"));
    }
}

#[test]
fn continuations_are_bounded_by_a_setting() {
    let trial = Trial::new("local/test").set("limits.continuations", "1");
    let (told, _) = trial.against([says("a").cut_short(), says("b").cut_short()]);
    assert_eq!((told.ended.code, &told.report["turn_reason"]), (Some(1), &json!("output_limit")));
    assert_eq!(told.report["raw_final_text"], "ab", "what was said is not lost");
    let call = calls(&[command("true")]);
    let (told, _) = trial.against([says("a").cut_short(), call, says("b").cut_short(), says("c")]);
    assert_eq!(told.report["final_text"], "bc", "a call begins another answer");
}

#[test]
fn a_pause_goes_on() {
    for model in ["local/test", "anthropic/test"] {
        let (told, _) = Trial::new(model).against([says("I search. ").stopped(Stop::Paused), says("Found.")]);
        assert_eq!((told.ended.code, &told.report["final_text"]), (Some(0), &json!("I search. Found.")));
        let pauses: [_; 4] = std::array::from_fn(|_| says("I search.").stopped(Stop::Paused));
        let (told, _) = Trial::new(model).against(pauses);
        assert_eq!((told.ended.code, &told.report["turn_reason"]), (Some(1), &json!("pause")));
    }
}
