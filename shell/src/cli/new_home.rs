//! A home in which no runtime was ever started: what its commands report, and the one that makes its first agent.

use anyhow::anyhow;
use holon_platform::Environment;

use super::exit::Exit;
use super::output::Failure;
use super::overview;
use crate::home::Home;

/// The command that makes the first agent of a home, or what that needs before.
pub(super) fn next(home: &Home, environment: &Environment) -> &'static str {
    match overview::model(home, environment).0 {
        Some(_) => "holon prompt --wait \"…\"",
        None => "holon init",
    }
}

/// What was asked about an agent of a home that has none.
pub(super) fn no_agents(home: &Home, environment: &Environment) -> Failure {
    let error = anyhow!("{} has no agents yet: the first prompt makes one", home.root().display());
    Failure::new(Exit::NotFound, error).hint(next(home, environment))
}
