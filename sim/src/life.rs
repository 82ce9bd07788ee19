//! A believable week of one agent (`fixtures/life/week.json`), and its diary.

use crate::diary::diary;
use crate::options::Options;
use crate::scenario::Scenario;
use crate::world;

const WEEK: &str = include_str!("../../fixtures/life/week.json");
const PAGE: &str = include_str!("life.md");

/// The scenario.
///
/// # Errors
/// When the fixture is none.
pub fn week() -> Result<Scenario, String> {
    Scenario::from_text(WEEK)
}

/// The page `docs/week.md`: what the week is about, then its diary.
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
