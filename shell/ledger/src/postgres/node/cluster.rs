//! What operators see and want of the nodes of a database.

use std::io;

use holon_facts::{Millis, Wall};
use holon_platform::entropy;
use serde::Serialize;

use super::deposits::{Deposited, Deposits};
use super::grants::{Granted, Grants};
use super::roots::{Clash, relabel};
use super::statement::{UNWANTED, WALL, id, number};
use crate::error::LedgerError;
use crate::postgres::open::{ANSWER, hold};
use crate::postgres::schema;
use crate::sql::postgres::{PostgresError, Server, Session};

/// The version of the tables that has nodes.
const HAS_NODES: i64 = 2;
/// The one that has deposits.
const HAS_DEPOSITS: i64 = 4;
/// The one in which budgets are lent to cells and nodes count what happens to them.
const HAS_GRANTS: i64 = 6;
/// The cell whose lock a new cluster is made under.
const FIRST: i64 = 1;
/// Cells that a cluster has at most.
pub const MOST_CELLS: u64 = 256;

/// A database that nodes share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// What nodes know each other by.
    pub secret: String,
    pub lease: Millis,
    /// How long a lease is over before others take the cells of its node.
    pub grace: Millis,
    /// The numbers of its cells, rising.
    pub cells: Vec<u64>,
}

/// What can't be done with the nodes of a database.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("a secret can't be made: {0}")]
    Entropy(#[from] io::Error),
    #[error("the database {database} has a cluster already")]
    AlreadyThere { database: String },
    #[error("the database {database} has no cluster")]
    None { database: String },
    #[error("no node {node} is there")]
    NoNode { node: u64 },
    #[error("no cell {cell} is there")]
    NoCell { cell: u64 },
    #[error("cell {cell} has no problem that could be accepted")]
    NoProblem { cell: u64 },
    #[error("node {node} is draining: it takes no cells")]
    Draining { node: u64 },
    #[error("node {node} has not the label {label} of cell {cell}")]
    NotLabelled { node: u64, cell: u64, label: String },
    #[error(
        "with that label, {} would be a folder of cell {cell} and of cell {} at once: the agent {} of the latter works there",
        clash.path, clash.cell, clash.agent
    )]
    Clash { cell: u64, clash: Clash },
}

/// A node as the database has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeStatus {
    pub node: u64,
    pub name: String,
    pub url: String,
    pub build: String,
    pub labels: Vec<String>,
    pub began_at: Wall,
    /// How long its lease still is; negative: how long it has been over.
    pub lease_left_ms: i64,
    pub draining: bool,
    pub cells: u64,
    /// Of cells, since it began.
    pub take_overs: u64,
    /// Appends that the database did not take: another node owned the cell.
    pub appends_refused: u64,
    /// Appends whose answer was lost.
    pub appends_unsettled: u64,
    /// How long the database took to answer its last renewal, in microseconds.
    pub answer_us: u64,
}

/// A cell as the database has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CellStatus {
    pub cell: u64,
    pub epoch: u64,
    /// Its owner, unless that one is gone.
    pub node: Option<u64>,
    pub batch: u64,
    pub step: u64,
    pub agents: u64,
    /// Requests that wait for its owner.
    pub deposits: u64,
    pub label: Option<String>,
    /// The node that an operator wants it on.
    pub wanted_on: Option<u64>,
    /// Why its owner works on it no more.
    pub problem: Option<String>,
}

/// Nodes that live, and all cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClusterStatus {
    pub nodes: Vec<NodeStatus>,
    pub cells: Vec<CellStatus>,
}

fn failed(doing: &'static str) -> impl FnOnce(PostgresError) -> LedgerError {
    LedgerError::postgres(doing)
}

impl Cluster {
    /// The cluster of a database, if it has one.
    ///
    /// # Errors
    /// When the database does not answer, or has tables of a newer build.
    pub fn of(server: &Server) -> Result<Option<Self>, LedgerError> {
        let session = Session::new(server.clone(), 0);
        if schema::version(&session)? < HAS_NODES {
            return Ok(None);
        }
        schema::check(&session)?;
        let sql = "SELECT secret, lease_ms, grace_ms, (SELECT coalesce(array_agg(cell ORDER BY cell), '{}') FROM cells)
            FROM cluster";
        let doing = "reading the cluster";
        let rows = session.query(sql, &[], ANSWER).map_err(failed(doing))?;
        let millis = |ms: i64| Millis(number(ms));
        let cluster = rows.first().map(|row| Self {
            secret: row.get(0),
            lease: millis(row.get(1)),
            grace: millis(row.get(2)),
            cells: row.get::<_, Vec<i64>>(3).into_iter().map(number).collect(),
        });
        if cluster.as_ref().is_some_and(|cluster| cluster.cells.is_empty()) {
            let problem =
                "it has no cells, for `holon cluster init` ended too early: the same again".to_owned();
            return Err(LedgerError::Refused { doing, problem });
        }
        Ok(cluster)
    }

    /// The cluster of a database, its tables brought up to date.
    ///
    /// # Errors
    /// Likewise.
    pub fn of_node(server: &Server) -> Result<Option<Self>, LedgerError> {
        if Self::of(server)?.is_some() {
            schema::migrate(&Session::new(server.clone(), 0))?;
        }
        Self::of(server)
    }

    /// Makes a database one that nodes share, with so many cells, or not at all. A ledger that it has already becomes the first.
    ///
    /// # Errors
    /// When it is one, or when a runtime has the ledger.
    pub fn init(server: &Server, (lease, grace): (Millis, Millis), cells: u64) -> Result<Self, ClusterError> {
        let session = Session::new(server.clone(), FIRST);
        schema::migrate(&session)?;
        // What is not committed ends with the session.
        session.begin_write().map_err(failed("making the cluster"))?;
        if !hold(&session).map_err(failed("looking for a runtime"))? {
            return Err(LedgerError::Held { database: server.to_string() }.into());
        }
        let secret = entropy::key()?;
        // Earlier builds could end before they had made the cells.
        let sql = "INSERT INTO cluster (cluster, secret, lease_ms, grace_ms) VALUES (1, $1, $2, $3)
            ON CONFLICT (cluster) DO UPDATE
                SET secret = excluded.secret, lease_ms = excluded.lease_ms, grace_ms = excluded.grace_ms
                WHERE NOT EXISTS (SELECT 1 FROM cells) RETURNING 1";
        let made = session.query(sql, &[&secret, &id(lease.0), &id(grace.0)], ANSWER);
        if made.map_err(failed("making the cluster"))?.is_empty() {
            return Err(ClusterError::AlreadyThere { database: server.to_string() });
        }
        let sql =
            "INSERT INTO cells (cell, share) SELECT generate_series(1, $1::bigint), 1000000 / $1::bigint
            ON CONFLICT (cell) DO UPDATE SET share = excluded.share";
        session.query(sql, &[&id(cells)], ANSWER).map_err(failed("making the cells"))?;
        session.commit().map_err(failed("making the cluster"))?;
        Ok(Self { secret, lease, grace, cells: (1..=cells).collect() })
    }

    /// Nodes and cells at this moment.
    ///
    /// # Errors
    /// When there is no cluster.
    pub fn status(server: &Server) -> Result<ClusterStatus, ClusterError> {
        let session = of_cluster(server)?;
        let version = schema::version(&session)?;
        let counts = match version >= HAS_GRANTS {
            true => "n.take_overs, n.appends_refused, n.appends_unsettled, n.answer_us",
            false => "0::bigint, 0::bigint, 0::bigint, 0::bigint",
        };
        let sql = format!(
            "SELECT n.node, n.name, n.url, n.build, n.labels,
                (extract(epoch FROM n.began_at) * 1000000)::bigint,
                (extract(epoch FROM n.lease_until - clock_timestamp()) * 1000)::bigint, n.draining,
                (SELECT count(*) FROM cells c WHERE c.node = n.node), {counts}
            FROM nodes n WHERE NOT n.buried ORDER BY n.node"
        );
        let rows = session.query(&sql, &[], ANSWER).map_err(failed("reading the nodes"))?;
        let nodes = rows.iter().map(|row| NodeStatus {
            node: number(row.get(0)),
            name: row.get(1),
            url: row.get(2),
            build: row.get(3),
            labels: row.get(4),
            began_at: Wall(row.get(5)),
            lease_left_ms: row.get(6),
            draining: row.get(7),
            cells: number(row.get(8)),
            take_overs: number(row.get(9)),
            appends_refused: number(row.get(10)),
            appends_unsettled: number(row.get(11)),
            answer_us: number(row.get(12)),
        });
        let deposits = match version >= HAS_DEPOSITS {
            true => "(SELECT count(*) FROM deposits d WHERE d.cell = c.cell AND d.judged_at IS NULL)",
            false => "0::bigint",
        };
        let sql = format!(
            "SELECT c.cell, c.epoch, n.node, c.batch, c.through_step,
                (SELECT count(*) FROM agents a WHERE a.cell = c.cell AND a.private = 0), c.label,
                (SELECT w.node FROM nodes w WHERE w.node = c.wanted_on AND NOT w.buried), c.problem, {deposits}
            FROM cells c LEFT JOIN nodes n ON n.node = c.node AND NOT n.buried ORDER BY c.cell"
        );
        let cells = session.query(&sql, &[], ANSWER).map_err(failed("reading the cells"))?;
        let cells = cells.iter().map(|row| CellStatus {
            cell: number(row.get(0)),
            epoch: number(row.get(1)),
            node: row.get::<_, Option<i64>>(2).map(number),
            batch: number(row.get(3)),
            step: number(row.get(4)),
            agents: number(row.get(5)),
            deposits: number(row.get(9)),
            label: row.get(6),
            wanted_on: row.get::<_, Option<i64>>(7).map(number),
            problem: row.get(8),
        });
        Ok(ClusterStatus { nodes: nodes.collect(), cells: cells.collect() })
    }

    /// Requests that came while nobody owned their cell, the newest first; the verdict of one is kept for a day.
    ///
    /// # Errors
    /// Likewise.
    pub fn deposits(server: &Server, at_most: u32) -> Result<Vec<Deposited>, ClusterError> {
        let session = of_cluster(server)?;
        match has_deposits(&session)? {
            true => Ok(Deposits::new(server.clone()).newest(at_most)?),
            false => Ok(Vec::new()),
        }
    }

    /// What is lent to cells of the budgets that all have together, by budget and day.
    ///
    /// # Errors
    /// Likewise.
    pub fn grants(server: &Server) -> Result<Vec<Granted>, ClusterError> {
        let session = of_cluster(server)?;
        match schema::version(&session)? >= HAS_GRANTS {
            true => Ok(Grants::new(server.clone()).all()?),
            false => Ok(Vec::new()),
        }
    }

    /// A node hands its cells over and gets none from now on, also none that was to be moved to it.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn drain(server: &Server, node: u64) -> Result<(), ClusterError> {
        let session = of_cluster(server)?;
        let sql = format!(
            "WITH {UNWANTED} UPDATE nodes SET draining = true WHERE node = $1 AND NOT buried RETURNING 1"
        );
        let found = session.query(&sql, &[&id(node)], ANSWER).map_err(failed("draining a node"))?;
        if found.is_empty() { Err(ClusterError::NoNode { node }) } else { Ok(()) }
    }

    /// The owner of a cell hands it to a node.
    ///
    /// # Errors
    /// When there is no such cell or node, or it takes none.
    pub fn move_cell(server: &Server, cell: u64, node: u64) -> Result<(), ClusterError> {
        let session = of_cluster(server)?;
        let sql = "SELECT draining FROM nodes WHERE node = $1 AND NOT buried";
        let found = session.query(sql, &[&id(node)], ANSWER).map_err(failed("moving a cell"))?;
        match found.first().map(|row| row.get::<_, bool>(0)) {
            None => return Err(ClusterError::NoNode { node }),
            Some(true) => return Err(ClusterError::Draining { node }),
            Some(false) => {}
        }
        let sql = "SELECT c.label FROM cells c, nodes n WHERE c.cell = $1 AND n.node = $2
            AND c.label IS NOT NULL AND c.label <> ALL (n.labels)";
        let other = session.query(sql, &[&id(cell), &id(node)], ANSWER).map_err(failed("moving a cell"))?;
        if let Some(row) = other.first() {
            return Err(ClusterError::NotLabelled { node, cell, label: row.get(0) });
        }
        let sql = "UPDATE cells SET wanted_on = CASE WHEN node = $2 THEN NULL ELSE $2 END WHERE cell = $1 RETURNING 1";
        let found = session.query(sql, &[&id(cell), &id(node)], ANSWER).map_err(failed("moving a cell"))?;
        if found.is_empty() { Err(ClusterError::NoCell { cell }) } else { Ok(()) }
    }

    /// Nodes with a label alone may own a cell from now on; every node again where there is none. An owner without the label
    /// hands it over where a node with it lives.
    ///
    /// # Errors
    /// When there is no such cell, or it would have a folder that another cell with the label has.
    pub fn label(server: &Server, cell: u64, label: Option<&str>) -> Result<(), ClusterError> {
        let session = of_cluster(server)?;
        let failed = || failed("labelling a cell");
        let update = "UPDATE cells c SET label = $2::text, wanted_on = CASE
                WHEN $2::text IS NULL OR (SELECT $2::text = ANY (labels) FROM nodes WHERE node = c.node) THEN wanted_on
                ELSE (SELECT node FROM nodes WHERE NOT buried AND NOT draining AND $2::text = ANY (labels)
                    ORDER BY node LIMIT 1)
            END WHERE cell = $1";
        // What is not committed ends with the session.
        session.begin_write().map_err(failed())?;
        let sql = "SELECT 1 FROM cells WHERE cell = $1 FOR UPDATE";
        if session.query(sql, &[&id(cell)], ANSWER).map_err(failed())?.is_empty() {
            return Err(ClusterError::NoCell { cell });
        }
        match relabel(&session, cell, label, update).map_err(failed())? {
            Some(clash) => Err(ClusterError::Clash { cell, clash }),
            None => Ok(()),
        }
    }

    /// A cell whose owner works on it no more begins again at the end that it has, whichever node owns it next.
    ///
    /// # Errors
    /// When there is no such cell, or it has no problem.
    pub fn accept(server: &Server, cell: u64) -> Result<(), ClusterError> {
        if Self::of_node(server)?.is_none() {
            return Err(ClusterError::None { database: server.to_string() });
        }
        let session = Session::new(server.clone(), 0);
        // Time, so that it is later than what the database has lost.
        let sql = format!(
            "UPDATE cells SET accepted = epoch, acceptance = greatest(acceptance + 1, {WALL})
                WHERE cell = $1 AND problem IS NOT NULL RETURNING 1"
        );
        let accepted = session.query(&sql, &[&id(cell)], ANSWER).map_err(failed("accepting a loss"))?;
        if !accepted.is_empty() {
            return Ok(());
        }
        let sql = "SELECT 1 FROM cells WHERE cell = $1";
        let there = session.query(sql, &[&id(cell)], ANSWER).map_err(failed("accepting a loss"))?;
        Err(if there.is_empty() { ClusterError::NoCell { cell } } else { ClusterError::NoProblem { cell } })
    }

    /// Says why the owner of a cell works on it no more, for whoever looks.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn tell_problem(server: &Server, cell: u64, epoch: u64, problem: &str) -> Result<(), LedgerError> {
        let session = Session::new(server.clone(), 0);
        let sql = "UPDATE cells SET problem = $3 WHERE cell = $1 AND epoch = $2";
        let told = session.query(sql, &[&id(cell), &id(epoch), &problem], ANSWER);
        told.map(drop).map_err(failed("telling what is wrong with a cell"))
    }
}

/// No node of this build has brought the tables up to date before.
fn has_deposits(session: &Session) -> Result<bool, LedgerError> {
    Ok(schema::version(session)? >= HAS_DEPOSITS)
}

fn of_cluster(server: &Server) -> Result<Session, ClusterError> {
    match Cluster::of(server)? {
        Some(_) => Ok(Session::new(server.clone(), 0)),
        None => Err(ClusterError::None { database: server.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::testing::Database;

    #[test]
    fn a_cluster_is_made_with_its_cells_or_not_at_all() {
        let Some(database) = Database::new() else { return };
        let server = database.server();
        let init = |cells| Cluster::init(&server, (Millis(3_000), Millis(500)), cells);
        schema::migrate(&Session::new(server.clone(), 0)).unwrap();
        database.vandal("ALTER TABLE cells RENAME COLUMN share TO other");
        init(3).unwrap_err();
        database.vandal("ALTER TABLE cells RENAME COLUMN other TO share");
        assert_eq!(Cluster::of(&server).unwrap(), None);
        assert_eq!(init(3).unwrap().cells, [1, 2, 3]);
        assert!(matches!(init(4).unwrap_err(), ClusterError::AlreadyThere { .. }));
        // As earlier builds left it.
        database.vandal("DELETE FROM cells");
        let error = Cluster::of(&server).unwrap_err().to_string();
        assert!(error.contains("has no cells") && error.contains("holon cluster init"), "{error}");
        let made = init(4).unwrap();
        assert_eq!(Cluster::of(&server).unwrap(), Some(made));
    }

    #[test]
    fn each_loss_that_is_accepted_has_a_later_number() {
        let Some((server, database)) = Database::with_cells() else { return };
        let accepted = || {
            let session = Session::new(server.clone(), 0);
            let rows = session.query("SELECT acceptance FROM cells WHERE cell = 1", &[], ANSWER).unwrap();
            rows[0].get::<_, i64>(0)
        };
        let accepts = |cell| Cluster::accept(&server, cell);
        assert!(matches!(accepts(9).unwrap_err(), ClusterError::NoCell { cell: 9 }));
        assert!(matches!(accepts(1).unwrap_err(), ClusterError::NoProblem { cell: 1 }));
        assert_eq!(accepted(), 0);
        database.vandal("UPDATE cells SET problem = 'lost'");
        accepts(1).unwrap();
        let first = accepted();
        assert!(first > 0);
        // A database that was set back knows nothing of it.
        database.vandal("UPDATE cells SET acceptance = 0");
        accepts(1).unwrap();
        assert!(accepted() > first);
        database.vandal("UPDATE cells SET acceptance = 9000000000000000000");
        accepts(1).unwrap();
        assert_eq!(accepted(), 9_000_000_000_000_000_001);
    }
}
