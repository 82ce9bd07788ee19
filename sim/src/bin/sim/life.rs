//! The week of one agent: as a diary, for `docs/week.md`, and many of them in a row.

use std::time::Instant;

use sim::life;
use sim::world::{self, Options};

pub(crate) fn week() -> Result<u8, String> {
    print!("{}", life::page()?);
    Ok(0)
}

/// So many weeks with every law; says how long they took.
pub(crate) fn weeks(rest: &[&str]) -> Result<u8, String> {
    let [weeks] = rest else { return Err("sim week --weeks N".into()) };
    let weeks = weeks.parse().map_err(|_| format!("--weeks {weeks}: expected a number"))?;
    let scenario = life::week()?.repeated(weeks);
    let began = Instant::now();
    let report = world::run(&scenario, Options::default());
    println!(
        "{weeks} weeks: {} turns, {} steps, {} records, {} s of virtual time, {:.2} s",
        report.turns,
        report.steps,
        report.records,
        report.virtual_time / 1_000_000,
        began.elapsed().as_secs_f64()
    );
    match report.failure {
        None => Ok(0),
        Some(failure) => {
            println!("{} {}", failure.law, failure.problem);
            Ok(failure.kind.exit_code())
        }
    }
}
