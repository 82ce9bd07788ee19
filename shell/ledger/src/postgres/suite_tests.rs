//! A cell of a real PostgreSQL passes the suite for stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holon_core::Durable;
use holon_core::replay::Call;
use holon_facts::{AgentId, StepSeq, Text};
use holon_text::{Secrets, Texts};
use tempfile::TempDir;

use super::testing::{Database, NOT_TRIED};
use super::{Opened, open};
use crate::error::{AppendError, LedgerError};
use crate::read::{Reader, text_reader, verify};
use crate::report::Report;
use crate::rows::batch::Batch;
use crate::suite::Store;
use crate::write::{Disk, Writer};

/// A writer whose database is gone as long as that is said.
struct Gone {
    writer: super::CellWriter,
    gone: Arc<AtomicBool>,
}

impl Disk for Gone {
    fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(AppendError::Full);
        }
        self.writer.append(batch)
    }

    fn tend(&mut self) -> Result<(), LedgerError> {
        self.writer.tend()
    }

    fn close(self) -> Result<(), LedgerError> {
        if self.gone.load(Ordering::Relaxed) { Ok(()) } else { self.writer.close() }
    }

    fn keep(&mut self, packed: &[crate::rows::Packed]) -> Result<(), AppendError> {
        if self.gone.load(Ordering::Relaxed) { Ok(()) } else { self.writer.keep(packed) }
    }
}

struct Written {
    database: Database,
    home: TempDir,
    writer: Writer,
    reader: Arc<Reader>,
    texts: Texts,
    gone: Arc<AtomicBool>,
}

impl Written {
    fn open(database: Database, home: TempDir) -> Self {
        let Opened { writer, reader, .. } = open(&database.server(), 3, &home.path().join("cell")).unwrap();
        let (reader, gone) = (Arc::new(reader), Arc::new(AtomicBool::new(false)));
        let texts = Texts::new(Secrets::default(), text_reader(reader.clone()));
        let writer = Writer::start_on_disk(Gone { writer, gone: gone.clone() }, texts.clone()).unwrap();
        Self { database, home, writer, reader, texts, gone }
    }
}

impl Default for Written {
    fn default() -> Self {
        Self::open(Database::new().expect(NOT_TRIED), TempDir::new().unwrap())
    }
}

impl Store for Written {
    type Writer = Writer;
    type Reader = Reader;

    fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    fn reader(&self) -> &Reader {
        &self.reader
    }

    fn durable(&mut self, through: StepSeq) -> Durable {
        let mut stall = None;
        for _ in 0..5_000 {
            match self.writer.try_report().map(|message| message.report) {
                Some(Report::Durable(durable)) if durable.through() >= through => return durable,
                Some(Report::Failed(error)) => panic!("{error}"),
                Some(Report::Stalled(why)) => stall = Some(why),
                Some(_) => {}
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        panic!("step {through} is not durable: {stall:?}");
    }

    fn die(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    fn reopen(self) -> Self {
        if self.gone.load(Ordering::Relaxed) {
            drop(self.writer);
        } else {
            self.writer.close().unwrap();
        }
        // Everything that holds for a file holds for a cell.
        verify(&self.reader, &mut |_| Ok(())).unwrap();
        Self::open(self.database, self.home)
    }

    fn damage_state(&mut self, agent: &AgentId) {
        self.database.vandal(&format!(
            "UPDATE snapshots SET packed = overlay(packed placing '\\x00'::bytea from 91) WHERE event_seq =
            (SELECT max(event_seq) FROM snapshots WHERE agent = '{agent}')"
        ));
    }

    fn text(&self, text: &str) -> Text {
        self.texts.take(text)
    }

    fn texts(&self) -> usize {
        let sql = "SELECT count(*) FROM content";
        let count = self.reader.read(|source| source.one(sql, &[], |row| row.get::<i64>(0)));
        usize::try_from(count.unwrap()).unwrap()
    }

    fn calls(&self) -> Vec<Call> {
        let mut calls = Vec::new();
        let read = self.reader.read(|source| {
            crate::read::recorder::each_call(source, |stored, _| {
                calls.push(serde_json::from_str(&stored.call).unwrap());
                Ok::<(), LedgerError>(())
            })
        });
        read.unwrap();
        calls
    }
}

macro_rules! cell_suite {
    ($($test:ident)+) => {
        $(
            #[test]
            fn $test() {
                if Database::new().is_none() {
                    println!("{NOT_TRIED}");
                    return;
                }
                $crate::suite::$test::<Written>();
            }
        )+
    };
}

cell_suite! {
    what_is_sent_is_durable_in_its_order
    what_is_restored_is_what_was
    a_state_that_is_no_good_gives_way_to_the_older_one_and_then_to_the_log
    an_agent_that_is_not_there_is_absent
    equal_texts_are_stored_once
    calls_are_read_back_in_their_order
    a_crash_takes_what_was_not_durable_and_nothing_else
}

#[test]
fn a_text_that_was_removed_is_stored_when_it_is_named_again() {
    if Database::new().is_none() {
        println!("{NOT_TRIED}");
        return;
    }
    crate::suite::a_text_that_was_removed_is_stored_when_it_is_named_again(
        |store: &Written| store.database.vandal("UPDATE content SET text = NULL"),
        |store| {
            let sql = "SELECT text FROM content";
            store.reader.read(|source| source.one(sql, &[], |row| row.get::<Option<String>>(0))).unwrap()
        },
    );
}
