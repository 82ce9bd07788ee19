//! What a first request takes, whom which tools are offered, and what a second run finds in its provider's cache.

use end_to_end::Holon;
use end_to_end::provider::{Provider, says};
use serde_json::Value;

/// The tools of a temporary run.
const FEW: [&str; 8] = [
    "ExecCommand",
    "ExecCommandBatch",
    "ApplyPatch",
    "TaskStatus",
    "TaskOutput",
    "TaskInput",
    "TaskStop",
    "WaitFor",
];

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["function"]["name"].as_str().expect("a name")).collect()
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().expect("a system message")
}

fn bytes(value: &Value) -> usize {
    value.to_string().len()
}

fn small_window(holon: &Holon) {
    std::fs::create_dir_all(holon.home()).expect("a home");
    std::fs::write(holon.home().join("config.toml"), "[runtime]\ncontext_window_tokens = 8192\n")
        .expect("a configuration");
}

#[test]
fn a_temporary_run_is_offered_what_it_can_use_and_an_agent_everything() {
    let provider = Provider::start((0..4).map(|_| says("done")));
    let holon = with(&provider);
    let agent = ["run", "--agent", "main", "--create-agent", "hello"];
    for arguments in [&["run", "hello"][..], &agent] {
        assert_eq!(holon.run(arguments).code, Some(0));
    }
    small_window(&holon);
    let other = ["run", "--agent", "other", "--create-agent", "hello"];
    for arguments in [&["run", "hello"][..], &other] {
        assert_eq!(holon.run(arguments).code, Some(0));
    }
    let requests = provider.requests();
    let [run, agent, small_run, small_agent] = &requests[..] else { panic!("{}", requests.len()) };
    assert_eq!(names(run), FEW);
    assert_eq!(names(small_run), FEW);
    assert_eq!(names(agent).len(), 23);
    let left_out = |name: &&str| !names(small_agent).contains(name);
    let left_out: Vec<_> = names(agent).into_iter().filter(left_out).collect();
    assert_eq!(
        left_out,
        ["TaskList", "MemorySearch", "MemoryGet", "Enqueue", "AgentGet", "SpawnAgent", "UseWorkspace"]
    );
    // What people pay for each run: a change that makes it larger has to be worth it.
    for (request, tools, all) in
        [(run, 5_700, 11_000), (agent, 14_400, 19_400), (small_agent, 10_200, 15_500)]
    {
        assert!(bytes(&request["tools"]) <= tools, "{} bytes of tools", bytes(&request["tools"]));
        assert!(bytes(request) <= all, "{} bytes", bytes(request));
    }
    assert!(system(run).contains("nobody may be there to answer"), "{}", system(run));
    assert!(system(agent).contains("You last longer than this turn"), "{}", system(agent));
}

#[test]
fn a_second_run_finds_policy_tools_and_instructions_in_the_cache() {
    let provider = Provider::start((0..3).map(|_| says("done")));
    let holon = with(&provider);
    holon.file("AGENTS.md", "Use tabs, never spaces.\n");
    std::fs::create_dir_all(holon.home()).unwrap();
    let sends_key = "[providers.local]\nprompt_cache_key = true\n";
    std::fs::write(holon.home().join("config.toml"), sends_key).unwrap();
    for prompt in ["first", "second"] {
        assert_eq!(holon.run(&["run", prompt]).code, Some(0));
    }
    let named = holon.run(&["run", "--agent", "main", "--create-agent", "third"]);
    assert_eq!(named.code, Some(0));
    let requests = provider.requests();
    let [first, second, agent] = &requests[..] else { panic!("{}", requests.len()) };
    assert_eq!(first["tools"], second["tools"]);
    assert_eq!(first["prompt_cache_key"], second["prompt_cache_key"]);
    assert_ne!(first["prompt_cache_key"], agent["prompt_cache_key"]);
    let (one, other) = (system(first), system(second));
    let shared = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let rest = &one[shared..];
    assert!(one[..shared].contains("Use tabs, never spaces."), "{rest}");
    assert!(one[..shared].contains("Execution root: "), "{rest}");
    assert!(shared * 100 / one.len() >= 95, "only {shared} bytes of {}: {rest}", one.len());
    // Policy and guidance stand before anything of an agent.
    let policy = |text: &str| text.split("\n\nThis is a single run").next().unwrap().to_owned();
    assert!(system(agent).starts_with(&policy(one)));
}
