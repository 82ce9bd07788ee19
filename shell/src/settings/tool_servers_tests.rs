use std::path::Path;

use holon_facts::AgentId;
use holon_mcp::Reach;
use holon_platform::Environment;

use super::credentials::Credentials;
use super::source::Source;
use super::{Problem, Settings, TOOL_SERVER_KEYS};

fn read(text: &str) -> (Settings, Vec<Problem>) {
    let source = Source { path: "config.toml".into(), text: text.to_owned(), mode: None };
    Settings::of(&source, &Environment::default()).unwrap()
}

fn reach(settings: &Settings, credentials: &Credentials) -> Reach {
    let named = [("PATH", "/bin"), ("OPENAI_API_KEY", "sk-canary-1234")];
    let environment = Environment::new(named.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let all = settings.tool_servers.definitions(Path::new("/home/of"), &environment, credentials);
    let [one] = &all[..] else { panic!("one server") };
    one.reach.clone()
}

#[test]
fn a_program_gets_what_it_is_given_and_nothing_of_the_runtime_s_secrets() {
    let text = "[mcp.servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"a b\"]\n\
                env = { CI = \"1\", TOKEN = { credential = \"hub\" } }\n";
    let (settings, problems) = read(text);
    assert!(problems.is_empty(), "{problems:?}");
    let missing = reach(&settings, &Credentials::default());
    assert!(matches!(&missing, Reach::Nowhere { problem } if problem.contains("credentials set hub")));
    let keys = Credentials::default().with("hub", "canary-of-the-hub");
    let Reach::Program { command, args, environment, folder } = reach(&settings, &keys) else { panic!() };
    assert_eq!((command.as_str(), args.as_slice()), ("npx", ["-y".to_owned(), "a b".to_owned()].as_slice()));
    assert_eq!(folder, Path::new("/home/of"));
    let environment: Vec<_> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(environment, [("CI", "1"), ("PATH", "/bin"), ("TOKEN", "canary-of-the-hub")]);
}

#[test]
fn an_address_gets_its_token() {
    let text = "[mcp.servers.hub]\nurl = \"https://hub.example/mcp\"\ncredential = \"hub\"\nheaders = { x-team = \"a\" }\n";
    let (settings, problems) = read(text);
    assert!(problems.is_empty(), "{problems:?}");
    let keys = Credentials::default().with("hub", "canary-of-the-hub");
    let Reach::Address { url, headers } = reach(&settings, &keys) else { panic!() };
    assert_eq!((url.as_str(), headers.len()), ("https://hub.example/mcp", 2));
    assert_eq!(headers["authorization"], "Bearer canary-of-the-hub");
}

#[test]
fn what_can_t_be_meant_is_refused_with_its_line() {
    for (text, says) in [
        ("[mcp.servers.x]\nargs = []\n", "config.toml:2: mcp.servers.x.command"),
        ("[mcp.servers.x]\ncommand = \"a\"\nurl = \"http://h/\"\n", "contradicts command"),
        ("[mcp.servers.x]\ncommand = \"a\"\nheaders = { a = \"b\" }\n", "is a program, not an address"),
        ("[mcp.servers.x]\nurl = \"http://h/\"\ncwd = \"/\"\n", "no program is started"),
        ("[mcp.servers.x]\ncommand = \"a\"\nidle_stop = 1\n", "did you mean mcp.servers.x.idle_stop_ms?"),
        ("[mcp.servers.X]\ncommand = \"a\"\n", "expected mcp.servers.<name>.<option>"),
        ("[mcp.servers.x]\ncommand = \"\"\n", "expected a text"),
        (
            "[mcp.servers.x]\ncommand = \"a\"\nenv = { API_KEY = \"sk-canary-1234\" }\n",
            "credential = \"name\"",
        ),
        ("[mcp.servers.x]\ncommand = \"a\"\nprotocol = \"2024-11-05\"\n", "one of auto, 2026-07-28"),
        ("[mcp.agents]\nmain = [\"fils\"]\n[mcp.servers.files]\ncommand = \"a\"\n", "did you mean files?"),
    ] {
        let (_, problems) = read(text);
        let all = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(
            all.contains(says) && all.contains("config.toml:") && !all.contains("canary"),
            "{text}: {all}"
        );
    }
}

#[test]
fn an_agent_has_the_servers_that_are_named_for_it_or_those_of_its_kind() {
    let text = "[mcp.servers.a]\ncommand = \"a\"\n[mcp.servers.b]\ncommand = \"b\"\n[mcp.agents]\nmain = [\"b\"]\nquiet = []\n";
    let servers = read(text).0.tool_servers;
    let of = |agent: &str, open| servers.of(&AgentId::new(agent).unwrap(), open);
    assert_eq!(of("main", true), ["b"]);
    assert_eq!(of("main", false), ["b"], "also one that has none by itself");
    assert!(of("quiet", true).is_empty());
    assert_eq!(of("other", true), ["a", "b"]);
    assert!(of("other", false).is_empty());
}

#[test]
fn the_docs_list_every_option_of_a_server() {
    let docs = include_str!("../../../docs/mcp.md");
    for key in TOOL_SERVER_KEYS {
        let row = docs.lines().find(|line| line.starts_with(&format!("| `{}`", key.name)));
        assert!(row.is_some_and(|row| row.contains(key.doc)), "{}: {}", key.name, key.doc);
    }
}
