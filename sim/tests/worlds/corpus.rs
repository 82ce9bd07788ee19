//! Pinned scenarios: findings of earlier worlds as data, so that changes of the swarm do not lose them.

use sim::isolation;
use sim::options::Options;
use sim::scenario::Scenario;
use sim::verdict::guarded;

#[test]
fn each_pinned_scenario_passes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Ledgers of real runs have their own folder and test.
    files.retain(|file| file.is_file());
    files.sort();
    assert!(files.len() >= 8, "the corpus has lost its scenarios: {files:?}");
    for file in files {
        let name = file.display();
        let scenario = Scenario::from_text(&std::fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert!(!scenario.about.is_empty(), "{name} does not say what it is for");
        let report = guarded(&scenario, Options::default());
        assert!(report.failure.is_none(), "{name}: {:?}", report.failure);
        if let Some(apart) = isolation::check(&scenario, None) {
            assert_eq!(apart, Ok(()), "{name}");
        }
        assert!(report.steps > 2, "{name} is hardly a scenario: {} steps", report.steps);
    }
}
