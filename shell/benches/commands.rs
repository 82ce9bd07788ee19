//! A command under its supervisor, from the call to its result: two starts of a process, a socket, a record
//! that is synced. `plain` is the same command started directly, which is the floor.

#![expect(clippy::unwrap_used, reason = "a bench has nobody to tell")]

use std::process::Command;

use holon_core::effect::ToolCall;
use holon_core::tool::Tool;
use holon_facts::ids::TaskId;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Millis, OpId, Outcome, RunId, Text};
use holon_models::{Providers, Tools};
use holon_shell::live::LiveSink;
use holon_shell::perform::tool::CommandEnvironment;
use holon_shell::perform::{Performers, Settings};
use holon_text::{Secrets, Texts};

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn supervised(bencher: divan::Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let environment = CommandEnvironment::new([("PATH".into(), env!("PATH").into())]);
    let settings = Settings {
        supervisor: env!("CARGO_BIN_EXE_holon").into(),
        ..Settings::new(holon_shell::home::Home::at(folder.path().join("home")), environment)
    };
    let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
    let performers =
        Performers::new(texts, Providers::new(Vec::new(), Tools::default()), settings, LiveSink::nobody());
    let agent = AgentId::new("main").unwrap();
    let at = folder.path().display().to_string();
    let call = ToolCall {
        run_id: Some(RunId(1)),
        call_id: "call_1".into(),
        tool: Tool::ExecCommand,
        arguments: Text::short(r#"{"cmd":"true","shell":"sh","login":false}"#),
        execution: ExecutionBinding::project(at.clone(), at),
        output_tokens: 8_000,
        timeout: Millis::minutes(1),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    bencher.bench_local(|| {
        runtime.block_on(async {
            let outcome = performers.prepare_command(&agent, OpId(1), TaskId(1), call.clone(), None).await;
            let Outcome::Prepared { supervisor, .. } = outcome else { panic!("{outcome:?}") };
            let outcome = performers.run_command(&agent, OpId(2), supervisor).await;
            performers.settled(&agent, OpId(2));
            outcome
        })
    });
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn plain() {
    assert!(Command::new("sh").args(["-c", "true"]).status().unwrap().success());
}
