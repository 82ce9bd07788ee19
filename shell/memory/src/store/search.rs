//! A search: which documents match, and the best of them. What it costs has a bound: a word that very many documents have
//! says little about any of them, so it decides who matches, and rarer words decide who is best.

use holon_facts::Wall;
use rusqlite::{Connection, OptionalExtension};

use super::rank::{recency, sort};
use super::read::{self, COLUMNS};
use super::{Found, Hit, Index, Match, Search, Workspaces};
use crate::error::MemoryError;
use crate::query::Term;
use crate::text::{self, OURS};

/// Documents of all agents that have a word, at most, for it to count in ranks.
const COMMON: i64 = 1_000;

/// Documents that have nothing but common words, of which the best are found: the newest.
const NEWEST: i64 = 1_000;

/// Pairs of a query's phrases that are looked for one by one.
const PIECES: usize = 64;

/// Where fewer have all words, those that have one of them come after.
const FEW: usize = 3;

/// Documents that are as good as the last of a result, of which the order by reference picks.
const TIES: usize = 64;

/// Bytes of a text that halve what it is worth, where only common words are looked for.
const LONG: f64 = 2_000.0;

/// What a title's word counts, against one of the body.
const TITLE: f64 = 4.0;

impl Index {
    /// The documents that match best, within what the agent may see.
    ///
    /// # Errors
    /// Damage.
    pub fn search(&self, search: &Search<'_>) -> Result<Found, MemoryError> {
        let none = Found { hits: Vec::new(), matched: Match::All };
        // All that is read belongs to one moment.
        let moment = self.connection.unchecked_transaction().map_err(failed())?;
        let Some(scope) = Scope::of(&moment, search)? else { return Ok(none) };
        let all: Vec<&Term> = search.query.terms().iter().collect();
        if all.is_empty() {
            return Ok(none);
        }
        let looker = Looker { connection: &moment, search, scope };
        let (rare, common) = looker.by_frequency(&all)?;
        let mut hits = looker.with_all(&rare, &common)?;
        sort(&mut hits);
        hits.truncate(search.limit);
        let pieces: Vec<Term> = all.iter().flat_map(|term| term.pieces()).take(PIECES).collect();
        if hits.len() >= FEW.min(search.limit) || (all.len() == 1 && pieces.is_empty()) {
            return Ok(Found { hits, matched: Match::All });
        }
        let any: Vec<&Term> = all.into_iter().chain(&pieces).collect();
        let (rare, common) = looker.by_frequency(&any)?;
        let mut more = looker.with_any(&rare, &common)?;
        more.retain(|hit| hits.iter().all(|known| known.entry.source_ref != hit.entry.source_ref));
        let matched = if more.is_empty() { Match::All } else { Match::Any };
        sort(&mut more);
        hits.append(&mut more);
        hits.truncate(search.limit);
        Ok(Found { hits, matched })
    }
}

/// What an agent may see, in the syntax of the index.
struct Scope(String);

impl Scope {
    /// None of an agent that has no document.
    fn of(connection: &Connection, search: &Search<'_>) -> Result<Option<Self>, MemoryError> {
        let id = "SELECT id FROM agents WHERE agent = ?1 AND searches";
        let agent = number(connection, id, search.agent.as_str())?;
        let Some(agent) = agent else { return Ok(None) };
        let places = match search.workspaces {
            Workspaces::All => None,
            Workspaces::Only(workspace) => {
                let id = "SELECT id FROM workspaces WHERE workspace = ?1";
                let active = number(connection, id, workspace.as_str())?;
                let active = active.map(|active| format!(" OR {OURS}w{active}"));
                Some(format!("({OURS}w0{})", active.unwrap_or_default()))
            }
        };
        let places = places.map(|places| format!(" AND {places}")).unwrap_or_default();
        Ok(Some(Self(format!("scope : ({OURS}a{agent}{places})"))))
    }
}

fn number(connection: &Connection, sql: &str, name: &str) -> Result<Option<i64>, MemoryError> {
    let mut statement = connection.prepare_cached(sql).map_err(failed())?;
    statement.query_row([name], |row| row.get(0)).optional().map_err(failed())
}

struct Looker<'a> {
    connection: &'a Connection,
    search: &'a Search<'a>,
    scope: Scope,
}

impl<'a> Looker<'a> {
    /// The rare words, and those that very many documents have.
    fn by_frequency(&self, terms: &[&'a Term]) -> Result<(Vec<&'a Term>, Vec<&'a Term>), MemoryError> {
        let documents: i64 = self
            .connection
            .query_row("SELECT coalesce(max(id), 0) FROM docs", [], |row| row.get(0))
            .map_err(failed())?;
        let (mut rare, mut common) = (Vec::new(), Vec::new());
        for term in terms {
            let is_rare = documents <= COMMON || self.count(term)? <= COMMON;
            if is_rare { rare.push(*term) } else { common.push(*term) }
        }
        Ok((rare, common))
    }

    /// How many documents have it, as far as that matters.
    fn count(&self, term: &Term) -> Result<i64, MemoryError> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM fts WHERE fts MATCH ?1 LIMIT ?2)";
        let mut statement = self.connection.prepare_cached(sql).map_err(failed())?;
        statement.query_row((term.as_str(), COMMON + 1), |row| row.get(0)).map_err(failed())
    }

    fn with_all(&self, rare: &[&Term], common: &[&Term]) -> Result<Vec<Hit>, MemoryError> {
        let every: Vec<&Term> = rare.iter().chain(common).copied().collect();
        let all = format!("{} AND {}", self.scope.0, joined_by(&every, " AND "));
        if rare.is_empty() { self.newest(&all) } else { self.best(&joined_by(rare, " AND "), &all) }
    }

    fn with_any(&self, rare: &[&Term], common: &[&Term]) -> Result<Vec<Hit>, MemoryError> {
        let terms = if rare.is_empty() { common } else { rare };
        let any = format!("{} AND ({})", self.scope.0, joined_by(terms, " OR "));
        if rare.is_empty() { self.newest(&any) } else { self.best(&joined_by(rare, " OR "), &any) }
    }

    /// By how well they match the words that are rare.
    fn best(&self, ranked: &str, matching: &str) -> Result<Vec<Hit>, MemoryError> {
        let sql = format!(
            "SELECT docs.id, docs.updated_at, -bm25(fts, {TITLE}, 1.0, 0.0) FROM fts JOIN docs ON docs.id = fts.rowid
             WHERE fts MATCH ?1 AND +fts.rowid IN (SELECT rowid FROM fts WHERE fts MATCH ?2)"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed())?;
        let rows = statement.query_map((ranked, matching), |row| {
            Ok(Candidate { id: row.get(0)?, updated_at: Wall(row.get(1)?), matches: row.get(2)? })
        });
        let candidates: Result<Vec<_>, _> = rows.map_err(failed())?.collect();
        self.first(candidates.map_err(failed())?)
    }

    /// Of the newest that match: those with the words in their title, and the short ones.
    fn newest(&self, matching: &str) -> Result<Vec<Hit>, MemoryError> {
        let sql = format!(
            "SELECT docs.id, docs.updated_at, docs.title, docs.length
             FROM (SELECT rowid FROM fts WHERE fts MATCH ?1 ORDER BY rowid DESC LIMIT {NEWEST}) newest
             JOIN docs ON docs.id = newest.rowid"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed())?;
        let words = self.search.query.words();
        let rows = statement.query_map([matching], |row| {
            let title: String = row.get(2)?;
            let title = text::normal(&title).to_lowercase();
            let titled = words.iter().filter(|word| title.contains(word.as_str())).count() as f64;
            let length: u32 = row.get(3)?;
            let matches = (1.0 + TITLE * titled) / (1.0 + f64::from(length) / LONG);
            Ok(Candidate { id: row.get(0)?, updated_at: Wall(row.get(1)?), matches })
        });
        let candidates: Result<Vec<_>, _> = rows.map_err(failed())?.collect();
        self.first(candidates.map_err(failed())?)
    }

    /// The best of them, as many as are asked for and those that are as good as the last of these.
    fn first(&self, candidates: Vec<Candidate>) -> Result<Vec<Hit>, MemoryError> {
        let scored =
            |it: &Candidate| (it.matches * recency(it.updated_at, self.search.now), it.updated_at, it.id);
        let mut scored: Vec<_> = candidates.iter().map(scored).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let last = scored.get(self.search.limit.saturating_sub(1)).copied();
        scored.retain(|it| last.is_none_or(|last| it.0 > last.0 || (it.0 == last.0 && it.1 >= last.1)));
        scored.truncate(self.search.limit + TIES);
        let sql = format!("SELECT {COLUMNS} FROM docs WHERE id = ?1");
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed())?;
        let mut hits = Vec::with_capacity(scored.len());
        for (score, _, id) in scored {
            let found = statement.query_row([id], |row| Ok(read::document(row, self.search.agent)));
            hits.push(Hit { entry: found.map_err(failed())??.1, score });
        }
        Ok(hits)
    }
}

/// A document that matches.
struct Candidate {
    id: i64,
    updated_at: Wall,
    matches: f64,
}

fn joined_by(terms: &[&Term], between: &str) -> String {
    let terms: Vec<&str> = terms.iter().map(|term| term.as_str()).collect();
    terms.join(between)
}

fn failed() -> impl Fn(rusqlite::Error) -> MemoryError {
    MemoryError::sqlite("searching")
}
