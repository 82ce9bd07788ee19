//! The recorded first minute (docs/guides/first-minute.md) is what a terminal shows: its commands are typed in a clean
//! home, and what they print is compared. `HOLON_RECORD_FIRST_MINUTE=1` writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use end_to_end::provider::{Provider, calls, says};
use end_to_end::{Holon, binary};
use serde_json::json;

/// The address that the page shows for the local server.
const SHOWN: &str = "http://127.0.0.1:11434/v1";

/// Somebody who types.
struct Terminal {
    holon: Holon,
    provider: Provider,
    /// What was exported so far.
    exports: String,
}

impl Terminal {
    fn type_in(&mut self, command: &str) -> String {
        let command = command.replace(SHOWN, &self.provider.url);
        if command.starts_with("export ") {
            writeln!(self.exports, "{command}").expect("a line");
            return String::new();
        }
        let home = self.holon.folder();
        let path = format!("{}:{}", binary().parent().expect("a folder").display(), env!("PATH"));
        let output = Command::new("sh")
            .args(["-c", &format!("{}exec 2>&1\n{command}", self.exports)])
            .current_dir(self.holon.work())
            .env_clear()
            .envs([
                ("PATH", path.as_str()),
                ("TZ", "UTC"),
                ("LANG", "C.UTF-8"),
                ("HOLON_HTTP_ADDR", "127.0.0.1:0"),
            ])
            .env("HOME", home)
            .output()
            .expect("a shell");
        self.as_shown(&String::from_utf8_lossy(&output.stdout))
    }

    /// What differs from one machine and one time to the next is written as the page has it.
    fn as_shown(&self, output: &str) -> String {
        let work = self.holon.work().display().to_string();
        let home = self.holon.folder().display().to_string();
        let output = output.replace(&work, "/home/me/project").replace(&home, "/home/me");
        let output = output.replace(&self.provider.url, SHOWN);
        let words = output.split_inclusive([' ', '\n', '(', ')']).map(|word| {
            let (text, end) = word.split_at(word.trim_end_matches([' ', '\n', '(', ')']).len());
            let number = |text: &str| text.parse::<f64>().is_ok();
            let digits = text.trim_end_matches("-modified");
            let commit = digits.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if commit && end.starts_with(')') {
                format!("1a2b3c4d5e6f{end}")
            } else if text.starts_with("run-") && text.len() > 10 {
                format!("run-8vhi8kz6cx{end}")
            } else if text.contains('.') && number(text) {
                format!("0.1{end}")
            } else if number(text) && text.len() > 2 {
                format!("4242{end}")
            } else {
                word.to_owned()
            }
        });
        words.collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Of a test that failed.
        self.type_in("holon daemon stop --wait 20");
    }
}

#[test]
fn the_first_minute_is_what_a_terminal_shows() {
    let list = calls(&[("ExecCommand", json!({ "cmd": "ls" }))]);
    let replies = vec![
        list,
        says("A README and a test that fails."),
        says("Hello! I stay, and I remember."),
        says("Hello again, under my new name."),
    ];
    let (holon, provider) = (Holon::new(), Provider::start(replies));
    fs::write(holon.work().join("README.md"), "# A small project\n").expect("a file");
    fs::write(holon.work().join("test.sh"), "exit 1\n").expect("a file");
    let mut terminal = Terminal { holon, provider, exports: String::new() };
    let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/first-minute.md"));
    let page = fs::read_to_string(&file).expect("the page");
    let (mut shown, mut in_block) = (String::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = line == "```text";
        }
        match line.strip_prefix("$ ").filter(|_| in_block) {
            Some(command) => {
                let output = terminal.type_in(command);
                writeln!(shown, "{line}").expect("a line");
                shown.push_str(&output);
            }
            // What is between the commands was printed once.
            None if in_block && !line.starts_with("```") => {}
            None => writeln!(shown, "{line}").expect("a line"),
        }
    }
    if std::env::var_os("HOLON_RECORD_FIRST_MINUTE").is_some() {
        fs::write(&file, &shown).expect("the page is written");
    }
    assert!(shown == page || std::env::var_os("HOLON_RECORD_FIRST_MINUTE").is_some(), "it is now:\n{shown}");
    assert_eq!(terminal.provider.requests().len(), 4, "each answer came from the server");
}
