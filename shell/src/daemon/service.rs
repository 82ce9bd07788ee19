//! Whether a runtime runs in a control group that a service manager kills whole: its end would then take the
//! supervisors of commands along, which are to outlive it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use holon_platform::clock;

/// How long the service manager may take to say how it kills; a start does not wait longer.
const ASK_TIMEOUT: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A unit of systemd whose control group is killed whole when it stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    name: String,
    of_user: bool,
    /// As systemd says; none where it says nothing.
    kill_mode: Option<String>,
}

impl Unit {
    /// The service that a process belongs to, where its stop ends the supervisors of commands, too.
    pub fn that_kills_all(pid: u32) -> Option<Self> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let (name, of_user) = service(&groups)?;
        let unit = Self { kill_mode: kill_mode(&name, of_user), name, of_user };
        unit.kills_all().then_some(unit)
    }

    fn kills_all(&self) -> bool {
        self.kill_mode.as_deref().is_none_or(|mode| mode == "control-group" || mode == "mixed")
    }

    /// What it means, in one line.
    pub fn warning(&self) -> String {
        let Self { name, kill_mode, .. } = self;
        let mode = kill_mode.as_ref().map_or_else(
            || "unless its unit has KillMode=process".to_owned(),
            |mode| format!("since its unit has KillMode={mode}"),
        );
        format!(
            "the runtime runs as {name}: a stop of that service ends every command of the agents, too, {mode}"
        )
    }

    /// The command that mends it.
    pub fn remedy(&self) -> String {
        let user = if self.of_user { "--user " } else { "" };
        format!(
            "systemctl {user}edit {}, with KillMode=process under [Service], then holon daemon restart",
            self.name
        )
    }
}

/// The service that the lines of `/proc/PID/cgroup` name last, and whether it is one of a user's manager.
fn service(groups: &str) -> Option<(String, bool)> {
    // `0::` is the one hierarchy of cgroup v2; before it systemd had one of its own.
    let of_systemd = |line: &&str| line.starts_with("0::") || line.contains(":name=systemd:");
    let path = groups.lines().filter(of_systemd).find_map(|line| line.splitn(3, ':').nth(2))?;
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    // A group below the service is killed with it, unless a manager of its own is in between.
    let name = parts.find(|part| part.ends_with(".service") || part.ends_with(".scope"))?;
    let managers = ["user@", "docker", "containerd", "podman"];
    let is_manager = managers.iter().any(|manager| name.starts_with(manager));
    let of_user = parts.any(|part| part.starts_with("user@"));
    (name.ends_with(".service") && !is_manager).then(|| (name.to_owned(), of_user))
}

/// None where there is no systemd to be asked, or it takes too long.
fn kill_mode(unit: &str, of_user: bool) -> Option<String> {
    if !Path::new("/run/systemd/system").exists() {
        return None;
    }
    let mut systemctl = Command::new("systemctl");
    systemctl.args(of_user.then_some("--user")).args(["show", "-p", "KillMode", "--value", "--", unit]);
    let mut asked =
        systemctl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let since = clock::now();
    while asked.try_wait().ok()?.is_none() {
        if u128::from(clock::since(since).0) > ASK_TIMEOUT.as_millis() {
            asked.kill().ok();
            asked.wait().ok();
            return None;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    let said = asked.wait_with_output().ok()?;
    let mode = String::from_utf8(said.stdout).ok()?.trim().to_owned();
    (said.status.success() && !mode.is_empty()).then_some(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_the_one_that_is_killed() {
        let of = |name: &str, of_user| Some((name.to_owned(), of_user));
        for (groups, expected) in [
            ("0::/system.slice/holon.service\n", of("holon.service", false)),
            ("0::/system.slice/holon.service/below\n", of("holon.service", false)),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/holon.service\n",
                of("holon.service", true),
            ),
            ("12:pids:/x\n1:name=systemd:/system.slice/holon.service\n0::/\n", of("holon.service", false)),
            ("0::/user.slice/user-1000.slice/session-3.scope\n", None),
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/tmux-spawn-1.scope\n", None),
            ("0::/user.slice/user-1000.slice/user@1000.service\n", None),
            ("0::/system.slice/docker.service\n", None),
            ("0::/\n", None),
            ("", None),
        ] {
            assert_eq!(service(groups), expected, "{groups}");
        }
    }

    #[test]
    fn only_a_unit_that_kills_all_is_warned_of() {
        let unit = |mode: Option<&str>| Unit {
            name: "holon.service".into(),
            of_user: true,
            kill_mode: mode.map(str::to_owned),
        };
        for (mode, kills) in
            [(Some("control-group"), true), (Some("mixed"), true), (Some("process"), false), (None, true)]
        {
            assert_eq!(unit(mode).kills_all(), kills, "{mode:?}");
        }
        let unit = unit(Some("control-group"));
        assert!(
            unit.warning().contains("holon.service") && unit.warning().contains("KillMode=control-group")
        );
        assert!(unit.remedy().starts_with("systemctl --user edit holon.service"));
    }
}
