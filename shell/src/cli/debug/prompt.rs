//! `holon debug prompt`: a request to a model as its parts, with their sizes, or as it goes over the wire.

use std::io;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::{ArgGroup, Args, ValueEnum};
use holon_api::{
    Control, DebugPrompt, DebugPromptReply, PastRequest, PrefixBroke, PromptDiff, PromptSection,
};
use holon_facts::ids::{OpId, RoundIndex, TurnIndex};
use holon_text::moment;

use super::super::client_context::ClientContext;
use super::super::exit::Exit;
use super::super::explained::{self, row};
use super::super::interrupts::Ending;
use super::super::output::{self, Failure};
use holon_present::{DetailLine, Look};

/// Hex digits of a digest that tell parts apart.
const DIGEST: usize = 8;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("past").args(["turn", "request"]))]
pub(in super::super) struct PromptArgs {
    /// Show the first request that this prompt would cause as the next message [default: a placeholder]
    #[arg(conflicts_with_all = ["turn", "request"])]
    text: Option<String>,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Show the next request, which is the default
    #[arg(long, conflicts_with_all = ["turn", "request"])]
    next: bool,
    /// Show the last request of this turn as it was sent
    #[arg(long, value_name = "N", conflicts_with = "request")]
    turn: Option<u64>,
    /// Show the last request of this round of the turn, from 1
    #[arg(long, value_name = "N", requires = "turn", value_parser = clap::value_parser!(u32).range(1..))]
    round: Option<u32>,
    /// Show the request of this operation as it was sent, for example op_12
    #[arg(long, value_name = "ID")]
    request: Option<OpId>,
    /// Read a past request from this export (`holon ledger export --recorder`), instead of a home
    #[arg(long, value_name = "FILE", requires = "past")]
    from: Option<PathBuf>,
    /// Compare it with the request before it
    #[arg(long)]
    diff: bool,
    /// Render it for models with a window of this many tokens
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    window: Option<u64>,
    /// Show sizes alone, without texts
    #[arg(long)]
    sizes: bool,
    /// Choose the form: text for people, one JSON document, or the body that the provider is sent
    #[arg(long, value_name = "FORM", default_value = "text", conflicts_with = "json")]
    format: Form,
    /// Print one JSON document; same as --format json
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
    Wire,
}

pub(super) fn prompt(home: Option<PathBuf>, args: PromptArgs) -> Result<Exit, Failure> {
    let args = &args;
    let show = |cli: ClientContext, ending: Ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.agent.as_deref()).await?;
                let form = if args.json { Form::Json } else { args.format };
                let asked = DebugPrompt {
                    text: args.text.clone(),
                    turn: args.turn.map(TurnIndex),
                    round: args.round.map(|round| RoundIndex(round - 1)),
                    request: args.request,
                    diff: args.diff,
                    window: args.window,
                    wire: form == Form::Wire,
                };
                let answer = cli.client.debug_prompt(&agent, asked).await?;
                match form {
                    Form::Json => output::document(&answer)?,
                    Form::Wire => wire(&answer)?,
                    Form::Text => text(&answer, args.sizes)?,
                }
                Ok(Exit::Completed)
            })
            .await
    };
    match &args.from {
        Some(file) => ClientContext::read_export(home, file, show),
        None => ClientContext::read(home, show),
    }
}

/// The body alone.
fn wire(answer: &DebugPromptReply) -> Result<(), Failure> {
    let wire = answer.wire.as_ref();
    answer.warnings.iter().for_each(|warning| output::note(&format!("holon: {warning}")));
    match wire.and_then(|wire| wire.body.as_ref()) {
        Some(body) => output::document(body),
        None => {
            let transport = wire.map_or("unknown", |wire| wire.transport.as_str());
            let error = anyhow!("nothing goes over a wire to this model: its transport is {transport}");
            Err(Failure::new(Exit::Failed, error).hint("holon debug prompt --format text"))
        }
    }
}

fn text(answer: &DebugPromptReply, sizes: bool) -> io::Result<()> {
    output::table(&facts(answer))?;
    output::line("")?;
    output::table(&parts(answer))?;
    if let Some(diff) = &answer.diff {
        output::line("")?;
        output::details(&compared(diff))?;
    } else if !sizes {
        answer.sections.iter().try_for_each(|section| output::details(&shown(section)))?;
    }
    Ok(())
}

fn facts(answer: &DebugPromptReply) -> Vec<Vec<String>> {
    let mut rows = vec![row("agent", &answer.agent_id)];
    match &answer.request {
        Some(request) => rows.extend(sent(request)),
        None => rows.push(row("request", "the next one; nothing was sent")),
    }
    rows.extend(answer.model.as_ref().map(|model| row("model", model)));
    if let Some(room) = &answer.room {
        let of = format!("{} of {} tokens, estimated", room.est_tokens, room.input_limit);
        rows.push(row("takes", format!("{of} (window {}, answer at most {})", room.window, room.max_output)));
    }
    rows.push(row("cache key", &answer.prompt_cache_key));
    rows.push(row("works in", &answer.execution.cwd));
    rows.extend(answer.loaded_sources.iter().map(|source| row("instructions", &source.path)));
    let tokens: u64 = answer.tool_sizes.iter().map(|tool| tool.est_tokens).sum();
    let names = answer.tools.join(", ");
    rows.push(row("tools", format!("{}, about {tokens} tokens: {names}", answer.tools.len())));
    rows.extend(answer.omitted.iter().map(|omission| {
        row("left out", format!("{} ({}): {}", omission.what, omission.label, omission.reason))
    }));
    rows.extend(answer.closes_episode.map(|boundary| {
        row("episode", format!("would close before it ({boundary}): a digest stands for what was said"))
    }));
    rows.extend(answer.warnings.iter().map(|warning| row("note", warning)));
    rows
}

fn sent(request: &PastRequest) -> Vec<Vec<String>> {
    let attempt = request.attempt.map_or_else(String::new, |attempt| format!(", attempt {attempt}"));
    let place = format!("turn {}, round {}{attempt}", request.turn_index, request.round.0 + 1);
    let mut rows = vec![
        row("request", format!("{} of {place} ({})", request.request_id, request.run_id)),
        row("sent", format!("{}, after event {}", moment::exact(request.sent_at), request.event_seq.0 - 1)),
    ];
    let failure = request.failure_kind.map_or_else(String::new, |kind| format!(": {kind}"));
    rows.push(row("outcome", format!("{}{failure}", request.outcome)));
    rows.extend(request.token_usage.map(|usage| {
        let cached = usage.cached_input_tokens;
        row(
            "reported",
            format!("{} tokens in ({cached} cached), {} out", usage.input_tokens, usage.output_tokens),
        )
    }));
    rows.extend(request.record.as_ref().map(|record| row("on record", explained::request(record))));
    rows.extend(request.delivery.as_ref().map(|delivery| row("delivered", explained::delivery(delivery))));
    rows.extend(request.build.as_ref().map(|build| row("by build", build)));
    rows
}

/// Each part with its size.
fn parts(answer: &DebugPromptReply) -> Vec<Vec<String>> {
    let heads = ["PART", "STABILITY", "BYTES", "TOKENS", "STATE", "DIGEST"].map(str::to_owned).to_vec();
    let one = |section: &PromptSection| {
        let digest = section.digest.map(|digest| digest.to_string()[..DIGEST].to_owned());
        let cached = if section.cache_breakpoint { "cached to here" } else { "" };
        let digest = format!("{} {cached}", digest.unwrap_or_default()).trim_end().to_owned();
        vec![
            section.label.clone(),
            section.stability.to_string(),
            section.bytes.to_string(),
            section.est_tokens.to_string(),
            section.state.to_string(),
            digest,
        ]
    };
    std::iter::once(heads).chain(answer.sections.iter().map(one)).collect()
}

fn shown(section: &PromptSection) -> Vec<DetailLine> {
    let heading = format!("── {} ({})", section.label, section.stability);
    let lines = section.text.lines().map(|line| (Look::Plain, line.to_owned()));
    let empty = (Look::Plain, String::new());
    [empty, (Look::Aside, heading)].into_iter().chain(lines).collect()
}

/// Where two requests part.
fn compared(diff: &PromptDiff) -> Vec<DetailLine> {
    let before = &diff.before;
    let place = format!("turn {}, round {}", before.turn_index, before.round.0 + 1);
    let mut lines = vec![(
        Look::Aside,
        format!("── compared with {} of {place}, to {}", before.request_id, before.model),
    )];
    let shared = format!("{} of its {} bytes", diff.shared_bytes, diff.before_bytes);
    match &diff.broke {
        None => lines.push((Look::Good, format!("it goes on with that request: {shared} are its beginning"))),
        Some(PrefixBroke { label, offset, same, before, now }) => {
            lines
                .push((Look::Bad, format!("it has {shared} in common; they part in {label}, byte {offset}")));
            lines.push((Look::Plain, format!("  both:   …{}", one_line(same))));
            lines.push((Look::Plain, format!("  before: {}", one_line(before))));
            lines.push((Look::Plain, format!("  now:    {}", one_line(now))));
        }
    }
    lines.extend(diff.changes.iter().map(|it| {
        let bytes = format!("{} bytes before, {} now", it.bytes_before, it.bytes);
        (Look::Plain, format!("{} {} (part {}): {bytes}", it.change, it.label, it.index + 1))
    }));
    let tools = [("added", &diff.tools_added), ("removed", &diff.tools_removed)];
    let tools = tools.into_iter().filter(|(_, names)| !names.is_empty());
    lines.extend(tools.map(|(change, names)| (Look::Plain, format!("{change} tools: {}", names.join(", ")))));
    lines
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}
