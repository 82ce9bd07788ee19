//! Plain language in what a user reads: words of this house that readers do not know from their field stay out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::Holon;
use serde_json::Value;

/// Whole words, in any case. Words that are also plain English here ("found", "place", "own", "through") are left to readers.
const BANNED: [&str; 41] = [
    "tell",
    "tells",
    "telling",
    "told",
    "say",
    "says",
    "saying",
    "said",
    "seen",
    "heard",
    "hears",
    "letter",
    "letters",
    "beside",
    "room",
    "owed",
    "owes",
    "debt",
    "debts",
    "errand",
    "errands",
    "keeper",
    "residents",
    "patience",
    "pace",
    "judge",
    "judges",
    "ruling",
    "shelf",
    "novelty",
    "childhood",
    "kin",
    "witness",
    "tally",
    "crowd",
    "twins",
    "diary",
    "canon",
    "chapter",
    "ripe",
    "stood",
];
const PHRASES: [&str; 5] =
    ["so long", "stands still", "stand still", "what it is about", "nothing else is to be done"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Prose alone: without fenced blocks, code in a line, and the targets of links.
fn prose(page: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let plain: Vec<_> = line.split('`').step_by(2).collect();
            let plain = plain.join(" ");
            let mut parts = plain.split("](");
            let mut text = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                text.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
            }
            lines.push(text);
        }
    }
    lines
}

/// The banned words of a text, each with its line.
fn banned<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines {
        let words: Vec<_> = line
            .split(|c: char| !(c.is_alphanumeric() || c == '\''))
            .map(str::to_lowercase)
            .filter(|word| !word.is_empty())
            .collect();
        let joined = format!(" {} ", words.join(" "));
        let of_line = words.iter().map(String::as_str).filter(|word| BANNED.contains(word));
        let of_line =
            of_line.chain(PHRASES.into_iter().filter(|phrase| joined.contains(&format!(" {phrase} "))));
        found.extend(of_line.map(|word| format!("{word}: {}", line.trim())));
    }
    found
}

fn help(holon: &Holon, command: &[&str], lines: &mut Vec<String>) {
    let shown = holon.run(&[command, &["--help"]].concat());
    assert_eq!(shown.code, Some(0), "{command:?}: {shown:?}");
    let mut below = Vec::new();
    let mut commands = false;
    for line in shown.stdout.lines() {
        commands = line == "Commands:" || (commands && line.starts_with("  "));
        let name = line.strip_prefix("  ").filter(|_| commands).and_then(|line| line.split(' ').next());
        below.extend(name.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned));
        lines.push(format!("holon {}: {}", command.join(" "), line.trim()));
    }
    for name in below {
        help(holon, &[command, &[name.as_str()]].concat(), lines);
    }
}

/// Every summary and description of the surface.
fn described(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if let (Value::String(text), "summary" | "description") = (value, key.as_str()) {
                    lines.extend(text.lines().map(str::to_owned));
                } else {
                    described(value, lines);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| described(value, lines)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn areas() -> BTreeMap<String, Vec<String>> {
    let mut areas = BTreeMap::new();
    let mut pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned).to_vec();
    for folder in ["docs", "docs/guides"] {
        for entry in fs::read_dir(root().join(folder)).expect("the pages") {
            let name = entry.expect("a page").file_name().into_string().expect("text");
            if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
                pages.push(format!("{folder}/{name}"));
            }
        }
    }
    for page in pages {
        let text = fs::read_to_string(root().join(&page)).expect("a page");
        areas.insert(page, prose(&text));
    }
    let mut lines = Vec::new();
    help(&Holon::new(), &[], &mut lines);
    assert!(lines.len() > 500, "{}", lines.len());
    areas.insert("help".to_owned(), lines);
    let snapshot = fs::read_to_string(root().join("fixtures/http/openapi.snap")).expect("the description");
    let document = snapshot.find('{').map_or("", |start| &snapshot[start..]);
    let mut lines = Vec::new();
    described(&serde_json::from_str(document).expect("JSON"), &mut lines);
    assert!(lines.len() > 100, "{}", lines.len());
    areas.insert("openapi".to_owned(), lines);
    areas
}

#[test]
fn what_a_user_reads_has_no_banned_words() {
    let wrong: Vec<_> = areas()
        .iter()
        .flat_map(|(area, lines)| {
            let found = banned(lines.iter().map(String::as_str));
            found.into_iter().map(move |line| format!("{area}: {line}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A summary is an order: "Show …", "List …".
#[test]
fn summaries_begin_with_a_verb() {
    const NO_VERBS: [&str; 17] = [
        "A", "An", "The", "This", "That", "Those", "Its", "What", "Whether", "Why", "Who", "Whose", "How",
        "Where", "Every", "One", "Another",
    ];
    let mut lines = Vec::new();
    help(&Holon::new(), &[], &mut lines);
    let snapshot = fs::read_to_string(root().join("fixtures/http/openapi.snap")).expect("the description");
    // Of operations; the one of the whole document is less deep.
    let summaries = snapshot.lines().filter_map(|line| line.strip_prefix("        \"summary\": \""));
    // Of a command its own line; of a command or an argument in a list what stands in the second column.
    let columns = lines.iter().filter_map(|line| {
        // A value of an option is no action.
        let line = line.split_once(": ").map(|(_, line)| line).filter(|line| !line.starts_with("- "))?;
        Some(line.split_once("  ").map_or(line, |(_, text)| text.trim()))
    });
    for text in summaries.chain(columns) {
        let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        assert!(!NO_VERBS.contains(&first), "begin with a verb: {text}");
    }
}
