//! `holon debug latency`: where the time of turns went, from records alone.

use std::path::PathBuf;

use clap::Args;
use holon_api::{Control, Latency, LatencyQuery};
use holon_core::latency::{LatencyQuantiles, Quantiles, RoundLatency, TurnLatency};
use holon_facts::Millis;
use holon_facts::ids::TurnIndex;
use holon_text::moment;

use super::super::client_context::{ClientContext, Whom};
use super::super::exit::Exit;
use super::super::explained::row;
use super::super::output::{self, Failure};

#[derive(Debug, Args)]
pub(in super::super) struct LatencyArgs {
    #[command(flatten)]
    whom: Whom,
    /// Count this many of the newest turns, at most 1000
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "turn")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    last: u32,
    /// Show this turn alone, with its rounds and calls
    #[arg(long, value_name = "N")]
    turn: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn latency(home: Option<PathBuf>, args: LatencyArgs) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.whom.name()).await?;
                let turn = args.turn.map(TurnIndex);
                let last = turn.is_none().then_some(args.last);
                let answer = cli.client.latency(&agent, LatencyQuery { last, turn }).await?;
                output::shown(&answer, args.json, || match (&args.turn, answer.turns.first()) {
                    (Some(_), Some(turn)) => output::table(&one(turn)),
                    _ => many(&answer),
                })
            })
            .await
    })
}

fn many(answer: &Latency) -> std::io::Result<()> {
    if answer.turns.is_empty() {
        return output::line(&format!("{} has had no turn yet", answer.agent_id));
    }
    let heads = ["TURN", "BEGAN", "END", "QUEUE", "CONTEXT", "MODEL", "BACKOFF", "TOOLS", "SETTLE", "OTHER"];
    let heads = heads.into_iter().chain(["TOTAL", "ROUNDS", "TOKENS IN", "CACHED", "OUT"]);
    let mut rows = vec![heads.map(ToOwned::to_owned).collect::<Vec<_>>()];
    rows.extend(answer.turns.iter().map(line));
    if answer.quantiles.turns > 1 {
        rows.extend(quantiles(&answer.quantiles));
    }
    output::table(&rows)
}

fn line(turn: &TurnLatency) -> Vec<String> {
    let mut cells = vec![turn.turn_index.to_string(), moment::exact(turn.started_at), ended(turn)];
    cells.extend(turn.parts.all().into_iter().map(ms));
    cells.push(ms(turn.total_ms));
    cells.push(turn.rounds.len().to_string());
    let sum = |of: fn(&RoundLatency) -> u64| turn.rounds.iter().map(of).sum::<u64>().to_string();
    cells.extend([sum(|round| round.input_tokens), sum(|round| round.cached_tokens)]);
    cells.push(sum(|round| round.output_tokens));
    cells
}

fn quantiles(all: &LatencyQuantiles) -> [Vec<String>; 3] {
    let columns = [
        all.queue_wait_ms,
        all.context_build_ms,
        all.provider_ms,
        all.backoff_ms,
        all.tool_ms,
        all.settlement_ms,
        all.other_ms,
        all.total_ms,
    ];
    let turns = all.turns;
    let row = move |name: &str, value: fn(&Quantiles) -> Millis| {
        let mut cells = vec![name.to_owned(), format!("of {turns} turns"), String::new()];
        cells.extend(columns.iter().map(|column| ms(value(column))));
        cells.extend(vec![String::new(); 4]);
        cells
    };
    [row("p50", |one| one.p50), row("p90", |one| one.p90), row("max", |one| one.max)]
}

/// Everything about one turn.
fn one(turn: &TurnLatency) -> Vec<Vec<String>> {
    let about = format!("{} ({} for {})", turn.turn_index, turn.run_id, turn.message_id);
    let mut rows = vec![
        row("turn", about),
        row("began", moment::exact(turn.started_at)),
        row("ended", ended(turn)),
        row("total", ms(turn.total_ms)),
    ];
    let names = ["queue wait", "context build", "provider", "backoff", "tools", "settlement", "other"];
    rows.extend(names.into_iter().zip(turn.parts.all()).map(|(name, part)| row(name, ms(part))));
    rows.extend(turn.rounds.iter().map(|round| row(&format!("round {}", round.round.0 + 1), asked(round))));
    rows.extend(turn.tools.iter().map(|call| {
        let at = format!("in round {}, {} after the beginning", call.round.0 + 1, ms(call.start_ms));
        row(&call.tool, format!("{}, {at}", ms(call.ms)))
    }));
    rows
}

fn asked(round: &RoundLatency) -> String {
    let model = round.model.as_ref().map_or_else(|| "no model".to_owned(), ToString::to_string);
    let attempts =
        if round.attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", round.attempts) };
    let waited = if round.backoff_ms > Millis(0) {
        format!(", backoff {}", ms(round.backoff_ms))
    } else {
        String::new()
    };
    let tokens = format!(
        "{} tokens in ({} cached), {} out",
        round.input_tokens, round.cached_tokens, round.output_tokens
    );
    let answer = if round.answered { tokens } else { "no answer".to_owned() };
    format!("{model}: {}, {attempts}{waited}, {answer}", ms(round.provider_ms))
}

fn ended(turn: &TurnLatency) -> String {
    turn.end.map_or_else(|| "in progress".to_owned(), |end| end.to_string())
}

fn ms(time: Millis) -> String {
    format!("{} ms", time.0)
}
