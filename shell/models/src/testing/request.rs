use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holon_facts::call::ToolName;
use holon_facts::frame::{Part, PromptBlock, PromptCache, PromptFrame, Stability};
use holon_facts::image::{Image, ImageFormat};
use holon_facts::model::{Block, CallResult, Item, ModelRequest};
use holon_facts::model_ref::ModelRef;
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::{AgentId, Millis, Text};
use holon_text::{Texts, hash};

/// A request with everything in it that a transport has to care about.
pub fn request(texts: &Texts, model: &str, timeout: u64) -> ModelRequest {
    let agent = AgentId::new("main").unwrap();
    ModelRequest {
        agent: agent.clone(),
        model: ModelRef::new(model).unwrap(),
        frame: Arc::new(PromptFrame {
            system_prompt: "The policy.".into(),
            system_blocks: vec![
                block("guidance", Stability::Stable, "Guidance."),
                block("instructions", Stability::AgentScoped, "Be polite."),
            ],
            context_blocks: vec![
                block("agent", Stability::AgentScoped, "You are main."),
                block("empty", Stability::AgentScoped, ""),
                block("recent", Stability::TurnScoped, "Nothing recent."),
            ],
            cache: PromptCache {
                agent_id: agent,
                prompt_cache_key: "cache-key".into(),
                context_fingerprint: String::new(),
                working_memory_revision: 0,
                compression_epoch: 0,
            },
        }),
        conversation: conversation(texts).into(),
        rounds: 2,
        tools: ["ExecCommand", "ApplyPatch"].map(ToolName::new).into(),
        server_tools: None,
        max_output_tokens: 77,
        timeout: Millis(timeout),
        continues: vec![],
        goes_on_from: None,
        sums_up: false,
    }
}

/// An image of these bytes.
pub fn image(texts: &Texts, name: &str, bytes: &[u8]) -> Image {
    Image {
        name: name.into(),
        format: ImageFormat::Png,
        width: 640,
        height: 480,
        bytes: bytes.len() as u64,
        sha256: hash(bytes),
        data: texts.take_encoded(STANDARD.encode(bytes), 800),
    }
}

fn block(label: &str, stability: Stability, text: &str) -> PromptBlock {
    let given = Part::Given(Text::short(text));
    let parts = if text.is_empty() { vec![] } else { vec![Part::Rendered("# A heading\n".into()), given] };
    PromptBlock { label: label.into(), parts, stability, cache_breakpoint: false }
}

fn conversation(texts: &Texts) -> Vec<Item> {
    let user = |text: &str| Item::User { parts: vec![Part::Rendered(text.into())] };
    let call = |id: &str, tool: &str, arguments: &str| Block::ToolCall {
        call_id: id.into(),
        tool_name: tool.into(),
        arguments: texts.take(arguments),
    };
    let result = |id: &str, receipt: Receipt| CallResult::new(id, Arc::new(receipt));
    let success = |text: &str| Receipt::success(Text::short(text), ToolFacts::default());
    let error = ToolError::new(ToolErrorKind::InvalidToolInput, "cmd is empty");
    let patch = r#"{"patch":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+ä\n"}"#;
    vec![
        Item::User {
            parts: vec![Part::Rendered("[message]\n".into()), Part::Given(texts.take(&"long ".repeat(60)))],
        },
        user("A second message."),
        Item::Assistant {
            blocks: vec![
                Block::Text { text: Text::short("I look.") },
                call("c1", "ExecCommand", r#"{"cmd":"ls"}"#),
                call("c2", "ExecCommand", "oops"),
                call("c3", "ApplyPatch", patch),
                call("c4", "ApplyPatch", "not a patch"),
            ]
            .into(),
        },
        Item::ToolResults {
            results: vec![
                result("c1", success("a.txt")),
                result("c2", Receipt::failure(error.clone())),
                result("c3", success("changed x")),
                result("c4", Receipt::failure(error)),
            ],
        },
        user("An interjection."),
        Item::Assistant { blocks: vec![Block::Text { text: Text::short("So be it.") }].into() },
        Item::Assistant { blocks: vec![Block::Text { text: Text::short("") }].into() },
        user("Go on."),
    ]
}
