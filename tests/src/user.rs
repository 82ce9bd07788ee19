//! Somebody who reads a page and types what it shows: a home of their own, a repository, a shell.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::daemon::Daemon;
use crate::provider::Provider;
use crate::{Ended, Holon, binary};

/// A user with a home folder, a repository `~/shop` and the program.
pub struct User {
    pub daemon: Daemon,
    variables: Vec<(String, String)>,
}

impl User {
    pub fn new(model: &str) -> Self {
        let daemon = Daemon(Holon::new());
        fs::create_dir(daemon.0.home()).expect("a home");
        fs::set_permissions(daemon.0.home(), fs::Permissions::from_mode(0o700)).expect("its mode");
        let folder = daemon.0.folder().to_owned();
        symlink(daemon.0.home(), folder.join(".holon")).expect("a link");
        fs::create_dir_all(folder.join(".cargo/bin")).expect("a folder");
        symlink(binary(), folder.join(".cargo/bin/holon")).expect("a link");
        let user = Self { daemon, variables: Vec::new() };
        let user = user.with("HOLON_MODEL", model).with("HOLON_HTTP_ADDR", "127.0.0.1:0");
        user.ok(
            "git init -q -b main ~/shop && cd ~/shop && git config user.name t && git config user.email t@example.org
             echo '# Shop' > README.md && git add . && git commit -qm start && git update-ref refs/remotes/origin/main HEAD",
        );
        user
    }

    /// One whose model gives these answers.
    pub fn asking(provider: &Provider) -> Self {
        Self::new("local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Puts a program into the path that stands in for one of the machine.
    #[must_use]
    pub fn stand_in(self, name: &str, script: &str) -> Self {
        let path = self.daemon.0.folder().join(".cargo/bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        self
    }

    pub fn run(&self, script: &str) -> Ended {
        let folder = self.daemon.0.folder();
        let path = format!("{}:{}", folder.join(".cargo/bin").display(), env!("PATH"));
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(folder).env_clear();
        shell.env("HOME", folder).env("PATH", path).env("TMPDIR", folder).env("TZ", "UTC");
        shell.envs(self.variables.iter().cloned()).output().expect("a shell").into()
    }

    pub fn ok(&self, script: &str) -> String {
        let ended = self.run(script);
        assert_eq!(ended.code, Some(0), "{script}\n{}\n{}", ended.stdout, ended.stderr);
        ended.stdout + &ended.stderr
    }
}
