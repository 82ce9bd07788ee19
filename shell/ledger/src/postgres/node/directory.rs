//! Which agent is in which cell (contract: scale.md, Cells). The rows of agents say it of those that are there; a name that
//! nobody has yet begins in the cell that claims it first, of several the one that its hash chooses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use holon_cluster::CellId;
use holon_text::hash;

use super::cluster::Cluster;
use super::roots::{OWN, Tenant};
use super::statement::{id, number};
use crate::error::LedgerError;
use crate::postgres::open::ANSWER;
use crate::sql::postgres::{Server, Session};

/// Agents whose cells are remembered; beyond them all are looked up anew.
const KNOWN: usize = 100_000;

/// The cells of a database and the agents in them.
#[derive(Debug)]
pub struct Directory {
    session: Session,
    cells: RwLock<Arc<[CellId]>>,
    known: Mutex<Known>,
}

/// Cells of agents by their ids.
#[derive(Debug, Default)]
struct Known {
    cells: HashMap<String, CellId>,
    /// How often all of them were forgotten: what was looked up before is not remembered any more.
    cleared: u64,
}

impl Known {
    fn clear(&mut self) {
        self.cells.clear();
        self.cleared += 1;
    }
}

impl Directory {
    /// Of a cluster as it is now.
    pub fn new(server: Server, cluster: &Cluster) -> Self {
        let cells = cluster.cells.iter().copied().map(CellId).collect();
        Self { session: Session::new(server, 0), cells: RwLock::new(cells), known: Mutex::default() }
    }

    /// All cells that are known here, in the order of their numbers.
    pub fn cells(&self) -> Arc<[CellId]> {
        self.cells.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether there is anything to choose.
    pub fn has_several(&self) -> bool {
        self.cells().len() > 1
    }

    /// Looks whether a cell was split, and who went: what was known before counts no more then. Whoever owns a cell has looked
    /// since its epoch began, so that it knows who is in it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn refresh(&self) -> Result<(), LedgerError> {
        let sql = "SELECT cell FROM cells ORDER BY cell";
        let rows =
            self.session.query(sql, &[], ANSWER).map_err(LedgerError::postgres("reading the cells"))?;
        let cells: Arc<[CellId]> = rows.iter().map(|row| CellId(number(row.get(0)))).collect();
        if cells == self.cells() {
            return Ok(());
        }
        *self.cells.write().unwrap_or_else(PoisonError::into_inner) = cells;
        self.known().clear();
        Ok(())
    }

    /// The same without waiting for anybody; none where it has to be looked up.
    pub fn known_cell_of(&self, name: &str) -> Option<CellId> {
        match *self.cells() {
            [only] => Some(only),
            _ => self.known().cells.get(name).copied(),
        }
    }

    /// An agent was not where it was remembered to be.
    pub fn forget(&self, name: &str) {
        self.known().cells.remove(name);
    }

    /// The cell of an agent by its id or its second name, or where one of that name begins. Waits for the database where that
    /// is not known yet.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn cell_of(&self, name: &str) -> Result<CellId, LedgerError> {
        Ok(self.find(name)?.unwrap_or_else(|| chosen(name, &self.cells())))
    }

    /// The cell of an agent by its id or its second name; none where nobody has that name. Ids are remembered: a second name,
    /// and one that is only claimed, may be another agent's later.
    ///
    /// # Errors
    /// Likewise.
    pub fn find(&self, name: &str) -> Result<Option<CellId>, LedgerError> {
        if let Some(known) = self.known_cell_of(name) {
            return Ok(Some(known));
        }
        let cleared = self.known().cleared;
        let found = self.look_up(name)?;
        if let Some((found, true)) = found {
            self.remember(name, found, cleared);
        }
        Ok(found.map(|(cell, _)| cell))
    }

    /// Takes a name for an agent of a cell. Whether the cell has it now.
    ///
    /// # Errors
    /// Likewise.
    pub fn claim(&self, name: &str, cell: CellId) -> Result<bool, LedgerError> {
        if !self.has_several() {
            return Ok(true);
        }
        let sql = "WITH claim AS (INSERT INTO names SELECT $1, $2 WHERE NOT EXISTS
                (SELECT 1 FROM agents WHERE cell <> $2 AND (agent = $1 OR name = $1))
                ON CONFLICT DO NOTHING RETURNING cell)
            SELECT cell FROM claim UNION ALL SELECT cell FROM names WHERE name = $1";
        let claim = || self.session.query(sql, &[&name, &id(cell.0)], ANSWER);
        let failed = || LedgerError::postgres("claiming the name of an agent");
        let mut rows = claim().map_err(failed())?;
        if rows.is_empty() {
            // Somebody was faster, and is not in what this statement began with.
            rows = claim().map_err(failed())?;
        }
        Ok(rows.first().is_some_and(|row| CellId(number(row.get(0))) == cell))
    }

    /// Gives a name back that no agent of the cell has, unless the cell is somebody else's by now. An owner of a later epoch
    /// claims it only after this.
    ///
    /// # Errors
    /// Likewise.
    pub fn release(&self, name: &str, of: Tenant) -> Result<(), LedgerError> {
        let sql = format!(
            "WITH {OWN} DELETE FROM names n USING own WHERE n.name = $3 AND n.cell = own.cell
                AND NOT EXISTS (SELECT 1 FROM agents WHERE agent = $3 OR name = $3)"
        );
        let released = self.session.query(&sql, &[&id(of.cell.0), &id(of.epoch.0), &name], ANSWER);
        released.map(drop).map_err(LedgerError::postgres("releasing the name of an agent"))
    }

    /// The cell of a name, and whether it is the id of an agent.
    fn look_up(&self, name: &str) -> Result<Option<(CellId, bool)>, LedgerError> {
        let sql = "SELECT cell, true FROM agents WHERE agent = $1
            UNION ALL SELECT cell, false FROM agents WHERE name = $1
            UNION ALL SELECT cell, false FROM names WHERE name = $1 LIMIT 1";
        let rows = self.session.query(sql, &[&name], ANSWER);
        let rows = rows.map_err(LedgerError::postgres("looking for the cell of an agent"))?;
        Ok(rows.first().map(|row| (CellId(number(row.get(0))), row.get(1))))
    }

    /// What was looked up after so many times that all was forgotten.
    fn remember(&self, name: &str, cell: CellId, cleared: u64) {
        let mut known = self.known();
        if known.cleared != cleared {
            return;
        }
        if known.cells.len() >= KNOWN {
            known.clear();
        }
        known.cells.insert(name.to_owned(), cell);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of some cells for an agent of that name: always the same one.
pub fn chosen(name: &str, cells: &[CellId]) -> CellId {
    let of_name = hash(name.as_bytes()).0;
    let number = of_name.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let count = u64::try_from(cells.len()).unwrap_or(1).max(1);
    let at = usize::try_from(number % count).unwrap_or_default();
    cells.get(at).copied().unwrap_or(CellId(1))
}

#[cfg(test)]
mod tests {
    use holon_cluster::Epoch;

    use super::*;
    use crate::postgres::testing::Database;

    #[test]
    fn a_name_that_no_agent_has_any_more_is_released_for_every_cell() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let cluster = Cluster::of(&server).unwrap().unwrap();
        let directories = [1, 2].map(|_| Directory::new(server.clone(), &cluster));
        let session = Session::new(server, 0);
        let of = |epoch| Tenant { cell: CellId(1), epoch: Epoch(epoch) };
        let (one, two) = (CellId(1), CellId(2));
        let claims = |cell| directories[0].claim("zed", cell).unwrap();
        let set = |sql: &str| drop(session.query(sql, &[], ANSWER).unwrap());
        set("UPDATE cells SET epoch = 7 WHERE cell = 1");
        assert!(claims(one) && !claims(two));
        set("INSERT INTO agents (cell, agent, event_seq, status, open_work, private, archived, asks, name, continues)
            VALUES (1, 'ada', 1, 'asleep', 0, 0, 0, 0, 'zed', 1)");
        let found = || directories[1].find("zed").unwrap();
        assert_eq!((found(), directories[1].find("ada").unwrap()), (Some(one), Some(one)));
        directories[0].release("zed", of(7)).unwrap();
        assert!(!claims(two), "an agent has it");
        set("UPDATE agents SET name = NULL");
        directories[0].release("zed", of(6)).unwrap();
        assert!(!claims(two), "an earlier owner releases nothing");
        directories[0].release("zed", of(7)).unwrap();
        assert!(claims(two) && !claims(one));
        assert_eq!(found(), Some(two), "no node remembers whose it was");
    }

    #[test]
    fn what_was_looked_up_before_a_split_is_not_remembered() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let cluster = Cluster::of(&server).unwrap().unwrap();
        let directory = Directory::new(server.clone(), &cluster);
        let set = |sql: &str| drop(Session::new(server.clone(), 0).query(sql, &[], ANSWER).unwrap());
        set("INSERT INTO agents (cell, agent, event_seq, status, open_work, private, archived, asks, continues)
            VALUES (1, 'ada', 1, 'asleep', 0, 0, 0, 0, 1)");
        let cleared = directory.known().cleared;
        let (found, _) = directory.look_up("ada").unwrap().unwrap();
        set("INSERT INTO cells (cell) VALUES (5)");
        set("UPDATE agents SET cell = 5");
        directory.refresh().unwrap();
        directory.remember("ada", found, cleared);
        assert_eq!(directory.find("ada").unwrap(), Some(CellId(5)));
        assert_eq!(directory.known_cell_of("ada"), Some(CellId(5)));
        directory.forget("ada");
        assert_eq!(directory.known_cell_of("ada"), None);
    }
}
