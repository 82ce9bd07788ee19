//! `holon debug`: what the model was shown, where time went, and why the scheduler decided as it did.

mod latency;
mod prompt;
mod scheduler_fixture;

use std::path::PathBuf;

use clap::Subcommand;

use super::exit::Exit;
use super::output::Failure;

#[derive(Debug, Subcommand)]
pub(super) enum DebugCommand {
    /// Show a request to the model: the next one, or a past one as it was sent
    Prompt(prompt::PromptArgs),
    /// Show where the time of an agent's turns went
    Latency(latency::LatencyArgs),
    /// Write a past decision of the scheduler as a scenario for its tests
    SchedulerFixture(scheduler_fixture::FixtureArgs),
}

pub(super) fn debug(home: Option<PathBuf>, command: DebugCommand) -> Result<Exit, Failure> {
    match command {
        DebugCommand::Prompt(args) => prompt::prompt(home, args),
        DebugCommand::Latency(args) => latency::latency(home, args),
        DebugCommand::SchedulerFixture(args) => scheduler_fixture::fixture(home, args),
    }
}
