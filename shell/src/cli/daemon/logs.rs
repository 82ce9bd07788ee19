//! `daemon logs`: everything that helps when the runtime is not well, in one place, whether it lives or not.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use holon_text::moment::near;
use serde_json::json;

use super::DaemonHome;
use crate::cli::exit::Exit;
use crate::cli::interrupts::Ending;
use crate::cli::output::{self, Failure};
use crate::daemon::log::{self, TAIL_LINES, Tail};
use crate::daemon::{LastFailure, Metadata, Phase};

/// Between two looks at a log that is followed.
const LOOK: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub(in crate::cli) struct LogsArgs {
    /// Show this many last lines of the log, at most 10000
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(TAIL_LINES)))]
    lines: u32,
    /// Follow new lines
    #[arg(long, short)]
    follow: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) async fn logs(daemon: &DaemonHome, args: LogsArgs, ending: &Ending) -> Result<Exit, Failure> {
    let path = log::path(&daemon.home);
    let (lines, tail) = Tail::read(&path, args.lines).with_context(|| path.display().to_string())?;
    let failure = LastFailure::read(&daemon.home);
    let of = |phase: Phase| failure.as_ref().filter(|failure| failure.phase == phase);
    if args.json {
        let document = json!({
            "log_path": path, "metadata_path": Metadata::path(&daemon.home),
            "last_failure_path": LastFailure::path(&daemon.home),
            "startup_failure": of(Phase::Startup), "shutdown_failure": of(Phase::Shutdown), "tail": lines,
        });
        // A stream has a line for each document.
        if args.follow {
            output::line(&output::json(&document.to_string()))?;
        } else {
            output::document(&document)?;
        }
    } else {
        let files = [
            Some(("log", path)),
            Some(("metadata", Metadata::path(&daemon.home))),
            failure.as_ref().map(|_| ("last failure", LastFailure::path(&daemon.home))),
        ];
        let rows = files.into_iter().flatten();
        let rows = rows.map(|(name, path)| vec![name.to_owned(), path.display().to_string()]);
        output::table(&rows.collect::<Vec<_>>())?;
        for failure in failure.iter() {
            let phase = failure.phase.name();
            output::text(&format!("failed at {phase}, {}: {}", near(failure.occurred_at), failure.summary))?;
        }
        output::line("")?;
        for line in &lines {
            output::text(line)?;
        }
    }
    if args.follow {
        tokio::select! {
            biased;
            // Whoever followed has seen enough.
            () = ending.wait() => {}
            ended = follow(tail, args.json) => match ended? {},
        }
    }
    Ok(Exit::Completed)
}

async fn follow(mut tail: Tail, json: bool) -> Result<Infallible, Failure> {
    loop {
        for line in tail.more()? {
            if json {
                output::line(&output::json(&json!({ "line": line }).to_string()))?;
            } else {
                output::text(&line)?;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}
