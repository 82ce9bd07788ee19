//! Load on a real runtime, and what it costs: one line for each measure, with what is to be reached
//! (docs/measures.md). Ends with 1 when something was wrong rather than slow.
//!
//! ```sh
//! cargo build --release -p holon
//! cargo bench -p end-to-end --bench daemon -- [ROW ...] [--full] [--bin PATH-OF-HOLON]
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the lines are what it is for")]

mod clock;
mod commands;
mod followers;
mod idle;
mod rounds;
mod start;
mod table;
mod tasks;
mod throughput;
mod turns;

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// What it does, in this order, unless told otherwise.
const ROWS: [(&str, Row); 8] = [
    ("start", start::row),
    ("idle", idle::row),
    ("turns", turns::row),
    ("rounds", rounds::row),
    ("commands", commands::row),
    ("tasks", tasks::row),
    ("throughput", throughput::row),
    ("followers", followers::row),
];

/// A part of a row that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(3_600);

type Row = fn(&Options) -> io::Result<()>;

/// What was asked for.
struct Options {
    /// The sizes that the targets are about, rather than those of a short look.
    full: bool,
}

impl Options {
    fn size(&self, short: usize, full: usize) -> usize {
        if self.full { full } else { short }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, String> {
    let mut options = Options { full: false };
    let mut chosen = Vec::new();
    let mut binary = std::env::var_os("HOLON_BIN").map(PathBuf::from);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--full" => options.full = true,
            "--bin" => binary = Some(arguments.next().ok_or("--bin PATH-OF-HOLON")?.into()),
            // Cargo says so.
            "--bench" => {}
            name => {
                let known = ROWS.iter().find(|row| row.0 == name);
                let names = || ROWS.map(|row| row.0).join(", ");
                chosen.push(*known.ok_or_else(|| format!("there is no row {name}: {}", names()))?);
            }
        }
    }
    use_binary(binary)?;
    raise_limit().map_err(|error| format!("files that may be open: {error}"))?;
    table::begin(options.full);
    let mut well = true;
    for (name, row) in if chosen.is_empty() { ROWS.to_vec() } else { chosen } {
        if let Err(error) = row(&options) {
            eprintln!("{name}: {error}");
            well = false;
        }
    }
    Ok(well)
}

/// The one that was named, else the release build.
fn use_binary(named: Option<PathBuf>) -> Result<(), String> {
    let path = match named {
        Some(path) => path,
        None => {
            let own = std::env::current_exe().map_err(|error| error.to_string())?;
            own.ancestors().nth(2).ok_or("no target folder")?.join("holon")
        }
    };
    let path = path.canonicalize().map_err(|error| {
        format!("{}: {error}; cargo build --release -p holon, or --bin PATH-OF-HOLON", path.display())
    })?;
    let version = Command::new(&path).arg("--version").output().map_err(|error| error.to_string())?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    println!("{} ({version})", path.display());
    end_to_end::use_binary(path);
    Ok(())
}

/// A follower needs a file at each end; the runtime inherits the limit.
fn raise_limit() -> io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Runs what waits for many connections, but not for ever.
fn wait_for<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async { tokio::time::timeout(LONGEST, work).await });
    // A thread that waits for something of the runtime is not waited for.
    runtime.shutdown_background();
    ended.map_err(|_| io::Error::other("it takes too long: something hangs"))?
}
