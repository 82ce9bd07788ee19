//! The scenario file: what a scripted model says, round after round.

use std::fs::File;
use std::io::Read;

use holon_facts::model::{FailureKind, StopReason};
use serde::Deserialize;
use serde_json::Value;

/// Longest scenario file, in bytes.
const FILE_BYTES: u64 = 4 << 20;

/// What the demo plays.
pub const DEMO: &str = include_str!("../../../scenarios/demo.json");

/// The scenarios that come with the runtime.
const BUILT_IN: [(&str, &str); 2] =
    [("demo", DEMO), ("hello", include_str!("../../../scenarios/hello.json"))];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    version: u32,
    pub(super) name: String,
    /// What it shows; for readers.
    #[serde(default, rename = "description")]
    _description: String,
    pub(super) rounds: Vec<Round>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Round {
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) calls: Vec<Call>,
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) delay_ms: u64,
    pub(super) fail: Option<Fail>,
    pub(super) expect: Option<Expect>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) input_tokens: u64,
    #[serde(default)]
    pub(super) output_tokens: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fail {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    pub(super) retry_after_ms: Option<u64>,
    #[serde(default = "once")]
    pub(super) times: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) last_result_contains: String,
}

fn once() -> u32 {
    1
}

impl Round {
    /// Nothing is said after the failure: it stays.
    pub(super) fn only_fails(&self) -> bool {
        self.text.is_none() && self.calls.is_empty()
    }
}

/// A scenario that can't be played.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum ScenarioError {
    #[error(
        "there is no scenario {0:?}; built in are demo and hello, anything else is a path that ends in .json"
    )]
    Unknown(String),
    #[error("scenario {path} can't be read: {problem}")]
    Unreadable { path: String, problem: String },
    #[error("scenario {name} is not valid: {problem}")]
    Invalid { name: String, problem: String },
}

/// Finds a scenario by the name of a model: a built-in one, or a file. A relative path starts at the folder
/// that the runtime was started in.
pub(super) fn find(name: &str) -> Result<Scenario, ScenarioError> {
    if let Some((_, json)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return parse(name, json);
    }
    let is_path = std::path::Path::new(name).extension().is_some_and(|ending| ending == "json");
    if !is_path {
        return Err(ScenarioError::Unknown(name.to_owned()));
    }
    let unreadable = |problem: String| ScenarioError::Unreadable { path: name.to_owned(), problem };
    let about = std::fs::metadata(name).map_err(|error| unreadable(error.to_string()))?;
    if !about.is_file() || about.len() > FILE_BYTES {
        return Err(unreadable(format!("it is not a file of at most {FILE_BYTES} bytes")));
    }
    let mut json = String::new();
    File::open(name)
        .and_then(|file| file.take(FILE_BYTES).read_to_string(&mut json))
        .map_err(|error| unreadable(error.to_string()))?;
    parse(name, &json)
}

fn parse(name: &str, json: &str) -> Result<Scenario, ScenarioError> {
    let invalid = |problem: String| ScenarioError::Invalid { name: name.to_owned(), problem };
    // A list would be read as the fields of the scenario, one after the other.
    if json.trim_start().starts_with('[') {
        return Err(invalid("expected an object with version, name and rounds, got a list".into()));
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    let scenario: Scenario = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| invalid(format!("at {}: {}", error.path(), error.inner())))?;
    if scenario.version != 1 {
        return Err(invalid(format!("expected version 1, got {}", scenario.version)));
    }
    if scenario.rounds.is_empty() {
        return Err(invalid("it has no rounds".into()));
    }
    match scenario.rounds.iter().position(|round| round.only_fails() && round.fail.is_none()) {
        Some(at) => Err(invalid(format!("rounds[{at}] has neither text nor calls nor fail"))),
        None => Ok(scenario),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_rounds_is_no_scenario() {
        let refused = parse("mine", r#" [{ "text": "Done." }]"#).unwrap_err().to_string();
        assert!(refused.contains("version, name and rounds, got a list"), "{refused}");
    }

    #[test]
    fn the_built_in_scenarios_are_valid() {
        for (name, _) in BUILT_IN {
            let scenario = find(name).unwrap();
            assert_eq!(scenario.name, name);
            assert!(!scenario.rounds.last().unwrap().only_fails());
        }
    }

    #[test]
    fn errors_name_the_place() {
        let problem = |json: &str| parse("x", json).unwrap_err().to_string();
        let unknown = problem(r#"{"version":1,"name":"x","rounds":[{"text":"a"},{"txt":"b"}]}"#);
        assert!(unknown.contains("at rounds[1]") && unknown.contains("txt"), "{unknown}");
        assert!(
            problem(r#"{"version":2,"name":"x","rounds":[{"text":"a"}]}"#)
                .contains("expected version 1, got 2")
        );
        assert!(problem(r#"{"version":1,"name":"x","rounds":[{}]}"#).contains("rounds[0] has neither"));
        assert!(find("nope").unwrap_err().to_string().contains("demo and hello"));
        assert!(find("/no/such.json").unwrap_err().to_string().contains("/no/such.json"));
    }
}
