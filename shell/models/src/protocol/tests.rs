use std::fs;
use std::path::{Path, PathBuf};

use super::TRANSPORTS;

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The files that ship and name this module, without those of its own folder.
fn named_in(src: &Path, folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    rust_files(src, &mut files);
    let own = src.join("protocol").join(folder);
    let others = files.into_iter().filter(|file| !file.starts_with(&own)).filter(|file| {
        let text = fs::read_to_string(file).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let mut code = shipped.lines().map(|line| line.split("//").next().unwrap_or_default());
        code.any(|code| code.contains(&format!("{folder}::")) || code.contains(&format!("mod {folder};")))
    });
    let mut names: Vec<String> =
        others.map(|file| file.strip_prefix(src).unwrap().display().to_string()).collect();
    // One protocol is spoken to logins with fewer fields.
    names.retain(|name| name != "protocol/openai_codex/mod.rs");
    names.retain(|name| {
        !["wire.rs", "settings_tests.rs", "shapes_tests.rs", "exchange/split_tests.rs", "built_in.rs"]
            .contains(&name.as_str())
    });
    names
}

/// Adding one touches its folder and this table; a provider that comes with it is a row of `built_in.rs`.
#[test]
fn a_protocol_is_a_folder_and_a_row() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let entries = fs::read_dir(src.join("protocol")).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    assert_eq!(folders.len(), TRANSPORTS.len());
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let found = named_in(&src, name);
        assert_eq!(found, ["protocol/mod.rs"], "{name}");
    }
}
