use std::sync::Arc;

use holon_facts::frame::{PromptCache, PromptFrame};
use holon_facts::model::{Block, CallResult};
use holon_facts::model_ref::ModelRef;
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_facts::{AgentId, Millis, Text};
use holon_text::Secrets;

use super::*;

fn texts() -> Texts {
    Texts::new(Secrets::default(), Box::new(|_| Ok(None)))
}

/// A request after so many rounds, the last of which had this result.
pub(crate) fn request(model: &str, rounds: usize, result: &str) -> ModelRequest {
    let agent = AgentId::new("main").unwrap();
    let cache = PromptCache {
        agent_id: agent.clone(),
        prompt_cache_key: String::new(),
        context_fingerprint: String::new(),
        working_memory_revision: 0,
        compression_epoch: 0,
    };
    let mut conversation = vec![Item::User { parts: vec![Part::Rendered("[message msg_1]".into())] }];
    for _ in 0..rounds {
        let blocks = vec![Block::Text { text: Text::short("x") }];
        conversation.push(Item::Assistant { blocks: blocks.into() });
        let receipt = Arc::new(Receipt::success(Text::short(result), ToolFacts::default()));
        conversation.push(Item::ToolResults { results: vec![CallResult::new("c", receipt)] });
    }
    ModelRequest {
        agent,
        model: ModelRef::new(model).unwrap(),
        frame: Arc::new(PromptFrame {
            system_prompt: "policy".into(),
            system_blocks: Vec::new(),
            context_blocks: Vec::new(),
            cache,
        }),
        conversation: conversation.into(),
        rounds: u32::try_from(rounds).unwrap(),
        tools: [].into(),
        server_tools: None,
        max_output_tokens: 100,
        timeout: Millis(200),
        continues: vec![],
        goes_on_from: None,
        sums_up: false,
    }
}

async fn play(scripted: &Scripted, request: &ModelRequest) -> Result<Reply, Failure> {
    scripted.play(&texts(), request, request.model.model()).await
}

fn file(folder: &tempfile::TempDir, rounds: &str) -> String {
    let path = folder.path().join("scenario.json");
    std::fs::write(&path, format!(r#"{{"version":1,"name":"t","rounds":{rounds}}}"#)).unwrap();
    format!("scripted/{}", path.display())
}

#[tokio::test]
async fn the_round_follows_from_the_request_alone() {
    let scripted = Scripted::default();
    for _ in 0..2 {
        let first = play(&scripted, &request("scripted/demo", 0, "")).await.unwrap();
        assert_eq!(first.stop, StopReason::ToolUse);
    }
    let end = play(&scripted, &request("scripted/hello", 1, "")).await.unwrap_err();
    assert_eq!(end.kind, FailureKind::InvalidResponse);
    assert!(end.message.contains("has 1 rounds and was asked for round 2"), "{}", end.message);
}

#[tokio::test]
async fn failures_are_consumed_by_attempts() {
    let (scripted, folder) = (Scripted::default(), tempfile::tempdir().unwrap());
    let rounds = r#"[{"text":"ok","fail":{"kind":"server","message":"busy","retry_after_ms":5,"times":2}},
        {"fail":{"kind":"auth","message":"never"}}]"#;
    let model = file(&folder, rounds);
    let asked = request(&model, 0, "");
    for _ in 0..2 {
        let failure = play(&scripted, &asked).await.unwrap_err();
        assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::Server, Some(5)));
    }
    assert_eq!(play(&scripted, &asked).await.unwrap().blocks.len(), 1);
    let mut another = asked.clone();
    another.conversation[0] = Item::User { parts: vec![Part::Rendered("[message msg_2]".into())] };
    assert!(play(&scripted, &another).await.is_err());
    for _ in 0..3 {
        assert_eq!(play(&scripted, &request(&model, 1, "")).await.unwrap_err().kind, FailureKind::Auth);
    }
}

#[tokio::test]
async fn expectations_say_what_was_found() {
    let (scripted, folder) = (Scripted::default(), tempfile::tempdir().unwrap());
    let model = file(&folder, r#"[{"text":"a"},{"text":"b","expect":{"last_result_contains":"wanted"}}]"#);
    assert!(play(&scripted, &request(&model, 1, "the wanted thing")).await.is_ok());
    let failure = play(&scripted, &request(&model, 1, "other")).await.unwrap_err();
    assert!(failure.message.contains("\"wanted\", got other"), "{}", failure.message);
}

#[tokio::test]
async fn a_delay_past_the_timeout_is_one() {
    let (scripted, folder) = (Scripted::default(), tempfile::tempdir().unwrap());
    let model = file(&folder, r#"[{"text":"a","delay_ms":60000}]"#);
    assert_eq!(play(&scripted, &request(&model, 0, "")).await.unwrap_err().kind, FailureKind::Timeout);
}

#[tokio::test]
async fn large_arguments_cross_with_their_text() {
    let (scripted, folder) = (Scripted::default(), tempfile::tempdir().unwrap());
    let long = "x".repeat(1_000);
    let calls = format!(
        r#"[{{"calls":[{{"tool":"ExecCommand","arguments":{{"cmd":"{long}"}}}},
        {{"tool":"ExecCommand","arguments":"not json"}}]}}]"#
    );
    let reply = play(&scripted, &request(&file(&folder, &calls), 0, "")).await.unwrap();
    let json = |block: &AnswerBlock| match block {
        AnswerBlock::ToolCall(call) => call.json().map(ToOwned::to_owned),
        AnswerBlock::Text { .. } | AnswerBlock::Reasoning { .. } => None,
    };
    assert_eq!(json(&reply.blocks[0]), Some(format!(r#"{{"cmd":"{long}"}}"#)));
    assert_eq!(json(&reply.blocks[1]).as_deref(), Some("not json"));
}
