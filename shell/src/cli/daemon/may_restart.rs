//! Whether a runtime would start in the place of one that still has the home: nothing is stopped that could not be started again.
//! Changes nothing. What a start finds out only by itself stays its own business.

use std::net::SocketAddr;

use holon_ledger::LedgerPlace;
use holon_ledger::error::LedgerError;
use holon_ledger::read::check_restorable;
use holon_platform::{clock, spawn};

use super::{DaemonHome, StartArgs};
use crate::cli::addresses::{self, Held};
use crate::cli::backup;
use crate::cli::exit::Exit;
use crate::cli::output::Failure;
use crate::cli::server_options::Effective;
use crate::daemon::Metadata;
use crate::settings::Origin;

/// # Errors
/// What the start would be refused for.
pub(super) async fn check(
    daemon: &DaemonHome,
    args: &StartArgs,
    effective: &Effective,
    (pid, running): (u32, Option<&Metadata>),
) -> Result<(), Failure> {
    backup::could_start(&daemon.home, args.options.accept_restored())?;
    effective.check_secrets_of(&daemon.home)?;
    let ledger = daemon.home.ledger();
    match spawn::blocking(move || startable(&ledger)).await? {
        // It is free again in a moment.
        Ok(()) | Err(LedgerError::Locked { .. }) => {}
        Err(error @ LedgerError::Damaged { .. }) => {
            return Err(Failure::from(error).hint("holon ledger verify"));
        }
        Err(error) if error.is_for_newer_builds() => {
            return Err(
                Failure::new(Exit::RefusedByState, error).hint("the build that wrote it, or a later one")
            );
        }
        Err(error) => return Err(error.into()),
    }
    let listens = running.and_then(|metadata| metadata.http_addr.as_ref()?.parse::<SocketAddr>().ok());
    let by_choice = effective.setup.settings.origin("server.listen") != Origin::Default;
    let endpoint = effective.endpoint.clone();
    spawn::blocking(move || addresses::check(&endpoint, by_choice, Held { pid, listens })).await?
}

/// Whether its end and those agents are in order that a start brings in.
fn startable(ledger: &LedgerPlace) -> Result<(), LedgerError> {
    ledger.check_start()?;
    match ledger.reader() {
        Ok(reader) => check_restorable(&reader, clock::now().wall).map(drop),
        Err(LedgerError::NoCell { .. }) => Ok(()),
        Err(error) if error.is_empty() => Ok(()),
        Err(error) => Err(error),
    }
}
