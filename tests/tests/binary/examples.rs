//! Commands that the pages show without a promise to be copied as they are: `text` blocks, and commands in a line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::Holon;
use end_to_end::provider::{Provider, says};
use end_to_end::user::User;

const HELLO: &str = "scripted/hello";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The `text` blocks of a page that begin like this.
fn blocks<'a>(page: &'a str, beginning: &[&str]) -> Vec<&'a str> {
    let texts = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    texts.filter(|text| beginning.iter().any(|beginning| text.starts_with(beginning))).collect()
}

/// The commands of a recorded session.
fn session(page: &str) -> Vec<&str> {
    blocks(page, &["$ "])
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("$ "))
        .collect()
}

#[test]
fn the_session_of_the_readme() {
    let readme = page("README.md");
    let commands = session(&readme);
    let kill = commands.iter().find(|command| command.starts_with("kill -9 ")).expect("a kill");
    // The timer and the command need their time; a page has a reader who takes it.
    let script = commands.join("\n").replace(kill, "kill -9 $(jq .pid ~/.holon/run/daemon.json)");
    let all =
        User::new(HELLO).ok(&format!("set -e\n{}", script.replace("holon tail", "sleep 5; holon tail")));
    let shown = [
        "started: process",
        "Hello! I am",
        "task_1\n",
        "timer_1 fires at",
        "timer_1 fired",
        "task_1 is completed",
    ];
    for text in shown.iter().chain(&["and 85 laws hold", "byte for byte", "stopped: process"]) {
        assert!(all.contains(text), "{text}: {all}");
    }
}

#[test]
fn the_requests_of_the_page_on_http() {
    let text = page("docs/http.md");
    let user = User::new(HELLO);
    user.ok("holon daemon start && printf 'a-secret-of-a-forge' > secret.txt");
    let requests = blocks(&text, &["curl "]);
    assert!(requests.len() >= 6, "{requests:?}");
    for request in requests {
        // A stream that does not end is left after two seconds: 28.
        let request = request.replace(" -N ", " -N --max-time 2 ").replace("curl ", "curl -sS ");
        let ended = user.run(&format!("set -e\n{request}"));
        assert!(matches!(ended.code, Some(0 | 28)) && !ended.stdout.is_empty(), "{request}: {ended:?}");
        assert!(!ended.stdout.contains(r#""ok":false"#), "{request}: {ended:?}");
    }
    for settings in blocks(&text, &["holon config"]) {
        user.ok(&format!("set -e\n{settings}"));
    }
}

#[test]
fn the_commands_of_the_page_on_runs() {
    let text = page("docs/run.md");
    let provider = Provider::answering(|_| says(r#"{"risk": "low"}"#));
    let user = User::asking(&provider).stand_in("cargo", "true");
    user.ok(r#"cd ~/shop && echo '{"type": "object"}' > review.json && echo changed > README.md && holon run first"#);
    let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    user.ok(&format!("cd ~/shop && echo {pixel} | base64 -d | tee before.png > after.png"));
    let skill = r"---\nname: pdf\ndescription: Fills in forms.\n---\nUse the fields of the form.\n";
    user.ok(&format!(
        "mkdir -p ~/shop/.agents/skills/pdf && printf '%b' '{skill}' > ~/shop/.agents/skills/pdf/SKILL.md"
    ));
    for line in blocks(&text, &["holon run", "git diff"]).into_iter().flat_map(str::lines) {
        let command = line.split("  ").next().unwrap_or(line);
        let command = command.replace("RUN", "$(ls -t ~/.holon/runs | head -n 1)");
        let ended = user.run(&format!("cd ~/shop && {command}"));
        // A completed run has nothing to resume.
        let nothing = command.contains("--resume") && ended.stderr.contains("completed");
        assert!(ended.code == Some(0) || (ended.code == Some(4) && nothing), "{command}: {ended:?}");
    }
}

#[test]
fn the_deliveries_of_the_page_on_triggers() {
    let text = page("docs/triggers.md");
    let user = User::new(HELLO);
    user.ok("holon daemon start");
    let deliveries = blocks(&text, &["curl "]);
    assert_eq!(deliveries.len(), 1);
    let address = "ADDRESS=$(holon trigger show --json | jq -r '.triggers[0].trigger_url')";
    let deliveries = deliveries[0].replace("curl ", "curl -sS -X POST ");
    let all = user.ok(&format!("set -e\n{address}\n{deliveries}"));
    assert_eq!(all.matches(r#""ok":true"#).count(), 2, "{all}");
}

#[test]
fn the_session_of_the_page_on_workspaces() {
    let text = page("docs/workspaces.md");
    let user = User::new(HELLO);
    user.ok("mkdir ~/shop/web && holon daemon start");
    for command in session(&text) {
        let shop = "$(holon workspace list | grep -o 'shop-[0-9a-f]*' | head -n 1)";
        user.ok(&command.replace("shop-93d1c2aa", shop));
    }
}

/// What the help of commands has, asked once each.
struct Help(Holon, BTreeMap<String, String>);

impl Help {
    fn of(&mut self, command: &[&str]) -> String {
        let Self(holon, known) = self;
        let ask = || holon.run(&[command, &["--help"]].concat()).stdout;
        known.entry(command.join(" ")).or_insert_with(ask).clone()
    }

    /// What is wrong with a command that a page names.
    fn problem(&mut self, span: &str) -> Option<String> {
        let words: Vec<_> = span.split(['\\', '#']).next()?.split_whitespace().skip(1).collect();
        let mut path: Vec<&str> = Vec::new();
        let mut help = self.of(&path);
        for word in words.iter().map(|word| word.trim_matches([',', '(', ')'])) {
            let groups = help.contains("\nCommands:\n");
            if groups && word.starts_with(|c: char| c.is_ascii_lowercase()) {
                if !help.lines().any(|line| line.trim_start().split(' ').next() == Some(word)) {
                    return Some(format!("`{span}`: there is no command {word}"));
                }
                path.push(word);
                help = self.of(&path);
            } else if word.starts_with("--") && word.len() > 2 {
                let option = word.split(['=', '[']).next().unwrap_or(word);
                let quoted = span.split('"').nth(1).is_some_and(|quoted| quoted.contains(option));
                if !help.contains(option) && !quoted && !["--version"].contains(&option) {
                    return Some(format!("`{span}`: there is no option {option}"));
                }
            }
        }
        None
    }
}

#[test]
fn commands_that_a_page_names_exist() {
    let mut help = Help(Holon::new(), BTreeMap::new());
    let (mut problems, mut count) = (Vec::new(), 0);
    for folder in [".", "docs", "docs/guides"] {
        for entry in fs::read_dir(root().join(folder)).expect("the pages") {
            let path = entry.expect("a page").path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a page");
            let prose = text.split("```").step_by(2).collect::<Vec<_>>().concat();
            for span in prose.split('`').skip(1).step_by(2).filter(|span| span.starts_with("holon ")) {
                count += 1;
                let problem = help.problem(&span.replace('\n', " "));
                problems.extend(problem.map(|problem| format!("{}: {problem}", path.display())));
            }
        }
    }
    assert!(problems.is_empty() && count > 200, "{count}: {}", problems.join("\n"));
}

#[test]
fn the_settings_of_the_page_on_budgets() {
    let text = page("docs/budgets.md");
    let settings = blocks(&text, &["holon config"]);
    assert_eq!(settings.len(), 1);
    let user = User::new(HELLO);
    // A budget in dollars needs the price of the model.
    let prices = r#"holon config set model.prices '{ "scripted/hello" = { input = 0, output = 0 } }'"#;
    user.ok(&format!("set -e\n{prices}\nholon daemon start\n{}", settings[0]));
}

#[test]
fn a_stopped_run_is_read_as_the_page_on_the_daemon_shows() {
    let text = page("docs/daemon.md");
    let mut commands = session(&text);
    commands.retain(|command| !command.starts_with("holon console"));
    assert_eq!(commands.len(), 1, "{commands:?}");
    let user = User::new(HELLO);
    user.ok("cd ~/shop && holon run -q hello");
    let all = user.ok(&commands[0].replace("run-8vhi8kz6cx", "$(ls ~/.holon/runs | head -n 1)"));
    assert!(all.contains("the runtime is stopped; it was last active:") && all.contains("hello"), "{all}");
}

#[test]
fn a_browser_is_logged_in_and_out_as_the_page_on_the_daemon_shows() {
    let text = page("docs/daemon.md");
    let mut commands = session(&text);
    commands.retain(|command| command.starts_with("holon console"));
    let [link, sessions, revoke] = commands[..] else { panic!("{commands:?}") };
    let revoke = revoke.replace("k3v8hq2mzt", "$(jq -r .session_id session.json)");
    let all = User::new(HELLO).ok(&format!(
        "set -e\nholon daemon start\nlink=$({link})\necho \"$link\"\n\
         curl -sS -A my-browser -H 'content-type: application/json' -o session.json \\\n\
           -d \"{{\\\"token\\\":\\\"${{link#*#login=}}\\\"}}\" \"${{link%%#*}}login\"\n{sessions}\n{revoke}"
    ));
    for shown in ["/console/#login=", "BROWSER\n", "my-browser", "is logged out"] {
        assert!(all.contains(shown), "{shown}: {all}");
    }
}

/// Commands for people who work on Holon take minutes and tools of their own. What they name exists.
#[test]
fn commands_for_contributors_name_what_exists() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("a source");
    let packages = [("sim", "sim"), ("holon", "shell"), ("holon-core", "core"), ("end-to-end", "tests")];
    let usage = read("sim/src/bin/sim/main.rs");
    let mut count = 0;
    for name in ["docs/simulation.md", "docs/measures.md"] {
        let text = page(name);
        let commands = blocks(&text, &["cargo ", "TMPDIR=", "pip "]);
        for line in commands.into_iter().flat_map(str::lines) {
            let words: Vec<&str> = line.split("   ").next().unwrap_or(line).split_whitespace().collect();
            let after = |option: &str| words.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1]);
            for package in ["-p", "--package", "--test-package"].into_iter().filter_map(after) {
                assert!(packages.iter().any(|(known, _)| *known == package), "{name}: {line}");
            }
            let folder = after("-p").and_then(|package| packages.iter().find(|(known, _)| *known == package));
            for (option, within) in [("--test", "tests"), ("--bench", "benches")] {
                let Some((target, (_, folder))) = after(option).zip(folder) else { continue };
                let path = root().join(folder).join(within).join(target);
                assert!(path.is_dir() || path.with_extension("rs").is_file(), "{name}: {line}");
                let subject = words.iter().find_map(|word| word.strip_suffix("::"));
                assert!(
                    subject.is_none_or(|it| path.join(it).with_extension("rs").is_file()),
                    "{name}: {line}"
                );
            }
            if after("--profile").is_some() {
                assert!(read("Cargo.toml").contains("[profile.sim]"), "{name}: {line}");
            }
            if let Some(arguments) = line.split_once(" -p sim -- ").map(|(_, rest)| rest) {
                let command = arguments.split_whitespace().next().unwrap_or_default();
                assert!(usage.contains(&format!(" sim {command}")), "{name}: {line}");
                let options = words.iter().skip_while(|word| **word != "--").skip(1);
                for option in options.filter(|word| word.starts_with("--")) {
                    assert!(usage.contains(option), "{name}: {option} of {line}");
                }
            }
            if let Some(script) = words.first().filter(|word| word.ends_with(".sh")) {
                assert!(root().join(script).is_file(), "{name}: {line}");
            }
            count += 1;
        }
    }
    assert!(count > 25, "{count}");
}
