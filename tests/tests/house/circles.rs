//! No two top-level modules of a crate name each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates without a circle. One that is here stays so.
const CRATES: [&str; 17] = [
    "core/cluster",
    "core/facts",
    "core/law",
    "core",
    "shell",
    "shell/driver",
    "shell/api",
    "shell/ledger",
    "shell/memory",
    "shell/models",
    "shell/platform",
    "shell/present",
    "shell/supervise",
    "shell/text",
    "shell/tui",
    "shell/web",
    "sim",
];

type Imports = BTreeMap<String, BTreeSet<String>>;

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

/// The path of a file's module, without the names that stand for a folder.
fn module_of(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.retain(|part| !matches!(part.as_str(), "mod" | "lib" | "main"));
    parts
}

/// The code that ships, without comments.
fn shipped(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The first names behind a path: of `a::b` it is `a`, of `{a::b, c}` they are both.
fn first_names(path: &str) -> Vec<String> {
    let name =
        |part: &str| part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut names, mut begins) = (0, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&group[begins..at]));
                begins = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// What code in a module so deep names at the root of its crate.
fn named_at_root(code: &str, depth: usize) -> Vec<String> {
    let behind = |prefix: &str| -> Vec<String> {
        let starts = code.match_indices(prefix).filter(|(at, _)| {
            let before = code[..*at].chars().next_back();
            before.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ':'))
        });
        starts.flat_map(|(at, _)| first_names(&code[at + prefix.len()..])).collect()
    };
    let mut names = behind("crate::");
    names.extend(behind(&"super::".repeat(depth)).into_iter().filter(|name| name != "super"));
    names
}

fn imports(source: &Path) -> Imports {
    let mut files = Vec::new();
    rust_files(source, &mut files);
    let paths = files.iter().map(|file| file.strip_prefix(source).expect("below the source"));
    let modules: Vec<(Vec<String>, &PathBuf)> = paths.map(module_of).zip(&files).collect();
    let tops: BTreeSet<String> = modules.iter().filter_map(|(module, _)| module.first().cloned()).collect();
    let root = fs::read_to_string(source.join("lib.rs")).expect("a library");
    let tests_alone = |top: &String| {
        ["mod", "pub mod"].iter().any(|word| root.contains(&format!("#[cfg(test)]\n{word} {top};")))
    };
    let mut imports = Imports::new();
    for (module, file) in &modules {
        let Some(top) = module.first().filter(|top| !tests_alone(top)) else { continue };
        if module.iter().any(|part| part.contains("test")) {
            continue;
        }
        let code = shipped(&fs::read_to_string(file).expect("a text"));
        let named = named_at_root(&code, module.len());
        let others = named.into_iter().filter(|name| tops.contains(name) && name != top);
        imports.entry(top.clone()).or_default().extend(others);
    }
    imports
}

/// Those that are left when whoever names nobody is taken away again and again.
fn in_circles(mut imports: Imports) -> Imports {
    loop {
        let left: BTreeSet<String> = imports.keys().cloned().collect();
        for named in imports.values_mut() {
            named.retain(|name| left.contains(name));
        }
        imports.retain(|_, named| !named.is_empty());
        if imports.len() == left.len() {
            return imports;
        }
    }
}

#[test]
fn no_modules_name_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default();
    for name in CRATES {
        let found = in_circles(imports(&root.join(name).join("src")));
        assert!(found.is_empty(), "{name} has a circle among {found:?}");
    }
}

#[test]
fn a_circle_is_found() {
    assert_eq!(first_names("{a::{b, c}, d}"), ["a", "d"]);
    assert_eq!(named_at_root("use super::super::x::y; use crate::{a, b::c};", 2), ["a", "b", "x"]);
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let mut imports: Imports = [("a", &["b"][..]), ("b", &["c"]), ("c", &["b"]), ("d", &[])]
        .map(|(module, named)| (module.to_owned(), names(named)))
        .into();
    assert_eq!(in_circles(imports.clone()).into_keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    imports.remove("c");
    assert!(in_circles(imports).is_empty());
}
