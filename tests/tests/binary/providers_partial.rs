//! Answers that stop in the middle, and runs that end before their answer: nothing partial is durable or
//! executed, and what comes too late changes nothing (fault catalogue: PV3, PV8, PV10, PV12).

use std::process::{Child, Command};
use std::time::Duration;

use end_to_end::provider::{Fault, Place, Provider, Reply, calls, command, fails, says};
use end_to_end::trial::{Told, streamed};
use end_to_end::{Ended, Holon, count};
use serde_json::{Value, json};

const BEGUN: &str = "Half of this and never the rest";

/// An answer with text and a call, of which neither may be seen before all of it came.
fn faulty(fault: Fault) -> Reply {
    calls(&[command("touch never")]).saying(BEGUN).faulty(fault)
}

/// Nothing of the answers that broke is in a record, a file or a later request.
fn nothing_of_it(told: &Told, holon: &Holon, provider: &Provider) {
    assert!(!holon.work().join("never").exists());
    assert_eq!(count(&told.records, "tool_started"), 0);
    let records = json!(told.records).to_string();
    let asked = json!(provider.requests()).to_string();
    for text in [BEGUN, "Half of", "touch never"] {
        assert!(!records.contains(text) && !asked.contains(text), "{text}");
    }
}

#[test]
fn what_broke_off_is_asked_for_again_and_never_kept_or_done() {
    use Place::{BeforeEnd, InCall, InText, Start};
    let cuts = [Start, InText, InCall, BeforeEnd].map(|place| (Fault::Cut(place), "stream_cut"));
    let ends = [Start, InText, InCall, BeforeEnd].map(|place| (Fault::End(place), "stream_cut"));
    let stalls = [Start, InText, InCall, BeforeEnd].map(|place| (Fault::Stall(place), "timeout"));
    let errors = [InText, InCall, BeforeEnd]
        .map(|place| (Fault::Error(place, "overloaded_error", "Too much to do"), "server"));
    let breaks = [&cuts[..], &ends, &errors].concat();
    // Waiting only where the server does, so that a slow machine changes nothing.
    let rows = [
        ("false", "600000", &cuts[..]),
        ("true", "600000", &breaks),
        ("false", "40", &stalls),
        ("true", "40", &stalls),
    ];
    for trial in streamed() {
        for (streaming, patience, rows) in rows {
            let trial = trial.clone().set("runtime.retries", "40").set("runtime.retry_backoff_ms", "1");
            let trial = trial.option("stream", streaming).option("idle_timeout_ms", patience);
            let trial = trial.option("first_byte_timeout_ms", &format!("{patience}0"));
            let replies = rows.iter().map(|(fault, _)| faulty(fault.clone())).chain([says("Whole.")]);
            let provider = Provider::start(replies);
            let holon = trial.home(&provider.url);
            let told = trial.run(&holon, "go");
            assert_eq!(told.report["final_text"], "Whole.", "{:#?}", told.story());
            assert_eq!(provider.asked().len(), rows.len() + 1);
            for (attempt, (fault, kind)) in told.attempts().iter().zip(rows) {
                assert_eq!(attempt["failure_kind"], *kind, "{fault:?}: {attempt}");
            }
            nothing_of_it(&told, &holon, &provider);
        }
    }
}

#[test]
fn what_was_done_before_a_cut_is_not_done_again() {
    for trial in streamed() {
        let provider = Provider::start([
            calls(&[command("echo one >> log")]),
            calls(&[command("echo two >> log")]).cut_in_call(),
            calls(&[command("echo three >> log")]),
            says("Done.").cut_in_text(),
            says("Done."),
        ]);
        let holon = trial.home(&provider.url);
        let told = trial.run(&holon, "go");
        assert_eq!(told.report["final_text"], "Done.");
        assert_eq!(std::fs::read_to_string(holon.work().join("log")).unwrap(), "one\nthree\n");
        let requests = provider.requests();
        assert_eq!(requests[1], requests[2], "another attempt is the same request");
        assert_eq!(requests[3], requests[4]);
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill runs");
    assert!(status.success());
}

#[test]
fn whatever_a_run_waits_for_it_ends_at_once_when_asked() {
    let late = || says("Much too late.").late(Duration::from_secs(40));
    let again = || fails(429, "x").header("retry-after", "60");
    let dribble = || says(&"word ".repeat(9_000)).dribble(Duration::from_millis(20));
    let rows: [(Reply, &str, bool); 6] = [
        (Reply::Hang, "-INT", true),
        (Reply::Hang, "-TERM", true),
        (faulty(Fault::Stall(Place::InCall)), "-INT", true),
        (dribble(), "-HUP", true),
        (late(), "-INT", false),
        (again(), "-INT", false),
    ];
    for (trial, (reply, name, holds)) in streamed().chain(streamed()).zip(rows) {
        let provider = Provider::start([reply.clone()]);
        let holon = trial.home(&provider.url);
        let child = trial.spawn(&holon, "go");
        provider.wait_for_requests(1);
        // So that some of the answer has come, where some comes.
        std::thread::sleep(Duration::from_millis(150));
        signal(&child, name);
        if holds {
            provider.wait_for_hang_ups(1);
        }
        let told = Told::new(&holon, Ended::from(child.wait_with_output().unwrap()));
        assert_eq!(told.report["verdict"], "aborted", "{reply:?}");
        assert!(told.report["duration_ms"].as_u64() < Some(30_000), "{}", told.report);
        assert_eq!(provider.asked().len(), 1);
        nothing_of_it(&told, &holon, &provider);
        if name == "-INT" && !holds {
            let waits = told.attempts().iter().map(|attempt| attempt["backoff_ms"].as_u64());
            assert!(waits.eq(told.attempts().iter().map(|_| Some(60_000))), "the longest wait there is");
        }
    }
}

#[test]
fn an_answer_that_comes_after_its_run_was_aborted_changes_nothing() {
    for trial in streamed() {
        let trial = trial.lasting();
        let late = calls(&[command("touch never")]).saying(BEGUN).late(Duration::from_millis(600));
        let provider = Provider::start([late, says("Fresh.")]);
        let holon = trial.home(&provider.url);
        let child = trial.spawn(&holon, "first");
        provider.wait_for_requests(1);
        signal(&child, "-INT");
        let told = Told::new(&holon, Ended::from(child.wait_with_output().unwrap()));
        assert_eq!(told.report["verdict"], "aborted");
        std::thread::sleep(Duration::from_millis(700));
        let told = trial.run(&holon, "second");
        assert_eq!(told.report["final_text"], "Fresh.");
        nothing_of_it(&told, &holon, &provider);
        assert_eq!(count(&told.records, "message_aborted"), 1);
        assert_eq!(count(&told.records, "assistant_round_recorded"), 1);
    }
}

#[test]
fn an_answer_to_a_runtime_that_was_killed_is_asked_for_again() {
    for trial in streamed() {
        let trial = trial.lasting();
        let provider = Provider::start([
            faulty(Fault::Stall(Place::InCall)),
            says("The first, once more."),
            says("The second."),
        ]);
        let holon = trial.home(&provider.url);
        let mut child = trial.spawn(&holon, "first");
        provider.wait_for_requests(1);
        child.kill().unwrap();
        child.wait().unwrap();
        provider.wait_for_hang_ups(1);
        let told = trial.run(&holon, "second");
        assert_eq!(told.report["final_text"], "The second.");
        nothing_of_it(&told, &holon, &provider);
        let briefs = told.facts("brief_created");
        let texts: Vec<&Value> = briefs.iter().map(|brief| &brief["text"]).collect();
        assert_eq!(texts, ["The first, once more.", "The second."]);
        let settled: Vec<&Value> =
            told.facts("operation_settled").into_iter().map(|fact| &fact["settlement"]).collect();
        assert_eq!(settled.iter().filter(|settlement| **settlement == "lost").count(), 1, "{settled:?}");
        assert_eq!(provider.asked().len(), 3);
    }
}
