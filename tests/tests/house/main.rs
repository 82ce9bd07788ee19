//! The rules of the house that a compiler does not check.

mod circles;
mod defects;
mod layers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Stands in for a check on a bare target where that can't be installed.
#[test]
fn the_core_names_nothing_of_the_world() {
    let mut files = Vec::new();
    for room in ["core/src", "core/facts/src", "core/cluster/src"] {
        let lib = fs::read_to_string(root().join(room).join("lib.rs")).unwrap();
        assert!(lib.contains("#![no_std]"), "{room}");
        rust_files(&root().join(room), &mut files);
    }
    const BANNED: [&str; 7] = ["std::", "SystemTime", "Instant::", "tokio", "HashMap", "rand::", "async fn"];
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(&text);
        // Modules that exist in tests alone.
        if file.ends_with("testing.rs") || file.ends_with("prompt/reworded.rs") {
            continue;
        }
        for (number, line) in shipped.lines().enumerate() {
            let code = line.split("//").next().unwrap_or(line);
            for banned in BANNED {
                let named = code.match_indices(banned).any(|(at, _)| {
                    !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
                });
                assert!(!named, "{}:{}: the core names {banned}", file.display(), number + 1);
            }
        }
    }
}

#[test]
fn the_core_depends_on_nothing_else() {
    const ALLOWED: [&str; 20] = [
        "holon-core",
        "holon-facts",
        "holon-omit",
        "serde",
        "serde_core",
        "serde_derive",
        "serde_json",
        "itoa",
        "memchr",
        "zmij",
        "ryu",
        "thiserror",
        "thiserror-impl",
        "schemars",
        "schemars_derive",
        "serde_derive_internals",
        "dyn-clone",
        "ref-cast",
        "ref-cast-impl",
        "unicode-ident",
    ];
    const BUILD: [&str; 3] = ["proc-macro2", "quote", "syn"];
    let cargo = env!("CARGO");
    let output = Command::new(cargo)
        .args(["tree", "-p", "holon-core", "-e", "normal", "--prefix", "none", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let name = line.split(' ').next().unwrap_or_default();
        assert!(ALLOWED.contains(&name) || BUILD.contains(&name), "the core depends on {name}");
    }
}

/// Another crate can switch these on for everybody, and the core's records would change.
#[test]
fn json_keeps_a_canonical_form() {
    let value: serde_json::Value = serde_json::from_str(r#"{"b":1.0,"a":2}"#).unwrap();
    assert_eq!(value.to_string(), r#"{"a":2,"b":1.0}"#, "serde_json/preserve_order is on");
    let number: serde_json::Value = serde_json::from_str("1.10").unwrap();
    assert_eq!(number.to_string(), "1.1", "serde_json/arbitrary_precision is on");
}

/// State is the fold of facts: it names nobody who decides, renders or performs.
#[test]
fn what_folds_names_facts_alone() {
    const BELOW: [&str; 5] = ["agent", "closure", "continuation", "tool", "alloc"];
    let mut files = Vec::new();
    rust_files(&root().join("core/src/agent"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(&text);
        for line in shipped.lines().map(|line| line.split("//").next().unwrap_or(line)) {
            let named = line.match_indices("crate::").map(|(at, path)| &line[at + path.len()..]);
            for path in named {
                let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(path.len());
                let module = &path[..end];
                assert!(BELOW.contains(&module), "{} names {module}: {line}", file.display());
            }
        }
    }
}

#[test]
fn files_stay_small() {
    let mut files = Vec::new();
    for folder in ["core", "shell", "sim", "tests"] {
        rust_files(&root().join(folder), &mut files);
    }
    for file in files {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 600, "{} has {lines} lines: split it", file.display());
    }
}

/// The code of a file, without its tests and comments.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a text");
    let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(&text);
    shipped.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Replies are read as their types: a field that is renamed breaks the build, not a command.
#[test]
fn the_command_line_reads_no_json_by_pointer() {
    let mut files = Vec::new();
    rust_files(&root().join("shell/src/cli"), &mut files);
    for file in files {
        let code = code(&file);
        for banned in [".pointer(", "Value::as_", ".as_u64()", "\"/agents/", "\"/control/"] {
            assert!(!code.contains(banned), "{} has {banned}: ask through `Control`", file.display());
        }
    }
}

/// A route is a row with its types, a line of the table, and its handler; what else needs it asks through `Control`.
#[test]
fn a_route_touches_three_files_beside_its_types() {
    let rows = root().join("shell/api/src/rows.rs");
    let row = |line: &str| {
        let mut words = line.strip_prefix("        ")?.split(' ');
        let (endpoint, what) = (words.next()?, words.nth(1)?);
        let starts = endpoint.starts_with(|c: char| c.is_ascii_uppercase());
        (starts && matches!(what, "DELETE" | "GET" | "POST")).then(|| endpoint.to_owned())
    };
    let endpoints: Vec<String> = code(&rows).lines().filter_map(row).collect();
    assert!(endpoints.len() > 50, "{endpoints:?}");
    let mut files = Vec::new();
    for folder in ["shell/api/src", "shell/src"] {
        rust_files(&root().join(folder), &mut files);
    }
    // What only tests have.
    files.retain(|file| {
        !file.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "network")
    });
    let files: Vec<(PathBuf, String)> = files.into_iter().map(|file| (file.clone(), code(&file))).collect();
    for endpoint in endpoints {
        let names = |text: &str| {
            text.match_indices(&endpoint).any(|(at, _)| {
                let word = |c: char| c.is_alphanumeric() || c == '_';
                !text[..at].ends_with(word) && !text[at + endpoint.len()..].starts_with(word)
            })
        };
        let named: Vec<&PathBuf> =
            files.iter().filter(|(_, text)| names(text)).map(|(file, _)| file).collect();
        assert!(named.len() <= 3, "{endpoint} is named in {named:?}");
    }
    for (file, text) in files {
        let templates = text.contains("\"/agents/{") || text.contains("\"/control/agents/{");
        assert!(!templates || file == rows, "{} has the path of a route", file.display());
    }
}

/// A built-in tool is a file and a row; the facts know its name beside what its calls are on record.
#[test]
fn a_tool_is_a_file_and_a_row() {
    let mut files = Vec::new();
    for folder in ["core/src", "core/facts/src", "core/law/src", "shell"] {
        rust_files(&root().join(folder), &mut files);
    }
    let tests = |file: &Path| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = file.components().any(|part| part.as_os_str() == "tests");
        // Draws calls for tests of the whole core.
        folder || name.ends_with("tests") || file.ends_with("host/total.rs")
    };
    files.retain(|file| !tests(file) && code(file).contains("AgentGet"));
    files.sort();
    let expected = ["core/facts/src/receipt.rs", "core/src/tool/agent_get.rs", "core/src/tool/mod.rs"];
    assert_eq!(files, expected.map(|file| root().join(file)), "a read-only tool touches these");
}

/// Work for an operation is a variant with its kind, opened by its handler and handed over once to its performer.
#[test]
fn work_is_a_variant_and_a_performer() {
    let mut files = Vec::new();
    for folder in ["core/src", "core/facts/src", "core/law/src", "shell"] {
        rust_files(&root().join(folder), &mut files);
    }
    // The world of the core's own tests.
    files
        .retain(|file| !file.ends_with("core/src/testing.rs") && code(file).contains("Work::RemoveWorktree"));
    files.sort();
    let expected = ["core/src/handler/workspace/isolate.rs", "shell/src/driver/effect.rs"];
    assert_eq!(files, expected.map(|file| root().join(file)), "beside its variant, work touches these");
}

/// A section of the prompt is a row of its table.
#[test]
fn a_section_is_a_row() {
    let mut files = Vec::new();
    for folder in ["core/src", "core/facts/src", "shell"] {
        rust_files(&root().join(folder), &mut files);
    }
    files.retain(|file| {
        !file.to_string_lossy().contains("tests") && code(file).contains("\"execution_environment\"")
    });
    assert_eq!(files, [root().join("core/src/prompt/sections.rs")]);
}

/// Each path that the map of the house names is there.
#[test]
fn the_map_names_what_there_is() {
    let map = fs::read_to_string(root().join("docs/architecture.md")).expect("the map");
    let rooms = ["core/", "shell/", "sim/", "tests/", "fixtures/", "docs/"];
    let is_path = |name: &&str| {
        rooms.iter().any(|room| name.starts_with(room)) && !name.contains(['<', '{', '*', ' ', '…'])
    };
    let named: Vec<&str> = map.split('`').skip(1).step_by(2).filter(is_path).collect();
    assert!(named.len() > 50, "{named:?}");
    let missing: Vec<&&str> = named.iter().filter(|name| !root().join(name).exists()).collect();
    assert!(missing.is_empty(), "docs/architecture.md names {missing:?}");
}
