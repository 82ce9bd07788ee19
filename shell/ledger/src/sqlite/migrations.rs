//! The tables, and how a ledger of an older build becomes one of this build. A migration is never changed
//! once it was released; the next one is appended.

use rusqlite::Transaction;

use crate::error::LedgerError;
use crate::rows::schema::{SCHEMA_VERSION, newer, version};

/// Marks the file as ours ("Holn").
pub(super) const APPLICATION_ID: i32 = 0x486f_6c6e;

/// Migration `n` brings a ledger from schema version `n` to `n + 1`.
const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [V1, V2, V3, V4, V5, V6, V7, V8];

const V1: &str = "
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('schema_version', 1), ('writer_epoch', 0);

-- Rows up to and including these belong to the batch, and those after the batch before it.
CREATE TABLE batches (
    batch INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    through_step INTEGER NOT NULL,
    through_record INTEGER NOT NULL,
    through_call INTEGER NOT NULL,
    through_content INTEGER NOT NULL,
    link BLOB NOT NULL
) STRICT;

-- A row id and one index: twice as fast as a clustered key, and an eighth smaller.
CREATE TABLE records (
    position INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    event_seq INTEGER NOT NULL,
    step INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    at INTEGER NOT NULL, -- microseconds since 1970
    kind TEXT NOT NULL,
    v INTEGER NOT NULL,
    payload TEXT NOT NULL,
    sum INTEGER NOT NULL, -- first 8 bytes of the hash of the row
    UNIQUE (agent, event_seq)
) STRICT;

CREATE TABLE recorder (
    position INTEGER PRIMARY KEY,
    batch INTEGER NOT NULL,
    step INTEGER, -- none when the call is not a step
    call TEXT NOT NULL,
    sum INTEGER NOT NULL
) STRICT;

CREATE TABLE content (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    text TEXT -- none when it was erased
) STRICT;

CREATE TABLE snapshots (
    position INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    event_seq INTEGER NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (agent, event_seq)
) STRICT;

CREATE TABLE agents (
    agent TEXT PRIMARY KEY,
    event_seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    next_deadline INTEGER, -- microseconds since 1970
    open_work INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kinds (
    kind TEXT PRIMARY KEY,
    v INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Where runs begin and end and where messages came from, found without reading what lies between.
const V2: &str = "
CREATE INDEX landmarks ON records (agent, kind, event_seq)
    WHERE kind IN ('message_admitted', 'turn_started', 'turn_terminal');
";

/// What an agent told its operator, found without reading what it did for it.
const V3: &str = "
CREATE INDEX briefs ON records (agent, event_seq) WHERE kind = 'brief_created';
";

/// What each agent has spent: a start adds it up without loading anybody.
const V4: &str = "
ALTER TABLE agents ADD COLUMN account TEXT; -- none before anything was spent
";

/// Who is in no list, and who never runs again. Agents of earlier builds are all public and alive, but for those that were
/// made private.
const V5: &str = "
ALTER TABLE agents ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET private = 1 WHERE EXISTS (
    SELECT 1 FROM records
    WHERE records.agent = agents.agent AND records.event_seq = 1
        AND json_extract(records.payload, '$.spec.visibility') = 'private'
);
";

/// States of agents are compressed: `state` is empty then. `hash` is of what is stored.
const V6: &str = "
ALTER TABLE snapshots ADD COLUMN packed BLOB; -- none in rows of earlier versions
";

/// How each agent stands, for lists; and who has asked its operator something.
const V7: &str = "
ALTER TABLE agents ADD COLUMN standing TEXT; -- none in rows of earlier versions
ALTER TABLE agents ADD COLUMN asks INTEGER NOT NULL DEFAULT 0;
CREATE INDEX asks ON agents (agent) WHERE asks > 0 AND private = 0;
";

/// Second names of agents. No agent of an earlier build has one.
const V8: &str = "
ALTER TABLE agents ADD COLUMN name TEXT; -- none where the id is the only name
CREATE INDEX names ON agents (name) WHERE name IS NOT NULL;
";

/// Brings the schema up to date within `transaction`.
pub(super) fn migrate(transaction: &Transaction<'_>) -> Result<(), LedgerError> {
    let found = version((&**transaction).into())?;
    if found > SCHEMA_VERSION {
        return Err(newer((&**transaction).into(), found));
    }
    if found == SCHEMA_VERSION {
        return Ok(());
    }
    let done = usize::try_from(found).unwrap_or(0);
    let failed = "bringing the schema up to date";
    for migration in &MIGRATIONS[done..] {
        transaction.execute_batch(migration).map_err(LedgerError::sqlite(failed))?;
    }
    transaction
        .execute("UPDATE meta SET value = ?1 WHERE key = 'schema_version'", [SCHEMA_VERSION])
        .and_then(|_| transaction.pragma_update(None, "user_version", SCHEMA_VERSION))
        .and_then(|()| transaction.pragma_update(None, "application_id", APPLICATION_ID))
        .map_err(LedgerError::sqlite(failed))
}
