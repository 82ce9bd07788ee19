//! What has to hold before a run counts as completed: a command that passes, an answer that fits a schema.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::anyhow;
use boon::{Compiler, SchemaIndex, Schemas, UrlLoader};
use clap::Args;
use holon_facts::content::clip;
use holon_platform::regular;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;

use super::output::Failure;
use crate::report::{CheckOutcome, Verified};
use crate::temporary_runs::Terms;

/// Tries after the first one.
const TRIES: u32 = 2;
/// A check that takes longer has failed.
const CHECK_TIMEOUT: Duration = Duration::from_hours(1);
/// Output that is there when the check has ended is read so long.
const REST: Duration = Duration::from_millis(200);
/// The end of a check's output that is kept.
const OUTPUT_BYTES: usize = 8 << 10;
/// Largest schema: it becomes a part of the prompt.
const SCHEMA_BYTES: u64 = 256 << 10;
/// Of what is wrong with an answer.
const PROBLEM_BYTES: usize = 2_000;
/// The name that the schema is compiled under.
const SCHEMA: &str = "mem:schema.json";

#[derive(Debug, Args)]
pub(super) struct ConditionArgs {
    /// Require a final answer that is JSON and valid against the JSON schema in FILE; stdout gets that JSON
    #[arg(long, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    /// Require that this shell command passes after the run; it runs in the workspace, without confinement
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    /// Return an unmet condition to the agent and let it try again, so many times [default: 2]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=20))]
    tries: Option<u32>,
}

/// What has to hold.
#[derive(Default)]
pub(super) struct Conditions {
    schema: Option<Schema>,
    check: Option<String>,
    /// How often the agent is notified of what does not hold.
    pub(super) tries: u32,
}

struct Schema {
    text: String,
    schemas: Schemas,
    index: SchemaIndex,
}

impl Conditions {
    /// `kept` are those of the run that goes on: they hold where no other ones are given.
    ///
    /// # Errors
    /// A file that is no JSON schema; tries without a condition.
    pub(super) fn of(args: &ConditionArgs, kept: &Terms) -> Result<Self, Failure> {
        let kept_schema = || kept.output_schema.as_deref().map(|text| Schema::of(text, "of the run"));
        let given = args.output_schema.as_deref().map(Schema::read);
        let schema = given.or_else(kept_schema).transpose()?;
        let check = args.check.as_ref().or(kept.check.as_ref());
        if args.check.as_deref().is_some_and(|check| check.trim().is_empty()) {
            return Err(Failure::usage(anyhow!("--check: the command is empty")));
        }
        if args.tries.is_some() && schema.is_none() && check.is_none() {
            let error = anyhow!("--tries is for a condition that the run has to meet, and there is none");
            return Err(Failure::usage(error).hint("--check COMMAND, or --output-schema FILE"));
        }
        let tries = args.tries.or(kept.tries).unwrap_or(TRIES);
        Ok(Self { schema, check: check.cloned(), tries })
    }

    /// What is kept of them.
    pub(super) fn terms(&self) -> Terms {
        let tries = (self.schema.is_some() || self.check.is_some()).then_some(self.tries);
        let output_schema = self.schema.as_ref().map(|schema| schema.text.clone());
        Terms { check: self.check.clone(), output_schema, tries, ..Terms::default() }
    }

    /// Whether the answer is printed otherwise than it was given.
    pub(super) fn changes_answer(&self) -> bool {
        self.schema.is_some()
    }

    /// A prompt with what the agent has to know of them.
    pub(super) fn instruct(&self, prompt: &str) -> String {
        match &self.schema {
            Some(schema) => format!(
                "{prompt}\n\nYour final answer must be one JSON document and nothing else, valid against this JSON \
                 schema:\n{}",
                schema.text
            ),
            None => prompt.to_owned(),
        }
    }

    /// Whether they hold, in this folder and of this answer.
    ///
    /// # Errors
    /// A check that can't be started.
    pub(super) async fn verify(&self, folder: &Path, answer: Option<&str>) -> Result<Verified, Failure> {
        let mut verified = Verified::default();
        if let Some(schema) = &self.schema {
            match schema.fits(answer.unwrap_or_default()) {
                Ok(output) => verified.output = Some(output),
                Err(problem) => verified.output_problem = Some(problem),
            }
        }
        if let Some(command) = &self.check {
            verified.check = Some(check(command, folder).await?);
        }
        Ok(verified)
    }
}

impl Schema {
    fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let text = regular::text(path, SCHEMA_BYTES)
            .map_err(|error| Failure::usage(anyhow!("--output-schema {name}: {error}")))?;
        Self::of(&text, &name)
    }

    fn of(text: &str, name: &str) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::usage(anyhow!("--output-schema {name}: {what}"));
        let value: Value =
            serde_json::from_str(text).map_err(|error| wrong(format!("it is not JSON: {error}")))?;
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        // A schema of other files would not be the one that the model reads.
        compiler.use_loader(Box::new(Nothing));
        let no_schema = |error: boon::CompileError| wrong(format!("it is no JSON schema: {error:#}"));
        compiler.add_resource(SCHEMA, value).map_err(no_schema)?;
        let index = compiler.compile(SCHEMA, &mut schemas).map_err(no_schema)?;
        Ok(Self { text: text.trim().to_owned(), schemas, index })
    }

    /// The document of an answer, or what is wrong with it.
    fn fits(&self, answer: &str) -> Result<Value, String> {
        let value: Value =
            serde_json::from_str(unfenced(answer)).map_err(|error| format!("it is not JSON: {error}"))?;
        match self.schemas.validate(&value, self.index) {
            Ok(()) => Ok(value),
            Err(error) => Err(clip(&format!("it does not fit the schema: {error}"), PROBLEM_BYTES)),
        }
    }
}

struct Nothing;

impl UrlLoader for Nothing {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url} is not a part of the file").into())
    }
}

/// An answer without the code fence that models like to put around JSON.
fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let Some(inner) = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return answer;
    };
    inner.split_once('\n').map_or(inner, |(_, document)| document).trim()
}

/// Ends a command with all that it has started.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It is over already, or it ends now.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// Reads to the end, and keeps the end.
async fn read(stdout: Option<ChildStdout>, output: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut stdout) = stdout else { return Ok(()) };
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = stdout.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        output.extend_from_slice(&buffer[..count]);
        if output.len() > 4 * OUTPUT_BYTES {
            output.drain(..output.len() - OUTPUT_BYTES);
        }
    }
}

async fn check(command: &str, folder: &Path) -> Result<CheckOutcome, Failure> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(folder).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = shell.spawn().map_err(|error| anyhow!("--check: the shell can't be started: {error}"))?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let mut group = Group(group);
    let stdout = child.stdout.take();
    let mut output = Vec::new();
    let ended = timeout(CHECK_TIMEOUT, async {
        let mut reading = Box::pin(read(stdout, &mut output));
        tokio::select! {
            read = &mut reading => {
                read?;
                child.wait().await
            }
            status = child.wait() => {
                // What it has left in the background may keep the pipe open.
                if let Ok(read) = timeout(REST, reading).await {
                    read?;
                }
                status
            }
        }
    });
    let ended = ended.await;
    let exit_status = match ended {
        Ok(status) => {
            let status = status?;
            // Whatever it has left in the background is its own business.
            group.0 = None;
            status.code()
        }
        Err(_) => {
            output.extend_from_slice(b"\n(it took longer than an hour and was ended)");
            None
        }
    };
    let end = String::from_utf8_lossy(&output[output.len().saturating_sub(OUTPUT_BYTES)..]).into_owned();
    Ok(CheckOutcome { command: command.to_owned(), passed: exit_status == Some(0), exit_status, output: end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Result<Schema, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Schema::read(file.path()).map_err(|failure| failure.error.to_string())
    }

    #[test]
    fn answers_fit_or_are_told_why_not() {
        let schema = schema(r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#);
        let schema = schema.unwrap_or_else(|error| panic!("{error}"));
        for fits in [r#"{"n":1}"#, "```json\n{\"n\": 1}\n```", " {\"n\":1}\n"] {
            assert_eq!(schema.fits(fits).unwrap()["n"], 1, "{fits}");
        }
        for (wrong, why) in [("", "not JSON"), ("n is 1", "not JSON"), (r#"{"n":"1"}"#, "/n"), ("{}", "n")] {
            assert!(schema.fits(wrong).unwrap_err().contains(why), "{wrong}: {:?}", schema.fits(wrong));
        }
    }

    #[test]
    fn what_is_no_schema_is_refused_with_its_file() {
        for (text, why) in [
            ("{", "not JSON"),
            (r#"{"type":"nonsense"}"#, "no JSON schema"),
            (r#"{"$ref":"file:///etc/passwd"}"#, "not a part of the file"),
        ] {
            let error = schema(text).map(drop).unwrap_err();
            assert!(error.contains(why) && error.contains("--output-schema"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_check_passes_fails_and_shows_the_end_of_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let passed = check("true", folder.path()).await.ok().unwrap();
        assert!(passed.passed && passed.output.is_empty());
        let failed = check("seq 1 5000; echo wrong >&2; exit 3", folder.path()).await.ok().unwrap();
        assert_eq!((failed.passed, failed.exit_status), (false, Some(3)));
        assert!(failed.output.ends_with("wrong\n") && failed.output.len() <= OUTPUT_BYTES);
        let leaves = timeout(CHECK_TIMEOUT / 60, check("echo said; sleep 300 & true", folder.path())).await;
        let leaves = leaves.expect("what is in the background is not waited for").ok().unwrap();
        assert_eq!((leaves.passed, leaves.output.as_str()), (true, "said\n"));
    }
}
