//! The tables. There is one version: an index of another is filled anew.

/// Marks the file as ours ("Hmem").
pub(super) const APPLICATION_ID: i32 = 0x486d_656d;

/// Counts up with every change of tables, of tokens and of what documents are made.
pub(super) const SCHEMA_VERSION: i32 = 1;

pub(super) const TABLES: &str = "
-- The ledger was read through 'cursor', where it has a row with the sum 'mark'.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('cursor', 0), ('mark', 0);

CREATE TABLE agents (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL UNIQUE,
    searches INTEGER NOT NULL, -- 0: it lives for one run
    workspace TEXT -- where it works at the cursor
) STRICT;

CREATE TABLE workspaces (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL UNIQUE
) STRICT;

-- A document that changes is written anew, so that ids rise with time.
CREATE TABLE docs (
    id INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL,
    source_ref BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    standing TEXT NOT NULL,
    workspace TEXT, -- none where it belongs to the agent wherever it works
    path TEXT,
    title TEXT NOT NULL,
    updated_at INTEGER NOT NULL, -- microseconds since 1970
    events TEXT NOT NULL, -- numbers with spaces between them
    stamp TEXT,
    length INTEGER NOT NULL -- bytes of text
) STRICT;
CREATE INDEX files ON docs (agent, path) WHERE path IS NOT NULL;

-- Without the text. 'scope' has the agent and the workspace, so that what others have is never looked at.
CREATE VIRTUAL TABLE fts USING fts5(
    title, body, scope,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
";
