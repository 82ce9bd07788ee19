//! The file: what is in its place, what is damaged, and that nothing depends on how it was filled.

use std::fs;

use holon_memory::{Index, MemoryError, Source, Workspaces};
use proptest::prelude::*;
use rusqlite::Connection;

use super::common::{NOW, Scene, agent, document, ids};

#[test]
fn what_is_no_index_is_put_aside_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("memory.sqlite3");
    let aside = |number: u32| folder.path().join(format!("memory.sqlite3.aside-{number}"));

    fs::write(&path, "dear diary, this is no database at all").expect("a file");
    let opened = Index::open(&path).expect("an index");
    assert_eq!(opened.aside.expect("put aside").why, "it is no database");
    assert!(fs::read_to_string(aside(1)).expect("kept").starts_with("dear diary"));
    drop(opened.index);

    fs::remove_file(&path).expect("gone");
    let other = Connection::open(&path).expect("a database");
    other
        .execute_batch("CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('one');")
        .expect("a table");
    drop(other);
    assert_eq!(
        Index::open(&path).expect("an index").aside.expect("put aside").why,
        "it is the database of another program"
    );
    let songs = Connection::open(aside(2)).expect("kept");
    let name: String = songs.query_row("SELECT name FROM songs", [], |row| row.get(0)).expect("a song");
    assert_eq!(name, "one");

    let ours = Connection::open(&path).expect("a database");
    ours.pragma_update(None, "user_version", 99).expect("another version");
    drop(ours);
    assert_eq!(Index::open(&path).expect("an index").aside.expect("put aside").why, "another build made it");
    assert_eq!(Index::open(&path).expect("an index").aside, None, "an index of ours is opened as it is");

    fs::remove_file(&path).expect("gone");
    fs::create_dir(&path).expect("a folder");
    assert_eq!(Index::open(&path).expect("an index").aside.expect("put aside").why, "it is a folder");
}

#[test]
fn damage_is_noticed_and_an_empty_index_takes_its_place() {
    let mut scene = Scene::new();
    let text = "words that fill many pages of the index ".repeat(20);
    let many: Vec<_> = (1..400).map(|id| (document("main", id, None), text.as_str())).collect();
    scene.put(&many);
    let path = scene.folder.path().join("index/memory.sqlite3");
    drop(scene.index);
    // Without its log, as after a crash of the machine that lost pages.
    let bytes = fs::read(&path).expect("the file");
    fs::write(&path, &bytes[..bytes.len() / 2 / 4096 * 4096]).expect("half of it");
    let damaged = match Index::open(&path) {
        Ok(opened) if opened.aside.is_some() => true,
        Ok(opened) => {
            let query = holon_memory::Query::new("pages").expect("a query");
            let search = holon_memory::Search {
                agent: &agent("main"),
                query: &query,
                workspaces: Workspaces::All,
                limit: 5,
                now: NOW,
            };
            opened.index.search(&search).is_err_and(|error: MemoryError| error.is_damage())
        }
        Err(error) => error.is_damage(),
    };
    assert!(damaged);
    if path.exists() {
        Index::put_aside(&path).expect("put aside");
    }
    let index = Index::open(&path).expect("an index").index;
    assert_eq!(index.cursor().expect("a cursor"), 0);
}

#[test]
fn a_document_is_the_newest_of_its_source_and_goes_with_it() {
    let mut scene = Scene::with(&["the first text", "another"]);
    scene.put(&[(document("main", 1, None), "the second words")]);
    assert_eq!((scene.ids("first"), scene.ids("second")), (vec![], vec![1]));
    let fill = scene.index.fill(&scene.key).expect("a transaction");
    let source = Source { kind: holon_memory::Kind::Brief, id: "1".into() };
    fill.remove(&agent("main"), &source).expect("removed");
    fill.commit_through(9, 0).expect("a commit");
    assert_eq!(scene.ids("second"), [0; 0]);
    assert_eq!(scene.index.cursor().expect("a cursor"), 9);
    // What is not committed was never there.
    let fill = scene.index.fill(&scene.key).expect("a transaction");
    fill.put(&document("main", 7, None), "never").expect("put");
    drop(fill);
    assert_eq!((scene.ids("never"), scene.index.cursor().expect("a cursor")), (vec![], 9));
}

#[test]
fn who_lives_for_one_run_has_no_documents() {
    let mut scene = Scene::new();
    let fill = scene.index.fill(&scene.key).expect("a transaction");
    fill.agent(&agent("main"), false).expect("an agent");
    fill.put(&document("main", 1, None), "words").expect("left out");
    fill.commit_through(1, 0).expect("a commit");
    assert_eq!(scene.ids("words"), [0; 0]);
    assert_eq!(scene.index.totals(&agent("main")).expect("totals").documents, 0);
}

/// A few words of a few letters, in two kinds of writing.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof!["[ab]{1,2}", "[xyz]{3}", "[天地人]{1,4}", "[天地]{1,2}[ab]"], 1..6)
        .prop_map(|words| words.join(" "))
}

/// Whether a text has a word of a query, looked at letter by letter.
fn has(text: &str, word: &str) -> bool {
    let is_han = |c: char| !c.is_ascii();
    if word.chars().all(is_han) {
        return text.contains(word);
    }
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|known| known == word)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// The index finds what a look at every text finds, whatever was written, changed and removed before.
    #[test]
    fn the_index_finds_what_a_scan_finds(
        writes in prop::collection::vec((1_usize..8, prop::option::of(text())), 1..30),
        queries in prop::collection::vec(prop_oneof!["[ab]{1,2}", "[xyz]{3}", "[天地人]{1,2}"], 1..6),
    ) {
        let mut scene = Scene::new();
        let mut texts = std::collections::BTreeMap::new();
        for (id, text) in &writes {
            let document = document("main", *id, None);
            match text {
                Some(text) => {
                    scene.put(&[(document, text)]);
                    texts.insert(*id, text.clone());
                }
                None => {
                    let fill = scene.index.fill(&scene.key).expect("a transaction");
                    fill.remove(&document.agent, &document.source).expect("removed");
                    fill.commit_through(1, 0).expect("a commit");
                    texts.remove(id);
                }
            }
        }
        let mut anew = Scene::new();
        let all: Vec<_> = texts.iter().map(|(id, text)| (document("main", *id, None), text.as_str())).collect();
        anew.put(&all);
        for query in &queries {
            let mut found = scene.ids(query);
            found.sort_unstable();
            let scanned: Vec<usize> = texts.iter().filter(|(_, text)| has(text, query)).map(|(id, _)| *id).collect();
            prop_assert_eq!(&found, &scanned, "{}", query);
            let both = [&scene, &anew].map(|scene| {
                let mut found = scene.find("main", query, Workspaces::All, 50);
                found.hits.sort_by_key(|hit| hit.entry.source_ref);
                let scores: Vec<f64> = found.hits.iter().map(|hit| hit.score).collect();
                (ids(&found), scores)
            });
            prop_assert_eq!(&both[0], &both[1], "an index that was filled at once ranks the same");
        }
    }
}
