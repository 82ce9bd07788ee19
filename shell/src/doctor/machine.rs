//! What a run finds on this machine: a ledger that opens, nobody else in the home, a shell for commands.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use holon_facts::execution::ExecutionPolicy;
use holon_ledger::error::LedgerError;
use holon_ledger::sqlite::{HomeLock, LockError};
use holon_platform::Environment;
use holon_supervise::confine::{Network, Report};
use rustix::fs::{Access, access};

use super::Finding;
use crate::daemon::{Endpoint, Token, Unit};
use crate::home::Home;
use crate::perform::tool::CommandEnvironment;
use crate::settings::{AuthMode, Settings, VariablePattern};

pub(super) fn examine(home: &Home, settings: Option<&Settings>, environment: &Environment) -> Vec<Finding> {
    let mut findings = vec![ledger(home), lock(home), shell(environment)];
    findings.extend(service(home));
    findings.extend(settings.map(|settings| execution(home, settings, environment)));
    findings.extend(settings.map(|settings| control(home, settings, environment)));
    findings.extend(settings.map(|settings| variables(settings, environment)));
    findings
}

fn ledger(home: &Home) -> Finding {
    let (check, ledger) = ("ledger", home.ledger());
    match ledger.check_start() {
        Ok(()) if ledger.is_absent() => Finding::fine(check, format!("{ledger} is made when it is needed")),
        Ok(()) => Finding::fine(check, format!("{ledger} opens")),
        // A start would be refused.
        Err(error @ LedgerError::Lost { .. }) => {
            Finding::problem(check, error.to_string(), "holon ledger recover")
        }
        Err(error) if error.is_for_newer_builds() => {
            Finding::problem(check, error.to_string(), "the build that wrote it, or a later one")
        }
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

/// Whether the end of the runtime that has the home would end commands, too.
fn service(home: &Home) -> Option<Finding> {
    let Err(LockError::Held { pid: Some(pid), .. }) = HomeLock::probe(home.root()) else { return None };
    let unit = Unit::that_kills_all(pid)?;
    Some(Finding::warning("service", unit.warning(), unit.remedy()))
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

/// What commands are held back from on this machine.
fn execution(home: &Home, settings: &Settings, environment: &Environment) -> Finding {
    let check = "execution";
    match settings.execution.confinement(environment, home.root()) {
        Ok(None) => Finding::fine(check, "host_local: commands can do what you can, nothing is enforced"),
        Ok(Some(confinement)) => {
            let shared = confinement.shared();
            let powerful = match shared.network {
                Network::On if Report::of_this_kernel().leaves_sockets() => powerful_servers(environment),
                Network::On | Network::Internet | Network::Off => Vec::new(),
            };
            let policy = confinement.told(&shared);
            let ExecutionPolicy { writes, network, child_processes, gaps, .. } = policy;
            let what = format!(
                "confined: writes {writes}, network {network}, child processes {child_processes}; {}",
                gaps.join("; ")
            );
            if powerful.is_empty() {
                return Finding::fine(check, what);
            }
            let what = format!("{what}; whoever asks at {} gets around all of it", powerful.join(", "));
            Finding::warning(check, what, "holon config set execution.network internet")
        }
        Err(problem) => Finding::problem(check, problem.to_string(), problem.remedy()),
    }
}

/// Sockets of servers that start whatever they are asked to: engines of containers, and the service manager of the user. Those
/// that this user may open.
fn powerful_servers(environment: &Environment) -> Vec<String> {
    let own = environment.get("XDG_RUNTIME_DIR").map(Path::new).into_iter();
    let own = own.flat_map(|folder| {
        ["docker.sock", "podman/podman.sock", "bus", "systemd/private"].map(|name| folder.join(name))
    });
    let shared = ["/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"];
    let all = shared.into_iter().map(PathBuf::from).chain(own);
    let opens = |path: &PathBuf| {
        path.metadata().is_ok_and(|about| about.file_type().is_socket())
            && access(path, Access::WRITE_OK).is_ok()
    };
    all.filter(opens).map(|path| path.display().to_string()).collect()
}

/// Who may ask a runtime that is started now.
fn control(home: &Home, settings: &Settings, environment: &Environment) -> Finding {
    let check = "control";
    let server = &settings.server;
    let known = Token::known(home).and_then(|_| Token::find(None, environment, server.token_file.as_deref()));
    let token = match known {
        Ok(token) => token,
        Err(error) => return Finding::problem(check, error.to_string(), error.hint()),
    };
    let endpoint = match Endpoint::new(server, token, home) {
        Ok(endpoint) => endpoint,
        Err(error) => return Finding::problem(check, error.to_string(), error.hint()),
    };
    // One that the kernel can't hold back is told by another finding, and not started.
    let confinement = settings.execution.confinement(environment, home.root()).ok().flatten();
    let who = endpoint.who_may_ask(home, confinement.is_some_and(|confinement| confinement.has_network()));
    match endpoint.auth {
        AuthMode::Disabled => Finding::warning(check, who, "holon config set server.auth auto"),
        AuthMode::Auto | AuthMode::Required => Finding::fine(check, who),
    }
}

/// Which variables commands get by choice, by name: never what they hold.
fn variables(settings: &Settings, environment: &Environment) -> Finding {
    let check = "variables";
    let chosen = &settings.execution.environment;
    let commands = CommandEnvironment::new([]).with(environment.variables(), chosen);
    let names = commands.chosen();
    let there = |pattern: &&VariablePattern| {
        environment
            .variables()
            .any(|(name, value)| pattern.passes(&name.to_string_lossy(), &value.to_string_lossy()))
    };
    let missing: Vec<&str> =
        chosen.pass.iter().filter(|pattern| !there(pattern)).map(VariablePattern::as_str).collect();
    let shown = if names.is_empty() {
        "commands get the variables of docs/tools.md and no others".to_owned()
    } else {
        format!("in addition to the variables of docs/tools.md commands get {}", names.join(", "))
    };
    if missing.is_empty() {
        return Finding::fine(check, shown);
    }
    let what =
        format!("{shown}; execution.environment.pass names what is not set here: {}", missing.join(", "));
    Finding::warning(check, what, "holon config get execution.environment.pass")
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
