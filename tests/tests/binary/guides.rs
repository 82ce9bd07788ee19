//! The guides are run: all files and commands of a page, from top to bottom, in one shell, by a user with a home of their
//! own. A fenced block is written to the file that the line before it names last; `sh` blocks, and `text` blocks that
//! begin with `$ `, are commands. No command may fail, unless the page ends it with `|| …`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::provider::{Provider, Reply, calls, says};
use end_to_end::user::User;
use serde_json::json;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(name: &str) -> String {
    let path = root().join("docs/guides").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A fenced block: its language, its text, and the file that the line before it names.
struct Block<'a> {
    language: &'a str,
    text: String,
    file: Option<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut before, mut lines) = (Vec::new(), "", page.lines());
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            let named = before.strip_suffix("`:").and_then(|line| line.rsplit('`').next());
            blocks.push(Block { language, text: text.join("\n") + "\n", file: named });
            before = "";
        } else if !line.is_empty() {
            before = line;
        }
    }
    blocks
}

/// The whole page as one script.
fn script(page: &str) -> String {
    let mut script = "set -e\n".to_owned();
    for block in blocks(page) {
        match (block.file, block.language) {
            (Some(file), _) => {
                let folder = Path::new(file).parent().unwrap_or(Path::new(".")).display().to_string();
                let folder = if folder.is_empty() { ".".to_owned() } else { folder };
                write!(
                    script,
                    "mkdir -p {folder}\ncat > {file} <<'END OF FILE'\n{}END OF FILE\n",
                    block.text
                )
                .expect("text");
            }
            (None, "sh") => script.push_str(&block.text),
            (None, "text") => {
                let commands = block.text.lines().filter_map(|line| line.strip_prefix("$ "));
                script.extend(commands.flat_map(|command| [command, "\n"]));
            }
            (None, language) => {
                panic!("a block of {language:?} is not run: name its file in the line before")
            }
        }
    }
    script
}

/// Runs a page from top to bottom; it must show each of these.
fn follows(user: &User, name: &str, shown: &[&str]) {
    let all = user.ok(&script(&page(name)));
    for text in shown {
        assert!(all.contains(text), "{name} does not show {text:?}:\n{all}");
    }
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|ended| ended.status.success())
}

const HELLO: &str = "scripted/hello";

#[test]
fn five_minutes() {
    let shown =
        ["started: process", "works in", "Hello! I am a scripted model", "no agent needs you", "stopped:"];
    follows(&User::new(HELLO), "five-minutes.md", &shown);
}

/// Starts and stops what the unit names, as a service manager does.
const SYSTEMCTL: &str = r#"unit="$HOME/.config/systemd/user/holon.service"
start() {
    command=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|%h|$HOME|")
    environment=$(sed -n 's/^Environment=//p' "$unit" | sed "s|%h|$HOME|g")
    env $environment setsid $command > "$HOME/service.log" 2>&1 &
    for _ in $(seq 300); do holon daemon status > /dev/null 2>&1 && break; sleep 0.1; done
}
stop() { holon daemon stop; }
case "$*" in
    "--user daemon-reload") test -f "$unit" ;;
    "--user enable --now holon" | "--user start holon") start ;;
    "--user stop holon") stop ;;
    "--user restart holon") stop; start ;;
    "--user status holon"*) holon daemon status ;;
    *) echo "not known: $*" >&2; exit 1 ;;
esac
"#;

#[test]
fn service() {
    let user = User::new("").stand_in("systemctl", SYSTEMCTL);
    let user = user.stand_in("loginctl", r#"test "$*" = "enable-linger" "#);
    let user = user.stand_in("journalctl", r#"cat "$HOME/service.log""#).stand_in("cargo", "echo installed");
    follows(
        &user,
        "service.md",
        &["started", "installed", "running, process", "scripted model", "hash links"],
    );
}

#[test]
fn client() {
    assert!(has("python3"), "python3 is not installed: the client of the guide can't be run");
    let user = User::new(HELLO);
    let text = page("client.md");
    if has("node") {
        follows(
            &user,
            "client.md",
            &["Hello! I am a scripted model", "turn_terminal", "provider_attempt_recorded"],
        );
        return;
    }
    // Without node, the page's other commands are run.
    let script: String = script(&text)
        .lines()
        .filter(|line| !line.starts_with("node "))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert!(user.ok(&script).contains("turn_terminal"));
}

#[test]
fn why_nothing() {
    follows(
        &User::new(HELLO),
        "why-nothing.md",
        &["would decide", "0 problems", "no agent needs you", "queue"],
    );
}

/// The commands of a workflow's steps.
fn steps(workflow: &str) -> String {
    let mut script = "set -e\ncd ~/shop\n".to_owned();
    let mut lines = workflow.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start() == "run: |" {
            let depth = line.len() - line.trim_start().len();
            while let Some(command) = lines.next_if(|next| next.len() - next.trim_start().len() > depth) {
                script.push_str(command);
                script.push('\n');
            }
        }
    }
    script
}

#[test]
fn ci() {
    let review =
        r#"{"risk":"low","summary":"A title is new.","findings":[{"file":"README.md","text":"Fine."}]}"#;
    let provider = Provider::start([says("The tests pass."), says(review)]);
    let user = User::new("openai/gpt-5.1").with("OPENAI_BASE_URL", &provider.url);
    let user = user.with("OPENAI_API_KEY", "a-key-of-a-test").stand_in("cargo", "echo $*");
    let page = page("ci.md").replace("/tmp/report.json", "~/report.json");
    let all = user.ok(&script(&page));
    for text in ["The tests pass.", "verdict", "completed", "hash links", "the same:"] {
        assert!(all.contains(text), "{text:?}: {all}");
    }
    // The workflow, as a runner would execute it.
    let folder = user.daemon.0.folder().to_owned();
    let source = folder.join("shop").display().to_string();
    let mut user = user.with("RUNNER_TEMP", &folder.display().to_string()).with("HOLON_SOURCE", &source);
    user = user.with("GITHUB_BASE_REF", "main");
    for (name, file) in [("GITHUB_PATH", "path"), ("GITHUB_STEP_SUMMARY", "summary")] {
        user = user.with(name, &folder.join(file).display().to_string());
    }
    user.ok("cd ~/shop && echo '# The shop' > README.md && git add . && git commit -qm title");
    let workflow =
        fs::read_to_string(folder.join("shop/.github/workflows/review.yml")).expect("the workflow");
    let steps = steps(&workflow);
    assert_eq!(steps.matches("holon run").count(), 1, "{steps}");
    user.ok(&steps);
    let summary = fs::read_to_string(folder.join("summary")).expect("a summary");
    assert_eq!(summary, "Risk: low\n\nA title is new.\n\n- README.md: Fine.\n");
    assert!(provider.requests()[1].to_string().contains("+# The shop"));
}

#[test]
fn watcher() {
    let question = json!({ "reason": "May they be published?", "wake": "operator_input" });
    let provider = Provider::answering(move |asked| -> Reply {
        let asked = asked.to_string();
        if asked.contains("Yes, publish them.") {
            says("They are published.")
        } else if asked.contains("May the release notes be published?") {
            calls(&[("WaitFor", question.clone())])
        } else {
            says("Nothing new.")
        }
    });
    let shown = [
        "Nothing new.",
        "timer_1 fires",
        "triggered",
        "work_1",
        "May they be published?",
        "They are published.",
    ];
    follows(&User::asking(&provider), "watcher.md", &shown);
}

#[test]
fn providers() {
    let user = User::new("").with("OPENAI_API_KEY", "a-key-of-a-test");
    follows(
        &user,
        "providers.md",
        &["local/qwen3 is the model now", "azure/my-deployment", "proxy.example:3128"],
    );
    let models = user.ok("holon config doctor || true");
    assert!(models.contains("azure/my-deployment can be used"), "{models}");
}

#[test]
fn memory() {
    let shown = [
        "agents/main/AGENTS.md (",
        "to `memory/self.md` of your home",
        "operator.md",
        "run-",
        "fresh",
        "again",
    ];
    follows(&User::new(HELLO), "memory.md", &shown);
}

#[test]
fn skills() {
    let provider = Provider::answering(|asked| -> Reply {
        let folder = ".agents/skills/release-notes";
        let command = |cmd: String| calls(&[("ExecCommand", json!({ "cmd": cmd, "login": false }))]);
        match end_to_end::obedient::round(asked) {
            0 => command("cat .agents/skills/release-notes/SKILL.md".to_owned()),
            1 => command(format!("cd {folder} && sh scripts/commits.sh")),
            _ => says("Notes: the shop has started."),
        }
    });
    let shown = [
        "release-notes  workspace  offered",
        "Notes: the shop has started.",
        "skill release-notes is in use (read_skill_md)",
        "(run_skill_script)",
        "installed release-notes from",
        "release-notes  ok",
        "removed release-notes",
    ];
    follows(&User::asking(&provider), "skills.md", &shown);
}

#[test]
fn costs() {
    assert!(has("python3"), "python3 is not installed: the sums of the guide can't be made");
    let shown = ["turn_terminal", "tokens", "agent_day_tokens", "stopped:"];
    follows(&User::new(HELLO), "costs.md", &shown);
}

#[test]
fn reverse_proxy() {
    let user = User::new(HELLO).stand_in("caddy", r#"test "$1" = validate && grep -q reverse_proxy "$3""#);
    let user = user.stand_in("tailscale", r#"test "$*" = "serve --bg 7878""#);
    // The port is any that is free, here.
    let page = page("reverse-proxy.md")
        .replace("127.0.0.1:7878/control", "$(jq -r .http_addr ~/.holon/run/daemon.json)/control");
    let all = user.ok(&script(&page.replace("holon config set server.listen 127.0.0.1:7878", "true")));
    for text in ["https://holon.example.org", "machine.tailnet-name.ts.net", "\"ok\":true", "stopped:"] {
        assert!(all.contains(text), "{text:?}: {all}");
    }
}

#[test]
fn upgrade() {
    let user = User::new(HELLO);
    user.ok("holon daemon start && holon prompt --wait hello");
    let shown = ["the same:", "hash links", "restored", "running, process", "in order: the newest"];
    follows(&user, "upgrade.md", &shown);
}

#[test]
fn packages() {
    follows(&User::new(HELLO), "packages.md", &["holon serve"]);
}

#[test]
fn security() {
    let shown = ["control.token", "not_enforced", "generation 2", "revoked", "hash links", "the same:"];
    follows(&User::new(HELLO), "security.md", &shown);
}

#[test]
fn glossary_and_questions() {
    let user = User::new("");
    follows(&user, "glossary.md", &[]);
    assert!(user.ok("cat ~/.holon/* 2> /dev/null || true").is_empty(), "the glossary has no commands");
    follows(
        &User::new(HELLO),
        "faq.md",
        &["hash links", "Hello!", "model.default", "would decide", "the same:"],
    );
}

/// The glossary is in the order of its words.
#[test]
fn words_of_the_glossary_are_in_order() {
    let page = page("glossary.md");
    let words: Vec<_> = page.split("| **").skip(1).filter_map(|rest| rest.split("**").next()).collect();
    assert!(words.len() > 40 && words.is_sorted(), "{words:?}");
}

/// Each page of the folder has its test here.
#[test]
fn every_guide_is_run() {
    let tests = [include_str!("guides.rs"), include_str!("first_minute.rs")].concat();
    let pages: BTreeSet<_> = fs::read_dir(root().join("docs/guides"))
        .expect("the guides")
        .map(|entry| entry.expect("a page").file_name().into_string().expect("text"))
        .collect();
    for page in &pages {
        assert!(tests.contains(&format!("{page}\"")), "no test runs docs/guides/{page}");
    }
}
