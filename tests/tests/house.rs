//! The rules of the house that a compiler does not check.

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
    for room in ["core/src", "core/facts/src"] {
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
    const ALLOWED: [&str; 19] = [
        "holon-core",
        "holon-facts",
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

/// Facts are folded the same whatever prompts say: of an agent's files only those name the prompt that build requests,
/// and none of them folds.
#[test]
fn what_folds_names_no_prompt() {
    const HANDLERS: [&str; 3] = ["turn/limits.rs", "turn/recap.rs", "turn/request.rs"];
    let agent = root().join("core/src/agent");
    let mut files = Vec::new();
    rust_files(&agent, &mut files);
    for file in files {
        let name = file.strip_prefix(&agent).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(&text);
        let code = || shipped.lines().map(|line| line.split("//").next().unwrap_or(line));
        if name.ends_with("tests.rs")
            || !code().any(|code| code.contains("prompt::") || code.contains("::prompt"))
        {
            continue;
        }
        assert!(
            HANDLERS.contains(&name.as_str()),
            "{name} names the prompt: store facts, render them in prompt/"
        );
        let folds = code().find(|code| code.contains("fn apply") || code.contains("impl Agent"));
        assert!(folds.is_none(), "{name} names the prompt and folds: {}", folds.unwrap_or_default());
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
