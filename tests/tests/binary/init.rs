//! `holon init`: a model that answers is stored, one that doesn't is not, and nobody is asked without a terminal.

use end_to_end::Holon;
use end_to_end::provider::{Provider, fails, says};
use end_to_end::terminal::OnTerminal;
use end_to_end::wait_for;
use serde_json::json;

fn local(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_LOCAL_BASE_URL", &provider.url)
}

fn config(holon: &Holon) -> String {
    std::fs::read_to_string(holon.home().join("config.toml")).unwrap_or_default()
}

#[test]
fn the_only_model_of_a_local_server_is_chosen_checked_and_stored() {
    let provider = Provider::start(vec![says("ready"), says("Hello.")]);
    provider.list(&["qwen3"]);
    let holon = local(&provider);
    let done = holon.run(&["init"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("local/qwen3 answers") && done.stderr.contains("holon run"), "{done:?}");
    assert!(config(&holon).contains("default = \"local/qwen3\""));
    assert_eq!(provider.requests()[0]["max_tokens"], 256);
    let ran = holon.run(&["run", "-q", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Hello.\n"), "{ran:?}");
}

#[test]
fn a_model_that_does_not_answer_is_not_stored() {
    let provider = Provider::start(vec![fails(404, "model not found: qwen9"), says("ready")]);
    provider.list(&["qwen3", "llama"]);
    let holon = local(&provider);
    holon.run(&["init", "--model", "local/qwen9"]).refused(1, &["nothing was stored", "qwen3", "--no-check"]);
    assert_eq!(config(&holon), "");
    holon.run(&["init"]).refused(2, &["several models", "local/qwen3", "holon init --model"]);
    let done = holon.run(&["init", "--model", "local/qwen9", "--no-check", "--json"]).json();
    assert_eq!((&done["model"], &done["answered_after_ms"]), (&json!("local/qwen9"), &json!(null)), "{done}");
    assert!(config(&holon).contains("local/qwen9"));
}

#[test]
fn an_address_and_a_key_are_stored_with_the_model_and_the_key_is_seen_nowhere() {
    let provider = Provider::start(vec![says("ready")]);
    let holon = Holon::new();
    let arguments = ["init", "--model", "local/big", "--base-url", &provider.url, "--key", "-"];
    let done = holon.run_with_input(&arguments, b"sk-canary-123456\n");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!format!("{done:?}").contains("canary"));
    assert_eq!(provider.asked()[0].header("authorization"), Some("Bearer sk-canary-123456"));
    assert!(config(&holon).contains(&provider.url));
    let keys = std::fs::read_to_string(holon.home().join("credentials.toml")).unwrap();
    assert!(keys.contains("[credentials.local]"), "{keys}");
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    // A server of its own that lists nothing: whatever listens on this machine is not asked.
    let provider = Provider::start(vec![]);
    let holon = local(&provider);
    holon.run(&["init", "--model", "openai/gpt-5.1"]).refused(2, &["no terminal", "OPENAI_API_KEY"]);
    holon.run(&["init", "--model", "nonsense"]).refused(2, &["provider/model"]);
    holon.run(&["init", "--model", "local/x", "--base-url", "ftp://x"]).refused(2, &["--base-url"]);
    holon.run(&["init", "--model", "local/x", "--key", "sk-canary-123456"]).refused(2, &["command line"]);
    assert!(!holon.home().join("config.toml").exists());
}

#[test]
fn a_terminal_is_asked_for_the_model() {
    let provider = Provider::start(vec![says("ready")]);
    provider.list(&["alpha", "beta"]);
    let holon = local(&provider);
    let mut terminal = OnTerminal::start(&holon.command(&["init"]), None);
    wait_for("a question", || terminal.written().contains("[1]: "));
    assert!(terminal.written().contains("local/beta") && terminal.written().contains("needs a key"));
    terminal.press(b"nonsense\rlocal/beta\r");
    wait_for("an answer", || terminal.written().contains("is the model now"));
    let (status, ..) = terminal.end();
    assert!(status.success());
    assert!(config(&holon).contains("local/beta"));
}
