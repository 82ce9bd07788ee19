//! One real supervisor, and connections to it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use holon_core::tool::Tool;
use holon_platform::process;
use holon_platform::socket::inside;
use holon_supervise::protocol::{self, Hidden, Input, Item, LOG_BYTES, Plan, Reply, Request};
use holon_supervise::record::{self, ExitRecord, ItemEnd};
use holon_supervise::{SOCKET, SUPERVISE, output_log};
use holon_text::{Secrets, Texts};

pub(crate) struct Supervised {
    place: tempfile::TempDir,
    log: PathBuf,
    process: Child,
    pub(crate) runtime: Connection,
}

pub(crate) struct Connection {
    stream: UnixStream,
    arrived: Vec<u8>,
}

impl Supervised {
    /// A command without a window and with a short grace.
    pub(crate) fn start(cmd: &str, with: impl FnOnce(&mut Item)) -> Self {
        Self::start_with(cmd, 300, with)
    }

    pub(crate) fn start_with(cmd: &str, grace_ms: u64, with: impl FnOnce(&mut Item)) -> Self {
        let place = tempfile::tempdir().expect("a temporary folder");
        for name in ["work", "supervisor"] {
            fs::create_dir(place.path().join(name)).expect("a folder");
        }
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let process = Command::new(env!("CARGO_BIN_EXE_holon"))
            .arg(SUPERVISE)
            .arg(place.path().join("supervisor"))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .expect("it starts");
        let log = place.path().join("logs/op_1.log");
        let mut item = Item {
            cmd: cmd.to_owned(),
            shell: "/bin/sh".into(),
            login: false,
            tty: false,
            folder: place.path().join("work"),
            window_ms: None,
            asked_ms: None,
            input: Input::None,
            budget: 8_000,
            log: log.clone(),
            log_bytes: LOG_BYTES,
            refused: None,
        };
        with(&mut item);
        let plan = Plan {
            tool: Tool::ExecCommand.into(),
            items: vec![item],
            stop_on_error: false,
            total_ms: None,
            grace_ms,
            tied: false,
            lease: None,
            open_files: None,
            confine: None,
        };
        let mut runtime = Connection::over(ours);
        assert!(matches!(runtime.receive(), Some(Reply::Ready { .. })));
        runtime.send(&Request::Go { plan, hidden: Hidden::default() });
        Self { place, log, process, runtime }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("supervisor")
    }

    pub(crate) fn connect(&self) -> Connection {
        let folder = File::open(self.folder()).expect("a folder");
        Connection::over(UnixStream::connect(inside(&folder, SOCKET)).expect("it listens"))
    }

    pub(crate) fn until_begun(&self) {
        wait_for(|| self.work().join("begun").exists());
    }

    pub(crate) fn until_log_has(&self, text: &str) {
        let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
        let read = || output_log::preview(&texts, &self.log, 100_000, true).expect("a log").text;
        wait_for(|| read().contains(text));
    }

    /// The process that the command became.
    pub(crate) fn command(&self) -> u32 {
        record::started(&self.folder()).flatten().expect("it has begun").0
    }

    /// Children of the supervisor that have ended, and of which it has not taken note.
    pub(crate) fn zombies(&self) -> usize {
        let children = process::all().into_iter().filter(|stat| stat.parent == self.process.id());
        children.filter(|stat| stat.ended).count()
    }

    /// Signals the supervisor itself, and waits until it sleeps or is awake.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill runs").success());
        let stopped = || {
            let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        };
        wait_for(|| stopped() == (signal == "-STOP"));
    }

    /// How the command ended, from the record of the supervisor that has ended, too.
    pub(crate) fn ended(&mut self) -> ItemEnd {
        while let Some(Reply::Ready { .. } | Reply::Input { .. }) = self.runtime.receive() {}
        assert!(self.process.wait().expect("it ends").success());
        let record = ExitRecord::read(&self.folder()).expect("a readable record").expect("a record");
        record.items.into_iter().next().expect("the end of a command")
    }

    pub(crate) fn is_gone(&mut self) -> bool {
        self.process.try_wait().expect("a child").is_some()
    }

    /// Processes that still run in the folder of this command.
    pub(crate) fn strays(&self) -> Vec<u32> {
        let work = self.work();
        let here = |pid: u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == work);
        process::all().into_iter().map(|stat| stat.pid).filter(|pid| here(*pid)).collect()
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // Of a test that failed; otherwise it has ended.
        self.process.kill().ok();
        self.process.wait().ok();
        for pid in self.strays() {
            Command::new("kill").args(["-KILL", &pid.to_string()]).status().ok();
        }
    }
}

impl Connection {
    fn over(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        Self { stream, arrived: Vec::new() }
    }

    pub(crate) fn send(&mut self, request: &Request) {
        self.stream.write_all(&protocol::frame(request).expect("a frame")).expect("it listens");
    }

    /// The next message; none when the supervisor has ended.
    pub(crate) fn receive(&mut self) -> Option<Reply> {
        let mut buffer = [0; 4_096];
        loop {
            if let Some(told) = protocol::take(&mut self.arrived).expect("the protocol") {
                return Some(told);
            }
            match self.stream.read(&mut buffer).expect("an answer in time") {
                0 => return None,
                count => self.arrived.extend_from_slice(&buffer[..count]),
            }
        }
    }

    pub(crate) fn remaining(&mut self) -> Option<u64> {
        self.send(&Request::Hello);
        match self.receive() {
            Some(Reply::Ready { remaining_ms, .. }) => remaining_ms,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn input(&mut self, id: u64, text: &str) -> (u64, u64, Option<String>) {
        self.send(&Request::Input { id, text: text.to_owned() });
        self.told()
    }

    /// What became of an input.
    pub(crate) fn told(&mut self) -> (u64, u64, Option<String>) {
        match self.receive() {
            Some(Reply::Input { id, bytes_written, problem }) => (id, bytes_written, problem),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn wait_for(mut condition: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen within 10 s");
}
