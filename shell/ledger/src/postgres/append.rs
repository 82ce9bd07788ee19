//! The append: one statement, one round trip. It lands as a whole if its cell is where its owner left it.

use holon_facts::{AgentId, ContentId, Millis};

use super::arrays::{Arrays, Held};
use crate::rows::batch::Batch;
use crate::sql::postgres::{PostgresError, Session};

/// Everything that a batch brings, behind the condition that the cell has this epoch and ends with the batch before. An agent
/// whose records do not continue its log makes it divide by zero, so that nothing lands; so does a deposit that was taken before.
const APPEND: &str = "
WITH fence AS (
    UPDATE cells SET batch = $3::bigint, through_step = $5::bigint, link = $6::bytea
    WHERE cell = $1::bigint AND epoch = $2::bigint AND batch = $3::bigint - 1 AND link = $4::bytea RETURNING cell
), b AS (
    INSERT INTO batches (cell, batch, epoch, through_step, through_record, through_call, through_content, link)
    SELECT cell, $3::bigint, $2::bigint, $5::bigint, $7::bigint, $8::bigint, $9::bigint, $6::bytea FROM fence
), r AS (
    INSERT INTO records (cell, position, agent, event_seq, step, batch, at, kind, v, payload, sum)
    SELECT f.cell, u.position, u.agent, u.event_seq, u.step, $3::bigint, u.at, u.kind, u.v, u.payload, u.sum
    FROM fence f, unnest($10::bigint[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[],
        $16::bigint[], $17::text[], $18::bigint[]) u(position, agent, event_seq, step, at, kind, v, payload, sum)
), k AS (
    INSERT INTO recorder (cell, position, batch, step, call, sum)
    SELECT f.cell, u.position, $3::bigint, u.step, u.call, u.sum
    FROM fence f, unnest($19::bigint[], $20::bigint[], $21::text[], $22::bigint[]) u(position, step, call, sum)
), t AS (
    INSERT INTO content (cell, position, id, bytes, text)
    SELECT f.cell, u.position, u.id, u.bytes, u.text
    FROM fence f, unnest($23::bigint[], $24::bytea[], $25::bigint[], $26::text[]) u(position, id, bytes, text)
), n AS (
    INSERT INTO kinds (cell, kind, v)
    SELECT f.cell, u.kind, u.v FROM fence f, unnest($27::text[], $28::bigint[]) u(kind, v)
    ON CONFLICT (cell, kind) DO UPDATE SET v = greatest(kinds.v, excluded.v)
), a AS (
    INSERT INTO agents (cell, agent, event_seq, status, next_deadline, open_work, account, private, archived, standing,
        asks, name, continues)
    SELECT f.cell, u.* FROM fence f, unnest($29::text[], $30::bigint[], $31::text[], $32::bigint[], $33::bigint[],
        $34::text[], $35::bigint[], $36::bigint[], $37::text[], $38::bigint[], $39::text[], $40::bigint[]) u
    ON CONFLICT (cell, agent) DO UPDATE SET event_seq = excluded.event_seq, status = excluded.status,
        next_deadline = excluded.next_deadline, open_work = excluded.open_work, account = excluded.account,
        private = excluded.private, archived = excluded.archived, standing = excluded.standing, asks = excluded.asks,
        name = excluded.name, continues = excluded.continues
    WHERE agents.event_seq = excluded.continues RETURNING 1
), d AS (
    UPDATE deposits d SET batch = $3::bigint, judged_at = clock_timestamp(), request = '' FROM fence f
    WHERE d.deposit = ANY ($41::bigint[]) AND d.cell = f.cell AND d.judged_at IS NULL RETURNING 1
), e AS (
    UPDATE content c SET text = u.text FROM fence f, unnest($42::bytea[], $43::text[]) u(id, text)
    WHERE c.cell = f.cell AND c.id = u.id AND c.text IS NULL
)
SELECT f.cell, 1 / (CASE WHEN (SELECT count(*) FROM a) = cardinality($29::text[])
    AND (SELECT count(*) FROM d) = cardinality($41::bigint[]) THEN 1 ELSE 0 END) FROM fence f";

/// What became of an append that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Appended {
    Landed,
    /// The cell is not where its owner left it: nothing was written.
    Refused,
}

/// Appends a batch. It waits for as long as the database takes: an append is never cancelled, for what became of it would
/// not be known.
pub(super) fn append(
    session: &Session,
    before: &[u8; 32],
    arrays: &Arrays<'_>,
) -> Result<Appended, PostgresError> {
    append_within(session, before, arrays, None)
}

/// The same with an end to the wait for the answer: the connection is given up then, and the statement goes on or not.
pub(super) fn append_within(
    session: &Session,
    before: &[u8; 32],
    arrays: &Arrays<'_>,
    within: Option<Millis>,
) -> Result<Appended, PostgresError> {
    append_to(session, session.cell(), before, arrays, within)
}

/// The same with the session of another cell.
pub(super) fn append_to(
    session: &Session,
    cell: i64,
    before: &[u8; 32],
    arrays: &Arrays<'_>,
    within: Option<Millis>,
) -> Result<Appended, PostgresError> {
    let row = &arrays.row;
    let (ends, records, calls) = (&row.ends, &arrays.records, &arrays.calls);
    let (contents, agents) = (&arrays.contents, &arrays.agents);
    let (before, link) = (before.as_slice(), row.link.as_slice());
    let found = session.query(
        APPEND,
        &[
            &cell,
            &row.epoch,
            &row.batch,
            &before,
            &ends.step,
            &link,
            &ends.record,
            &ends.call,
            &ends.content,
            &records.position,
            &records.agent,
            &records.event_seq,
            &records.step,
            &records.at,
            &records.kind,
            &records.version,
            &records.payload,
            &records.sum,
            &calls.position,
            &calls.step,
            &calls.call,
            &calls.sum,
            &contents.position,
            &contents.id,
            &contents.bytes,
            &contents.text,
            &arrays.kind,
            &arrays.kind_version,
            &agents.agent,
            &agents.event_seq,
            &agents.status,
            &agents.next_deadline,
            &agents.open_work,
            &agents.account,
            &agents.private,
            &agents.archived,
            &agents.standing,
            &agents.asks,
            &agents.name,
            &agents.continues,
            &arrays.deposits,
            &arrays.restored.id,
            &arrays.restored.text,
        ],
        within,
    )?;
    Ok(if found.is_empty() { Appended::Refused } else { Appended::Landed })
}

/// Which texts of a batch the ledger holds.
pub(super) fn held(session: &Session, batch: &Batch) -> Result<Held, PostgresError> {
    let mut held = Held::default();
    if batch.contents.is_empty() {
        return Ok(held);
    }
    let ids: Vec<&[u8]> = batch.contents.keys().map(|id| id.0.as_slice()).collect();
    let sql = "SELECT id, text IS NULL FROM content WHERE cell = $1 AND id = ANY ($2)";
    for row in session.query(sql, &[&session.cell(), &ids], None)? {
        let Ok(id) = <[u8; 32]>::try_from(row.get::<_, &[u8]>(0)) else { continue };
        let of = if row.get(1) { &mut held.erased } else { &mut held.whole };
        of.insert(ContentId(id));
    }
    Ok(held)
}

/// The agent among these whose log ends elsewhere than its records begin, with where it ends.
pub(super) fn gap(
    session: &Session,
    arrays: &Arrays<'_>,
) -> Result<Option<(AgentId, i64, i64)>, PostgresError> {
    let sql = "SELECT u.agent, coalesce(a.event_seq, 0), u.continues
        FROM unnest($2::text[], $3::bigint[]) u(agent, continues)
        LEFT JOIN agents a ON a.cell = $1 AND a.agent = u.agent
        WHERE coalesce(a.event_seq, 0) <> u.continues LIMIT 1";
    let agents = &arrays.agents;
    let found = session.query(sql, &[&session.cell(), &agents.agent, &agents.continues], None)?;
    Ok(found.first().and_then(|row| Some((AgentId::new(row.get(0)).ok()?, row.get(1), row.get(2)))))
}
