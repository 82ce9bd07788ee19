//! `holon cluster`: the nodes that share the database of a home, and the ledger between them.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_facts::Millis;
use holon_ledger::LedgerPlace;
use holon_ledger::postgres::node::{
    self, CellStatus, Cluster, ClusterError, ClusterStatus, Deposited, MOST_CELLS, NodeStatus, Split,
    SplitError,
};
use holon_ledger::postgres::{self, Server};
use holon_ledger::sqlite::{HomeLock, LockError};
use holon_ledger::transfer::{self, TransferError};
use holon_platform::Environment;
use holon_text::moment;
use serde_json::json;

use super::exit::Exit;
use super::output::{self, Failure};
use crate::home::Home;
use crate::ledger_check::{verified, verify};
use crate::settings::{Settings, find_home, quoted};

#[derive(Debug, Subcommand)]
pub(super) enum ClusterCommand {
    /// Make the database of this home one that several nodes share
    Init(InitArgs),
    /// Show the nodes, and who owns what
    Status(ShowArgs),
    /// List the nodes
    Nodes(ShowArgs),
    /// List the cells: ledgers that one node at a time owns
    Cells(ShowArgs),
    /// List requests that came while nobody owned their agent, the newest first, and what became of them
    Deposits(DepositsArgs),
    /// List what is lent to each cell of the budgets that all cells have together
    Grants(ShowArgs),
    /// Let a node hand over what it owns; it gets nothing more
    Drain(DrainArgs),
    /// Move a cell to a node
    Move(MoveArgs),
    /// Let nodes with a label alone own a cell, or every node again
    Label(LabelArgs),
    /// Split a cell: half of its agents, or those that are named, go on in a new one
    Split(SplitArgs),
    /// Take the ledger of another home into a cell that has none
    Import(ImportArgs),
    /// Write the ledger of a cell into a home that has none
    Export(ExportArgs),
    /// Go on with a cell without what its database has lost
    Accept(AcceptArgs),
}

#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// Let a node own what it owns for this long without a sign of life, in milliseconds, 500 to 60000
    #[arg(long, value_name = "MS", default_value_t = 3_000, value_parser = clap::value_parser!(u64).range(500..=60_000))]
    lease_ms: u64,
    /// Wait this much longer before others take over, in milliseconds, at most 60000
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(..=60_000))]
    grace_ms: u64,
    /// Divide the agents among so many cells, each owned by one node at a time, at most 256
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MOST_CELLS))]
    cells: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct DepositsArgs {
    /// List so many, at most 1000
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct DrainArgs {
    /// Drain this node
    node: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct MoveArgs {
    /// Move this cell
    cell: u64,
    /// Move it to this node
    node: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct LabelArgs {
    /// Label this cell
    cell: u64,
    /// Let nodes that have this in store.labels or workspace.node own it; every node where it is left out
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    label: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct SplitArgs {
    /// Split this cell
    cell: u64,
    /// Let this agent go, with its children; half of what has happened in the cell where none is named
    #[arg(long = "agent", value_name = "AGENT")]
    agents: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// Take the ledger of this home, whose runtime is stopped
    home: PathBuf,
    /// Put it into this cell
    #[arg(long, default_value_t = 1, value_name = "CELL")]
    cell: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// Write the ledger of this cell
    cell: u64,
    /// Write it into this home
    home: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AcceptArgs {
    /// Go on with this cell
    cell: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn cluster(home: Option<PathBuf>, command: ClusterCommand) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let home = find_home(home, &environment)?;
    if home.database().is_none() {
        // An address that can't be read counts as none up to here.
        Settings::load(&home.config(), &environment)?;
    }
    let database = home.database().ok_or_else(|| {
        Failure::usage(anyhow::anyhow!("the ledger of {} is in a file", home.root().display()))
            .hint("holon config set store.url postgres://USER@HOST/DATABASE")
    })?;
    match command {
        ClusterCommand::Init(args) => init(database, &args),
        ClusterCommand::Status(args) => status(database, args.json, true, true),
        ClusterCommand::Nodes(args) => status(database, args.json, true, false),
        ClusterCommand::Cells(args) => status(database, args.json, false, true),
        ClusterCommand::Deposits(args) => deposits(database, &args),
        ClusterCommand::Grants(args) => grants(database, &args),
        ClusterCommand::Drain(args) => {
            Cluster::drain(database, args.node).map_err(failure)?;
            done(
                args.json,
                &json!({ "node": args.node }),
                &format!("node {} hands over what it owns", args.node),
            )
        }
        ClusterCommand::Move(args) => {
            Cluster::move_cell(database, args.cell, args.node).map_err(failure)?;
            let said = format!("cell {} moves to node {}", args.cell, args.node);
            done(args.json, &json!({ "cell": args.cell, "node": args.node }), &said)
        }
        ClusterCommand::Label(args) => {
            Cluster::label(database, args.cell, args.label.as_deref()).map_err(failure)?;
            let whose = match &args.label {
                Some(label) => format!("nodes with the label {label}"),
                None => "every node".to_owned(),
            };
            let said = format!("{whose} can own cell {}", args.cell);
            done(args.json, &json!({ "cell": args.cell, "label": args.label }), &said)
        }
        ClusterCommand::Split(args) => split(database, &args),
        ClusterCommand::Import(args) => import(database, &args),
        ClusterCommand::Export(args) => export(database, &args),
        ClusterCommand::Accept(args) => {
            Cluster::accept(database, args.cell).map_err(failure)?;
            done(
                args.json,
                &json!({ "cell": args.cell }),
                &format!("cell {} begins again at the end it has", args.cell),
            )
        }
    }
}

fn init(database: &Server, args: &InitArgs) -> Result<Exit, Failure> {
    let (lease, grace) = (Millis(args.lease_ms), Millis(args.grace_ms));
    Cluster::init(database, (lease, grace), args.cells).map_err(failure)?;
    let made = json!({ "lease_ms": args.lease_ms, "grace_ms": args.grace_ms, "cells": args.cells });
    let exit = done(args.json, &made, &format!("nodes share {database} from now on"))?;
    if !args.json {
        output::hint("start a node on each machine", "holon daemon start");
    }
    Ok(exit)
}

fn split(database: &Server, args: &SplitArgs) -> Result<Exit, Failure> {
    let Split { cell, agents, trees, held_for } =
        node::split(database, args.cell, &args.agents).map_err(|error| not_split(error, args.cell))?;
    let document = json!({ "cell": args.cell, "new_cell": cell, "agents": agents, "trees": trees, "held_for_ms": held_for.0 });
    let text = format!(
        "{agents} agents in {trees} trees go on in cell {cell}; nobody owned cell {} for {} ms",
        args.cell, held_for.0
    );
    done(args.json, &document, &text)
}

fn not_split(error: SplitError, cell: u64) -> Failure {
    let status = "holon cluster status";
    match error {
        SplitError::Cluster(error) => failure(error),
        SplitError::NoAgent { .. } => Failure::new(Exit::NotFound, error).hint("holon agent list"),
        SplitError::NoRoot { ref root, .. } => {
            let hint = format!("holon cluster split {cell} --agent {root}");
            Failure::usage(error).hint(&hint)
        }
        SplitError::Whole { .. }
        | SplitError::TooMany
        | SplitError::OtherBuild { .. }
        | SplitError::Busy
        | SplitError::NotReleased { .. } => Failure::new(Exit::RefusedByState, error).hint(status),
        SplitError::Unknown { .. } => Failure::from(error).hint("holon cluster cells"),
    }
}

/// What is taken is in order before and after.
fn import(database: &Server, args: &ImportArgs) -> Result<Exit, Failure> {
    let from = Home::find(Some(args.home.clone()), &Environment::of_process())?;
    let path = from.ledger_file();
    let lock = HomeLock::acquire(from.root()).map_err(|error| match error {
        LockError::Held { .. } => Failure::new(Exit::RefusedByState, error).hint("holon daemon stop"),
        LockError::Unusable { .. } => Failure::usage(error),
    })?;
    let place = LedgerPlace::from(path.clone());
    place.check_end()?;
    verify(&place.reader()?)?;
    let cell = i64::try_from(args.cell).unwrap_or(i64::MAX);
    let moved = transfer::import(&path, database, cell).map_err(transferred)?;
    let report = verify(&postgres::read(database, cell)?)?;
    drop(lock);
    let text =
        format!("cell {} has the ledger of {}: {}", args.cell, from.root().display(), verified(&report));
    let exit = done(
        args.json,
        &json!({ "cell": args.cell, "records": moved.records, "batches": moved.batches }),
        &text,
    )?;
    if !args.json {
        let agents = from.agents().display().to_string();
        output::hint(
            "its agents find their files",
            &format!("holon config set store.agents {}", quoted(&agents)),
        );
    }
    Ok(exit)
}

fn export(database: &Server, args: &ExportArgs) -> Result<Exit, Failure> {
    let to = Home::find(Some(args.home.clone()), &Environment::of_process())?;
    to.create()?;
    let path = to.ledger_file();
    let cell = i64::try_from(args.cell).unwrap_or(i64::MAX);
    let moved = transfer::export(database, cell, &path).map_err(transferred)?;
    let report = verify(&LedgerPlace::from(path).reader()?)?;
    let text = format!("{} has the ledger of cell {}: {}", to.root().display(), args.cell, verified(&report));
    done(args.json, &json!({ "cell": args.cell, "records": moved.records, "batches": moved.batches }), &text)
}

fn transferred(error: TransferError) -> Failure {
    match error {
        TransferError::NotEmpty { .. } | TransferError::FileThere { .. } | TransferError::Older { .. } => {
            Failure::new(Exit::RefusedByState, error)
        }
        TransferError::NameTaken { .. } => {
            Failure::new(Exit::RefusedByState, error).hint("import it into a cluster of its own")
        }
        TransferError::NoCell { .. } => Failure::new(Exit::NotFound, error).hint("holon cluster init"),
        TransferError::Ledger(_) | TransferError::File { .. } => error.into(),
    }
}

fn done(json: bool, document: &serde_json::Value, text: &str) -> Result<Exit, Failure> {
    let mut document = document.clone();
    if json {
        document["ok"] = true.into();
        output::document(&document)?;
    } else {
        output::line(text)?;
    }
    Ok(Exit::Completed)
}

fn status(database: &Server, json: bool, nodes: bool, cells: bool) -> Result<Exit, Failure> {
    let status = Cluster::status(database).map_err(failure)?;
    if json {
        let mut document = json!({ "ok": true });
        if nodes {
            document["nodes"] = serde_json::to_value(&status.nodes)?;
        }
        if cells {
            document["cells"] = serde_json::to_value(&status.cells)?;
        }
        output::document(&document)?;
        return Ok(Exit::Completed);
    }
    if nodes {
        show_nodes(&status)?;
    }
    if nodes && cells {
        output::line("")?;
    }
    if cells {
        show_cells(&status)?;
    }
    Ok(Exit::Completed)
}

fn deposits(database: &Server, args: &DepositsArgs) -> Result<Exit, Failure> {
    let deposits = Cluster::deposits(database, args.limit).map_err(failure)?;
    if args.json {
        output::document(&json!({ "ok": true, "deposits": deposits }))?;
        return Ok(Exit::Completed);
    }
    if deposits.is_empty() {
        output::line("nothing was deposited")?;
        return Ok(Exit::Completed);
    }
    let heads = ["DEPOSIT", "CELL", "MADE", "STATE"];
    let rows = deposits.iter().map(|deposited| {
        let made = moment::relative(deposited.made_at);
        vec![deposited.deposit.to_string(), deposited.cell.to_string(), made, verdict(deposited)]
    });
    output::list(&heads, rows)?;
    Ok(Exit::Completed)
}

fn verdict(deposited: &Deposited) -> String {
    let status = deposited.status.map_or_else(String::new, |status| format!(", answer {status}"));
    match (deposited.batch, deposited.judged_at) {
        (Some(batch), _) => format!("taken in batch {batch}{status}"),
        (None, Some(_)) => format!("judged{status}"),
        (None, None) => "waits for an owner".to_owned(),
    }
}

fn grants(database: &Server, args: &ShowArgs) -> Result<Exit, Failure> {
    let grants = Cluster::grants(database).map_err(failure)?;
    if args.json {
        output::document(&json!({ "ok": true, "grants": grants }))?;
        return Ok(Exit::Completed);
    }
    if grants.is_empty() {
        output::line("nothing was lent")?;
        return Ok(Exit::Completed);
    }
    let heads = ["BUDGET", "DAY", "CELL", "LENT"];
    let rows = grants.iter().map(|grant| {
        let day = grant.day.clone().unwrap_or_else(|| "all".to_owned());
        vec![grant.budget.to_string(), day, grant.cell.to_string(), grant.budget.format(grant.lent)]
    });
    output::list(&heads, rows)?;
    Ok(Exit::Completed)
}

fn show_nodes(status: &ClusterStatus) -> Result<(), Failure> {
    if status.nodes.is_empty() {
        return Ok(output::line("no node lives")?);
    }
    let heads = ["NODE", "STATE", "CELLS", "LABELS", "BEGAN", "DATABASE", "REFUSED", "BUILD", "ADDRESS"];
    let rows = status.nodes.iter().map(|node| {
        let (began, cells) = (moment::relative(node.began_at), node.cells.to_string());
        let address = format!("{} {}", node.url, node.name);
        let answer = format!("{}.{} ms", node.answer_us / 1_000, node.answer_us / 100 % 10);
        let (refused, labels) = (node.appends_refused.to_string(), or_none(node.labels.join(", ")));
        let numbered = vec![node.node.to_string(), state(node), cells, labels];
        [numbered, vec![began, answer, refused, node.build.clone(), address]].concat()
    });
    Ok(output::list(&heads, rows)?)
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

fn state(node: &NodeStatus) -> String {
    if node.lease_left_ms < 0 {
        return format!("silent for {} ms", -node.lease_left_ms);
    }
    if node.draining { "draining".to_owned() } else { "lives".to_owned() }
}

fn show_cells(status: &ClusterStatus) -> Result<(), Failure> {
    let heads = ["CELL", "NODE", "LABEL", "EPOCH", "BATCH", "STEP", "AGENTS", "DEPOSITS", "STATE"];
    let rows = status.cells.iter().map(|cell| {
        let owner = or_none(cell.node.map(|node| node.to_string()).unwrap_or_default());
        let numbers = [cell.epoch, cell.batch, cell.step, cell.agents].map(|number| number.to_string());
        let mut row = vec![cell.cell.to_string(), owner, or_none(cell.label.clone().unwrap_or_default())];
        row.extend(numbers);
        row.extend([cell.deposits.to_string(), standing(cell)]);
        row
    });
    Ok(output::list(&heads, rows)?)
}

fn standing(cell: &CellStatus) -> String {
    match (&cell.problem, cell.node, cell.wanted_on) {
        (Some(problem), _, _) => format!("stopped: {problem}"),
        (None, None, _) => "waits for an owner".to_owned(),
        (None, Some(_), Some(node)) => format!("moves to node {node}"),
        (None, Some(_), None) => "owned".to_owned(),
    }
}

fn failure(error: ClusterError) -> Failure {
    let status = "holon cluster status";
    match error {
        ClusterError::None { .. } => Failure::new(Exit::RefusedByState, error).hint("holon cluster init"),
        ClusterError::AlreadyThere { .. } => Failure::new(Exit::RefusedByState, error).hint(status),
        ClusterError::NoNode { .. } | ClusterError::NoCell { .. } => {
            Failure::new(Exit::NotFound, error).hint(status)
        }
        ClusterError::NoProblem { .. } | ClusterError::Draining { .. } | ClusterError::NotLabelled { .. } => {
            Failure::new(Exit::RefusedByState, error).hint(status)
        }
        ClusterError::Clash { .. } => {
            let hint = "try again when that agent has ended its turn and its commands";
            Failure::new(Exit::RefusedByState, error).hint(hint)
        }
        ClusterError::Ledger(_) | ClusterError::Entropy(_) => error.into(),
    }
}
