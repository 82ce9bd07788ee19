use std::fs;
use std::process::Command;
use std::sync::Arc;

use holon_core::effect::ToolCall;
use holon_core::tool::Tool;
use holon_facts::model::{AnswerBlock, Block, CallResult, Item, StopReason};
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{Millis, OpId, Outcome, RunId, Text};
use holon_models::{Providers, Tools, built_in, testing};
use holon_text::{Secrets, Texts};
use serde_json::Value;

use super::copy_project;
use crate::live::LiveSink;
use crate::perform::tool::CommandEnvironment;
use crate::perform::{Performers, Settings};

/// The demo's rounds, played against its project with real patches and a plain shell.
#[tokio::test]
async fn the_demo_repairs_its_project() {
    let (root, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy_project(root.path()).unwrap();
    let at = root.path().display().to_string();
    let execution = ExecutionBinding::project(at.clone(), at);
    let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
    let performers = Performers::new(
        texts.clone(),
        Providers::new(vec![built_in::scripted()], Tools::default()),
        Settings::new(
            crate::home::Home::at(home.path()),
            CommandEnvironment::new([("PATH".into(), env!("PATH").into())]),
        ),
        LiveSink::nobody(),
    );
    let mut asked = testing::request(&texts, "scripted/demo", 10_000);
    (asked.conversation, asked.rounds) = (vec![Item::User { parts: vec![] }].into(), 0);
    loop {
        let outcome = performers.call_model(OpId(1), asked.clone()).await;
        let Outcome::Answer { answer } = outcome else { panic!("{outcome:?}") };
        if answer.stop == StopReason::EndTurn {
            break;
        }
        let (mut blocks, mut results) = (Vec::new(), Vec::new());
        for block in answer.blocks {
            let AnswerBlock::ToolCall(proposed) = block else { continue };
            let call = ToolCall {
                run_id: Some(RunId(1)),
                call_id: proposed.call_id.clone(),
                tool: Tool::named(&proposed.tool_name).unwrap(),
                arguments: proposed.arguments.clone(),
                execution: execution.clone(),
                output_tokens: 8_000,
                timeout: Millis::minutes(1),
            };
            let receipt = if call.tool.is_command() {
                Receipt::success(Text::short(shell(&call)), ToolFacts::default())
            } else {
                let outcome = performers.call_tool(&holon_facts::AgentId::new("main").unwrap(), call).await;
                let Outcome::Tool { outcome } = outcome else { panic!("{outcome:?}") };
                outcome.receipt
            };
            let receipt = Arc::new(receipt);
            results.push(CallResult::new(proposed.call_id.clone(), receipt));
            blocks.push(Block::ToolCall {
                call_id: proposed.call_id,
                tool_name: proposed.tool_name,
                arguments: proposed.arguments,
            });
        }
        asked.conversation.push(Item::Assistant { blocks: blocks.into() });
        asked.conversation.push(Item::ToolResults { results });
        asked.rounds += 1;
    }
    assert_eq!(asked.rounds, 4);
    assert!(fs::read_to_string(root.path().join("greet.sh")).unwrap().contains("Hello, "));
}

/// What the command of a call prints: this test binary can't supervise.
fn shell(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(call.arguments.preview()).unwrap();
    let output = Command::new("sh")
        .args(["-c", arguments["cmd"].as_str().unwrap()])
        .current_dir(&call.execution.cwd)
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}
