//! Files of a ledger as a killed process leaves them, and what is done to them then.

use std::path::PathBuf;

use tempfile::TempDir;

use super::testing::Home;
use super::wal::Wal;
use super::{FILE_NAME, Ledger, Opened, RecordCheck, check_end, examine, recover, wal};
use crate::durability::Durability;
use crate::error::LedgerError;
use crate::read::{Reader, verify};
use crate::rows::head::{self, Head};

/// What the process left.
struct Left {
    ledger: Vec<u8>,
    wal: Vec<u8>,
    head: Vec<u8>,
}

/// The files somewhere else, where nobody has them open.
struct Place {
    folder: TempDir,
}

impl Left {
    /// A process that is killed after some turns.
    fn behind() -> Self {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        for turn in 0..4 {
            world.prompt("main", &format!("told {turn} {}", "long ".repeat(100)));
        }
        let path = home.ledger();
        let read = |path: PathBuf| std::fs::read(path).unwrap();
        Self { ledger: read(path.clone()), wal: read(wal::path_of(&path)), head: read(head::path_of(&path)) }
    }

    fn put(&self) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        place.write(&self.ledger, &self.wal, &self.head);
        place
    }

    fn last(&self) -> i64 {
        self.put().open().unwrap().1
    }
}

impl Place {
    fn path(&self) -> PathBuf {
        self.folder.path().join(FILE_NAME)
    }

    fn write(&self, ledger: &[u8], wal: &[u8], head: &[u8]) {
        std::fs::write(self.path(), ledger).unwrap();
        std::fs::write(wal::path_of(&self.path()), wal).unwrap();
        std::fs::write(head::path_of(&self.path()), head).unwrap();
    }

    /// What opens, and its newest batch.
    fn open(&self) -> Result<(Opened, i64), LedgerError> {
        let opened = Ledger::open(&self.path(), Durability::Process)?;
        let newest = opened.reader.read(crate::rows::link::newest)?;
        Ok((opened, newest.batch))
    }

    fn is_damaged(&self) -> LedgerError {
        let files = || {
            let mut files: Vec<_> =
                std::fs::read_dir(self.folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
            // What SQLite makes for whoever looks holds nothing.
            let empty = |path: &PathBuf| std::fs::metadata(path).unwrap().len() == 0;
            files.retain(|path| !path.to_string_lossy().ends_with("-shm") && !empty(path));
            files.sort();
            files.into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect::<Vec<_>>()
        };
        let before = files();
        assert!(check_end(&self.path()).is_err());
        let error = self.open().unwrap_err();
        assert!(files() == before, "the files were changed: {error}");
        error
    }

    fn recovers_up_to(&self) -> i64 {
        let mut laws = || -> RecordCheck { Box::new(|_| Ok(())) };
        let told = examine(&self.path(), &mut laws).unwrap().expect("a loss");
        assert!(check_end(&self.path()).is_err(), "a look changes nothing");
        let recovered = recover(&self.path(), &mut laws).unwrap().expect("a loss");
        let left = told.left.as_ref().map(|left: &Head| left.batch);
        assert_eq!(recovered.loss.left.as_ref().map(|left| left.batch), left);
        assert!(recovered.kept.join("loss.json").exists() && recovered.kept.join("ledger.head").exists());
        assert!(recover(&self.path(), &mut laws).unwrap().is_none(), "it is in order");
        let drafts = std::fs::read_dir(self.folder.path()).unwrap();
        assert!(!drafts.flatten().any(|entry| entry.path().to_string_lossy().contains("draft")));
        assert_eq!(self.opens_with(), left.unwrap_or(0));
        left.unwrap_or(0)
    }

    fn opens_with(&self) -> i64 {
        let (opened, newest) = self.open().unwrap();
        opened.ledger.close().unwrap();
        if newest > 0 {
            verify(&Reader::open(&self.path()).unwrap(), &mut |_| Ok(())).unwrap();
        }
        newest
    }
}

#[test]
fn one_flipped_bit_loses_nothing_in_silence() {
    let left = Left::behind();
    let last = left.last();
    let (mut found, mut lossless) = (0, 0);
    for at in (0..32).chain((32..left.wal.len()).step_by(4_091)).chain(left.wal.len() - 9..left.wal.len()) {
        let place = left.put();
        let mut wal = left.wal.clone();
        wal[at] ^= 1 << (at % 8);
        place.write(&left.ledger, &wal, &left.head);
        match check_end(&place.path()) {
            Ok(()) => assert_eq!(place.open().unwrap().1, last, "byte {at}"),
            Err(_) => {
                let error = place.is_damaged();
                assert!(matches!(&error, LedgerError::Lost { .. }), "byte {at}: {error}");
                found += 1;
                // Each costs three copies of the ledger.
                if found % 16 == 0 {
                    lossless += usize::from(place.recovers_up_to() == last);
                }
            }
        }
    }
    assert!(found > 30, "{found}");
    assert!(lossless > 0, "a page that was written again later is not missed");
}

#[test]
fn without_a_head_the_frames_behind_a_bad_one_show_the_damage() {
    let left = Left::behind();
    let last = left.last();
    let place = left.put();
    let frames = Wal::read(&place.path()).unwrap().unwrap();
    let (pages, _) = frames.pages(wal::Take::Valid);
    let mut torn = 0;
    for page in pages.iter().rev().enumerate().filter(|(at, _)| at < &10 || at % 5 == 0).map(|(_, page)| page)
    {
        let place = left.put();
        let mut wal = left.wal.clone();
        wal[usize::try_from(page.offset).unwrap() + 77] ^= 4;
        place.write(&left.ledger, &wal, &[]);
        if check_end(&place.path()).is_err() {
            let error = place.is_damaged().to_string();
            assert!(error.contains("frame") && error.contains("recover --accept-loss"), "{error}");
        } else {
            // The last commit alone may be the torn end of one that nobody was notified of.
            torn += 1;
            assert_eq!(place.open().unwrap().1, last - 1);
        }
    }
    assert!(torn > 0 && torn < 20 && pages.len() > 60, "{torn} of {}", pages.len());
}

#[test]
fn a_torn_end_is_cut_behind_what_was_acknowledged() {
    let left = Left::behind();
    let last = left.last();
    let mut half = left.wal.clone();
    half.extend_from_slice(&left.wal[32..3_000]);
    let mut garbage = left.wal.clone();
    let frames = garbage[32..32 + 4 * 4_120].to_vec();
    garbage.extend_from_slice(&frames);
    for wal in [half, garbage] {
        let place = left.put();
        place.write(&left.ledger, &wal, &left.head);
        check_end(&place.path()).unwrap();
        assert_eq!(place.open().unwrap().1, last);
    }
    // The process ended in the middle of a commit, before anybody was told of it.
    let end = left.wal.len();
    for cut in [1, 4_000, 4_120 + 50] {
        let place = left.put();
        place.write(&left.ledger, &left.wal[..end - cut], &[]);
        let (opened, newest) = place.open().unwrap();
        assert_eq!(newest, last - 1);
        drop(opened);
        place.write(&left.ledger, &left.wal[..end - cut], &left.head);
        std::fs::remove_file(wal::index_of(&place.path())).unwrap_or_default();
        assert!(place.is_damaged().to_string().contains("what is between is gone"));
        assert_eq!(place.recovers_up_to(), last - 1);
    }
}

#[test]
fn a_file_that_is_missing_is_a_loss() {
    let left = Left::behind();
    let place = left.put();
    std::fs::remove_file(wal::path_of(&place.path())).unwrap();
    let error = place.is_damaged().to_string();
    assert!(error.contains("was acknowledged"), "{error}");
    place.recovers_up_to();

    let place = left.put();
    std::fs::remove_file(place.path()).unwrap();
    let error = place.is_damaged().to_string();
    assert!(error.contains("missing or empty"), "{error}");
    assert_eq!(place.recovers_up_to(), left.last(), "all pages are in the write-ahead log still");

    let place = left.put();
    place.write(&[], &[], &left.head);
    assert!(place.is_damaged().to_string().contains("missing or empty"));
    assert_eq!(place.recovers_up_to(), 0);

    let place = left.put();
    place.write(&[], &left.wal, &[]);
    assert!(place.is_damaged().to_string().contains("write-ahead log is not"));
}

#[test]
fn an_older_copy_or_another_ledger_is_noticed() {
    let left = Left::behind();
    let older = Home::with_turns(1);
    let place = left.put();
    place.write(&std::fs::read(older.ledger()).unwrap(), &[], &left.head);
    assert!(place.is_damaged().to_string().contains("what is between is gone"));
    let longer = Home::with_turns(9);
    place.write(&std::fs::read(longer.ledger()).unwrap(), &[], &left.head);
    std::fs::remove_file(wal::index_of(&place.path())).unwrap_or_default();
    let error = place.is_damaged().to_string();
    assert!(error.contains("the file was replaced") || error.contains("what is between"), "{error}");
}

#[test]
fn a_head_that_is_older_or_damaged_is_no_loss() {
    let left = Left::behind();
    let last = left.last();
    for head in [&[][..], &b"nonsense"[..]] {
        let place = left.put();
        place.write(&left.ledger, &left.wal, head);
        let (opened, newest) = place.open().unwrap();
        assert_eq!(newest, last);
        assert_eq!(opened.warnings.len(), usize::from(!head.is_empty()), "{:?}", opened.warnings);
    }
}
