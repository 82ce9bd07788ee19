//! What people read when a provider refuses or is not there: what is wrong, and what to do about it, once and whole.

use std::os::unix::fs::PermissionsExt as _;

use end_to_end::provider::{Provider, Reply, fails};
use end_to_end::terminal::OnTerminal;
use end_to_end::trial::Trial;
use end_to_end::{Ended, Holon};

const NO_KEY: &str = r#"{"error":{"message":"Incorrect API key provided.","code":"invalid_api_key"}}"#;
const NO_MODEL: &str = r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","code":"model_not_found"}}"#;

fn run(holon: &Holon) -> Ended {
    let ended = holon.run(&["run", "go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended
}

/// How often a text stands in what people read.
fn times(ended: &Ended, text: &str) -> usize {
    ended.stderr.matches(text).count()
}

#[test]
fn a_refused_key_is_named_with_the_page_that_gives_another() {
    for (model, variable, page) in [
        ("openai/test", "OPENAI_API_KEY", "https://platform.openai.com/api-keys"),
        ("anthropic/test", "ANTHROPIC_API_KEY", "https://console.anthropic.com/settings/keys"),
    ] {
        let provider = Provider::start([fails(401, NO_KEY)]);
        let ended = run(&Trial::new(model).home(&provider.url));
        let advice = format!("the key of {variable} is refused; set {variable}, get one at {page}");
        assert_eq!((times(&ended, &advice), times(&ended, "Incorrect API key")), (1, 1), "{}", ended.stderr);
        assert!(ended.stderr.contains("answered 401 Unauthorized"), "{}", ended.stderr);
    }
}

#[test]
fn a_server_that_wants_a_key_says_how_to_give_one() {
    let provider = Provider::start([fails(401, "who are you?")]);
    let ended = run(&Trial::new("local/test").home(&provider.url));
    let advice = "this server wants a key; use `holon config credentials set local`: who are you?";
    assert_eq!(times(&ended, advice), 1, "{}", ended.stderr);
}

/// A stored key is replaced where it is stored.
#[test]
fn a_refused_key_of_the_file_is_replaced_there() {
    let provider = Provider::start([fails(401, NO_KEY)]);
    let home = Trial::new("openai/test").home(&provider.url).with("OPENAI_API_KEY", "");
    let file = home.home().join("credentials.toml");
    std::fs::write(&file, "[credentials.openai]\nkey = \"canary-of-the-file\"\n").expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let ended = run(&home);
    let advice = "the key of openai is refused; use `holon config credentials set openai`";
    assert_eq!(times(&ended, advice), 1, "{}", ended.stderr);
}

#[test]
fn an_unknown_model_is_answered_with_those_that_the_server_lists() {
    for (model, path) in [("local/gpt-9", "chat"), ("openai/gpt-9", "responses"), ("anthropic/gpt-9", "mess")]
    {
        let provider = Provider::start([fails(404, NO_MODEL)]);
        provider.list(&["whisper-1", "gpt-5", "gpt-4o", "dall-e", "a", "b", "c"]);
        let ended = run(&Trial::new(model).home(&provider.url));
        let provider_id = model.split('/').next().unwrap_or_default();
        let advice = format!("{provider_id} has no model \"gpt-9\" for you; it has gpt-5, gpt-4o, ");
        assert_eq!(times(&ended, &advice), 1, "{}", ended.stderr);
        assert_eq!(times(&ended, "does not exist"), 1, "{}", ended.stderr);
        assert!(provider.asked()[0].path.contains(path), "{:?}", provider.asked());
    }
}

#[test]
fn an_unknown_model_is_answered_with_those_that_are_known() {
    let provider = Provider::start([fails(400, NO_MODEL), fails(404, "404 page not found")]);
    let home = Trial::new("openai/gpt-9").home(&provider.url);
    let ended = run(&home);
    assert_eq!(times(&ended, "openai has no model \"gpt-9\" for you; it has gpt-5"), 1, "{}", ended.stderr);
    let ended = run(&home);
    assert_eq!(times(&ended, "is OPENAI_BASE_URL right?"), 1, "{}", ended.stderr);
}

#[test]
fn a_local_server_that_is_not_there_is_started() {
    for (address, start) in [
        ("http://127.0.0.1:9/v1", "for example `ollama serve`"),
        ("http://localhost:8000/v1", "`vllm serve MODEL`"),
    ] {
        let ended = run(&Trial::new("local/test").home(address));
        let advice = format!(
            "nothing listens there; start the server ({start}), or set HOLON_LOCAL_BASE_URL to its address"
        );
        assert_eq!(times(&ended, &advice), 1, "three attempts, told once: {}", ended.stderr);
        assert!(ended.stderr.contains(&format!("no connection to {address}/chat/completions")), "{ended:?}");
        assert!(ended.stderr.contains("holon: failed (connect)\n"), "{}", ended.stderr);
    }
}

#[test]
fn words_keep_to_the_width_of_a_terminal() {
    let provider = Provider::start([Reply::Late(std::time::Duration::ZERO, Box::new(fails(401, NO_KEY)))]);
    let home = Trial::new("openai/test").home(&provider.url);
    let (status, screen, _) = OnTerminal::start(&home.command(&["run", "go"]), None).end();
    assert_eq!(status.code(), Some(1), "{screen}");
    assert!(screen.lines().any(|line| line.starts_with("  ") && line.contains("api-keys")), "{screen}");
    for word in ["Unauthorized;", "OPENAI_API_KEY,", "https://platform.openai.com/api-keys:"] {
        assert!(screen.split_whitespace().any(|shown| shown == word), "{word} is whole: {screen}");
    }
}
