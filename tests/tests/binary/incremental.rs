//! A provider that keeps its responses is sent what is new alone, and knows the same as one that is sent everything.

use end_to_end::Holon;
use end_to_end::provider::{Call, Fault, Place, Provider, Reply, fails, raw_calls, says};
use end_to_end::trial::{Told, Trial};
use serde_json::{Value, json};

const OPTION: &str = "incremental_responses";

fn trial() -> Trial {
    Trial::new("openai/test").lasting().option(OPTION, "true")
}

fn work(round: usize) -> Reply {
    let arguments = json!({ "cmd": format!("echo result-{round}-") }).to_string();
    raw_calls([Call::new("ExecCommand", &arguments).id(json!(format!("call_{round}")))])
}

/// How the requests of a run went, in a line each.
fn went(told: &Told) -> Vec<String> {
    let line = |attempt: &Value| {
        let sent = &attempt["delivery"]["incremental"];
        let how = sent["response_id"].as_str().or(sent["whole"].as_str()).unwrap_or("-");
        format!("{how} {}/{}", sent["items_sent"], sent["items"])
    };
    told.attempts().iter().map(line).collect()
}

/// Without what a provider names by itself.
fn plain(input: &[Value]) -> Vec<Value> {
    let unnamed = |item: &Value| {
        let mut item = item.clone();
        if let Some(item) = item.as_object_mut() {
            ["id", "status"].iter().for_each(|field| drop(item.remove(*field)));
        }
        item
    };
    // A thought that is not encrypted is not kept by us, and never sent.
    input.iter().filter(|item| item["type"] != "reasoning").map(unnamed).collect()
}

/// The input of a request as it is, whole.
fn wire(holon: &Holon, turn: usize, round: usize) -> Vec<Value> {
    let (turn, round) = (turn.to_string(), round.to_string());
    let place = ["--turn", &turn, "--round", &round];
    let shown =
        holon.run(&[&["debug", "prompt", "--agent", "main", "--format", "wire"], &place[..]].concat());
    shown.json()["input"].as_array().expect("a list").clone()
}

#[test]
fn what_is_new_goes_along_and_the_provider_knows_everything() {
    for stream in ["true", "false"] {
        let trial = trial().option("stream", stream);
        let provider = Provider::start([work(1), work(2), says("Done."), work(3), says("Again.")]);
        let holon = trial.home(&provider.url);
        let first = trial.run(&holon, "go");
        assert_eq!(went(&first), ["no_response 1/1", "resp_1 1/3", "resp_2 1/5"]);
        // Another process goes on from what is on record.
        let second = trial.run(&holon, "go on");
        assert_eq!(went(&second), ["resp_3 1/7", "resp_4 1/9"]);
        let asked = provider.asked();
        assert!(asked.iter().all(|asked| asked.body["store"] == true));
        for (at, (turn, round)) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)].into_iter().enumerate() {
            assert_eq!(plain(&asked[at].whole), plain(&wire(&holon, turn, round)), "request {at}");
            let previous = asked[at].body["previous_response_id"].as_str();
            assert_eq!(previous, (at > 0).then(|| format!("resp_{at}")).as_deref());
        }
        let shown = holon.run(&["debug", "prompt", "--agent", "main", "--turn", "2", "--sizes"]);
        assert!(shown.stdout.contains("1 of 9 elements, after resp_4"), "{shown:?}");
    }
}

#[test]
fn without_the_option_nothing_is_kept() {
    let trial = Trial::new("openai/test").lasting();
    let (told, provider) = trial.against([work(1), says("Done.")]);
    assert_eq!(went(&told), ["- null/null", "- null/null"]);
    let asked = provider.asked();
    assert!(
        asked
            .iter()
            .all(|asked| asked.body["store"] == false && asked.body.get("previous_response_id").is_none())
    );
}

/// What the provider has forgotten is sent whole, once, in the same attempt; the next request goes on from the new answer.
#[test]
fn a_response_that_is_gone_is_followed_by_the_whole_request() {
    let trial = trial();
    let provider = Provider::start([says("Done."), work(2), says("Again.")]);
    let holon = trial.home(&provider.url);
    trial.run(&holon, "go");
    provider.forget();
    let told = trial.run(&holon, "go on");
    assert_eq!(went(&told), ["refused 3/3", "resp_3 1/5"]);
    assert_eq!(told.attempts()[0]["attempt"], 1);
    let asked = provider.asked();
    let previous: Vec<_> = asked.iter().map(|asked| asked.body["previous_response_id"].as_str()).collect();
    assert_eq!(previous, [None, Some("resp_1"), None, Some("resp_3")]);
    assert_eq!(plain(&asked[2].whole), plain(&wire(&holon, 2, 1)));
}

/// Servers say it in their own ways; some only once they have begun to answer.
#[test]
fn other_refusals_of_a_response_are_understood() {
    let late =
        says("x").faulty(Fault::Error(Place::Start, "invalid_request_error", "Previous response not found"));
    for refusal in [fails(404, "no such response"), fails(422, "{}"), late] {
        let (told, provider) = {
            let trial = trial();
            let provider = Provider::start([work(1), refusal, says("Done.")]);
            (trial.run(&trial.home(&provider.url), "go"), provider)
        };
        assert_eq!(told.report["final_text"], "Done.");
        assert_eq!(went(&told), ["no_response 1/1", "refused 3/3"]);
        assert_eq!(provider.asked().len(), 3);
    }
}

/// The whole request has one repetition: where that is refused, too, the attempt has failed, and says why.
#[test]
fn a_request_that_is_refused_whole_is_not_repeated() {
    let trial = trial();
    let provider = Provider::start([work(1), fails(404, "no such path"), fails(400, "no such field")]);
    let told = trial.run(&trial.home(&provider.url), "go");
    assert_eq!(told.report["verdict"], "failed");
    assert_eq!(went(&told), ["no_response 1/1", "refused 3/3"]);
    assert!(told.attempts()[1]["message"].as_str().unwrap().contains("no such field"));
    assert_eq!(provider.asked().len(), 3);
}

/// After a failure of any kind the next attempt has everything.
#[test]
fn a_retry_is_whole() {
    for failure in [fails(500, ""), says("Half of this").cut_in_text()] {
        let (told, _) = trial().against([work(1), failure, work(2), says("Done.")]);
        assert_eq!(went(&told), ["no_response 1/1", "resp_1 1/3", "no_response 3/3", "resp_3 1/5"]);
    }
}

#[test]
fn what_is_no_continuation_is_sent_whole() {
    let trial = trial();
    let provider = Provider::start((0..4).map(|_| says("Done.")));
    let holon = trial.home(&provider.url);
    trial.run(&holon, "go");
    let config = holon.home().join("config.toml");
    let file = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{file}models.\"openai/test\".verbosity = \"low\"\n")).unwrap();
    assert_eq!(went(&trial.run(&holon, "go on")), ["settings 3/3"]);
    assert_eq!(went(&trial.run(&holon, "go on")), ["resp_2 1/5"]);
    let file = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{file}context.episode_idle_ms = 1000\n")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(went(&trial.run(&holon, "go on")), ["conversation 1/1"]);
}

/// A provider knows a call by the id that it gave it.
#[test]
fn calls_that_are_renamed_are_not_gone_on_from() {
    let named = |id: &str| raw_calls([Call::new("ExecCommand", r#"{"cmd":"true"}"#).id(json!(id))]);
    let (told, _) = trial().against([named("a|b"), named("c"), named("c"), says("Done.")]);
    assert_eq!(went(&told), ["no_response 1/1", "no_response 3/3", "resp_2 1/5", "no_response 7/7"]);
}

#[test]
fn an_answer_that_is_cut_off_or_has_no_name_is_not_gone_on_from() {
    let (told, _) = trial().against([says("Half").cut_short(), says("of it.")]);
    assert_eq!(went(&told)[1], "no_response 3/3");
    for id in [json!(7), json!(""), json!("x".repeat(300)), json!("a b"), json!(null)] {
        let call = json!({ "type": "function_call", "call_id": "c", "name": "ExecCommand", "arguments": "{\"cmd\":\"true\"}" });
        let odd = Reply::Json(json!({ "id": id, "status": "completed", "output": [call] }));
        let (told, _) = trial().against([odd, says("Done.")]);
        assert_eq!(went(&told), ["no_response 1/1", "no_response 3/3"], "{id}");
    }
}

#[test]
fn other_transports_have_no_such_option() {
    for provider in ["local", "anthropic", "openai-codex"] {
        let holon = Holon::new();
        let key = format!("providers.{provider}.{OPTION}");
        let refused = holon.run(&["config", "set", &key, "true"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.stderr.contains("which has no incremental_responses; openai_responses has it"),
            "{refused:?}"
        );
        assert_eq!(holon.run(&["config", "set", &key, "false"]).code, Some(0));
    }
    let absurd = Holon::new().run(&["config", "set", "providers.openai.incremental_responses", "7"]);
    assert_eq!(absurd.code, Some(2), "{absurd:?}");
}
