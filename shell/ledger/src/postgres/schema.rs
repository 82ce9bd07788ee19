//! The tables, and how a database of an older build gets those of this one. Changes only add: nodes of two builds may work
//! on one database, and each version names the oldest one whose builds may go on with it. A version is never changed once it was
//! released; the next one is appended.

use holon_facts::Millis;

use crate::error::{LedgerError, WrittenBy};
use crate::sql::postgres::Session;

/// Version `n` of the tables is reached by the `n` first of these. With each, the oldest version whose builds may work on it;
/// builds before version 8 don't look.
const VERSIONS: &[(&str, i64)] =
    &[(V1, 1), (V2, 2), (V3, 3), (V4, 4), (V5, 5), (V6, 6), (V7, 7), (V8, 8), (V9, 8)];

/// Two nodes that begin at once bring the tables about one after the other ("Holn").
const LOCK: i64 = 0x486f_6c6e;

/// How long another node's change of the tables is waited for.
const CHANGE: Millis = Millis::seconds(60);

const V1: &str = "
CREATE TABLE cells (
    cell bigint PRIMARY KEY,
    epoch bigint NOT NULL DEFAULT 0,
    batch bigint NOT NULL DEFAULT 0,
    through_step bigint NOT NULL DEFAULT 0,
    link bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex')
) WITH (fillfactor = 50);

CREATE TABLE batches (
    cell bigint NOT NULL,
    batch bigint NOT NULL,
    epoch bigint NOT NULL,
    through_step bigint NOT NULL,
    through_record bigint NOT NULL,
    through_call bigint NOT NULL,
    through_content bigint NOT NULL,
    link bytea NOT NULL,
    PRIMARY KEY (cell, batch)
);

CREATE TABLE records (
    cell bigint NOT NULL,
    position bigint NOT NULL,
    agent text COLLATE \"C\" NOT NULL,
    event_seq bigint NOT NULL,
    step bigint NOT NULL,
    batch bigint NOT NULL,
    at bigint NOT NULL,
    kind text COLLATE \"C\" NOT NULL,
    v bigint NOT NULL,
    payload text NOT NULL,
    sum bigint NOT NULL,
    PRIMARY KEY (cell, agent, event_seq)
);
CREATE UNIQUE INDEX records_position ON records (cell, position);
CREATE INDEX records_landmarks ON records (cell, agent, kind, event_seq)
    WHERE kind IN ('message_admitted', 'turn_started', 'turn_terminal');
CREATE INDEX records_briefs ON records (cell, agent, event_seq) WHERE kind = 'brief_created';

CREATE TABLE recorder (
    cell bigint NOT NULL,
    position bigint NOT NULL,
    batch bigint NOT NULL,
    step bigint,
    call text NOT NULL,
    sum bigint NOT NULL,
    PRIMARY KEY (cell, position)
);

CREATE TABLE content (
    cell bigint NOT NULL,
    position bigint NOT NULL,
    id bytea NOT NULL,
    bytes bigint NOT NULL,
    text text, -- none when it was erased
    PRIMARY KEY (cell, id)
);
CREATE UNIQUE INDEX content_position ON content (cell, position);

CREATE TABLE snapshots (
    cell bigint NOT NULL,
    agent text COLLATE \"C\" NOT NULL,
    event_seq bigint NOT NULL,
    version bigint NOT NULL,
    state text NOT NULL DEFAULT '',
    hash bytea NOT NULL,
    packed bytea,
    PRIMARY KEY (cell, agent, event_seq)
);

CREATE TABLE agents (
    cell bigint NOT NULL,
    agent text COLLATE \"C\" NOT NULL,
    event_seq bigint NOT NULL,
    status text NOT NULL,
    next_deadline bigint, -- microseconds since 1970
    open_work bigint NOT NULL,
    account text, -- none before anything was spent
    private bigint NOT NULL,
    archived bigint NOT NULL,
    standing text,
    asks bigint NOT NULL,
    name text COLLATE \"C\",
    continues bigint NOT NULL, -- the event that the last batch went on from
    PRIMARY KEY (cell, agent)
) WITH (fillfactor = 70);
CREATE INDEX agents_asks ON agents (cell, agent) WHERE asks > 0 AND private = 0;
CREATE INDEX agents_names ON agents (cell, name) WHERE name IS NOT NULL;

CREATE TABLE kinds (
    cell bigint NOT NULL,
    kind text COLLATE \"C\" NOT NULL,
    v bigint NOT NULL,
    PRIMARY KEY (cell, kind)
);
";

/// Nodes that share the cells.
const V2: &str = "
CREATE TABLE cluster (
    cluster bigint PRIMARY KEY CHECK (cluster = 1),
    secret text NOT NULL, -- what nodes know each other by
    lease_ms bigint NOT NULL,
    grace_ms bigint NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE nodes (
    node bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    url text NOT NULL,
    build text NOT NULL,
    labels text[] NOT NULL,
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL,
    buried boolean NOT NULL DEFAULT false,
    draining boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX nodes_living ON nodes (node) WHERE NOT buried;

ALTER TABLE cells
    ADD COLUMN node bigint, -- the owner
    ADD COLUMN hand_to bigint, -- a node that may claim it from its owner
    ADD COLUMN label text, -- what its owner has to have
    ADD COLUMN wanted_on bigint, -- the node that an operator wants it on
    ADD COLUMN accepted bigint, -- the epoch whose loss an operator accepts
    ADD COLUMN problem text; -- why its owner works on it no more
";

/// Agents of several cells: a name belongs to one of them, and their records are in one order.
const V3: &str = "
CREATE TABLE names (
    name text COLLATE \"C\" PRIMARY KEY,
    cell bigint NOT NULL
);
INSERT INTO names SELECT agent, min(cell) FROM agents WHERE private = 0 GROUP BY agent;
INSERT INTO names SELECT name, min(cell) FROM agents WHERE name IS NOT NULL GROUP BY name ON CONFLICT DO NOTHING;
CREATE TABLE feed (
    first bigint PRIMARY KEY,
    cell bigint NOT NULL,
    after bigint NOT NULL,
    through bigint NOT NULL
);
CREATE INDEX feed_ends ON feed (cell, through);
CREATE INDEX agents_places ON agents (agent);
CREATE INDEX agents_names_of_all ON agents (name) WHERE name IS NOT NULL;
";

/// Requests that came while nobody owned their cell.
const V4: &str = "
CREATE TABLE deposits (
    deposit bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cell bigint NOT NULL,
    request text NOT NULL, -- empty once it was judged
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    judged_at timestamptz, -- none: it waits
    batch bigint, -- that took it
    status bigint, -- of the answer
    answer text
);
CREATE INDEX deposits_waiting ON deposits (cell, deposit) WHERE judged_at IS NULL;
CREATE INDEX deposits_judged ON deposits (judged_at) WHERE judged_at IS NOT NULL;
";

/// Cells that are split.
const V5: &str = "
ALTER TABLE cells
    ADD COLUMN begins bigint NOT NULL DEFAULT 0, -- records up to here came about in the cell that it was split from
    ADD COLUMN held_until timestamptz, -- nobody is to own it before
    ADD COLUMN share bigint NOT NULL DEFAULT 1000000; -- millionths of what is for the agents of all cells
UPDATE cells SET share = 1000000 / (SELECT count(*) FROM cells);
";

/// Budgets that are lent to cells as they need them, and what nodes count. The shares of V5 are what earlier builds go by.
const V6: &str = "
ALTER TABLE nodes
    ADD COLUMN take_overs bigint NOT NULL DEFAULT 0, -- of cells, as of the last renewal
    ADD COLUMN appends_refused bigint NOT NULL DEFAULT 0,
    ADD COLUMN appends_unsettled bigint NOT NULL DEFAULT 0, -- that got no answer
    ADD COLUMN answer_us bigint NOT NULL DEFAULT 0; -- of the database to the last renewal
CREATE TABLE budgets (
    budget text NOT NULL,
    day bigint NOT NULL, -- since 1970; 0 of a budget that has no days
    lent bigint NOT NULL, -- to all cells, in tokens or millionths of a dollar
    PRIMARY KEY (budget, day)
);
CREATE TABLE grants (
    budget text NOT NULL,
    day bigint NOT NULL,
    cell bigint NOT NULL,
    lent bigint NOT NULL,
    PRIMARY KEY (budget, day, cell)
);
";

/// Folders that agents of several cells work in.
const V7: &str = "
CREATE TABLE roots (
    label text NOT NULL, -- of the cell; empty: the path is the same folder on every machine
    root bytea NOT NULL, -- hash of the path
    path text NOT NULL,
    cell bigint NOT NULL,
    agent text NOT NULL, -- who was the first there
    PRIMARY KEY (label, root)
);
CREATE INDEX roots_of_cells ON roots (cell);
";

/// Which builds may work on tables that have grown.
const V8: &str = "
ALTER TABLE schema_versions
    ADD COLUMN works_with bigint; -- the oldest version whose builds may work on this one; none: its own
";

/// Losses that operators have accepted.
const V9: &str = "
ALTER TABLE cells
    ADD COLUMN acceptance bigint NOT NULL DEFAULT 0; -- the latest one: nothing that was acknowledged before it counts
";

/// Brings the tables up to date, in one transaction. Nothing is changed where they are.
pub(super) fn migrate(session: &Session) -> Result<(), LedgerError> {
    let failed = || LedgerError::postgres("bringing the tables up to date");
    let known = i64::try_from(VERSIONS.len()).unwrap_or(i64::MAX);
    let found = version(session)?;
    if found >= known {
        return newer(session, found, known);
    }
    session.begin_write().map_err(failed())?;
    let changed = change(session, known);
    if changed.is_err() {
        // What was begun goes with its connection.
        session.lose();
        return changed;
    }
    session.commit().map_err(failed())
}

/// Refuses a database without tables of ours, or with newer ones.
pub(super) fn check(session: &Session) -> Result<(), LedgerError> {
    let known = i64::try_from(VERSIONS.len()).unwrap_or(i64::MAX);
    match version(session)? {
        0 => Err(LedgerError::NoCell { database: session.to_string() }),
        found => newer(session, found, known),
    }
}

/// Refuses tables that are too new for this build.
fn newer(session: &Session, found: i64, known: i64) -> Result<(), LedgerError> {
    if found <= known {
        return Ok(());
    }
    let sql =
        "SELECT 1 FROM schema_versions WHERE version > $1 AND coalesce(works_with, version) > $1 LIMIT 1";
    let against = session.query(sql, &[&known], Some(CHANGE));
    match against.map_err(LedgerError::postgres("reading the version of the tables"))?.is_empty() {
        true => Ok(()),
        false => Err(LedgerError::NewerSchema { found, known, by: WrittenBy::default() }),
    }
}

/// Another node may have been faster.
fn change(session: &Session, known: i64) -> Result<(), LedgerError> {
    let failed = || LedgerError::postgres("bringing the tables up to date");
    session.execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).map_err(failed())?;
    session
        .execute("CREATE TABLE IF NOT EXISTS schema_versions (version bigint PRIMARY KEY)")
        .map_err(failed())?;
    let found = version(session)?;
    let missing = || (1..=known).zip(VERSIONS).filter(|(number, _)| *number > found);
    for (_, (sql, _)) in missing() {
        session.execute(sql).map_err(failed())?;
    }
    for (number, (_, works_with)) in missing() {
        let add = "INSERT INTO schema_versions (version, works_with) VALUES ($1, $2)";
        session.query(add, &[&number, works_with], Some(CHANGE)).map_err(failed())?;
    }
    Ok(())
}

/// The version that the database has reached; zero where it has no tables of ours.
pub(super) fn version(session: &Session) -> Result<i64, LedgerError> {
    let failed = || LedgerError::postgres("reading the version of the tables");
    let there = "SELECT to_regclass('schema_versions') IS NOT NULL";
    let there = session.query(there, &[], Some(CHANGE)).map_err(failed())?;
    if !there.first().is_some_and(|row| row.get::<_, bool>(0)) {
        return Ok(0);
    }
    let newest = "SELECT coalesce(max(version), 0) FROM schema_versions";
    let newest = session.query(newest, &[], Some(CHANGE)).map_err(failed())?;
    Ok(newest.first().map_or(0, |row| row.get(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::testing::Database;

    #[test]
    fn tables_that_have_grown_are_those_of_a_build_that_they_work_with() {
        let Some((server, _database)) = Database::with_cells() else { return };
        let session = Session::new(server, 0);
        let known = i64::try_from(VERSIONS.len()).unwrap();
        let add = |version: i64, works_with: Option<i64>| {
            let sql = "INSERT INTO schema_versions (version, works_with) VALUES ($1, $2)";
            session.query(sql, &[&version, &works_with], None).unwrap();
        };
        add(known + 1, Some(known));
        add(known + 2, Some(known));
        migrate(&session).unwrap();
        check(&session).unwrap();
        assert_eq!(version(&session).unwrap(), known + 2, "nothing is changed");
        for works_with in [Some(known + 1), None] {
            add(known + 3, works_with);
            for refused in [migrate(&session), check(&session)] {
                let error = refused.unwrap_err();
                assert!(matches!(error, LedgerError::NewerSchema { .. }), "{error}");
            }
            session.query("DELETE FROM schema_versions WHERE version = $1", &[&(known + 3)], None).unwrap();
        }
    }
}
