//! The page of the web console asks for nothing that is no listed route, and what it can do a command does as well. All its
//! requests go through one module, whose table names each route with its command.

use std::collections::BTreeSet;

use clap::CommandFactory;
use holon_web::ASSETS;

use crate::cli::Cli;
use crate::http::table;

/// The one module that sends requests.
const SENDER: &str = "api.js";
/// What else a script could send one with.
const SENDERS: [&str; 5] = ["fetch(", "EventSource(", "XMLHttpRequest", "WebSocket(", "sendBeacon"];

/// The scripts of the page, without libraries of others.
fn scripts() -> Vec<(&'static str, String)> {
    let own = ASSETS.iter().filter(|file| file.path.ends_with(".js") && !file.path.starts_with("vendor/"));
    own.map(|file| (file.path, String::from_utf8(file.unpacked().unwrap().into_owned()).unwrap())).collect()
}

/// A row of the table: `name: ["METHOD", "/path/{param}", "holon command …"],`.
fn row(line: &str) -> Option<[String; 3]> {
    let (name, row) = line.trim().split_once(": [\"")?;
    let row = row.strip_suffix(',').unwrap_or(row).strip_suffix("\"]")?;
    let words: Vec<String> = row.split("\", \"").map(str::to_owned).collect();
    name.chars().all(char::is_alphanumeric).then(|| words.try_into().ok()).flatten()
}

/// The rows between the lines that begin and end the table; every line between them is one.
fn rows() -> Vec<[String; 3]> {
    let text = scripts().into_iter().find(|(path, _)| *path == SENDER).unwrap().1;
    let table = text.split_once("export const ROUTES = {\n").unwrap().1.split_once("\n};").unwrap().0;
    let lines = table.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//"));
    lines.map(|line| row(line).unwrap_or_else(|| panic!("no row of the table: {line}"))).collect()
}

#[test]
fn the_page_asks_for_listed_routes_alone() {
    let routes = table::routes();
    let listed: BTreeSet<(String, &str)> =
        routes.iter().map(|route| (route.described.row.method.to_string(), route.path)).collect();
    for [method, path, _] in rows() {
        assert!(listed.contains(&(method.clone(), path.as_str())), "{method} {path} is no route");
    }
    for (script, text) in scripts() {
        for sender in SENDERS.iter().filter(|_| script != SENDER) {
            assert!(!text.contains(sender), "{script} has {sender}: requests are sent by {SENDER} alone");
        }
    }
    // Beside the table the module that sends has no path of its own.
    let sender = scripts().into_iter().find(|(path, _)| *path == SENDER).unwrap().1;
    let rest = sender.split_once("\n};").unwrap().1;
    for quote in ['"', '\'', '`'] {
        assert!(!rest.contains(&format!("{quote}/")), "{SENDER} has a path outside of its table");
    }
}

#[test]
fn what_the_page_does_a_command_does() {
    for [method, path, command] in rows() {
        let mut words = command.split(' ');
        assert_eq!(words.next(), Some("holon"), "{method} {path}: {command}");
        let mut cli = Cli::command();
        cli.build();
        let (mut leaf, mut deepest) = (&cli, true);
        for word in words {
            if let Some(option) = word.strip_prefix("--") {
                let known = leaf.get_arguments().any(|argument| argument.get_long() == Some(option));
                assert!(known, "{path}: {command}: no option --{option}");
                continue;
            }
            match leaf.find_subcommand(word).filter(|_| deepest) {
                Some(below) => leaf = below,
                None => deepest = false,
            }
        }
        let is_command = leaf.get_subcommands().next().is_none() || !leaf.is_subcommand_required_set();
        assert!(is_command && leaf.get_name() != "holon", "{path}: {command} is no command");
        // Words that are no command are values, and need an argument that takes them.
        let taken = deepest || leaf.get_arguments().any(|argument| argument.get_action().takes_values());
        assert!(taken, "{path}: {command} takes no such words");
    }
}
