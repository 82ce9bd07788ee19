//! One presentation for each kind of event, as `fixtures/present/` shows it, and what holds for all of them.

use std::collections::BTreeSet;
use std::fmt::Write;

use holon_facts::event::Event;
use serde::Deserialize;

use super::{Level, Presentation, Visibility};

/// A line of the samples: an event as the ledger stores it.
#[derive(Deserialize)]
struct Sample {
    #[serde(rename = "type")]
    kind: String,
    v: u16,
    payload: serde_json::Value,
}

fn presentations() -> Vec<Presentation> {
    let samples = include_str!("../../../fixtures/present/events.jsonl").lines();
    samples
        .map(|line| {
            let Sample { kind, v, payload } = serde_json::from_str(line).unwrap();
            Presentation::of_event(&Event::decode(&kind, v, &payload.to_string()).unwrap())
        })
        .collect()
}

fn name(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn each_kind_of_event_has_its_presentation() {
    let told = presentations();
    let shown: BTreeSet<&str> = told.iter().map(|told| told.source_event_kind).collect();
    let missing: Vec<&str> =
        Event::kinds().map(|(kind, _)| kind).filter(|kind| !shown.contains(kind)).collect();
    assert!(missing.is_empty(), "samples are missing: {missing:?}");
    let mut page = String::new();
    for told in told {
        let Presentation { visibility, category, title, body, summary, source_event_kind } = told;
        let head = format!("{} {} [{title}]", name(visibility), name(category));
        writeln!(page, "{source_event_kind}: {head}\n    {summary}").unwrap();
        for line in body.iter().flat_map(|body| body.lines()) {
            writeln!(page, "    | {line}").unwrap();
        }
    }
    insta::with_settings!({ snapshot_path => "../../../fixtures/present", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("presentations", page);
    });
}

#[test]
fn a_summary_is_one_line_and_a_body_starts_like_it() {
    for told in presentations() {
        assert!(!told.summary.contains('\n') && !told.summary.is_empty(), "{told:?}");
        assert!(told.summary.chars().count() <= 101 && !told.title.is_empty(), "{told:?}");
        assert!(told.body.as_ref().is_none_or(|body| told.text().ends_with(body)), "{told:?}");
    }
}

#[test]
fn a_level_shows_what_the_one_before_shows_and_more() {
    let shown = |level: Level| -> Vec<&str> {
        let told = presentations().into_iter().filter(|told| level.shows(told.visibility));
        told.map(|told| told.source_event_kind).collect()
    };
    let levels = [Level::Info, Level::Verbose, Level::Debug].map(shown);
    assert!(levels[0].len() < levels[1].len() && levels[1].len() < levels[2].len(), "{levels:?}");
    for pair in levels.windows(2) {
        assert!(pair[0].iter().all(|kind| pair[1].contains(kind)), "{levels:?}");
    }
    assert!(!Level::Debug.shows(Visibility::Trace), "raw trace is read as events");
}
