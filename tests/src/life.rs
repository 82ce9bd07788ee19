//! One life of a runtime: `serve` as a child of the test, which may end it at any moment and sees how it ended.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};

use crate::daemon::Daemon;

/// A process that is a runtime, or is about to be one. It is killed with its test.
pub struct Life(Child);

impl Life {
    /// Begins one, with more variables. Its log goes where a runtime in the background writes.
    pub fn begin(daemon: &Daemon, variables: &[(&str, &str)]) -> Self {
        let run = daemon.run_file("");
        std::fs::create_dir_all(&run).expect("a folder");
        let path = daemon.run_file("serve.log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("a log");
        let mut command = daemon.0.command(&["serve"]);
        command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(log);
        Self(command.spawn().expect("the binary starts"))
    }

    /// Waits until it is ready; says how it ended if it did before that.
    pub fn ready(&mut self, daemon: &Daemon) -> Option<ExitStatus> {
        let mut ended = None;
        crate::wait_for("runtime that is ready or has ended", || {
            ended = self.0.try_wait().expect("a child");
            ended.is_some() || daemon.metadata().is_some_and(|found| found["pid"] == self.0.id())
        });
        ended
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("a child")
    }

    /// Sends it a signal, by its name.
    pub fn signal(&self, name: &str) {
        crate::signal(&self.0, name);
    }

    /// `kill -9`, whatever it does.
    pub fn kill(mut self) {
        self.0.kill().expect("a child");
        self.0.wait().expect("a child");
    }

    /// Asks it to end, and waits until it has.
    pub fn leave(mut self) -> ExitStatus {
        if self.ended().is_none() {
            self.signal("TERM");
        }
        let mut ended = None;
        crate::wait_for("end of the runtime", || {
            ended = self.0.try_wait().expect("a child");
            ended.is_some()
        });
        ended.expect("it has ended")
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // One that has ended already is only reaped.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Whether it was ended by `SIGKILL`.
pub fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(9)
}
