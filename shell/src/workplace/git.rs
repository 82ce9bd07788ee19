//! The `git` program, run without a terminal, for a bounded time, with bounded output, and one run after the other in
//! each repository. A repository's hooks, its file system monitor and the network stay out of it. Its clean and smudge
//! filters do run, since a checkout without them would be another one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use holon_platform::{Environment, process, spawn};
use holon_supervise::Helper;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The longest time that one run may take: a checkout of a large repository with filters.
const GIT_TIMEOUT: Duration = Duration::from_mins(10);
/// The longest wait for another process that works in the same repository.
const QUEUE: Duration = Duration::from_mins(2);
/// How often that one is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// What git has to take its locks away once it is asked to end.
const GRACE: Duration = Duration::from_secs(3);
/// Bytes of each output that are kept.
const KEPT: usize = 64 << 10;
/// Bytes of git's own words that a message repeats.
const WORDS: usize = 600;
/// What git sees of the environment: where it is, whose settings count, how its filters reach their servers. No
/// variable of git's own, and nothing that names give away as a secret.
const VARIABLES: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];
/// Settings above those of the repository: nothing that it names is executed, nothing happens in the background, and
/// what counts as a change doesn't depend on somebody's taste.
const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "credential.helper=",
    "status.showUntrackedFiles=all",
    "status.branch=false",
    "branch.autoSetupMerge=false",
    "worktree.guessRemote=false",
    "advice.detachedHead=false",
];

static TURNS: [Mutex<()>; 64] = [const { Mutex::const_new(()) }; 64];

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("there is no git program in PATH: install git, or start Holon with a PATH that has it")]
    Missing,
    #[error("git can't be started: {0}")]
    Start(io::Error),
    #[error("git {asked}: {problem}")]
    Lost { asked: String, problem: io::Error },
    #[error("git {asked} took longer than {} s and was ended", limit.as_secs())]
    Slow { asked: String, limit: Duration },
    #[error(
        "another process has been working in {} for {} s: try again when it is done",
        repository.display(), QUEUE.as_secs()
    )]
    Busy { repository: PathBuf },
    /// Nobody waits for the answer any more.
    #[error("git was ended because its answer is no longer needed")]
    Unwanted,
    #[error("git {asked}: {words}")]
    Refused { asked: String, code: Option<i32>, words: String },
    /// It said something else than its documentation has.
    #[error("git {asked} printed what can't be read: {problem}")]
    Garbled { asked: String, problem: String },
}

/// What a run has printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    /// The beginning.
    pub(super) bytes: Vec<u8>,
    /// Zero bytes in the whole of it.
    pub(super) zeros: u64,
    /// Whether there was more than is kept.
    pub(super) cut: bool,
}

impl Printed {
    /// The first of the entries that end with a zero byte each, and how many others there are.
    pub(super) fn entries(&self, most: usize) -> (Vec<String>, u64) {
        let whole =
            self.bytes.split_inclusive(|byte| *byte == 0).filter_map(|entry| entry.strip_suffix(&[0]));
        let names: Vec<_> =
            whole.take(most).map(|entry| String::from_utf8_lossy(entry).into_owned()).collect();
        let more = self.zeros.saturating_sub(u64::try_from(names.len()).unwrap_or(u64::MAX));
        (names, more)
    }

    async fn read(&mut self, pipe: Option<impl AsyncRead + Unpin>, most: usize) {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
            let new = &buffer[..count];
            self.zeros += new.iter().map(|byte| u64::from(*byte == 0)).sum::<u64>();
            let room = most.saturating_sub(self.bytes.len()).min(count);
            self.bytes.extend_from_slice(&new[..room]);
            self.cut |= room < count;
        }
    }
}

/// Whether a run may be ended before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// When nobody waits for its answer any more.
    Unwanted,
    /// Half of it would be worse than the whole.
    Itself,
}

/// The turn to work in one repository.
pub(super) struct Git {
    variables: Vec<(OsString, OsString)>,
    helper: Option<Helper>,
    /// The other end goes with whoever waits for the answers.
    asker: watch::Receiver<()>,
    /// The repository's folder, locked. Every run has it as its input, so that the lock lasts as long as the run even
    /// if this process dies.
    held: Option<File>,
    /// What stands for the user's index.
    index: Option<PathBuf>,
    _turn: MutexGuard<'static, ()>,
}

impl Git {
    /// Waits for the turn in a repository, which is known by one of its folders.
    ///
    /// # Errors
    /// Nobody waits any more.
    pub(super) async fn begin(
        folder: &Path,
        environment: &Environment,
        helper: Option<Helper>,
        asker: watch::Receiver<()>,
    ) -> Result<Self, GitError> {
        let turn = tokio::select! {
            turn = turns_in(folder).lock() => turn,
            () = gone(asker.clone()) => return Err(GitError::Unwanted),
        };
        let known = |name: &str| Some((name.into(), environment.get(name)?.into()));
        let variables = VARIABLES.into_iter().filter_map(known).collect();
        Ok(Self { variables, helper, asker, held: None, index: None, _turn: turn })
    }

    /// With another index than the user's.
    pub(super) fn with_index(self, index: PathBuf) -> Self {
        Self { index: Some(index), ..self }
    }

    /// Keeps other processes out of the repository, runs among them that a runtime which died has left. A file system
    /// that can't lock a folder is worked in without.
    ///
    /// # Errors
    /// Another process stays in it for too long, or nobody waits any more.
    pub(super) async fn hold(&mut self, repository: &Path) -> Result<(), GitError> {
        let Ok(folder) = File::open(repository) else { return Ok(()) };
        let taken = async {
            loop {
                match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
                    Err(Errno::WOULDBLOCK) => sleep(LOOK).await,
                    Ok(()) | Err(_) => return,
                }
            }
        };
        tokio::select! {
            () = taken => {}
            () = gone(self.asker.clone()) => return Err(GitError::Unwanted),
            () = sleep(QUEUE) => return Err(GitError::Busy { repository: repository.to_owned() }),
        }
        self.held = Some(folder);
        Ok(())
    }

    /// A run that is ended when nobody waits for it any more. 64 KiB of what it prints are kept.
    ///
    /// # Errors
    /// All of [`GitError`].
    pub(super) async fn run(&self, folder: &Path, arguments: &[&OsStr]) -> Result<Printed, GitError> {
        self.any(folder, arguments, KEPT, Ending::Unwanted).await
    }

    /// The same with another limit for what is kept.
    ///
    /// # Errors
    /// All of [`GitError`].
    pub(super) async fn run_long(
        &self,
        folder: &Path,
        arguments: &[&OsStr],
        kept: usize,
    ) -> Result<Printed, GitError> {
        self.any(folder, arguments, kept, Ending::Unwanted).await
    }

    /// A run that goes on to its end even if nobody waits for it.
    ///
    /// # Errors
    /// All of [`GitError`] but [`GitError::Unwanted`].
    pub(super) async fn run_whole(&self, folder: &Path, arguments: &[&OsStr]) -> Result<Printed, GitError> {
        self.any(folder, arguments, KEPT, Ending::Itself).await
    }

    async fn any(
        &self,
        folder: &Path,
        arguments: &[&OsStr],
        kept: usize,
        ending: Ending,
    ) -> Result<Printed, GitError> {
        let asked: Vec<_> = arguments.iter().take(2).map(|word| word.to_string_lossy()).collect();
        let asked = asked.join(" ");
        let command = self.command(folder, arguments).map_err(GitError::Start)?;
        collect(command, asked, kept, (self.asker.clone(), ending), GIT_TIMEOUT).await
    }

    /// What git sees of the environment.
    pub(super) fn variables() -> &'static [&'static str] {
        &VARIABLES
    }

    /// The one place that says how git is started.
    fn command(&self, folder: &Path, arguments: &[&OsStr]) -> io::Result<Command> {
        let input = self.held.as_ref().map(File::try_clone).transpose()?;
        let mut command = Command::from(Helper::command(self.helper.as_ref(), "git")?);
        command.arg("-C").arg(folder).arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(arguments)
            // A folder that is missing would look like a program that is.
            .current_dir("/")
            .env_clear()
            .envs(self.variables.iter().cloned())
            .envs(self.index.iter().map(|index| ("GIT_INDEX_FILE", index)))
            // A repository's own settings can allow a protocol, which this can't be talked out of.
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Ok(command)
    }
}

/// Runs git to its end, or for so long.
///
/// # Errors
/// All of [`GitError`] but [`GitError::Busy`].
pub(super) async fn collect(
    command: Command,
    asked: String,
    kept: usize,
    (asker, ending): (watch::Receiver<()>, Ending),
    limit: Duration,
) -> Result<Printed, GitError> {
    // Starting a program takes its time.
    let started = spawn::blocking(move || Running::start(command)).await;
    let mut running = started.map_err(io::Error::from).and_then(|started| started).map_err(unstarted)?;
    let (mut printed, mut words) = (Printed::default(), Printed::default());
    let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
    let ended = {
        let mut reading = pin!(async { tokio::join!(printed.read(stdout, kept), words.read(stderr, KEPT)) });
        let mut end = pin!(running.end(asker, ending, limit));
        let mut read = false;
        let ended = loop {
            tokio::select! {
                ended = &mut end => break ended,
                _ = &mut reading, if !read => read = true,
            }
        };
        // Somebody else may hold the other end by now, who is not waited for.
        if !read {
            drop(timeout(GRACE, &mut reading).await);
        }
        ended
    };
    match ended {
        Ok((End::Itself, status)) if status.success() => Ok(printed),
        Ok((End::Itself, status)) => {
            Err(GitError::Refused { asked, code: status.code(), words: clip(&words.bytes) })
        }
        Ok((End::Slow, _)) => Err(GitError::Slow { asked, limit }),
        Ok((End::Unwanted, _)) => Err(GitError::Unwanted),
        Err(problem) => Err(GitError::Lost { asked, problem }),
    }
}

/// How a run has ended.
enum End {
    Itself,
    Slow,
    Unwanted,
}

/// A process that leads a group of its own. The order of the fields is the one that they are dropped in.
struct Running {
    group: Group,
    /// Done when it has ended. Its number stays its own until it is waited for.
    ended: JoinHandle<()>,
    child: Child,
}

impl Running {
    fn start(mut command: Command) -> io::Result<Self> {
        let child = command.spawn()?;
        let number = child.id().and_then(|number| i32::try_from(number).ok()).and_then(Pid::from_raw);
        let leader = number.ok_or_else(|| io::Error::other("it has no process id"))?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended =
            spawn::blocking(move || while let Err(Errno::INTR) = waitid(WaitId::Pid(leader), look) {});
        Ok(Self { group: Group(Some(leader)), ended, child })
    }

    /// Waits until it has ended, or ends it and everybody in its group.
    async fn end(
        &mut self,
        asker: watch::Receiver<()>,
        ending: Ending,
        limit: Duration,
    ) -> io::Result<(End, ExitStatus)> {
        let end = tokio::select! {
            ended = &mut self.ended => ended.map(|()| End::Itself)?,
            () = gone(asker), if ending == Ending::Unwanted => End::Unwanted,
            () = sleep(limit) => End::Slow,
        };
        match end {
            End::Itself => {}
            End::Slow | End::Unwanted => {
                // It takes its lock files along, which would stop everybody who comes later.
                self.group.signal(Signal::TERM);
                drop(timeout(GRACE, &mut self.ended).await);
                self.group.kill_all();
            }
        }
        self.group.signal(Signal::KILL);
        let status = self.child.wait().await?;
        self.group.0 = None;
        Ok((end, status))
    }
}

/// A group whose leader has not been waited for: its number is nobody else's.
struct Group(Option<Pid>);

impl Group {
    /// With whoever has left the group.
    fn kill_all(&self) {
        if let Some(leader) = self.0 {
            process::kill_descendants(leader);
        }
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let Some(leader) = self.0 else { return };
        kill_process_group(leader, signal).ok();
        // One that has not begun its group yet.
        kill_process(leader, signal).ok();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill_all();
    }
}

fn turns_in(folder: &Path) -> &'static Mutex<()> {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    let count = u64::try_from(TURNS.len()).unwrap_or(1);
    &TURNS[usize::try_from(hasher.finish() % count).unwrap_or(0)]
}

/// Ends when nobody is at the other end any more.
async fn gone(mut asker: watch::Receiver<()>) {
    while asker.changed().await.is_ok() {}
}

fn unstarted(problem: io::Error) -> GitError {
    match problem.kind() == io::ErrorKind::NotFound {
        true => GitError::Missing,
        false => GitError::Start(problem),
    }
}

/// The beginning of what git has said, at a character's end.
fn clip(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    match words.trim() {
        "" => "it failed without output".to_owned(),
        words if words.len() <= WORDS => words.to_owned(),
        words => format!("{}…", &words[..words.floor_char_boundary(WORDS)]),
    }
}

/// Words of a command line.
pub(super) fn args<'a>(words: &[&'a str]) -> Vec<&'a OsStr> {
    words.iter().map(|word| OsStr::new(*word)).collect()
}
