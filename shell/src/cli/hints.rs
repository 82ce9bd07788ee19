//! Commands that are suggested work as they stand: where a flag named the home, they name it, too.

use std::path::Path;
use std::sync::OnceLock;

use clap::CommandFactory;

use super::Cli;
use crate::settings::quoted;

/// These have no home to work in.
const HOMELESS: [&str; 3] = ["demo", "completions", "man"];

/// A process has one command line, and its words for a shell.
static HOME: OnceLock<String> = OnceLock::new();

/// The home that `--home` named.
pub(super) fn at(home: &Path) {
    // A relative one would be another one in another folder.
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    HOME.get_or_init(|| quoted(&home.display().to_string()));
}

/// A hint, every command in it with the home.
pub(super) fn hint(text: &str) -> String {
    match HOME.get() {
        Some(home) => named(text, home, &|before| {
            !before.ends_with(|c: char| c.is_alphanumeric() || "-_./".contains(c))
        }),
        None => text.to_owned(),
    }
}

/// An error, whose commands stand in backticks: the rest is prose, or the words of others.
pub(super) fn error(text: &str) -> String {
    match HOME.get() {
        Some(home) => named(text, home, &|before| before.ends_with('`')),
        None => text.to_owned(),
    }
}

/// Puts the home behind each `holon COMMAND` that `begins` one.
fn named(text: &str, home: &str, begins: &dyn Fn(&str) -> bool) -> String {
    let cli = Cli::command();
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("holon ") {
        out.push_str(before);
        out.push_str("holon ");
        let word = after.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let known = cli.get_subcommands().any(|command| command.get_name() == word);
        if known && !HOMELESS.contains(&word) && begins(before) {
            out.push_str(&format!("--home {home} "));
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use holon_ledger::error::LedgerError;

    use super::*;

    #[test]
    fn every_command_of_a_hint_has_the_home() {
        let hint = |text: &str| named(text, "/h", &|before| !before.ends_with('/'));
        for (text, expected) in [
            ("holon daemon start", "holon --home /h daemon start"),
            (
                "leave them out, or holon config set, then holon daemon restart",
                "leave them out, or holon --home /h config set, then holon --home /h daemon restart",
            ),
            ("holon daemon logs; kill -9 7", "holon --home /h daemon logs; kill -9 7"),
            ("holon demo, which leaves one", "holon demo, which leaves one"),
            ("ask a holon who knows", "ask a holon who knows"),
            ("bin/holon run x", "bin/holon run x"),
            ("", ""),
        ] {
            assert_eq!(hint(text), expected);
        }
    }

    #[test]
    fn the_way_on_after_a_loss_has_the_home() {
        let (path, problem) = ("/h/ledger.sqlite3".into(), "it is gone".to_owned());
        let error = LedgerError::Lost { path, problem }.to_string();
        let shown = named(&error, "/h", &|before| before.ends_with('`'));
        assert!(shown.contains("`holon --home /h ledger recover --accept-loss`"), "{shown}");
    }

    #[test]
    fn only_what_an_error_quotes_is_a_command() {
        let error = |text: &str| named(text, "'/a b'", &|before| before.ends_with('`'));
        assert_eq!(error("look with `holon ledger verify`"), "look with `holon --home '/a b' ledger verify`");
        assert_eq!(error("the answer was: holon run it"), "the answer was: holon run it");
    }
}
