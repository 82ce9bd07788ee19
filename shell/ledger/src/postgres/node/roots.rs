//! Which cell works in which folder: one at a time (contract: scale.md, law X9). In a cell its own state decides that; between
//! cells a row does. A folder is a path on machines with the label of the cell. An owner of an earlier epoch changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use holon_cluster::{CellId, Epoch};
use holon_facts::AgentId;
use holon_text::hash;
use tokio_postgres::types::ToSql;

use super::statement::{id, number};
use crate::error::LedgerError;
use crate::postgres::open::ANSWER;
use crate::sql::postgres::{PostgresError, Server, Session};

/// A folder that was given back between two looks is taken anew, so often at most.
const TRIES: usize = 3;

/// The row of the cell as long as it is owned in this epoch: no later owner begins before the statement is over.
pub(super) const OWN: &str =
    "own AS (SELECT cell, coalesce(label, '') AS label FROM cells WHERE cell = $1 AND epoch = $2 FOR SHARE)";

/// The folders that agents of several cells work in.
#[derive(Debug)]
pub struct Roots(Session);

/// Who is to have a folder: a cell in an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenant {
    pub cell: CellId,
    pub epoch: Epoch,
}

/// What became of a folder that a cell wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is the cell's until it is given back.
    Yes,
    /// An agent of another cell works there.
    By { agent: String, cell: u64 },
    /// The cell is somebody else's.
    Fenced,
}

/// What became of a cell that is to be owned by nodes with a label alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    /// It is.
    Yes,
    /// It is bound to another label.
    To(String),
    /// With the label it would have a folder that another cell has.
    Clash(Clash),
    /// The cell is somebody else's, or becomes so.
    Fenced,
}

/// A folder that a cell with another label would have twice: another cell with that label has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    pub path: String,
    /// Who works there in the other cell.
    pub agent: String,
    pub cell: u64,
}

impl Roots {
    pub fn new(server: Server) -> Self {
        Self(Session::new(server, 0))
    }

    /// Takes a folder for an agent of the cell.
    ///
    /// # Errors
    /// When the database does not answer: the cell may have it, and taking it again is the same.
    pub fn take(&self, of: Tenant, root: &str, agent: &str) -> Result<Taken, LedgerError> {
        let failed = || LedgerError::postgres("taking a folder for a cell");
        let (cell, epoch, key) = (id(of.cell.0), id(of.epoch.0), key(root));
        let take = format!(
            "WITH {OWN}, taken AS (INSERT INTO roots AS r (label, root, path, cell, agent)
                SELECT label, $3, $4, cell, $5 FROM own
                ON CONFLICT (label, root) DO UPDATE SET agent = r.agent WHERE r.cell = excluded.cell RETURNING 1)
            SELECT (SELECT count(*) FROM own), (SELECT count(*) FROM taken)"
        );
        let look = format!(
            "WITH {OWN} SELECT r.agent, r.cell FROM roots r JOIN own USING (label) WHERE r.root = $3"
        );
        let values: [&(dyn ToSql + Sync); 5] = [&cell, &epoch, &key, &root, &agent];
        for _ in 0..TRIES {
            let rows = self.0.query(&take, &values, ANSWER).map_err(failed())?;
            let (own, taken) =
                rows.first().map_or((0, 0), |row| (row.get::<_, i64>(0), row.get::<_, i64>(1)));
            if own == 0 {
                return Ok(Taken::Fenced);
            }
            if taken > 0 {
                return Ok(Taken::Yes);
            }
            let rows = self.0.query(&look, &values[..3], ANSWER).map_err(failed())?;
            if let Some(row) = rows.first() {
                return Ok(Taken::By { agent: row.get(0), cell: number(row.get(1)) });
            }
        }
        Ok(Taken::By { agent: "another agent".to_owned(), cell: 0 })
    }

    /// Binds a cell to the label of its owner, for its agents have folders that only machines with that label have. A cell that
    /// has a label keeps it, and one that is handed over is bound by its next owner.
    ///
    /// # Errors
    /// When the database does not answer: the cell may be bound, and binding it again is the same.
    pub fn bind(&self, of: Tenant, label: &str) -> Result<Bound, LedgerError> {
        let failed = || LedgerError::postgres("binding a cell");
        // A transaction of its own, which ends with it.
        let session = self.0.apart();
        session.begin_write().map_err(failed())?;
        let sql = "SELECT label FROM cells WHERE cell = $1 AND epoch = $2 AND hand_to IS NULL AND node IS NOT NULL FOR UPDATE";
        let rows = session.query(sql, &[&id(of.cell.0), &id(of.epoch.0)], ANSWER).map_err(failed())?;
        match rows.first().map(|row| row.get::<_, Option<String>>(0)) {
            None => return Ok(Bound::Fenced),
            Some(Some(now)) if now == label => return Ok(Bound::Yes),
            Some(Some(now)) => return Ok(Bound::To(now)),
            Some(None) => {}
        }
        let update = "UPDATE cells SET label = $2::text, wanted_on = NULL WHERE cell = $1";
        let clash = relabel(&session, of.cell.0, Some(label), update).map_err(failed())?;
        Ok(clash.map_or(Bound::Yes, Bound::Clash))
    }

    /// Nobody of the cell needs a folder any more.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn give_back(&self, of: Tenant, root: &str) -> Result<(), LedgerError> {
        let sql = format!("WITH {OWN} DELETE FROM roots r USING own WHERE r.cell = own.cell AND r.root = $3");
        let values: [&(dyn ToSql + Sync); 3] = [&id(of.cell.0), &id(of.epoch.0), &key(root)];
        let given = self.0.query(&sql, &values, ANSWER);
        given.map(drop).map_err(LedgerError::postgres("giving back a folder of a cell"))
    }

    /// A cell begins anew: of what it had before it keeps what its agents still occupy, and takes of that what nobody else
    /// has. These are its folders.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn begin(
        &self,
        of: Tenant,
        occupied: &BTreeMap<String, AgentId>,
    ) -> Result<BTreeSet<String>, LedgerError> {
        let keys: Vec<Vec<u8>> = occupied.keys().map(|root| key(root)).collect();
        let sql = format!(
            "WITH {OWN} DELETE FROM roots r USING own WHERE r.cell = own.cell AND r.root <> ALL ($3)"
        );
        let values: [&(dyn ToSql + Sync); 3] = [&id(of.cell.0), &id(of.epoch.0), &keys];
        self.0.query(&sql, &values, ANSWER).map_err(LedgerError::postgres("looking at folders of a cell"))?;
        let mut held = BTreeSet::new();
        for (root, agent) in occupied {
            if self.take(of, root, agent.as_str())? == Taken::Yes {
                held.insert(root.clone());
            }
        }
        Ok(held)
    }
}

/// Gives a cell another label by an update of its row ($1 is the cell, $2 the label), and its folders with it; and ends the
/// transaction in which the row is locked, so that the cell takes no folder meanwhile. Where there is a clash nothing changes.
pub(super) fn relabel(
    session: &Session,
    cell: u64,
    label: Option<&str>,
    update: &str,
) -> Result<Option<Clash>, PostgresError> {
    let (cell, label) = (id(cell), &label);
    // Earlier builds left a folder of the cell with its earlier label, and took it once more.
    let doubled = "DELETE FROM roots r WHERE r.cell = $1 AND EXISTS
        (SELECT 1 FROM roots o WHERE o.cell = r.cell AND o.root = r.root AND o.label > r.label)";
    session.query(doubled, &[&cell], ANSWER)?;
    let clash = "SELECT o.path, o.agent, o.cell FROM roots r JOIN roots o USING (root)
        WHERE r.cell = $1 AND o.cell <> r.cell AND o.label = coalesce($2::text, '') LIMIT 1";
    if let Some(row) = session.query(clash, &[&cell, label], ANSWER)?.first() {
        return Ok(Some(Clash { path: row.get(0), agent: row.get(1), cell: number(row.get(2)) }));
    }
    let folders = "UPDATE roots SET label = coalesce($2::text, '') WHERE cell = $1";
    session.query(&format!("WITH own AS ({update}) {folders}"), &[&cell, label], ANSWER)?;
    session.commit()?;
    Ok(None)
}

/// A path may be longer than an index takes.
fn key(root: &str) -> Vec<u8> {
    hash(root.as_bytes()).0.to_vec()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::super::{Cluster, ClusterError};
    use super::*;
    use crate::postgres::testing::Database;

    fn tenant(cell: u64, epoch: u64) -> Tenant {
        Tenant { cell: CellId(cell), epoch: Epoch(epoch) }
    }

    fn owned_in(server: &Server, cell: u64, epoch: u64) -> Tenant {
        let session = Session::new(server.clone(), 0);
        session
            .query("UPDATE cells SET epoch = $2 WHERE cell = $1", &[&id(cell), &id(epoch)], ANSWER)
            .unwrap();
        tenant(cell, epoch)
    }

    #[test]
    fn a_folder_is_of_one_cell_until_that_gives_it_back() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let (one, two) = (owned_in(&server, 1, 1), owned_in(&server, 2, 1));
        let roots = Roots::new(server.clone());
        let long = format!("/{}", "long/".repeat(800));
        for root in ["/srv/shop", &long] {
            assert_eq!(roots.take(one, root, "a").unwrap(), Taken::Yes);
            assert_eq!(roots.take(one, root, "b").unwrap(), Taken::Yes, "who of the cell, its state decides");
            assert_eq!(roots.take(two, root, "c").unwrap(), Taken::By { agent: "a".to_owned(), cell: 1 });
            roots.give_back(two, root).unwrap();
            assert_eq!(roots.take(two, root, "c").unwrap(), Taken::By { agent: "a".to_owned(), cell: 1 });
            roots.give_back(one, root).unwrap();
            assert_eq!(roots.take(two, root, "c").unwrap(), Taken::Yes);
        }
        // The same path on other machines is another folder.
        Cluster::label(&server, 3, Some("gpu")).unwrap();
        let three = owned_in(&server, 3, 1);
        assert_eq!(roots.take(three, "/srv/shop", "d").unwrap(), Taken::Yes);
    }

    #[test]
    fn a_folder_stays_with_its_cell_when_labels_change() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let (one, two) = (owned_in(&server, 1, 1), owned_in(&server, 2, 1));
        let roots = Roots::new(server.clone());
        let takes = |of: Tenant, agent: &str| roots.take(of, "/srv/shop", agent).unwrap();
        let of_one = || Taken::By { agent: "a".to_owned(), cell: 1 };
        assert_eq!((takes(one, "a"), takes(two, "b")), (Taken::Yes, of_one()));
        for label in [Some("big"), Some("bigger"), None] {
            for cell in [1, 2] {
                Cluster::label(&server, cell, label).unwrap();
            }
            assert_eq!((takes(one, "a"), takes(two, "b")), (Taken::Yes, of_one()), "{label:?}");
        }
        // While their labels differ, the path is a folder of each; then they would have one.
        Cluster::label(&server, 2, Some("big")).unwrap();
        assert_eq!(takes(two, "b"), Taken::Yes);
        let refused = Cluster::label(&server, 1, Some("big")).unwrap_err();
        assert!(matches!(&refused, ClusterError::Clash { cell: 1, clash } if clash.cell == 2), "{refused}");
        let session = Session::new(server.clone(), 0);
        session.query("UPDATE cells SET node = 1 WHERE cell = 1", &[], ANSWER).unwrap();
        assert!(matches!(roots.bind(one, "big").unwrap(), Bound::Clash(Clash { cell: 2, .. })));
        let labels = Cluster::status(&server).unwrap().cells.into_iter().map(|cell| cell.label);
        assert_eq!(labels.take(2).collect::<Vec<_>>(), [None, Some("big".to_owned())]);
        roots.give_back(two, "/srv/shop").unwrap();
        assert_eq!(roots.bind(one, "big").unwrap(), Bound::Yes);
        assert_eq!(takes(two, "b"), of_one());
    }

    #[test]
    fn a_cell_is_bound_to_one_label_by_whoever_owns_it_and_keeps_it() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let (roots, session) = (Roots::new(server.clone()), Session::new(server.clone(), 0));
        let node = |labels: &[&str]| {
            let sql = "INSERT INTO nodes (name, url, build, labels, lease_until) VALUES ('', '', '', $1, now()) RETURNING node";
            session.query(sql, &[&labels], ANSWER).unwrap()[0].get::<_, i64>(0)
        };
        let sets = |column: &str, node: i64| {
            let sql = format!("UPDATE cells SET {column} = $1 WHERE cell = 1");
            session.query(&sql, &[&node], ANSWER).unwrap();
        };
        let of_cell = || {
            let rows =
                session.query("SELECT node, hand_to, wanted_on FROM cells WHERE cell = 1", &[], ANSWER);
            let row = &rows.unwrap()[0];
            (row.get::<_, Option<i64>>(0), row.get::<_, Option<i64>>(1), row.get::<_, Option<i64>>(2))
        };
        let (here, there) = (node(&["here"]), node(&["there"]));
        let one = owned_in(&server, 1, 1);
        assert_eq!(roots.bind(one, "here").unwrap(), Bound::Fenced, "nobody owns it");
        sets("node", here);
        sets("hand_to", there);
        assert_eq!(roots.bind(one, "here").unwrap(), Bound::Fenced, "it is handed over");
        session.query("UPDATE cells SET hand_to = NULL WHERE cell = 1", &[], ANSWER).unwrap();
        sets("wanted_on", there);
        assert_eq!(roots.bind(one, "here").unwrap(), Bound::Yes);
        assert_eq!(of_cell(), (Some(here), None, None), "no other node is to have it");
        assert_eq!(roots.bind(one, "here").unwrap(), Bound::Yes);
        assert_eq!(roots.bind(one, "there").unwrap(), Bound::To("here".to_owned()));
        let later = owned_in(&server, 1, 2);
        assert_eq!(roots.bind(one, "here").unwrap(), Bound::Fenced);
        assert_eq!(roots.bind(later, "here").unwrap(), Bound::Yes);
    }

    #[test]
    fn what_an_earlier_owner_says_changes_nothing_and_a_new_one_keeps_what_it_needs() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let (before, other) = (owned_in(&server, 1, 1), owned_in(&server, 2, 1));
        let roots = Roots::new(server.clone());
        for root in ["/kept", "/over"] {
            roots.take(before, root, "a").unwrap();
        }
        roots.take(other, "/lost", "b").unwrap();
        let now = owned_in(&server, 1, 2);
        roots.give_back(before, "/kept").unwrap();
        assert_eq!(roots.take(before, "/new", "a").unwrap(), Taken::Fenced);
        let agent = AgentId::new("a").unwrap();
        let occupied = ["/kept", "/lost", "/begun"].map(|root| (root.to_owned(), agent.clone())).into();
        let held = roots.begin(now, &occupied).unwrap();
        assert_eq!(held, ["/kept", "/begun"].map(str::to_owned).into());
        assert_eq!(roots.take(other, "/over", "b").unwrap(), Taken::Yes);
        assert!(matches!(roots.take(other, "/kept", "b").unwrap(), Taken::By { .. }));
    }

    #[test]
    fn of_cells_that_want_a_folder_at_once_one_has_it() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let cells: Vec<Tenant> = (1..=4).map(|cell| owned_in(&server, cell, 1)).collect();
        let inside = AtomicU64::new(0);
        let works = &|of: Tenant| {
            let roots = Roots::new(server.clone());
            let mut entered = 0;
            for _ in 0..200 {
                if roots.take(of, "/srv/shop", "a").unwrap() != Taken::Yes {
                    continue;
                }
                let before = inside.swap(of.cell.0, Ordering::SeqCst);
                assert_eq!(before, 0, "cell {before} is there");
                thread::yield_now();
                inside.store(0, Ordering::SeqCst);
                roots.give_back(of, "/srv/shop").unwrap();
                entered += 1;
            }
            entered
        };
        let entered: Vec<u64> = thread::scope(|scope| {
            let all: Vec<_> = cells.into_iter().map(|of| scope.spawn(move || works(of))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(entered.iter().sum::<u64>() > 100, "{entered:?}");
    }
}
