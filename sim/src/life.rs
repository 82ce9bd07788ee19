//! A realistic week of one agent (`fixtures/life/week.json`), and its timeline.

use crate::diary::diary;
use crate::options::Options;
use crate::scenario::Scenario;
use crate::world;

const WEEK: &str = include_str!("../../fixtures/life/week.json");
const PAGE: &str = include_str!("life.md");

/// The scenario of the week.
///
/// # Errors
/// When the fixture is not a scenario.
pub fn week() -> Result<Scenario, String> {
    Scenario::from_text(WEEK)
}

/// The page `docs/week.md`: an introduction, then the timeline of the week.
///
/// # Errors
/// When the week breaks a law.
pub fn page() -> Result<String, String> {
    let (report, disk) = world::run_with_ledger(&week()?, Options::default());
    match report.failure {
        None => Ok(format!("{PAGE}{}", diary(disk.rows()))),
        Some(failure) => Err(format!("{}: {}", failure.law, failure.problem)),
    }
}
