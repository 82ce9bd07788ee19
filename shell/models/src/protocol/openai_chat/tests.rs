use holon_facts::Text;
use holon_facts::model::{AnswerBlock, ModelAnswer, StopReason};
use serde_json::{Value, json};

use crate::exchange::Lowering;
use crate::lower;
use crate::options::{MaxTokensField, ProviderOptions};
use crate::testing::{self, Asking, Send, Server, answer, choice, events, local, refused, spec, texts};
use crate::tools::Tools;

async fn whole(body: Value) -> ModelAnswer {
    local(answer(200, &[], body.to_string().as_bytes())).await.answer().await
}

#[tokio::test]
async fn the_key_goes_into_the_head() {
    let body = choice(&json!({"content": "hi"}), &json!("stop")).to_string();
    let server = Server::start([vec![Send::Bytes(answer(200, &[], body.as_bytes()))]]).await;
    let asking = Asking::new("local", &server.base, ProviderOptions::default());
    let said = asking.answer().await;
    assert_eq!(said.blocks, [AnswerBlock::Text { text: Text::short("hi") }]);
    assert_eq!((said.stop, said.usage.total_tokens), (StopReason::EndTurn, 0));
    let (head, body) = server.asked.lock().unwrap()[0].clone();
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: bearer {}", testing::KEY)), "{head}");
    assert!(head.contains("accept: text/event-stream, application/json"), "{head}");
    assert_eq!(body["model"], "some/model");
}

#[test]
fn what_only_some_servers_know_is_sent_to_them_only() {
    let texts = texts();
    let lowered = |id: &str, base: &str, options: ProviderOptions| {
        let request = testing::request(&texts, &format!("{id}/m"), 1_000);
        let spec = spec(id, base, options);
        let tools = &Tools::default();
        super::request::lower(&Lowering::new(&texts, &request, &spec, tools)).unwrap().document()
    };
    let public = lowered("openai-chat", "https://api.openai.com/v1", ProviderOptions::default());
    assert_eq!(public["prompt_cache_key"], "cache-key");
    assert_eq!((&public["max_completion_tokens"], &public["max_tokens"]), (&json!(77), &Value::Null));
    let older = ProviderOptions {
        max_tokens_field: Some(MaxTokensField::MaxTokens),
        prompt_cache_key: Some(false),
        ..ProviderOptions::default()
    };
    let older = lowered("openai-chat", "https://api.openai.com/v1", older);
    assert_eq!((&older["max_completion_tokens"], &older["max_tokens"]), (&Value::Null, &json!(77)));
    assert_eq!(older["prompt_cache_key"], Value::Null);
    let own = lowered("openai-chat", "http://h/v1", ProviderOptions::default());
    assert_eq!((&own["prompt_cache_key"], &own["max_tokens"]), (&Value::Null, &json!(77)));
    let newer = ProviderOptions {
        max_tokens_field: Some(MaxTokensField::MaxCompletionTokens),
        prompt_cache_key: Some(true),
        stream: false,
        ..ProviderOptions::default()
    };
    let newer = lowered("local", "http://h/v1", newer);
    assert_eq!((&newer["max_completion_tokens"], &newer["max_tokens"]), (&json!(77), &Value::Null));
    assert_eq!(newer["prompt_cache_key"], "cache-key");
    assert_eq!((&newer["stream"], &newer["stream_options"]), (&json!(false), &Value::Null));
    assert!(lower::Calls::of(&testing::request(&texts, "a/b", 1)).name(&orphan()) == "unknown");
}

fn orphan() -> holon_facts::model::CallResult {
    let receipt = holon_facts::receipt::Receipt::success(Text::short(""), Default::default());
    holon_facts::model::CallResult::new("nobody", std::sync::Arc::new(receipt))
}

#[tokio::test]
async fn tool_calls_and_usage_are_read_leniently() {
    let long = format!(r#"{{"cmd":"{}"}}"#, "x".repeat(1_000));
    let message = json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "tool_calls": [
        {"id": "t1", "type": "function", "function": {"name": "ExecCommand", "arguments": long}},
        {"function": {"name": "ApplyPatch", "arguments": {"patch": "p"}}},
        {"id": null, "function": {"name": "Other"}},
    ]});
    let mut body = choice(&message, &json!("stop"));
    body["usage"] = json!({"prompt_tokens": -5, "completion_tokens": 1e300});
    let answer = whole(body).await;
    assert_eq!(answer.stop, StopReason::ToolUse);
    assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens), (0, 1 << 40));
    let [
        AnswerBlock::Text { text },
        AnswerBlock::ToolCall(first),
        AnswerBlock::ToolCall(second),
        AnswerBlock::ToolCall(third),
    ] = &answer.blocks[..]
    else {
        panic!("{answer:?}")
    };
    assert_eq!(text, &Text::short("ab"));
    assert_eq!((first.call_id.as_str(), first.json()), ("t1", Some(long.as_str())));
    assert!(first.arguments.content().is_some());
    assert_eq!((second.call_id.as_str(), second.json()), ("", Some(r#"{"patch":"p"}"#)));
    assert_eq!(third.json(), Some("{}"));
}

#[tokio::test]
async fn stop_reasons_are_those_of_the_runtime() {
    let text = json!({"content": "x"});
    for (finish, expected) in [
        (json!("length"), StopReason::MaxOutput),
        (json!("content_filter"), StopReason::ContentFilter),
        (json!("stop"), StopReason::EndTurn),
        (json!("tool_calls"), StopReason::ToolUse),
        (json!("new"), StopReason::Other),
        (json!(null), StopReason::Other),
    ] {
        assert_eq!(whole(choice(&text, &finish)).await.stop, expected);
    }
    assert!(whole(choice(&json!({"content": null}), &json!("stop"))).await.blocks.is_empty());
    let refusal = whole(choice(&json!({"content": "", "refusal": "No."}), &json!("stop"))).await;
    assert_eq!(refusal.blocks, [AnswerBlock::Text { text: Text::short("No.") }]);
}

#[tokio::test]
async fn unusable_answers_are_invalid() {
    for (body, expected) in [
        (r#"{"object":"list"}"#, "it has no choices"),
        (r#"{"choices":[]}"#, "it has no choices"),
        (r#"{"choices":{"0":1}}"#, "no message"),
        (r#"{"choices":[{"message":"x"}]}"#, "no message"),
        (r#"{"choices":[{"message":{"content":5}}]}"#, "neither text nor a list"),
        (r#"{"choices":[{"message":{"tool_calls":{}}}]}"#, "not a list"),
        (r#"{"choices":[{"message":{"tool_calls":[{"function":{}}]}}]}"#, "no name"),
    ] {
        let failure = refused(200, &[], body).await;
        assert_eq!(failure.kind, holon_facts::model::FailureKind::InvalidResponse, "{body}");
        assert!(failure.message.preview().contains(expected), "{body}: {}", failure.message.preview());
    }
}

/// Calls of a stream, as servers cut them: with an index, without one, with a repeated id, or all at once.
#[tokio::test]
async fn pieces_of_calls_find_their_call() {
    let piece = |index: Value, id: Value, name: Value, arguments: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
    let null = Value::Null;
    let (a, b) = (json!("A"), json!("B"));
    let expected = [("1", "A", "{\"x\":1}"), ("2", "B", "{}")];
    let streams = [
        // By index, interleaved.
        vec![
            piece(json!(0), json!("1"), a.clone(), ""),
            piece(json!(1), json!("2"), b.clone(), "{"),
            piece(json!(0), null.clone(), null.clone(), "{\"x\":1}"),
            piece(json!(1), null.clone(), null.clone(), "}"),
        ],
        // Without an index.
        vec![
            piece(null.clone(), json!("1"), a.clone(), "{\"x\""),
            piece(null.clone(), null.clone(), null.clone(), ":1}"),
            piece(null.clone(), json!("2"), b.clone(), "{}"),
        ],
        // Everything is number 0.
        vec![
            piece(json!(0), json!("1"), a.clone(), "{\"x\":1}"),
            piece(json!(0), json!("2"), b.clone(), "{}"),
        ],
        // Id and name again with each piece.
        vec![
            piece(json!(0), json!("1"), a.clone(), "{\"x\""),
            piece(json!(0), json!("1"), a.clone(), ":1}"),
            piece(json!(1), json!("2"), b.clone(), ""),
            piece(json!(1), json!("2"), b.clone(), "{}"),
        ],
    ];
    for pieces in streams {
        let mut body = String::new();
        for piece in &pieces {
            let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
            body.push_str(&format!("data: {delta}\n\n"));
        }
        body.push_str(
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
        );
        let answer = local(events(&body)).await.answer().await;
        let found: Vec<_> = answer
            .blocks
            .iter()
            .map(|block| match block {
                AnswerBlock::ToolCall(call) => {
                    (call.call_id.as_str(), call.tool_name.as_str(), call.json().unwrap())
                }
                AnswerBlock::Text { .. } | AnswerBlock::Reasoning { .. } => panic!("{answer:?}"),
            })
            .collect();
        assert_eq!(found, expected, "{pieces:?}");
    }
}

#[tokio::test]
async fn a_field_that_a_server_refuses_is_named_with_its_option() {
    for (message, option) in [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "providers.local.max_tokens_field max_completion_tokens",
        ),
        (
            "Unrecognized request argument supplied: max_completion_tokens",
            "providers.local.max_tokens_field max_tokens",
        ),
        ("Extra inputs are not permitted: prompt_cache_key", "providers.local.prompt_cache_key false"),
    ] {
        let failure = refused(400, &[], &json!({"error": {"message": message}}).to_string()).await;
        let told = failure.message.preview();
        assert!(told.contains(&format!("try `holon config set {option}`")), "{told}");
    }
}
