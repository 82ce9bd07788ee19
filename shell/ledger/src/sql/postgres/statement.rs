//! The statements of this crate as PostgreSQL takes them. They are written for a file that holds one ledger; a database
//! holds many cells, and every table has a column for its cell.

use std::borrow::Cow;
use std::collections::HashMap;

use tokio_postgres::Statement;

/// Tables whose rows belong to a cell.
const TABLES: [&str; 7] = ["agents", "batches", "content", "kinds", "recorder", "records", "snapshots"];
/// Statements of each form that a connection keeps prepared at most.
const KEPT: usize = 128;

/// Statements that a connection has prepared.
#[derive(Default)]
pub(crate) struct Statements([HashMap<String, Statement>; 3]);

/// How a statement is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    AsItStands,
    /// About one cell: the value behind its own values names it.
    OfCell,
    OfAllCells,
}

impl Form {
    pub(super) fn of(cell: i64) -> Self {
        if cell == ALL { Self::OfAllCells } else { Self::OfCell }
    }

    /// What the database is asked where a statement has so many values.
    pub(super) fn text(self, sql: &str, values: usize) -> Cow<'_, str> {
        match self {
            Self::AsItStands => Cow::Borrowed(sql),
            Self::OfCell => Cow::Owned(of_cell(sql, Some(values + 1))),
            Self::OfAllCells => Cow::Owned(of_cell(sql, None)),
        }
    }
}

impl Statements {
    pub(super) fn get(&self, form: Form, sql: &str) -> Option<Statement> {
        self.0[form as usize].get(sql).cloned()
    }

    pub(super) fn keep(&mut self, form: Form, sql: &str, statement: Statement) {
        let kept = &mut self.0[form as usize];
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(sql.to_owned(), statement);
    }
}

/// Stands for all cells in the place of one.
pub(crate) const ALL: i64 = -1;

/// A statement about one cell: `?1` becomes `$1`, and a table its rows of the cell, which the planner looks up by the same
/// index as a condition of the statement itself. About all cells it takes the tables as they are: an agent is in one.
fn of_cell(sql: &str, cell: Option<usize>) -> String {
    let mut text = String::with_capacity(sql.len() + 64);
    let mut from = false;
    for word in sql.split_inclusive(char::is_whitespace) {
        let (name, rest) = split_name(word);
        if let (true, Some(cell)) = (from && TABLES.contains(&name), cell) {
            text.push_str(&format!("(SELECT * FROM {name} WHERE cell = ${cell}) AS {name}{rest}"));
        } else {
            text.push_str(&word.replace('?', "$"));
        }
        from = word.trim() == "FROM";
    }
    text
}

fn split_name(word: &str) -> (&str, &str) {
    let end =
        word.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(word.len());
    word.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_its_rows_of_the_cell() {
        let sql = "SELECT (SELECT event_seq FROM agents WHERE agent = ?1),
            (SELECT max(event_seq) FROM records)";
        let expected =
            "SELECT (SELECT event_seq FROM (SELECT * FROM agents WHERE cell = $2) AS agents WHERE agent = $1),
            (SELECT max(event_seq) FROM (SELECT * FROM records WHERE cell = $2) AS records)";
        assert_eq!(of_cell(sql, Some(2)), expected);
    }

    #[test]
    fn what_only_looks_like_a_table_stays() {
        let sql = "SELECT batch FROM batches WHERE batch = ?1 AND records_of = ?2";
        assert_eq!(
            of_cell(sql, Some(3)),
            "SELECT batch FROM (SELECT * FROM batches WHERE cell = $3) AS batches WHERE batch = $1 AND records_of = $2"
        );
    }
}
