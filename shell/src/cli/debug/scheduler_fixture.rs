//! `holon debug scheduler-fixture`: a decision of the past as a scenario for the tests of the decision table.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use holon_api::{Control, FixtureQuery, SchedulerFixture};
use holon_facts::EventSeq;
use holon_facts::decision::SchedulerDecision;
use serde::Serialize;
use serde_json::Value;

use super::super::client_context::{ClientContext, Whom};
use super::super::exit::Exit;
use super::super::output::{self, Failure};

/// Where the tests of the table keep what each scenario decides, beside the scenarios.
const DECIDED: &str = "decided";

#[derive(Debug, Args)]
pub(in super::super) struct FixtureArgs {
    #[command(flatten)]
    whom: Whom,
    /// Take the decision that this event records; after another event, what the scheduler would have decided [default: the
    /// newest decision]
    #[arg(long, value_name = "EVENT")]
    at: Option<u64>,
    /// Write the scenario to this file, or into this folder, and what it decides to decided/ there; no file is overwritten
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What a file of `decided/` holds.
#[derive(Serialize)]
struct Decided<'a> {
    name: &'a str,
    decision: &'a SchedulerDecision,
}

pub(super) fn fixture(home: Option<PathBuf>, args: FixtureArgs) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.whom.name()).await?;
                let at = args.at.map(EventSeq);
                let answer = cli.client.scheduler_fixture(&agent, FixtureQuery { at }).await?;
                if !answer.as_recorded {
                    output::note("holon: the table of this build decides otherwise from these facts than what is on record");
                }
                let written = match &args.output {
                    Some(path) => write(&answer, path)?,
                    None => Vec::new(),
                };
                let shown = scenario(&answer)?;
                output::shown(&answer, args.json, || match &written[..] {
                    [] => output::line(&shown),
                    written => written.iter().try_for_each(|path| output::line(&path.display().to_string())),
                })
            })
            .await
    })
}

/// Without what is nothing: readers take it as that.
fn scenario(answer: &SchedulerFixture) -> Result<String, Failure> {
    let mut document = serde_json::to_value(&answer.scenario)?;
    if let Some(facts) = document.get_mut("facts") {
        without_nothing(facts);
    }
    Ok(output::pretty(&document)?)
}

fn without_nothing(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(without_nothing);
    }
}

/// Writes both files, and returns where they are.
fn write(answer: &SchedulerFixture, path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let file = if path.is_dir() { path.join(&answer.file) } else { path.to_owned() };
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let row = format!("{:02}", answer.decision.row);
    if !stem.starts_with(&row) || file.extension().is_none_or(|extension| extension != "json") {
        let error = anyhow!(
            "{}: the tests read the row of the table from the first two characters of the name, and .json ends it",
            file.display()
        );
        return Err(Failure::usage(error).hint(format!("--output {}", answer.file)));
    }
    let decided = file.parent().unwrap_or(Path::new("")).join(DECIDED);
    fs::create_dir_all(&decided).with_context(|| format!("{} can't be made", decided.display()))?;
    let decision = Decided { name: &answer.scenario.name, decision: &answer.decision };
    let snapshot = format!(
        "---\nsource: core/tests/decisions.rs\nexpression: \"Decided {{ name, decision }}\"\n---\n{}",
        output::pretty(&decision)?
    );
    let snap = decided.join(format!("{stem}.snap"));
    create(&file, &scenario(answer)?)?;
    create(&snap, &snapshot)?;
    Ok(vec![file, snap])
}

/// Overwrites nothing.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file.map_err(|error| {
        let refused = error.kind() == io::ErrorKind::AlreadyExists;
        let error = anyhow!(error).context(format!("{} can't be written", path.display()));
        if refused {
            Failure::new(Exit::RefusedByState, error).hint("name another file with --output")
        } else {
            error.into()
        }
    })?;
    let written = file.write_all(format!("{text}\n").as_bytes());
    Ok(written.with_context(|| format!("{} can't be written", path.display()))?)
}
