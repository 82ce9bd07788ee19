//! A cell gives up what is old, as a ledger in a file does. Its rows are changed in one transaction that nobody writes beside: a
//! writer knows which texts there are.

use super::node::Cluster;
use super::open::{ANSWER, hold};
use crate::error::LedgerError;
use crate::read::garbage::PAGE;
use crate::read::{Plan, Reader};
use crate::sql::postgres::{Server, Session};

const DOING: &str = "removing what is old";

/// What whoever removes from a cell, and whoever splits one, holds of the database: they do that one after the other.
pub(super) const WHOLE: &str = "(hashtext('holon whole cells ' || current_schema()), 0)";

/// Takes away what may go, whole or not at all. The database uses the space again.
///
/// # Errors
/// When somebody owns the cell or has written it since the plan was made, when a row is damaged, or the database does not answer.
pub fn collect(server: &Server, cell: i64, plan: &Plan) -> Result<(), LedgerError> {
    let session = Session::new(server.clone(), cell);
    let failed = || LedgerError::postgres(DOING);
    let of_nodes = Cluster::of(server)?.is_some();
    session.begin_write().map_err(failed())?;
    if !of_nodes && !hold(&session).map_err(failed())? {
        return Err(LedgerError::Held { database: session.to_string() });
    }
    let changed = nobody_writes(&session, plan)
        .and_then(|()| calls(&session, server, plan))
        .and_then(|()| texts(&session, plan));
    if changed.is_err() {
        // What was begun goes with its connection.
        session.lose();
        return changed;
    }
    session.commit().map_err(failed())?;
    for table in ["recorder", "content"] {
        session.execute(&format!("VACUUM {table}")).map_err(failed())?;
    }
    Ok(())
}

/// Whoever would claim the cell waits for the row.
fn nobody_writes(session: &Session, plan: &Plan) -> Result<(), LedgerError> {
    let refused = |problem: String| Err(LedgerError::Refused { doing: DOING, problem });
    let sql = format!("SELECT pg_try_advisory_xact_lock{WHOLE}");
    let free = session.query(&sql, &[], ANSWER).map_err(LedgerError::postgres(DOING))?;
    if !free.first().is_some_and(|row| row.get(0)) {
        return refused("a cell is being split: the same again when that is done".to_owned());
    }
    let sql = "SELECT batch FROM cells WHERE cell = $1 FOR UPDATE";
    let found = session.query(sql, &[&session.cell()], ANSWER).map_err(LedgerError::postgres(DOING))?;
    let Some(batch) = found.first().map(|row| row.get::<_, i64>(0)) else {
        return Err(LedgerError::NoCell { database: session.to_string() });
    };
    // A statement of its own: the one that waited for the row knows nodes as they were before.
    let sql = "SELECT n.name FROM cells c JOIN nodes n USING (node)
        WHERE c.cell = $1 AND NOT n.buried AND n.lease_until > clock_timestamp()";
    let owner = session.query(sql, &[&session.cell()], ANSWER).map_err(LedgerError::postgres(DOING))?;
    if let Some(owner) = owner.first().map(|row| row.get::<_, String>(0)) {
        return refused(format!(
            "node {owner} owns cell {}: stop the nodes of the cluster first",
            session.cell()
        ));
    }
    if batch != plan.batch {
        return refused("the ledger was written meanwhile: the same again".to_owned());
    }
    Ok(())
}

fn calls(session: &Session, server: &Server, plan: &Plan) -> Result<(), LedgerError> {
    let reader = Reader::of_cell(server.clone(), session.cell());
    let sql = "UPDATE recorder r SET call = u.call FROM unnest($2::bigint[], $3::text[]) u (position, call)
        WHERE r.cell = $1 AND r.position = u.position";
    let mut last = 0;
    loop {
        let page = reader.read(|source| plan.page(source, last))?;
        let Some((newest, _)) = page.last() else { return Ok(()) };
        last = *newest;
        let (positions, left): (Vec<i64>, Vec<String>) = page.into_iter().unzip();
        session
            .query(sql, &[&session.cell(), &positions, &left], None)
            .map_err(LedgerError::postgres(DOING))?;
    }
}

fn texts(session: &Session, plan: &Plan) -> Result<(), LedgerError> {
    let ids: Vec<&[u8]> = plan.texts.iter().map(|id| id.as_slice()).collect();
    for page in ids.chunks(PAGE) {
        let sql = "UPDATE content SET text = NULL WHERE cell = $1 AND id = ANY($2::bytea[])";
        session.query(sql, &[&session.cell(), &page], None).map_err(LedgerError::postgres(DOING))?;
    }
    Ok(())
}
