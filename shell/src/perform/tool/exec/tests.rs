use std::time::Duration;

use holon_core::agent::identity::ExecutionBinding;
use holon_core::tool::{Tool, ToolErrorKind};
use holon_core::{Millis, RunId, Text};

use super::*;

struct Place {
    folder: tempfile::TempDir,
    environment: CommandEnvironment,
}

impl Place {
    fn new() -> Self {
        let variables = [("PATH", env!("PATH")), ("OPENAI_API_KEY", "sk-canary-123456")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        Self { folder: tempfile::tempdir().unwrap(), environment: CommandEnvironment::new(variables) }
    }

    async fn run(&self, arguments: &str) -> Result<Success, Refusal> {
        self.run_within(arguments, Millis::minutes(1)).await
    }

    async fn run_within(&self, arguments: &str, timeout: Millis) -> Result<Success, Refusal> {
        let at = self.folder.path().display().to_string();
        let call = ToolCall {
            run_id: RunId(1),
            call_id: "call_1".into(),
            tool: Tool::ExecCommand,
            arguments: Text::default(),
            execution: ExecutionBinding { workspace_anchor: at.clone(), execution_root: at.clone(), cwd: at },
            output_tokens: 64_000,
            timeout,
        };
        let agent = AgentId::new("main").unwrap();
        run(&self.environment, &agent, Path::new("/home/of/main"), &call, arguments).await
    }

    async fn shell(&self, cmd: &str) -> String {
        let arguments = serde_json::json!({"cmd": cmd, "login": false}).to_string();
        self.run(&arguments).await.unwrap().content
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(name)).ok()
    }
}

#[tokio::test]
async fn output_and_status_come_back_and_a_failing_command_is_data() {
    let place = Place::new();
    let found = place.run(r#"{"cmd":"echo out; echo err >&2; exit 3","login":false}"#).await.unwrap();
    assert_eq!(
        found.content,
        r#"{"disposition":"completed","exit_status":3,"stdout_preview":"out\n","stderr_preview":"err\n","truncated":false}"#
    );
    assert_eq!(found.facts.exit_status, Some(3));
    let killed = place.run(r#"{"cmd":"kill -TERM $$","login":false}"#).await.unwrap();
    assert_eq!(killed.facts.exit_status, Some(143));
}

#[tokio::test]
async fn commands_see_the_allowed_environment_only() {
    let place = Place::new();
    let found = place.shell("env; cat; pwd").await;
    assert!(found.contains("HOLON_RUNTIME=1") && found.contains("HOLON_AGENT_ID=main"), "{found}");
    assert!(found.contains("HOLON_AGENT_HOME=/home/of/main") && found.contains("PATH="), "{found}");
    assert!(!found.contains("canary"), "{found}");
}

#[tokio::test]
async fn the_working_folder_stays_inside_the_root() {
    let place = Place::new();
    std::fs::create_dir(place.folder.path().join("sub")).unwrap();
    std::os::unix::fs::symlink("/", place.folder.path().join("out")).unwrap();
    let found = place.run(r#"{"cmd":"basename $(pwd)","workdir":"sub","login":false}"#).await.unwrap();
    assert!(found.content.contains("sub\\n"), "{}", found.content);
    for (workdir, kind) in [
        ("..", ToolErrorKind::ExecutionRootViolation),
        ("/", ToolErrorKind::ExecutionRootViolation),
        ("out/tmp", ToolErrorKind::ExecutionRootViolation),
        ("missing", ToolErrorKind::CommandSpawnFailed),
    ] {
        let arguments = serde_json::json!({"cmd": "true", "workdir": workdir, "login": false}).to_string();
        let Err(refusal) = place.run(&arguments).await else { panic!("{workdir} was accepted") };
        assert_eq!(refusal.0.kind, kind, "{workdir}");
        assert!(refusal.0.message.contains(workdir), "{}", refusal.0.message);
    }
}

#[tokio::test]
async fn an_unknown_shell_is_named() {
    let Err(refusal) = Place::new().run(r#"{"cmd":"true","shell":"no-such-shell","login":false}"#).await
    else {
        panic!()
    };
    assert_eq!(refusal.0.kind, ToolErrorKind::CommandSpawnFailed);
    assert!(refusal.0.message.contains("no-such-shell"));
    assert!(Place::new().run(r#"{"cmd":"true","shell":"sh","login":false}"#).await.is_ok());
}

#[tokio::test]
async fn past_its_window_the_whole_group_is_killed() {
    let place = Place::new();
    let cmd = r#"{"cmd":"echo begun; (sleep 1; touch late) & sleep 60","login":false,"yield_time_ms":200}"#;
    let Err(refusal) = place.run(cmd).await else { panic!() };
    assert_eq!(refusal.0.kind, ToolErrorKind::CommandTimedOut);
    assert!(refusal.0.message.contains("within 200 ms") && refusal.0.message.contains("begun"));
    assert!(refusal.0.hint.as_deref().unwrap().contains("raise yield_time_ms"));
    let Err(refusal) = place.run_within(r#"{"cmd":"sleep 60","login":false}"#, Millis(150)).await else {
        panic!()
    };
    assert!(refusal.0.hint.as_deref().unwrap().contains("150 ms is the most"));
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(place.read("late"), None);
}

#[tokio::test]
async fn dropping_the_call_kills_the_whole_group() {
    let place = Place::new();
    let cmd = r#"{"cmd":"touch begun; (sleep 1; touch late) & sleep 60","login":false}"#;
    {
        let mut running = std::pin::pin!(place.run(cmd));
        while place.read("begun").is_none() {
            let waited = tokio::time::timeout(Duration::from_millis(20), &mut running).await;
            assert!(waited.is_err(), "the command ended too soon");
        }
    }
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    assert_eq!(place.read("late"), None);
}

#[tokio::test]
async fn a_child_that_keeps_the_pipe_does_not_keep_the_call() {
    let place = Place::new();
    let started = crate::clock::now();
    let found = place.shell("sleep 30 & echo started").await;
    assert!(found.contains("started\\n") && found.contains("in the background"), "{found}");
    let took = crate::clock::since(started);
    assert!((1_500..8_000).contains(&took.0), "{took}");
}

#[tokio::test]
async fn much_output_is_bounded_and_says_so() {
    let place = Place::new();
    let found = place
        .run(r#"{"cmd":"head -c 3000000 /dev/zero | tr '\\0' x; echo END","login":false,"max_output_tokens":100}"#)
        .await
        .unwrap();
    assert!(found.facts.truncated && found.content.len() < 700, "{}", found.content);
    assert!(found.content.contains("characters left out] …") && found.content.contains("END\\n"));
    let again = place
        .run(r#"{"cmd":"head -c 3000000 /dev/zero | tr '\\0' x; echo END","login":false,"max_output_tokens":100}"#)
        .await
        .unwrap();
    assert_eq!(found.content, again.content);
}
