//! Whether a start takes the ledger of a home, where no runtime can be asked.

use std::path::Path;

use holon_platform::spawn;

use crate::cli::output::Failure;
use crate::home::Home;
use holon_ledger::{LedgerPlace, unreadable};

/// The file and what is wrong with it; none for one that is whole and can be read, and where none was ever written.
pub(super) async fn problem(home: &Home) -> Result<Option<String>, Failure> {
    let ledger = home.ledger();
    Ok(spawn::blocking(move || look(&ledger)).await?)
}

pub(super) fn look(ledger: &LedgerPlace) -> Option<String> {
    let exists = match ledger.file().map_or(Ok(true), Path::try_exists) {
        Ok(exists) => exists,
        Err(error) => return Some(format!("{ledger} can't be read: {error}")),
    };
    match ledger.check_start() {
        // It can be read, and not be gone on with.
        Err(error) if error.is_for_newer_builds() => return Some(format!("{ledger}: {error}")),
        Err(error) => return Some(unreadable(ledger, &error)),
        Ok(()) => {}
    }
    let read = || ledger.reader().and_then(|reader| reader.agents());
    let found = if exists { read().err() } else { None };
    // A start that was cut short leaves an empty one, and the next start goes on with it.
    found.filter(|error| !error.is_empty()).map(|error| unreadable(ledger, &error))
}

#[cfg(test)]
mod tests {
    use super::look;
    use holon_ledger::sqlite::testing::Home;

    #[test]
    fn a_ledger_that_can_not_be_read_is_named_with_its_reason() {
        let empty = Home::new();
        assert_eq!(look(&empty.ledger().into()), None, "there is none yet");
        std::fs::write(empty.ledger(), "").unwrap();
        assert_eq!(look(&empty.ledger().into()), None, "a start was cut short");
        let home = Home::with_turns(1);
        let file = home.ledger().display().to_string();
        assert_eq!(look(&home.ledger().into()), None);
        home.vandal("ALTER TABLE agents RENAME TO gone");
        let problem = look(&home.ledger().into()).unwrap();
        assert!(problem.contains(&file) && problem.contains("no such table"), "{problem}");
        let newer = Home::with_turns(1);
        newer.vandal("INSERT INTO kinds VALUES ('agent_dreamt', 1)");
        let problem = look(&newer.ledger().into()).unwrap();
        assert!(problem.contains("agent_dreamt") && problem.contains("wrote it"), "{problem}");
        newer.vandal("PRAGMA user_version = 99");
        let problem = look(&newer.ledger().into()).unwrap();
        assert!(problem.contains("schema version 99"), "{problem}");
        let lost = Home::with_turns(1);
        std::fs::remove_file(lost.ledger()).unwrap();
        let problem = look(&lost.ledger().into()).unwrap();
        assert!(problem.contains("the file is missing or empty"), "{problem}");
        std::fs::write(home.ledger(), "nothing of ours".repeat(100)).unwrap();
        let problem = look(&home.ledger().into()).unwrap();
        assert!(problem.contains(&file) && problem.contains("not a SQLite database"), "{problem}");
        let below = home.ledger().join("below");
        let problem = look(&below.clone().into()).unwrap_or_default();
        assert!(problem.contains(&below.display().to_string()), "{problem}");
    }
}
