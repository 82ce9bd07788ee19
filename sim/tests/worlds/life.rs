//! The week of one agent, and a year of such weeks.

use sim::life;
use sim::options::Options;
use sim::scenario::Scenario;
use sim::world::{self, Report};

const PAGE: &str = include_str!("../../../docs/week.md");

fn lived(scenario: &Scenario) -> Report {
    let report = world::run(scenario, Options::default());
    assert!(report.failure.is_none(), "{:?}", report.failure);
    report
}

#[test]
fn the_page_tells_the_week_as_it_is_played() {
    let page = life::page().unwrap();
    let difference = page.lines().zip(PAGE.lines()).position(|(now, then)| now != then);
    assert!(
        page == PAGE,
        "docs/week.md differs from line {difference:?} on: cargo run -p sim -- week > docs/week.md"
    );
}

/// Everything that the page describes happens in the week.
#[test]
fn a_week_has_everything_in_it() {
    let report = lived(&life::week().unwrap());
    assert!(report.turns > 20 && report.crashes == 1, "{} turns", report.turns);
    for seen in ["provider.unreachable", "restart", "a budget is exhausted", "a command is watched again"] {
        assert!(report.fired.contains_key(seen), "{seen} is not in {:?}", report.fired);
    }
    for law in ["B2", "S11", "W3", "W8", "A5", "C2", "C5"] {
        let checked = report.antecedents.iter().find(|(id, _)| *id == law).map(|(_, count)| *count);
        assert!(checked > Some(0), "{law} had nothing to say");
    }
}

#[test]
fn a_year_of_such_weeks_breaks_no_law() {
    let week = life::week().unwrap();
    let (one, all) = (lived(&week), lived(&week.repeated(52)));
    assert_eq!(all.turns, one.turns * 52 + 51, "each week is as the first, whose Monday has no check");
    assert!(all.virtual_time > 364 * 86_400 * 1_000_000 - 86_400 * 1_000_000);
    // A week takes as many steps in the last week as in the first.
    assert!(all.steps < one.steps * 54, "{} steps in one week, {} in 52", one.steps, all.steps);
}
