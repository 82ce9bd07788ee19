//! Which crate may know which: an arrow only goes down. What is not among a crate's dependencies can't be known, and what
//! is among them is here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Each crate with those of ours that it may know, the lowest first.
const LAYERS: &[(&str, &[&str])] = &[
    ("core/omit", &[]),
    ("core/facts", &["holon-omit"]),
    ("core/cluster", &[]),
    ("core/law", &["holon-facts"]),
    ("core", &["holon-facts", "holon-omit"]),
    ("shell/commit", &[]),
    ("shell/embed", &[]),
    ("shell/trim", &[]),
    ("shell/web", &[]),
    ("shell/platform", &["holon-facts"]),
    ("shell/text", &["holon-facts", "holon-platform"]),
    ("shell/present", &["holon-facts", "holon-text"]),
    ("shell/supervise", &["holon-facts", "holon-platform", "holon-text"]),
    ("shell/mcp", &["holon-facts", "holon-platform", "holon-supervise", "holon-text"]),
    ("shell/memory", &["holon-facts"]),
    ("shell/models", &["holon-facts", "holon-platform", "holon-text"]),
    ("shell/api", &["holon-core", "holon-facts", "holon-omit", "holon-platform"]),
    ("shell/rpc", &["holon-platform"]),
    ("shell/mcp-server", &["holon-api", "holon-facts", "holon-platform", "holon-present", "holon-rpc"]),
    (
        "shell/acp",
        &["holon-api", "holon-core", "holon-facts", "holon-platform", "holon-present", "holon-rpc"],
    ),
    (
        "shell/ledger",
        &["holon-cluster", "holon-core", "holon-facts", "holon-law", "holon-platform", "holon-text"],
    ),
    ("shell/driver", &["holon-core", "holon-facts", "holon-law", "holon-ledger"]),
    ("shell/tui", &["holon-api", "holon-facts", "holon-platform", "holon-present", "holon-text"]),
    (
        "shell",
        &[
            "holon-acp",
            "holon-api",
            "holon-commit",
            "holon-core",
            "holon-driver",
            "holon-embed",
            "holon-facts",
            "holon-law",
            "holon-ledger",
            "holon-mcp",
            "holon-mcp-server",
            "holon-memory",
            "holon-models",
            "holon-omit",
            "holon-platform",
            "holon-present",
            "holon-rpc",
            "holon-supervise",
            "holon-text",
            "holon-trim",
            "holon-tui",
            "holon-web",
        ],
    ),
    ("tests/fuzz", &[]),
    ("sim", &["holon-cluster", "holon-core", "holon-driver", "holon-facts", "holon-law", "holon-ledger"]),
];

/// Our crates among the dependencies of a manifest, those of its tests left out.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split_once(" = ").map(|(name, _)| name.to_owned()));
    names.filter(|name| name.starts_with("holon")).collect()
}

#[test]
fn each_crate_knows_whom_it_may_and_nobody_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let workspace = fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    for (folder, may) in LAYERS {
        let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).expect("a manifest");
        let may: BTreeSet<String> = may.iter().map(ToString::to_string).collect();
        assert_eq!(dependencies(&manifest), may, "{folder}: what it knows is what this table says");
    }
    let members = workspace.lines().find(|line| line.starts_with("members")).expect("the members");
    let named = members.split('"').skip(1).step_by(2).filter(|member| *member != "tests");
    let listed: BTreeSet<&str> = LAYERS.iter().map(|(folder, _)| *folder).collect();
    assert_eq!(named.collect::<BTreeSet<_>>(), listed, "a crate has a place among the layers");
}
