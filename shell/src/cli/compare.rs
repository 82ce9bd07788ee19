//! `holon ledger compare`: what two agents decided, side by side.

use std::io::{self, IsTerminal};
use std::ops::Range;
use std::path::PathBuf;

use clap::Args;
use holon_facts::event::{LifecycleFact, TurnFact};
use holon_facts::{AgentId, Event, EventSeq, Record, Wall};
use holon_ledger::error::LedgerError;
use holon_ledger::read::Reader;
use holon_present::{Presentation, Visibility};
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_width::UnicodeWidthStr;

use super::exit::Exit;
use super::ledger::{Which, open};
use super::output::{self, Failure};
use crate::screen::{columns, within};

/// Decisions of each agent that are compared, after those at the beginning that are the same: what is compared with what
/// takes time that grows with their product.
const COMPARED: usize = 5_000;
/// The width of both sides together where no terminal says another one.
const WIDTH: usize = 160;

#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// Compare the decisions of this agent
    left: String,
    /// With those of this one, for example a fork of it
    right: String,
    #[command(flatten)]
    ledger: Which,
    /// Show this many rows from the first difference on
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200)]
    rows: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// One decision, without what two agents never have in common.
#[derive(Debug, Clone, Serialize)]
struct Decision {
    event_seq: EventSeq,
    at: Wall,
    #[serde(rename = "type")]
    kind: &'static str,
    decision: String,
    #[serde(skip)]
    whole: String,
}

impl Decision {
    fn key(&self) -> (&str, &str) {
        (self.kind, &self.whole)
    }
}

/// Two decisions that stand beside each other, or one without a counterpart.
#[derive(Debug, Serialize)]
struct Row<'a> {
    same: bool,
    left: Option<&'a Decision>,
    right: Option<&'a Decision>,
}

#[derive(Debug, Serialize)]
struct Comparison<'a> {
    left: &'a AgentId,
    right: &'a AgentId,
    /// Decisions at the beginning that are the same.
    same: usize,
    rows: Vec<Row<'a>>,
    /// Rows that are not shown.
    more: usize,
}

pub(super) fn compare(home: Option<PathBuf>, args: CompareArgs) -> Result<Exit, Failure> {
    let left = AgentId::new(&args.left).map_err(Failure::usage)?;
    let right = AgentId::new(&args.right).map_err(Failure::usage)?;
    let reader = open(&args.ledger.place(home)?)?;
    let (decided, counterpart) = (decisions(&reader, &left)?, decisions(&reader, &right)?);
    let same = decided.iter().zip(&counterpart).take_while(|(left, right)| left.key() == right.key()).count();
    let (rest, counter) = (&decided[same..], &counterpart[same..]);
    let mut rows = side_by_side(&rest[..rest.len().min(COMPARED)], &counter[..counter.len().min(COMPARED)]);
    let left_out = rest.len().saturating_sub(COMPARED).max(counter.len().saturating_sub(COMPARED));
    let more = rows.len().saturating_sub(args.rows) + left_out;
    rows.truncate(args.rows);
    let comparison = Comparison { left: &left, right: &right, same, rows, more };
    if args.json {
        output::document(&comparison)?;
    } else {
        let width = if io::stdout().is_terminal() { columns(io::stdout()) } else { WIDTH };
        for line in lines(&comparison, width) {
            output::line(&line)?;
        }
    }
    Ok(Exit::Completed)
}

fn decisions(reader: &Reader, agent: &AgentId) -> Result<Vec<Decision>, Failure> {
    let last =
        reader.last_event(agent).map_err(|error| match matches!(error, LedgerError::NoAgent { .. }) {
            true => Failure::new(Exit::NotFound, error).hint("holon agent list"),
            false => Failure::from(error),
        })?;
    let mut decided = Vec::new();
    for record in reader.records(agent, EventSeq(0), last)? {
        decided.extend(decision(&record?));
    }
    Ok(decided)
}

/// What the agent came to, and what it was confronted with; not the work that this took.
fn decision(record: &Record) -> Option<Decision> {
    let shown = match &record.event {
        Event::Operation(_) | Event::Outbox(_) => false,
        Event::Lifecycle(LifecycleFact::SchedulerPostureDecision(_)) => false,
        // How long a request took and what it cost is no decision.
        Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) => fact.attempt.failure_kind.is_some(),
        Event::Turn(
            TurnFact::TurnContextBuilt(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::BudgetReserved(_)
            | TurnFact::BudgetSettled(_),
        ) => false,
        Event::Lifecycle(_)
        | Event::Inbox(_)
        | Event::Scheduling(_)
        | Event::Turn(_)
        | Event::Task(_)
        | Event::Timer(_)
        | Event::Work(_)
        | Event::Wait(_)
        | Event::Wake(_)
        | Event::Workspace(_)
        | Event::Brief(_)
        | Event::Episode(_)
        | Event::Skill(_) => true,
    };
    let presented = Presentation::of(record);
    if !shown || presented.visibility == Visibility::Trace {
        return None;
    }
    Some(Decision {
        event_seq: record.event_seq,
        at: record.at,
        kind: record.event.kind(),
        whole: presented.body.unwrap_or_else(|| presented.summary.clone()),
        decision: presented.summary,
    })
}

fn side_by_side<'a>(left: &'a [Decision], right: &'a [Decision]) -> Vec<Row<'a>> {
    let beside = |same, lefts: Range<usize>, rights: Range<usize>| {
        (0..lefts.len().max(rights.len())).map(move |at| Row {
            same,
            left: left[lefts.clone()].get(at),
            right: right[rights.clone()].get(at),
        })
    };
    let place = |op: &DiffOp| (matches!(op, DiffOp::Equal { .. }), op.old_range(), op.new_range());
    let keys = |side: &'a [Decision]| side.iter().map(Decision::key).collect::<Vec<_>>();
    let ops = capture_diff_slices(Algorithm::Myers, &keys(left), &keys(right));
    ops.iter().map(place).flat_map(|(same, lefts, rights)| beside(same, lefts, rights)).collect()
}

fn lines(comparison: &Comparison<'_>, width: usize) -> Vec<String> {
    let Comparison { left, right, same, rows, more } = comparison;
    let side = (width.saturating_sub(3) / 2).max(20);
    let cell = |decision: Option<&Decision>| {
        decision.map(|it| within(&format!("#{} {}", it.event_seq, it.decision), side)).unwrap_or_default()
    };
    let row = |left: &str, mark: &str, right: &str| {
        let padding = " ".repeat(side.saturating_sub(left.width()));
        format!("{left}{padding} {mark} {right}").trim_end().to_owned()
    };
    if rows.is_empty() && *more == 0 {
        return vec![format!("{left} and {right} decided the same: {same} decisions")];
    }
    let mut lines = vec![format!("the same: the first {same} decisions of {left} and {right}")];
    lines.push(row(left.as_str(), " ", right.as_str()));
    lines.extend(rows.iter().map(|it| {
        let mark = match (it.same, it.left, it.right) {
            (true, _, _) => "=",
            (false, Some(_), None) => "<",
            (false, None, _) => ">",
            (false, Some(_), Some(_)) => "|",
        };
        row(&cell(it.left), mark, &cell(it.right))
    }));
    if *more > 0 {
        lines.push(format!("and {more} more rows (-n)"));
    }
    lines
}
