//! Takes out of a file what a [`Plan`] says may go.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::open;
use crate::durability::Durability;
use crate::error::LedgerError;
use crate::read::Plan;
use crate::read::garbage::PAGE;
use crate::rows::row::Hash;
use crate::rows::schema;

const TEMPORARY_FILES: &str = "temp_store_directory";

/// Takes away what may go, some at a time, and gives the space back to the disk: for that the ledger is written anew, which takes
/// twice its size on its disk meanwhile. Nobody else may write it. Wherever it is cut short, the ledger is in order, and the next time goes on.
///
/// # Errors
/// When the ledger can't be written, or a row is damaged. [`LedgerError::Full`] only leaves the file as large as it was.
pub fn collect(path: &Path, plan: &Plan) -> Result<(), LedgerError> {
    let mut connection = open::connect(path, Durability::Full)?;
    let found = schema::version((&connection).into())?;
    if found > schema::SCHEMA_VERSION {
        return Err(schema::newer((&connection).into(), found));
    }
    remove_calls(&mut connection, plan)?;
    erase(&mut connection, &plan.texts)?;
    with_temporary_files_beside(&connection, path, shrink)?;
    connection.close().map_err(|(_, error)| LedgerError::sqlite("closing")(error))
}

fn remove_calls(connection: &mut Connection, plan: &Plan) -> Result<(), LedgerError> {
    let failed = || LedgerError::sqlite("removing calls of the flight recorder");
    let mut last = 0;
    loop {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed())?;
        let page = plan.page((&*transaction).into(), last)?;
        let Some((newest, _)) = page.last() else { return Ok(()) };
        last = *newest;
        for (position, left) in &page {
            transaction
                .execute("UPDATE recorder SET call = ?1 WHERE position = ?2", params![left, position])
                .map_err(failed())?;
        }
        transaction.commit().map_err(failed())?;
    }
}

fn erase(connection: &mut Connection, texts: &BTreeSet<Hash>) -> Result<(), LedgerError> {
    let failed = || LedgerError::sqlite("removing texts");
    let texts: Vec<&Hash> = texts.iter().collect();
    for page in texts.chunks(PAGE) {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed())?;
        for id in page {
            transaction
                .execute("UPDATE content SET text = NULL WHERE id = ?1", params![id])
                .map_err(failed())?;
        }
        transaction.commit().map_err(failed())?;
    }
    Ok(())
}

/// Lets SQLite put its temporary files where the ledger is, for the time of `work`: elsewhere may be less space than the ledger has,
/// and the disk that is full would not be the one that is named. The whole process does so then.
fn with_temporary_files_beside<T>(
    connection: &Connection,
    ledger: &Path,
    work: impl FnOnce(&Connection) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let set = |folder: &str| connection.pragma_update(None, TEMPORARY_FILES, folder);
    let folder = ledger.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Where that can't be, they are where they always were.
    let is_set = folder.and_then(Path::to_str).is_some_and(|folder| set(folder).is_ok());
    let done = work(connection);
    if is_set {
        set("").unwrap_or_default();
    }
    done
}

/// Writes the file anew without what is free in it.
fn shrink(connection: &Connection) -> Result<(), LedgerError> {
    connection
        .pragma_update(None, "auto_vacuum", "INCREMENTAL")
        .and_then(|()| connection.execute_batch("VACUUM"))
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))
        .map_err(LedgerError::sqlite("giving space back"))
}

#[cfg(test)]
mod tests {
    use holon_facts::{ContentId, Wall};
    use holon_law::replay::Again;

    use super::super::import;
    use super::super::testing::{BUILD, Home};
    use super::*;
    use crate::read::garbage::named_by_states;
    use crate::read::{Garbage, OldTexts, export_recorder, plan, replay, verify};

    const LATER: Wall = Wall(i64::MAX);

    /// Three runtimes, one after the other, each with a turn; and a text that nobody names.
    fn home() -> Home {
        let home = Home::with_turns(2);
        for turn in ["second", "third"] {
            let mut world = home.start();
            world.prompt("main", &format!("{turn} {}", "long ".repeat(100)));
            world.ledger.close().unwrap();
        }
        home
    }

    fn size(home: &Home) -> u64 {
        std::fs::metadata(home.ledger()).unwrap().len()
    }

    fn in_order(home: &Home) -> (u64, u64) {
        verify(&home.reader(), &mut |_| Ok(())).unwrap();
        let report = replay(&home.reader(), Again::Build(BUILD.to_owned())).unwrap();
        assert_eq!(report.segments, 3);
        (report.skipped_segments, report.judged)
    }

    #[test]
    fn runtimes_that_ended_leave_hashes_and_everything_holds() {
        let home = home();
        let (before, (skipped, judged)) = (size(&home), in_order(&home));
        assert_eq!(skipped, 0);
        let found = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        assert!(found.garbage().calls > 5 && found.garbage().call_bytes > 2_000, "{found:?}");
        // Looking changes nothing.
        assert_eq!(plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap().garbage(), found.garbage());
        collect(&home.ledger(), &found).unwrap();
        assert!(size(&home) < before);
        assert_eq!(in_order(&home), (2, judged), "the last runtime is replayed, the others are folded");
        assert_eq!(plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap().garbage(), Garbage::default());
        // It goes on, and so does what is exported of it.
        home.start().prompt("main", "and on");
        verify(&home.reader(), &mut |_| Ok(())).unwrap();
        let mut lines = Vec::new();
        export_recorder(&home.reader(), &mut lines).unwrap();
        let other = Home::new();
        import(&*lines, &other.ledger()).unwrap();
        let report = replay(&other.reader(), Again::Build(BUILD.to_owned())).unwrap();
        assert_eq!((report.segments, report.skipped_segments), (4, 2));
    }

    #[test]
    fn what_is_younger_than_the_retention_stays() {
        let home = home();
        assert_eq!(plan(&home.reader(), Wall(0), OldTexts::Unnamed).unwrap().garbage(), Garbage::default());
        let reader = home.reader();
        let starts = "SELECT count(*) FROM recorder WHERE call LIKE '{\"call\":\"runtime_started\"%'";
        let count = || reader.read(|source| source.one(starts, &[], |row| row.get::<i64>(0))).unwrap();
        assert_eq!(count(), 3);
        collect(&home.ledger(), &plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap()).unwrap();
        assert_eq!(count(), 3, "how each runtime was started stays");
    }

    #[test]
    fn a_text_that_no_record_names_goes_and_comes_back_when_it_is_said_again() {
        let home = home();
        let text = "the text of nobody ".repeat(40);
        let id = holon_text::hash(text.as_bytes());
        // In the place of one that a record names: nobody reads that one here.
        let named: Hash = home
            .reader()
            .read(|source| source.one("SELECT id FROM content WHERE position = 1", &[], |row| row.get(0)))
            .unwrap();
        let found = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        assert!(!found.texts.contains(&named));
        home.vandal(&format!(
            "UPDATE content SET id = x'{}', text = '{text}' WHERE position = 1",
            holon_platform::hex::write(&id.0)
        ));
        let found = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        assert_eq!((found.garbage().texts, found.texts.contains(&id.0)), (1, true));
        collect(&home.ledger(), &found).unwrap();
        assert!(matches!(home.reader().content(id), Err(LedgerError::Erased { .. })));
        home.start().prompt("main", &text);
        assert_eq!(home.reader().content(id).unwrap(), Some(text));
    }

    #[test]
    fn texts_that_nothing_uses_any_more_go_where_that_is_asked_for() {
        let home = home();
        let long = |name: &str| format!("{name} {}", "very long ".repeat(100));
        let mut world = home.start();
        world.prompt("main", &long("old"));
        world.ledger.close().unwrap();
        let found = plan(&home.reader(), LATER, OldTexts::Unused).unwrap();
        let needed = named_by_states(&home.reader()).unwrap();
        assert!(found.texts.is_disjoint(&needed), "{found:?}");
        let unnamed = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap().garbage();
        assert!(unnamed.texts <= found.garbage().texts);
        assert_eq!(plan(&home.reader(), Wall(0), OldTexts::Unused).unwrap().garbage().texts, 0);
        collect(&home.ledger(), &found).unwrap();
        in_order_after(&home);
        for id in needed {
            let held = home.reader().content(ContentId(id));
            assert!(!matches!(held, Err(LedgerError::Erased { .. })), "{held:?}");
        }
        assert_eq!(plan(&home.reader(), LATER, OldTexts::Unused).unwrap().garbage().texts, 0);
    }

    fn in_order_after(home: &Home) {
        verify(&home.reader(), &mut |_| Ok(())).unwrap();
        replay(&home.reader(), Again::Build(BUILD.to_owned())).unwrap();
    }

    #[test]
    fn what_is_cut_short_goes_on_the_next_time() {
        let home = home();
        let found = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        let whole = found.garbage();
        let mut connection = open::connect(&home.ledger(), Durability::Full).unwrap();
        // The end of a page, in the middle of a runtime's calls.
        remove_calls(&mut connection, &Plan { from_call: 6, ..found }).unwrap();
        drop(connection);
        in_order(&home);
        let rest = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        assert!(0 < rest.garbage().calls && rest.garbage().calls < whole.calls, "{rest:?}");
        collect(&home.ledger(), &rest).unwrap();
        assert_eq!(in_order(&home).0, 2);
    }

    #[test]
    fn a_file_is_written_anew_where_it_is() {
        let home = home();
        let connection = open::connect(&home.ledger(), Durability::Full).unwrap();
        let folder = |connection: &Connection| {
            let folder = connection.pragma_query_value(None, TEMPORARY_FILES, |row| row.get::<_, String>(0));
            Ok(folder.unwrap_or_default())
        };
        let during = with_temporary_files_beside(&connection, &home.ledger(), folder).unwrap();
        assert_eq!(Some(Path::new(&during)), home.ledger().parent());
        assert_ne!(folder(&connection).unwrap(), during, "it is so for that time alone");
    }

    #[test]
    fn a_hash_that_was_changed_is_noticed() {
        let home = home();
        collect(&home.ledger(), &plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap()).unwrap();
        home.vandal(
            "UPDATE recorder SET call = replace(call, 'a', 'b') WHERE call LIKE '{\"call\":\"removed\"%'",
        );
        let error = verify(&home.reader(), &mut |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("not what was written"), "{error}");
    }
}
