//! Every row and branch of the decision table: each file of `fixtures/scheduler` is the facts, the snapshot in
//! `decided/` is what the table makes of them.

use std::path::Path;

use holon_core::scheduler::{SchedulerProjection, decide_next_action};
use holon_facts::decision::SchedulerDecision;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    name: String,
    facts: SchedulerProjection,
}

#[derive(Serialize)]
struct Decided {
    name: String,
    decision: SchedulerDecision,
}

#[test]
fn each_row_decides_as_its_fixture_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scheduler");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() >= 16, "only {} fixtures in {}", files.len(), folder.display());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder.join("decided"));
    settings.set_prepend_module_to_snapshot(false);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let Fixture { name, facts } = serde_json::from_str(&text).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let decision = decide_next_action(&facts);
        assert_eq!(Ok(decision.row), stem[..2].parse::<u8>(), "{name}");
        settings.bind(|| insta::assert_json_snapshot!(stem, Decided { name, decision }));
    }
}
