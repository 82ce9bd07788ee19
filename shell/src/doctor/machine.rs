//! What a run finds on this machine: a ledger that opens, nobody else in the home, a shell for commands.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Finding;
use crate::home::Home;
use crate::ledger::{HomeLock, LockError, Reader};
use crate::settings::Environment;

pub(super) fn examine(home: &Home, environment: &Environment) -> Vec<Finding> {
    vec![ledger(home), lock(home), shell(environment)]
}

fn ledger(home: &Home) -> Finding {
    let (check, path) = ("ledger", home.ledger());
    if !path.exists() {
        return Finding::fine(check, format!("{} is made when it is needed", path.display()));
    }
    match Reader::open(&path) {
        Ok(_) => Finding::fine(check, format!("{} opens", path.display())),
        Err(error) => Finding::problem(check, error.to_string(), "holon ledger verify"),
    }
}

/// A home that is in use is no problem: it only explains why another runtime would be refused.
fn lock(home: &Home) -> Finding {
    let check = "lock";
    match HomeLock::probe(home.root()) {
        Ok(()) => Finding::fine(check, "no runtime uses this home"),
        Err(LockError::Held { pid: Some(pid), .. }) => {
            Finding::fine(check, format!("process {pid} uses this home"))
        }
        Err(LockError::Held { pid: None, .. }) => Finding::fine(check, "a runtime uses this home"),
        Err(error @ LockError::Unusable { .. }) => {
            let remedy = format!("ls -l {}", home.root().join("run").display());
            Finding::problem(check, error.to_string(), remedy)
        }
    }
}

fn shell(environment: &Environment) -> Finding {
    let path = environment.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
    let found = ["bash", "sh"].iter().find_map(|name| {
        let places = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        places.map(|folder| folder.join(name)).find(|program| executable(program))
    });
    match found {
        Some(shell) => Finding::fine("shell", format!("commands run in {}", shell.display())),
        None => {
            Finding::problem("shell", format!("there is no bash and no sh in PATH ({path})"), "export PATH=…")
        }
    }
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
