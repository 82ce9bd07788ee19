//! SQLite passes the suite for stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holon_core::Durable;
use holon_core::replay::Call;
use holon_facts::{AgentId, StepSeq, Text};
use holon_text::{Secrets, Texts};

use super::Opened;
use super::testing::Home;
use crate::error::LedgerError;
use crate::read::{Reader, recorder, text_reader};
use crate::report::Report;
use crate::suite::Store;
use crate::write::Writer;

/// A home whose ledger a thread writes.
struct Written {
    home: Home,
    writer: Writer,
    reader: Arc<Reader>,
    texts: Texts,
    dead: Arc<AtomicBool>,
}

impl Written {
    fn open(home: Home) -> Self {
        let Opened { ledger, reader, .. } = home.open();
        let (reader, dead) = (Arc::new(reader), Arc::new(AtomicBool::new(false)));
        let texts = Texts::new(Secrets::default(), text_reader(reader.clone()));
        let writer = Writer::on_a_full_disk(ledger, dead.clone(), texts.clone()).unwrap();
        Self { home, writer, reader, texts, dead }
    }
}

impl Default for Written {
    fn default() -> Self {
        Self::open(Home::new())
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
        for _ in 0..5_000 {
            match self.writer.try_report().map(|message| message.report) {
                Some(Report::Durable(durable)) if durable.through() >= through => return durable,
                Some(Report::Failed(error)) => panic!("{error}"),
                Some(_) => {}
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        panic!("step {through} is not durable");
    }

    fn die(&mut self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    fn reopen(self) -> Self {
        if self.dead.load(Ordering::Relaxed) {
            // Its thread never writes again.
            drop(self.writer);
        } else {
            self.writer.close().unwrap();
        }
        Self::open(self.home)
    }

    fn damage_state(&mut self, agent: &AgentId) {
        self.home.vandal(&format!(
            "UPDATE snapshots SET packed = CAST(substr(packed, 1, 90) || x'00' || substr(packed, 92) AS BLOB)
            WHERE event_seq = (SELECT max(event_seq) FROM snapshots WHERE agent = '{agent}')"
        ));
    }

    fn text(&self, text: &str) -> Text {
        self.texts.take(text)
    }

    fn texts(&self) -> usize {
        let sql = "SELECT count(*) FROM content";
        let count = self.reader.read(|source| source.first(sql, &[], |row| row.get::<i64>(0)));
        usize::try_from(count.unwrap().unwrap()).unwrap()
    }

    fn calls(&self) -> Vec<Call> {
        let mut calls = Vec::new();
        let read = self.reader.read(|source| {
            recorder::each_call(source, |stored, _| {
                calls.push(serde_json::from_str(&stored.call).unwrap());
                Ok::<(), LedgerError>(())
            })
        });
        read.unwrap();
        calls
    }
}

crate::ledger_suite!(Written);
