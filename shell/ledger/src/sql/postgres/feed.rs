//! One order over the records of all cells: stretches of them, one behind the other, in the table `feed`. Whoever looks puts
//! what is new behind the last one, so the cost is that of looking, and every node sees the same.
//!
//! A stretch begins at `first` and has the records of its cell whose positions are above `after`, up to `through`.

use super::PostgresError;
use super::session::{ANSWER, Session};

/// Those who look at once put stretches there one after the other ("feed").
const LOCK: i64 = 0x6665_6564;

/// Rows of `records` with their place in that order.
pub(crate) const PLACED: &str = "(SELECT r.*, f.first + r.position - f.after - 1 AS place FROM (
        SELECT * FROM feed WHERE first <= ?2
            AND first >= (SELECT coalesce(max(first), 0) FROM feed WHERE first <= ?1::bigint + 1)
    ) f JOIN records r ON r.cell = f.cell AND r.position > f.after AND r.position <= f.through) AS records";

/// The last place.
pub(crate) const LAST: &str = "SELECT coalesce(max(first + through - after), 1) - 1 FROM feed";

/// Where each cell ends, and how much of it has a place.
const NEW: &str = "SELECT cell, after, through FROM (
        SELECT c.cell,
            coalesce((SELECT max(f.through) FROM feed f WHERE f.cell = c.cell), c.begins) AS after,
            coalesce((SELECT max(r.position) FROM records r WHERE r.cell = c.cell), 0) AS through
        FROM cells c) ends
    WHERE through > after";

/// Gives a place to every record that has none.
///
/// # Errors
/// When the database does not answer.
pub(crate) fn extend(session: &Session) -> Result<(), PostgresError> {
    if session.query(NEW, &[], Some(ANSWER))?.is_empty() {
        return Ok(());
    }
    // What follows sees what others have put there before they let go of the lock.
    let put = format!(
        "BEGIN; SELECT pg_advisory_xact_lock({LOCK});
        INSERT INTO feed (first, cell, after, through)
        SELECT next + sum(through - after) OVER (ORDER BY cell) - (through - after), cell, after, through
        FROM ({NEW}) new, (SELECT coalesce(max(first + through - after), 1) AS next FROM feed) known;
        COMMIT"
    );
    session.execute(&put)
}
