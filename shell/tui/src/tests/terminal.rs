//! The terminal after a panic, on a real one: `script` runs this test again on a terminal of its own.

use std::process::{Command, Stdio};

use holon_platform::Environment;

use crate::terminal::{Mode, Taken};

const INSIDE: &str = "HOLON_TUI_PANICS";

#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    if Environment::of_process().get(INSIDE).is_some() {
        let _taken = Taken::take(Mode { inline: false, mouse: false }).unwrap();
        panic!("it went wrong");
    }
    let program = std::env::current_exe().unwrap();
    let name = "tests::terminal::a_panic_gives_the_terminal_back_before_its_message";
    let line = format!("'{}' --exact {name} --nocapture; echo; stty -a", program.display());
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env(INSIDE, "1").env("TERM", "xterm").stdin(Stdio::null());
    let Ok(output) = script.output() else {
        println!("skipped: there is no script");
        return;
    };
    let written = String::from_utf8_lossy(&output.stdout).into_owned();
    let at = |text: &str| written.find(text).unwrap_or_else(|| panic!("{text:?} is missing: {written:?}"));
    assert!(at("\u{1b}[?1049h") < at("\u{1b}[?1049l"));
    assert!(at("\u{1b}[?1049l") < at("it went wrong"), "{written:?}");
    assert!(written.contains(" icanon") && written.contains(" echo "), "{written:?}");
}
