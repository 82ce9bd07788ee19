//! The database that holds a ledger, where it is not a file of the home.

use std::fmt;
use std::path::PathBuf;

use holon_ledger::postgres::Server;
use holon_platform::Environment;

use super::Settings;
use crate::home::{Home, HomeError};

/// An address of a database (`postgres://…`). It may have a password, which nobody is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// None of an address that can't be one.
    pub fn new(url: &str) -> Option<Self> {
        let scheme = url.starts_with("postgres://") || url.starts_with("postgresql://");
        (scheme && Server::check(url).is_ok()).then(|| Self(url.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Without user, password and parameters.
    pub fn shown(&self) -> String {
        Server::shown(&self.0).unwrap_or_default()
    }
}

/// The home that a flag or the environment names, with its ledger in the database that its configuration names, if it does.
///
/// # Errors
/// When there is no such home, or the address names no database.
pub fn find_home(flag: Option<PathBuf>, environment: &Environment) -> Result<Home, HomeError> {
    let home = Home::find(flag, environment)?;
    let (url, agents) = Settings::store(&home.config(), environment);
    let home = agents.map_or_else(|| home.clone(), |agents| home.clone().with_agents(agents));
    match url {
        None => Ok(home),
        Some(url) => home.in_database(url.as_str()),
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({})", self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let url = StoreUrl::new("postgres://me:canary@db.example:5433/agents").unwrap();
        assert_eq!(url.shown(), "postgres://db.example:5433/agents");
        assert!(!format!("{url:?}").contains("canary"));
        for wrong in ["", "sqlite:///x", "postgres://", "postgres://h/db?nonsense=1"] {
            assert_eq!(StoreUrl::new(wrong), None, "{wrong}");
        }
    }
}
