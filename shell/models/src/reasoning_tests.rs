//! What a model thought between rounds: it comes back to that model as it was given, and to nobody else.

use std::sync::Arc;

use holon_facts::Text;
use holon_facts::model::{AnswerBlock, AttemptFailure, Block, CallResult, Item, ModelAnswer, ModelRequest};
use holon_facts::model_ref::ModelRef;
use holon_facts::receipt::{Receipt, ToolFacts};
use serde_json::{Value, json};

use super::options::ProviderOptions;
use super::testing::{Asking, KEY, Send, Server, answer, events};

/// A block of a signed thought that came in pieces, and one that nobody may read.
const MESSAGES: &str = r#"data: {"type":"message_start","message":{"usage":{"input_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"b3BhcXVl"}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"ExecCommand","input":{}}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"cmd\":\"ls\"}"}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

"#;

fn responses(encrypted: Value) -> Vec<u8> {
    let body = json!({
        "status": "completed",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "It looks."}],
             "content": null, "encrypted_content": encrypted, "status": null},
            {"type": "function_call", "call_id": "t1", "name": "ExecCommand", "arguments": "{\"cmd\":\"ls\"}"},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 2},
    });
    answer(200, &[], body.to_string().as_bytes())
}

/// Asks twice: what the first answer says, with the blocks as the core keeps them for `model`, is part of the second
/// request, which is given.
async fn asked_again(id: &str, first: Vec<u8>, model: &str) -> (ModelAnswer, Value) {
    let server = Server::start([vec![Send::Bytes(first)], vec![Send::Bytes(answer(400, &[], b""))]]).await;
    let asking = Asking::new(id, &server.base, ProviderOptions::default());
    let said = asking.answer().await;
    asking.ask_for(&going_on(&asking, &said, model)).await.unwrap_err();
    assert_eq!(asking.shown(), "", "nobody is shown what a model thinks");
    let sent = server.asked.lock().unwrap()[1].1.clone();
    (said, sent)
}

/// The same where the second request is answered, and perhaps repeated; all requests.
async fn asked_thrice(
    id: &str,
    first: Vec<u8>,
    second: Vec<u8>,
    third: Vec<u8>,
) -> (Result<ModelAnswer, AttemptFailure>, Vec<Value>) {
    let server = Server::start([first, second, third].map(|bytes| vec![Send::Bytes(bytes)])).await;
    let asking = Asking::new(id, &server.base, ProviderOptions::default());
    let said = asking.answer().await;
    let again = asking.ask_for(&going_on(&asking, &said, &format!("{id}/some/model"))).await;
    let sent = server.asked.lock().unwrap().iter().map(|(_, body)| body.clone()).collect();
    (again, sent)
}

/// The request after an answer.
fn going_on(asking: &Asking, said: &ModelAnswer, model: &str) -> ModelRequest {
    let model = ModelRef::new(model).unwrap();
    let blocks = said.blocks.iter().cloned().map(|block| match block {
        AnswerBlock::Text { text } => Block::Text { text },
        AnswerBlock::Reasoning { content } => Block::Reasoning { model: model.clone(), content },
        AnswerBlock::ToolCall(call) => {
            Block::ToolCall { call_id: call.call_id, tool_name: call.tool_name, arguments: call.arguments }
        }
    });
    let mut request = asking.request();
    request.conversation.truncate(1);
    request.conversation.push(Item::Assistant { blocks: blocks.collect() });
    let receipt = Arc::new(Receipt::success(Text::short("a.txt"), ToolFacts::default()));
    let results = vec![CallResult::new("t1", receipt)];
    request.conversation.push(Item::ToolResults { results });
    request
}

#[tokio::test]
async fn signed_thoughts_come_back_unchanged() {
    let (said, sent) = asked_again("anthropic", events(MESSAGES), "anthropic/some/model").await;
    assert_eq!(
        sent["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "tool_use", "id": "t1", "name": "ExecCommand", "input": {"cmd": "ls"}},
        ])
    );
    let AnswerBlock::Reasoning { content } = &said.blocks[0] else { panic!("{said:?}") };
    assert!(content.content().is_some() && content.preview().is_empty(), "records show no thought");
}

#[tokio::test]
async fn encrypted_thoughts_come_back_in_their_place() {
    let (_, sent) = asked_again("openai", responses(json!("Z0FBQUE")), "openai/some/model").await;
    let reasoning = json!({
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "It looks."}],
        "encrypted_content": "Z0FBQUE",
    });
    assert_eq!(sent["input"][1], reasoning);
    assert_eq!(sent["input"][2]["type"], "function_call");
}

#[tokio::test]
async fn another_model_gets_no_thoughts() {
    for other in ["anthropic/another", "elsewhere/some/model"] {
        let (_, sent) = asked_again("anthropic", events(MESSAGES), other).await;
        assert_eq!(sent["messages"][1]["content"].as_array().unwrap().len(), 1, "{sent}");
        let (_, sent) = asked_again("openai", responses(json!("Z0FBQUE")), other).await;
        assert_eq!(sent["input"][1]["type"], "function_call", "{sent}");
    }
}

#[tokio::test]
async fn a_thought_that_can_t_come_back_as_it_was_is_not_kept() {
    for encrypted in [json!(null), json!(""), json!(7), json!(format!("a {KEY} b"))] {
        let (said, sent) = asked_again("openai", responses(encrypted), "openai/some/model").await;
        assert_eq!(said.blocks.len(), 1, "{said:?}");
        assert_eq!(sent["input"][1]["type"], "function_call", "{sent}");
    }
}

#[tokio::test]
async fn a_thought_with_nothing_behind_it_is_not_sent() {
    let body = json!({"content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]}).to_string();
    let (said, sent) =
        asked_again("anthropic", answer(200, &[], body.as_bytes()), "anthropic/some/model").await;
    assert_eq!(said.blocks.len(), 1);
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1, "{sent}");
}

/// A request that a provider refuses for what the model thought is sent once more without it, in the same attempt.
#[tokio::test]
async fn thoughts_that_are_refused_are_left_out_once() {
    let refusals = [
        ("anthropic", events(MESSAGES), "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ("openai", responses(json!("Z0FBQUE")), "The encrypted content gAAA... could not be verified."),
    ];
    for (id, first, refusal) in refusals {
        let refused = answer(400, &[], json!({"error": {"message": refusal}}).to_string().as_bytes());
        let (again, sent) = asked_thrice(id, first.clone(), refused.clone(), first.clone()).await;
        assert_eq!(again.unwrap().blocks.len(), if id == "openai" { 2 } else { 3 });
        assert_eq!(sent.len(), 3, "one repetition");
        assert!(thoughts(&sent[1]) > 0 && thoughts(&sent[2]) == 0, "{sent:?}");

        let (again, sent) = asked_thrice(id, first.clone(), refused.clone(), refused).await;
        assert!(sent.len() == 3, "and no second one");
        let failure = again.unwrap_err();
        let refused = failure.delivery.is_some_and(|delivery| delivery.thoughts_refused);
        assert!(!refused, "without them it is refused, too");

        let other = answer(400, &[], br#"{"error":{"message":"no such field"}}"#);
        let (again, sent) = asked_thrice(id, first.clone(), other, first).await;
        assert!(again.is_err() && sent.len() == 2, "nothing is repeated for another reason");
    }
}

fn thoughts(body: &Value) -> usize {
    let text = body.to_string();
    text.matches("c2ln").count() + text.matches("Z0FBQUE").count()
}
