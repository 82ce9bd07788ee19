//! `holon ledger fork`: another agent from a past point, through the runtime of the home.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use holon_api::{Control, ForkAgent, GivenAnswer};
use holon_facts::model_ref::ModelRef;
use holon_facts::{AgentId, EventSeq};

use super::client_context::ClientContext;
use super::exit::Exit;
use super::output::{self, Failure};

/// The longest answer that is given, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;
const ANSWER_HINT: &str =
    r#"a text, or in a file that ends in .json {"text": "...", "calls": [{"tool": "...", "arguments": {}}]}"#;

#[derive(Debug, Args)]
pub(super) struct ForkArgs {
    /// Copy the log of this agent
    from: String,
    /// Name the new agent
    to: String,
    /// Copy up to this event, or to the end of the step before it [default: all events]
    #[arg(long, value_name = "EVENT_SEQ")]
    at: Option<u64>,
    /// Work in a new worktree with the files of that moment
    #[arg(long)]
    files: bool,
    /// Give the first answer in the place of the model: a text, or text and calls in a file that ends in .json
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    /// Ask this model first, as provider/model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn fork(home: Option<PathBuf>, args: ForkArgs) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move { ending.or(ask(&cli, args)).await })
}

async fn ask(cli: &ClientContext, args: ForkArgs) -> Result<Exit, Failure> {
    let from = AgentId::new(&args.from).map_err(Failure::usage)?;
    let to = AgentId::new(&args.to).map_err(Failure::usage)?;
    let model = args.model.as_deref().map(ModelRef::new).transpose().map_err(Failure::usage)?;
    let answer = args.answer.as_deref().map(answer).transpose()?;
    let body = ForkAgent {
        agent_id: to.clone(),
        event_seq: args.at.map(EventSeq),
        model,
        answer,
        files: args.files,
    };
    let forked = cli.client.fork(&from, body).await?;
    if args.json {
        output::document(&forked)?;
    } else {
        output::line(&format!("{to} begins as {from} was at event {}", forked.event_seq))?;
        if let Some(root) = &forked.execution_root {
            output::line(&format!("it works in {root}, with the files of that moment"))?;
        }
        output::hint("try", &format!("holon ledger compare {from} {to}"));
    }
    Ok(Exit::Completed)
}

fn answer(file: &Path) -> Result<GivenAnswer, Failure> {
    let wrong =
        |problem: String| Failure::usage(anyhow!("--answer {}: {problem}", file.display())).hint(ANSWER_HINT);
    let about = fs::metadata(file).map_err(|error| {
        Failure::new(Exit::NotFound, anyhow!("--answer {}: {error}", file.display())).hint(ANSWER_HINT)
    })?;
    if !about.is_file() || about.len() > ANSWER_BYTES {
        return Err(wrong(format!("it is not a file of at most {ANSWER_BYTES} bytes")));
    }
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    if file.extension().is_some_and(|ending| ending == "json") {
        let mut reader = serde_json::Deserializer::from_str(&text);
        return serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| wrong(format!("at {}: {}", error.path(), error.inner())));
    }
    Ok(GivenAnswer { text: Some(text.trim_end().to_owned()), calls: Vec::new() })
}
