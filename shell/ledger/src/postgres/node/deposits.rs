//! Requests that came while nobody owned their cell: they wait in the database for its next owner, and each gets one verdict.
//! A batch that takes one in marks it in the same statement; whatever changes nothing is judged by a statement of its own.

use holon_cluster::{CellId, Epoch};
use holon_facts::Wall;
use holon_facts::ids::DepositId;
use serde::Serialize;

use super::statement::{id, number};
use crate::error::LedgerError;
use crate::postgres::open::ANSWER;
use crate::sql::postgres::{Server, Session};

/// Deposits of a cell that wait at most, and their bytes.
const WAITING: u64 = 10_000;
const WAITING_BYTES: u64 = 64 << 20;
/// Deposits that are read at a time.
const PAGE: i64 = 64;
/// How long a verdict can be looked at.
const REMEMBERED: &str = "interval '1 day'";
const MICROS: &str = "(extract(epoch FROM {}) * 1000000)::bigint";

/// Where requests are kept while nobody owns their cell.
#[derive(Debug)]
pub struct Deposits(Session);

/// One that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub deposit: DepositId,
    pub request: String,
}

/// What is known of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deposited {
    pub deposit: DepositId,
    pub cell: u64,
    pub made_at: Wall,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged_at: Option<Wall>,
    /// The batch that took it in; none where nothing was changed by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Of the answer. It is missing where the owner that took it in was lost before it had said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl Deposits {
    pub fn new(server: Server) -> Self {
        Self(Session::new(server, 0))
    }

    /// Keeps a request for the next owner of a cell; none if there are too many.
    ///
    /// # Errors
    /// When the database does not answer: it may have kept the request.
    pub fn make(&self, cell: CellId, request: &str) -> Result<Option<DepositId>, LedgerError> {
        let sql = "INSERT INTO deposits (cell, request)
            SELECT $1::bigint, $2::text FROM
                (SELECT count(*) waiting, coalesce(sum(octet_length(request)), 0) bytes FROM deposits
                    WHERE cell = $1::bigint AND judged_at IS NULL) there
            WHERE there.waiting < $3::bigint AND there.bytes + octet_length($2::text) <= $4::bigint RETURNING deposit";
        let rows = self.0.query(sql, &[&id(cell.0), &request, &id(WAITING), &id(WAITING_BYTES)], ANSWER);
        let rows = rows.map_err(LedgerError::postgres("keeping a request"))?;
        Ok(rows.first().map(|row| DepositId(number(row.get(0)))))
    }

    /// Those of a cell that wait, behind one, in the order in which they came.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn waiting(&self, cell: CellId, after: DepositId) -> Result<Vec<Waiting>, LedgerError> {
        let sql =
            "SELECT deposit, request FROM deposits WHERE cell = $1 AND judged_at IS NULL AND deposit > $2
            ORDER BY deposit LIMIT $3";
        let rows = self.0.query(sql, &[&id(cell.0), &id(after.0), &PAGE], ANSWER);
        let rows = rows.map_err(LedgerError::postgres("reading what was deposited"))?;
        let waiting =
            rows.iter().map(|row| Waiting { deposit: DepositId(number(row.get(0))), request: row.get(1) });
        Ok(waiting.collect())
    }

    /// Keeps the answer to one. Where no batch has taken it in, it is its verdict, which only the owner of the cell can give.
    ///
    /// # Errors
    /// Likewise.
    pub fn judge(
        &self,
        (cell, epoch): (CellId, Epoch),
        deposit: DepositId,
        status: u16,
        answer: &str,
    ) -> Result<(), LedgerError> {
        let sql = "UPDATE deposits d SET status = $4, answer = $5, request = '',
                judged_at = coalesce(d.judged_at, clock_timestamp())
            FROM (SELECT 1 FROM cells WHERE cell = $1 AND epoch = $2 FOR SHARE) own
            WHERE d.deposit = $3 AND d.cell = $1 AND d.status IS NULL";
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&id(cell.0), &id(epoch.0), &id(deposit.0), &i64::from(status), &answer];
        let judged = self.0.query(sql, &params, ANSWER);
        judged.map(drop).map_err(LedgerError::postgres("judging what was deposited"))
    }

    /// Leaves one to the cell that its agent is in now. Only the owner of the cell that it waits for can do that.
    ///
    /// # Errors
    /// Likewise.
    pub fn pass_on(
        &self,
        (cell, epoch): (CellId, Epoch),
        deposit: DepositId,
        to: CellId,
    ) -> Result<(), LedgerError> {
        let sql = "UPDATE deposits d SET cell = $4
            FROM (SELECT 1 FROM cells WHERE cell = $1 AND epoch = $2 FOR SHARE) own
            WHERE d.deposit = $3 AND d.cell = $1 AND d.judged_at IS NULL";
        let passed = self.0.query(sql, &[&id(cell.0), &id(epoch.0), &id(deposit.0), &id(to.0)], ANSWER);
        passed.map(drop).map_err(LedgerError::postgres("passing on what was deposited"))
    }

    /// Forgets verdicts that nobody has looked at for a day.
    ///
    /// # Errors
    /// Likewise.
    pub fn forget(&self) -> Result<(), LedgerError> {
        let sql = format!("DELETE FROM deposits WHERE judged_at < clock_timestamp() - {REMEMBERED}");
        let forgotten = self.0.query(&sql, &[], ANSWER);
        forgotten.map(drop).map_err(LedgerError::postgres("forgetting verdicts"))
    }

    /// The newest of all cells, the newest first.
    ///
    /// # Errors
    /// Likewise.
    pub fn newest(&self, at_most: u32) -> Result<Vec<Deposited>, LedgerError> {
        let at = |column: &str| MICROS.replace("{}", column);
        let sql = format!(
            "SELECT deposit, cell, {}, {}, batch, status, answer FROM deposits ORDER BY deposit DESC LIMIT $1",
            at("made_at"),
            at("judged_at")
        );
        let rows = self.0.query(&sql, &[&i64::from(at_most)], ANSWER);
        let rows = rows.map_err(LedgerError::postgres("reading what was deposited"))?;
        let deposited = rows.iter().map(|row| Deposited {
            deposit: DepositId(number(row.get(0))),
            cell: number(row.get(1)),
            made_at: Wall(row.get(2)),
            judged_at: row.get::<_, Option<i64>>(3).map(Wall),
            batch: row.get::<_, Option<i64>>(4).map(number),
            status: row.get::<_, Option<i64>>(5).and_then(|status| u16::try_from(status).ok()),
            answer: row.get(6),
        });
        Ok(deposited.collect())
    }
}
