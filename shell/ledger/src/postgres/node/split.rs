//! A cell becomes two: whole trees of agents go on in a new one, with everything that was recorded up to then. Each of the two
//! has all of the history, its links and its recorder, so both verify and replay; a call in each says who went to the other.
//!
//! What is there already is copied while its owner works. Then nobody owns the cell for a moment, and the rest is one
//! transaction: before it nothing has happened, and after it each agent is in one cell.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use holon_core::replay::Call;
use holon_facts::event::LifecycleFact;
use holon_facts::{AgentId, Event, Millis, Now};
use holon_platform::{build, clock};
use tokio_postgres::types::ToSql;

use super::cluster::{Cluster, ClusterError, MOST_CELLS};
use super::grants;
use super::statement::{id, number};
use crate::error::LedgerError;
use crate::postgres::append::{Appended, append_to};
use crate::postgres::arrays::{Arrays, Held};
use crate::postgres::gc::WHOLE;
use crate::postgres::open::kinds;
use crate::read::Reader;
use crate::rows::batch::{Batch, EncodedCall};
use crate::rows::link::{BatchRow, newest};
use crate::sql::postgres::{PostgresError, Server, Session};

const DOING: &str = "splitting a cell";
/// Rows that are copied at a time while the owner works, by their positions.
const PAGE: i64 = 20_000;
/// How long nobody may own the cell; it is said again while that is waited for.
const HELD: &str = "interval '10 seconds'";
/// How long its owner has to release it.
const RELEASES: Millis = Millis::seconds(40);
/// Between two looks whether it has.
const LOOK: Duration = Duration::from_millis(50);

/// Tables whose rows have a position, and stay as they are.
const PLACED: [(&str, &str); 3] = [
    ("records", "agent, event_seq, step, batch, at, kind, v, payload, sum"),
    ("recorder", "batch, step, call, sum"),
    ("content", "id, bytes, text"),
];
/// Where such a copy ends, of each of them.
type Copied = [i64; 3];

/// What has become of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The new one.
    pub cell: u64,
    /// Agents that went there, and the trees that they are.
    pub agents: u64,
    pub trees: u64,
    /// How long nobody could own the cell.
    pub held_for: Millis,
}

/// What can't be split.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error("cell {cell} can't be split: {trees} trees of agents are in it")]
    Whole { cell: u64, trees: usize },
    #[error("no agent {agent} is in cell {cell}")]
    NoAgent { agent: String, cell: u64 },
    #[error("{agent} goes where {root} does, whose tree it is in")]
    NoRoot { agent: String, root: String },
    #[error("a cluster has at most {MOST_CELLS} cells")]
    TooMany,
    #[error("node {node} is of build {build}, and this is {}: nodes of one build split cells", build::id())]
    OtherBuild { node: u64, build: String },
    #[error("another cell is being split, or rows of one are removed")]
    Busy,
    #[error("node {node} has not released cell {cell}: nothing was changed")]
    NotReleased { node: String, cell: u64 },
    #[error("the answer of the database did not come: whether cell {cell} was split is not known ({source})")]
    Unknown { cell: u64, source: LedgerError },
}

impl From<LedgerError> for SplitError {
    fn from(error: LedgerError) -> Self {
        Self::Cluster(error.into())
    }
}

/// Agents in one tree, and how much has happened to them.
#[derive(Debug, Default)]
struct Tree {
    agents: BTreeSet<String>,
    events: i64,
}

/// Splits a cell. The trees of the named agents go; half of what has happened where none is named.
///
/// # Errors
/// When it can't be split. Nothing has changed then, unless the error says that this is not known.
pub fn split(server: &Server, cell: u64, named: &[String]) -> Result<Split, SplitError> {
    if Cluster::of_node(server)?.is_none() {
        return Err(ClusterError::None { database: server.to_string() }.into());
    }
    let session = Session::new(server.clone(), id(cell));
    let lock = ask(&session, &format!("SELECT pg_try_advisory_lock{WHOLE}"), &[])?;
    if !lock.first().is_some_and(|row| row.get(0)) {
        return Err(SplitError::Busy);
    }
    // Without the lock, somebody else may change what was copied.
    session.holds_lock();
    let new = may_be_split(&session, cell)?;
    choose(&trees(&session)?, cell, named)?;
    let copied = copy_ahead(&session, new)?;
    let begun = clock::now();
    let split = Splitting { server, session: &session, cell, new, copied, named }.finish(begun);
    if split.is_err() {
        // Its owner goes on. Where this is not answered either, the hold ends by itself.
        session.lose();
        drop(ask(&session, "UPDATE cells SET held_until = NULL WHERE cell = $1", &[&id(cell)]));
    }
    split
}

/// The number of the new cell, where there may be one.
fn may_be_split(session: &Session, cell: u64) -> Result<i64, SplitError> {
    let cells = ask(session, "SELECT cell FROM cells ORDER BY cell", &[])?;
    let cells: Vec<i64> = cells.iter().map(|row| row.get(0)).collect();
    if !cells.contains(&id(cell)) {
        return Err(ClusterError::NoCell { cell }.into());
    }
    if number(i64::try_from(cells.len()).unwrap_or(i64::MAX)) >= MOST_CELLS {
        return Err(SplitError::TooMany);
    }
    let sql = "SELECT node, build FROM nodes WHERE NOT buried AND build <> $1 ORDER BY node LIMIT 1";
    if let Some(row) = ask(session, sql, &[&build::id()])?.first() {
        return Err(SplitError::OtherBuild { node: number(row.get(0)), build: row.get(1) });
    }
    Ok(cells.last().map_or(1, |last| last + 1))
}

/// The trees of a cell by their roots.
fn trees(session: &Session) -> Result<BTreeMap<String, Tree>, SplitError> {
    let sql = "SELECT a.agent, a.event_seq, r.kind, r.v, r.payload FROM agents a
        JOIN records r ON r.cell = a.cell AND r.agent = a.agent AND r.event_seq = 1 WHERE a.cell = $1";
    let mut above: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut events: BTreeMap<String, i64> = BTreeMap::new();
    for row in ask(session, sql, &[&session.cell()])? {
        let agent: String = row.get(0);
        let version = u16::try_from(row.get::<_, i64>(3)).unwrap_or(u16::MAX);
        let Ok(Event::Lifecycle(LifecycleFact::AgentCreated(created))) =
            Event::decode(row.get(2), version, row.get(4))
        else {
            let problem = format!("the log of {agent} does not begin with agent_created");
            return Err(LedgerError::Refused { doing: DOING, problem }.into());
        };
        let supervisor = created.spec.supervisor.map(|above| above.agent_id.to_string());
        above.insert(agent.clone(), supervisor);
        events.insert(agent, row.get(1));
    }
    let mut trees: BTreeMap<String, Tree> = BTreeMap::new();
    for (agent, last) in &events {
        let mut root = agent;
        // As many steps as there are agents, at most: then there is no root.
        for _ in 0..above.len() {
            match above.get(root) {
                Some(Some(next)) if above.contains_key(next) => root = next,
                Some(_) | None => break,
            }
        }
        let tree = trees.entry(root.clone()).or_default();
        tree.agents.insert(agent.clone());
        tree.events += last;
    }
    Ok(trees)
}

/// Whoever goes: the roots of their trees.
fn choose<'a>(
    trees: &'a BTreeMap<String, Tree>,
    cell: u64,
    named: &[String],
) -> Result<BTreeSet<&'a str>, SplitError> {
    let mut goes = BTreeSet::new();
    for name in named {
        let known = trees.iter().find(|(_, tree)| tree.agents.contains(name));
        let Some((root, _)) = known else {
            return Err(SplitError::NoAgent { agent: name.clone(), cell });
        };
        if root != name {
            return Err(SplitError::NoRoot { agent: name.clone(), root: root.clone() });
        }
        goes.insert(root.as_str());
    }
    if named.is_empty() {
        let mut largest: Vec<_> = trees.iter().collect();
        largest.sort_by_key(|(root, tree)| (std::cmp::Reverse(tree.events), *root));
        let (mut stay, mut go) = (0, 0);
        for (root, tree) in largest {
            if stay <= go {
                stay += tree.events;
            } else {
                go += tree.events;
                goes.insert(root.as_str());
            }
        }
    }
    if goes.is_empty() || goes.len() == trees.len() {
        return Err(SplitError::Whole { cell, trees: trees.len() });
    }
    Ok(goes)
}

/// Copies what the cell has now into one that nobody knows yet. What an earlier try has left there goes first.
fn copy_ahead(session: &Session, new: i64) -> Result<Copied, SplitError> {
    for table in ["records", "recorder", "content", "batches", "kinds"] {
        ask(session, &format!("DELETE FROM {table} WHERE cell = $1"), &[&new])?;
    }
    let sql = "SELECT through_record, through_call, through_content FROM batches WHERE cell = $1
        ORDER BY batch DESC LIMIT 1";
    let ends = ask(session, sql, &[&session.cell()])?;
    let ends = ends.first().map_or([0; 3], |row| [row.get(0), row.get(1), row.get(2)]);
    for ((table, columns), end) in PLACED.iter().zip(ends) {
        let mut from = 0;
        while from < end {
            let to = end.min(from + PAGE);
            copy(session, new, (table, columns), (from, to))?;
            from = to;
        }
    }
    Ok(ends)
}

fn copy(
    session: &Session,
    new: i64,
    (table, columns): (&str, &str),
    (after, through): (i64, i64),
) -> Result<(), SplitError> {
    let sql = format!(
        "INSERT INTO {table} (cell, position, {columns}) SELECT $2, position, {columns} FROM {table}
            WHERE cell = $1 AND position > $3 AND position <= $4"
    );
    ask(session, &sql, &[&session.cell(), &new, &after, &through]).map(drop)
}

/// A split from the moment on at which nobody is to own the cell.
struct Splitting<'a> {
    server: &'a Server,
    session: &'a Session,
    cell: u64,
    new: i64,
    copied: Copied,
    named: &'a [String],
}

impl Splitting<'_> {
    fn finish(self, begun: Now) -> Result<Split, SplitError> {
        loop {
            let hold = format!("UPDATE cells SET held_until = clock_timestamp() + {HELD} WHERE cell = $1");
            self.ask(&hold, &[&id(self.cell)])?;
            self.session.begin_write().map_err(failed())?;
            // Whoever would claim the cell waits for the row.
            self.ask("SELECT 1 FROM cells WHERE cell = $1 FOR UPDATE", &[&id(self.cell)])?;
            // A statement of its own: the one that waited for the row knows nodes as they were before.
            let sql =
                "SELECT n.name FROM cells c JOIN nodes n USING (node) WHERE c.cell = $1 AND NOT n.buried";
            let owner = self.ask(sql, &[&id(self.cell)])?;
            let Some(owner) = owner.first().map(|row| row.get::<_, String>(0)) else { break };
            self.session.rollback();
            if clock::since(begun) > RELEASES {
                return Err(SplitError::NotReleased { node: owner, cell: self.cell });
            }
            thread::sleep(LOOK);
        }
        let (goes, trees) = self.divide()?;
        let committed = self.session.commit().map_err(LedgerError::postgres(DOING));
        committed.map_err(|source| SplitError::Unknown { cell: self.cell, source })?;
        let agents = u64::try_from(goes.len()).unwrap_or(u64::MAX);
        Ok(Split { cell: number(self.new), agents, trees, held_for: clock::since(begun) })
    }

    /// Everything of the one transaction. The row of the cell is locked, and nobody owns it.
    fn divide(&self) -> Result<(Vec<String>, u64), SplitError> {
        let reader = Reader::of_cell(self.server.clone(), id(self.cell));
        let trees = trees(self.session)?;
        let chosen = choose(&trees, self.cell, self.named)?;
        let (mut goes, mut stays) = (Vec::new(), Vec::new());
        for (root, tree) in &trees {
            let to = if chosen.contains(root.as_str()) { &mut goes } else { &mut stays };
            to.extend(tree.agents.iter().cloned());
        }
        let last = reader.read(newest)?;
        let ends = [last.ends.record, last.ends.call, last.ends.content];
        for ((table, copied), end) in PLACED.iter().zip(self.copied).zip(ends) {
            copy(self.session, self.new, *table, (copied, end))?;
        }
        let (cell, new) = (id(self.cell), self.new);
        let both: [&(dyn ToSql + Sync); 2] = [&cell, &new];
        // What was removed and is there again since it was copied.
        let sql = "UPDATE content n SET text = o.text FROM content o WHERE o.cell = $1 AND n.cell = $2
            AND n.id = o.id AND n.text IS NULL AND o.text IS NOT NULL";
        self.ask(sql, &both)?;
        let columns = "batch, epoch, through_step, through_record, through_call, through_content, link";
        self.ask(
            &format!(
                "INSERT INTO batches (cell, {columns}) SELECT $2, {columns} FROM batches WHERE cell = $1"
            ),
            &both,
        )?;
        self.ask("INSERT INTO kinds (cell, kind, v) SELECT $2, kind, v FROM kinds WHERE cell = $1", &both)?;
        let sql = "INSERT INTO cells (cell, epoch, batch, through_step, link, label, begins, share)
            SELECT $2, epoch + 1, batch, through_step, link, label, $3, share / 2 FROM cells WHERE cell = $1";
        self.ask(sql, &[&cell, &new, &last.ends.record])?;
        let sql = "UPDATE cells SET epoch = epoch + 1, node = NULL, hand_to = NULL, wanted_on = NULL, held_until = NULL,
            share = share - share / 2 WHERE cell = $1 RETURNING epoch";
        let epoch = self.ask(sql, &[&cell])?.first().map_or(0, |row| row.get::<_, i64>(0));
        self.tell(&last, epoch, (cell, number(new)), &goes)?;
        self.tell(&last, epoch, (new, self.cell), &stays)?;
        grants::divide(self.session, cell, new, &goes)?;
        let of_new: [&(dyn ToSql + Sync); 3] = [&cell, &new, &goes];
        for table in ["agents", "snapshots"] {
            self.ask(&format!("UPDATE {table} SET cell = $2 WHERE cell = $1 AND agent = ANY ($3)"), &of_new)?;
        }
        let sql = "INSERT INTO names SELECT agent, cell FROM agents WHERE cell IN ($1, $2) AND private = 0
            UNION SELECT name, cell FROM agents WHERE cell IN ($1, $2) AND name IS NOT NULL
            ON CONFLICT (name) DO UPDATE SET cell = excluded.cell";
        self.ask(sql, &both)?;
        Ok((goes, number(i64::try_from(chosen.len()).unwrap_or(i64::MAX))))
    }

    /// Records in a cell who is not in it any more.
    fn tell(
        &self,
        last: &BatchRow,
        epoch: i64,
        (cell, to): (i64, u64),
        left: &[String],
    ) -> Result<(), SplitError> {
        let damaged = |problem: String| LedgerError::Refused { doing: DOING, problem };
        let agents: Result<Vec<_>, _> = left.iter().map(|agent| AgentId::new(agent.as_str())).collect();
        let call = Call::AgentsLeft { agents: agents.map_err(|error| damaged(error.to_string()))?, to };
        let mut batch = Batch::default();
        batch.call(EncodedCall::new(&call)?);
        let kinds = kinds(self.session)?;
        let arrays = Arrays::new(&batch, last, epoch, &kinds, &Held::default())?;
        let appended = append_to(self.session, cell, &last.link, &arrays, LONG);
        match appended.map_err(failed())? {
            Appended::Landed => Ok(()),
            Appended::Refused => {
                Err(damaged(format!("cell {cell} does not end where its last batch does")).into())
            }
        }
    }

    fn ask(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<tokio_postgres::Row>, SplitError> {
        ask(self.session, sql, params)
    }
}

/// Statements that copy may take a while.
const LONG: Option<Millis> = Some(Millis::seconds(600));

fn ask(
    session: &Session,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<tokio_postgres::Row>, SplitError> {
    Ok(session.query(sql, params, LONG).map_err(failed())?)
}

fn failed() -> impl FnOnce(PostgresError) -> LedgerError {
    LedgerError::postgres(DOING)
}
