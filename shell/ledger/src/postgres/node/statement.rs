//! The statements of [`Ownership`](holon_cluster::Ownership) as SQL. Times are the database's, and `clock_timestamp()`: `now()`
//! stands still in a transaction.

use std::sync::Arc;

use holon_cluster::{
    Acceptance, Answer, BatchNumber, CellId, CellRow, Claimed, Epoch, Head, Label, Link, NodeId, NodeRow,
    Poll, Span, Statement, Wall,
};
use holon_facts::Millis;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::about::AboutNode;
use super::tally::Tally;
use crate::sql::postgres::{PostgresError, Session};

/// The database's clock in microseconds.
pub(super) const WALL: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// A span of microseconds as an interval.
const MICROS: &str = "::bigint * interval '1 microsecond'";

/// No cell is to be moved to the node $1 any more.
pub(super) const UNWANTED: &str =
    "unwanted AS (UPDATE cells SET wanted_on = NULL WHERE wanted_on = $1 RETURNING 1)";

/// Nodes that were buried so long ago are forgotten.
const REMEMBERED: &str = "interval '1 day'";

/// What an operator wants of this node, and what the statements themselves do not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Aside {
    /// Where living nodes are reached.
    pub(super) urls: Vec<(NodeId, String)>,
    /// Cells that are wanted on another node, which takes some.
    pub(super) wanted: Vec<(CellId, NodeId)>,
    /// Epochs whose loss is accepted.
    pub(super) accepted: Vec<(CellId, Epoch)>,
    /// Cells for which requests wait.
    pub(super) deposits: Vec<CellId>,
    /// Cells that nobody is to own for a while.
    pub(super) held: Vec<CellId>,
    /// Cells whose row names why they are stopped.
    pub(super) named: Vec<CellId>,
    /// What the owners of cells have to have.
    pub(super) labels: Vec<(CellId, String)>,
}

/// Executes statements on one connection.
pub(super) struct Executor {
    pub(super) session: Session,
    pub(super) about: AboutNode,
    pub(super) tally: Arc<Tally>,
    pub(super) lease: Span,
    pub(super) grace: Span,
    pub(super) within: Millis,
}

impl Executor {
    /// Executes a statement; nothing for an append, which whoever has its rows executes.
    pub(super) fn execute(&self, statement: &Statement) -> Result<(Answer, Aside), PostgresError> {
        let answer = match statement {
            Statement::Register { labels } => self.register(labels)?,
            Statement::Renew { node } => self.renew(*node)?,
            Statement::Poll { bury, .. } => return self.poll(*bury),
            Statement::Claim { node, at_most } => self.claim(*node, *at_most)?,
            Statement::Settle { cell } => self.settle(*cell)?,
            Statement::Release { node, cell, epoch, to } => self.release(*node, *cell, *epoch, *to)?,
            Statement::MarkDraining { node } => self.ends(*node, "draining")?,
            Statement::Leave { node } => self.ends(*node, "buried")?,
            Statement::Append { .. } => Answer::RolledBack { defect: true },
        };
        Ok((answer, Aside::default()))
    }

    fn ask(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, PostgresError> {
        self.session.query(sql, params, Some(self.within))
    }

    fn ends(&self, node: NodeId, how: &str) -> Result<Answer, PostgresError> {
        let sql = format!("WITH {UNWANTED} UPDATE nodes SET {how} = true WHERE node = $1");
        self.ask(&sql, &[&id(node.0)]).map(|_| Answer::Done)
    }

    fn register(&self, labels: &[Label]) -> Result<Answer, PostgresError> {
        let forget = format!(
            "DELETE FROM nodes n WHERE n.buried AND n.lease_until < clock_timestamp() - {REMEMBERED}
                AND NOT EXISTS (SELECT 1 FROM cells c WHERE c.node = n.node)"
        );
        self.ask(&forget, &[])?;
        let labels: Vec<&str> = labels.iter().map(|label| label.0.as_str()).collect();
        let sql = format!(
            "INSERT INTO nodes (name, url, build, labels, lease_until)
                VALUES ($1, $2, $3, $4, clock_timestamp() + $5{MICROS}) RETURNING node, {WALL}"
        );
        let AboutNode { name, url, build } = &self.about;
        let rows = self.ask(&sql, &[name, url, build, &labels, &span(self.lease)])?;
        let row = rows.first();
        Ok(row.map_or(Answer::Refused, |row| Answer::Registered {
            node: NodeId(number(row.get(0))),
            wall: Wall(row.get(1)),
        }))
    }

    fn renew(&self, node: NodeId) -> Result<Answer, PostgresError> {
        let sql = format!(
            "UPDATE nodes SET lease_until = clock_timestamp() + $2{MICROS},
                take_overs = $3, appends_refused = $4, appends_unsettled = $5, answer_us = $6
                WHERE node = $1 AND NOT buried AND lease_until > clock_timestamp() RETURNING {WALL}"
        );
        let tally = &self.tally;
        let counts = [tally.take_overs(), tally.refused(), tally.unsettled(), tally.answer_us()];
        let [take_overs, refused, unsettled, answer_us] = counts.map(id);
        let values: [&(dyn ToSql + Sync); 6] =
            [&id(node.0), &span(self.lease), &take_overs, &refused, &unsettled, &answer_us];
        let rows = self.ask(&sql, &values)?;
        Ok(rows.first().map_or(Answer::Refused, |row| Answer::Renewed { wall: Wall(row.get(0)) }))
    }

    fn poll(&self, bury: bool) -> Result<(Answer, Aside), PostgresError> {
        if bury {
            let sql = format!(
                "UPDATE nodes SET buried = true WHERE NOT buried AND lease_until + $1{MICROS} < clock_timestamp()"
            );
            self.ask(&sql, &[&span(self.grace)])?;
        }
        let mut aside = Aside::default();
        let nodes = self.ask("SELECT node, draining, labels, url FROM nodes WHERE NOT buried", &[])?;
        let nodes = nodes.iter().map(|row| {
            let node = NodeId(number(row.get(0)));
            aside.urls.push((node, row.get(3)));
            let labels = row.get::<_, Vec<String>>(2).into_iter().map(Label).collect();
            NodeRow { node, draining: row.get(1), labels }
        });
        let nodes: Vec<NodeRow> = nodes.collect();
        let takes_cells = |wanted: &NodeId| nodes.iter().any(|row| row.node == *wanted && !row.draining);
        let sql = "SELECT cell, epoch, batch, link, acceptance, node, hand_to, label, wanted_on, accepted,
            EXISTS (SELECT 1 FROM deposits d WHERE d.cell = cells.cell AND d.judged_at IS NULL),
            coalesce(held_until > clock_timestamp(), false), problem IS NOT NULL FROM cells";
        let cells = self.ask(sql, &[])?;
        let cells = cells.iter().map(|row| {
            let (cell, epoch, head) = owned(row);
            let node = |column| row.get::<_, Option<i64>>(column).map(|node| NodeId(number(node)));
            aside.wanted.extend(node(8).filter(takes_cells).map(|node| (cell, node)));
            aside.accepted.extend(row.get::<_, Option<i64>>(9).map(|epoch| (cell, Epoch(number(epoch)))));
            aside.deposits.extend(row.get::<_, bool>(10).then_some(cell));
            aside.held.extend(row.get::<_, bool>(11).then_some(cell));
            aside.named.extend(row.get::<_, bool>(12).then_some(cell));
            let label = row.get::<_, Option<String>>(7);
            aside.labels.extend(label.clone().map(|label| (cell, label)));
            let (owner, offered_to, label) = (node(5), node(6), label.map(Label));
            CellRow { cell, owner, offered_to, epoch, head, acceptance: acceptance(row), label }
        });
        let cells = cells.collect();
        Ok((Answer::Polled(Poll { nodes, cells }), aside))
    }

    /// Different nodes begin with different cells. One that somebody claims meanwhile is looked at again with its new row alone:
    /// whether its owner lives has to be asked for that row, and not joined to the one before.
    fn claim(&self, node: NodeId, at_most: usize) -> Result<Answer, PostgresError> {
        let sql = "UPDATE cells SET node = $1, epoch = epoch + 1, hand_to = NULL, problem = NULL,
                wanted_on = CASE WHEN wanted_on = $1 THEN NULL ELSE wanted_on END
            WHERE cell IN (
                SELECT c.cell FROM cells c
                WHERE (NOT EXISTS (SELECT 1 FROM nodes n WHERE n.node = c.node AND NOT n.buried) OR c.hand_to = $1)
                    AND (c.held_until IS NULL OR c.held_until < clock_timestamp())
                    AND EXISTS (SELECT 1 FROM nodes me WHERE me.node = $1 AND NOT me.buried
                        AND (c.label IS NULL OR c.label = ANY (me.labels)))
                ORDER BY md5(c.cell::text || ' ' || $1::text) LIMIT $2 FOR UPDATE OF c SKIP LOCKED)
            RETURNING cell, epoch, batch, link, acceptance";
        let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
        let rows = self.ask(sql, &[&id(node.0), &at_most])?;
        let claimed = rows.iter().map(|row| {
            let (cell, epoch, head) = owned(row);
            Claimed { cell, epoch, head, acceptance: acceptance(row) }
        });
        Ok(Answer::Claimed(claimed.collect()))
    }

    /// A statement of its own is a transaction that commits.
    fn settle(&self, cell: CellId) -> Result<Answer, PostgresError> {
        let sql = "SELECT cell, epoch, batch, link FROM cells WHERE cell = $1 FOR UPDATE";
        let rows = self.ask(sql, &[&id(cell.0)])?;
        // A cell that is gone is in no epoch of this node.
        let nowhere = Head { batch: BatchNumber(0), link: Link([0; 32]) };
        let (epoch, head) = rows.first().map_or((Epoch(u64::MAX), nowhere), |row| {
            let (_, epoch, head) = owned(row);
            (epoch, head)
        });
        Ok(Answer::Settled { epoch, head })
    }

    fn release(
        &self,
        node: NodeId,
        cell: CellId,
        epoch: Epoch,
        to: Option<NodeId>,
    ) -> Result<Answer, PostgresError> {
        let sql = "UPDATE cells SET hand_to = $4, node = CASE WHEN $4::bigint IS NULL THEN NULL ELSE node END
            WHERE cell = $2 AND node = $1 AND epoch = $3 RETURNING 1";
        let to = to.map(|to| id(to.0));
        let rows = self.ask(sql, &[&id(node.0), &id(cell.0), &id(epoch.0), &to])?;
        Ok(if rows.is_empty() { Answer::Refused } else { Answer::Done })
    }
}

/// Cell, epoch and head of a row that begins with them.
fn owned(row: &Row) -> (CellId, Epoch, Head) {
    let link = Link(row.get::<_, &[u8]>(3).try_into().unwrap_or([0; 32]));
    let head = Head { batch: BatchNumber(number(row.get(2))), link };
    (CellId(number(row.get(0))), Epoch(number(row.get(1))), head)
}

/// The column behind those of [`owned`].
fn acceptance(row: &Row) -> Acceptance {
    Acceptance(number(row.get(4)))
}

/// As the database has it.
pub(super) fn id(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn number(id: i64) -> u64 {
    u64::try_from(id).unwrap_or_default()
}

fn span(span: Span) -> i64 {
    id(span.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Barrier;
    use std::thread;

    use super::super::Cluster;
    use super::*;
    use crate::postgres::testing::Database;
    use crate::sql::postgres::Server;

    fn executor(server: &Server) -> Executor {
        Executor {
            session: Session::new(server.clone(), 0),
            about: AboutNode { name: String::new(), url: String::new(), build: String::new() },
            tally: Arc::default(),
            lease: Span::millis(60_000),
            grace: Span::millis(1_000),
            within: Millis::seconds(30),
        }
    }

    fn registered(executor: &Executor) -> NodeId {
        let Answer::Registered { node, .. } = executor.register(&[]).unwrap() else { panic!("no node") };
        node
    }

    fn claims(executor: &Executor, node: NodeId, at_most: usize) -> Vec<CellId> {
        let Answer::Claimed(claimed) = executor.claim(node, at_most).unwrap() else { panic!("no claim") };
        claimed.iter().map(|claimed| claimed.cell).collect()
    }

    fn wanted(executor: &Executor) -> Vec<(CellId, NodeId)> {
        executor.poll(false).unwrap().1.wanted
    }

    #[test]
    fn of_nodes_that_claim_a_cell_at_once_one_has_it() {
        const ROUNDS: usize = 300;
        let Some((server, _database)) = Database::with_cells() else { return };
        let (begin, done) = (Barrier::new(5), Barrier::new(5));
        let claimed: Vec<Vec<Vec<CellId>>> = thread::scope(|scope| {
            let claimers = [1, 2, 3, 4].map(|_| {
                scope.spawn(|| {
                    let executor = executor(&server);
                    let node = registered(&executor);
                    let claims = |_| {
                        begin.wait();
                        let claimed = claims(&executor, node, 4);
                        done.wait();
                        claimed
                    };
                    (0..ROUNDS).map(claims).collect::<Vec<_>>()
                })
            });
            let session = Session::new(server.clone(), 0);
            for _ in 0..ROUNDS {
                session.execute("UPDATE cells SET node = NULL").unwrap();
                begin.wait();
                done.wait();
            }
            claimers.into_iter().map(|claimer| claimer.join().unwrap()).collect()
        });
        for round in 0..ROUNDS {
            let mut owners: BTreeMap<CellId, usize> = BTreeMap::new();
            for cell in claimed.iter().flat_map(|rounds| &rounds[round]) {
                *owners.entry(*cell).or_default() += 1;
            }
            assert!(owners.values().all(|owners| *owners == 1), "round {round}: {owners:?}");
        }
    }

    #[test]
    fn a_cell_is_not_moved_to_a_node_that_takes_none() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let executor = executor(&server);
        let [owner, other] = [1, 2].map(|_| registered(&executor));
        assert_eq!(claims(&executor, owner, 4).len(), 4);
        let moves = || Cluster::move_cell(&server, 1, other.0).unwrap();
        let shown = || Cluster::status(&server).unwrap().cells[0].wanted_on;
        let wants = || {
            let sql = "UPDATE cells SET wanted_on = $1 WHERE cell = 1";
            executor.ask(sql, &[&id(other.0)]).unwrap();
        };
        moves();
        assert_eq!((wanted(&executor), shown()), (vec![(CellId(1), other)], Some(other.0)));
        Cluster::drain(&server, other.0).unwrap();
        assert_eq!((wanted(&executor), shown()), (vec![], None));
        // Whoever looked before it was drained wants it there all the same.
        wants();
        assert_eq!(wanted(&executor), []);
        for ends in [Statement::MarkDraining { node: other }, Statement::Leave { node: other }] {
            wants();
            executor.execute(&ends).unwrap();
            assert_eq!(shown(), None);
            let sql = "SELECT 1 FROM cells WHERE wanted_on IS NOT NULL";
            assert!(executor.ask(sql, &[]).unwrap().is_empty());
        }
        wants();
        assert_eq!(shown(), None, "it is buried");
    }
}
