//! Which agent is in which cell (contract: scale.md, Cells). The rows of agents say it of those that are there; a name that
//! nobody has yet begins in the cell that claims it first, of several the one that its hash chooses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use holon_cluster::CellId;
use holon_text::hash;

use super::cluster::Cluster;
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
    known: Mutex<HashMap<String, CellId>>,
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
            _ => self.known().get(name).copied(),
        }
    }

    /// The cell of an agent by its id or its second name, or where one of that name begins. Waits for the database where that
    /// is not known yet.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn cell_of(&self, name: &str) -> Result<CellId, LedgerError> {
        Ok(self.find(name)?.unwrap_or_else(|| chosen(name, &self.cells())))
    }

    /// The cell of an agent by its id or its second name; none where nobody has that name.
    ///
    /// # Errors
    /// Likewise.
    pub fn find(&self, name: &str) -> Result<Option<CellId>, LedgerError> {
        if let Some(known) = self.known_cell_of(name) {
            return Ok(Some(known));
        }
        let found = self.look_up(name)?;
        if let Some(found) = found {
            self.remember(name, found);
        }
        Ok(found)
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

    fn look_up(&self, name: &str) -> Result<Option<CellId>, LedgerError> {
        let sql = "SELECT cell FROM agents WHERE agent = $1 UNION ALL SELECT cell FROM agents WHERE name = $1
            UNION ALL SELECT cell FROM names WHERE name = $1 LIMIT 1";
        let rows = self.session.query(sql, &[&name], ANSWER);
        let rows = rows.map_err(LedgerError::postgres("looking for the cell of an agent"))?;
        Ok(rows.first().map(|row| CellId(number(row.get(0)))))
    }

    fn remember(&self, name: &str, cell: CellId) {
        let mut known = self.known();
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(name.to_owned(), cell);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, CellId>> {
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
