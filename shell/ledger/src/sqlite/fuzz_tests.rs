//! Rows that somebody else has written or a disk has changed: they are read, or refused where they stand.

use holon_core::replay::Replay;
use holon_facts::Event;
use holon_fuzz::Corpus;
use holon_law::replay::{Again, ExportReader, Line};

use super::testing::{Home, id};
use crate::read::{Reader, export_recorder, replay, verify};

/// A record that is read is written as it was meant.
fn means_the_same(line: &str) -> Result<(), String> {
    let Ok(Line::Record(record)) = Line::parse(line) else { return Ok(()) };
    let written = record.event.payload().map_err(|error| error.to_string())?;
    let again = Event::decode(record.event.kind(), record.event.version(), &written);
    let again = again.map_err(|error| format!("what was written can't be read: {error}"))?;
    if again == record.event { Ok(()) } else { Err(format!("{again:?} is not {:?}", record.event)) }
}

#[test]
fn rows_near_to_those_of_a_ledger_are_read_or_refused() {
    let mut export = Vec::new();
    export_recorder(&Home::with_turns(1).reader(), &mut export).unwrap();
    let lines = export.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let rows = Corpus::with("rows", lines.map(<[u8]>::to_vec).collect());
    rows.each(500, |bytes| means_the_same(&String::from_utf8_lossy(bytes)));
    Corpus::with("exports", vec![export]).each(60, |bytes| {
        let mut reader = ExportReader::<Replay>::new(Again::Every);
        let text = String::from_utf8_lossy(bytes);
        let read = text.lines().try_for_each(|line| reader.line(line));
        drop(read.map(|()| reader.finish().is_ok()));
        Ok(())
    });
}

#[test]
fn files_near_to_a_ledger_are_read_or_refused() {
    let home = Home::with_turns(1);
    let whole = std::fs::read(home.ledger()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite3");
    Corpus::with("ledgers", vec![whole]).each(60, |bytes| {
        std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
        let Ok(reader) = Reader::open(&path) else { return Ok(()) };
        let in_order = verify(&reader, &mut |_| Ok(())).is_ok();
        let replays = replay(&reader, Again::Every).is_ok();
        let state = reader.agent_after(&id("main"), holon_facts::EventSeq(3)).is_ok();
        // What nobody reads may be changed; what is read for sure is in order.
        if in_order && !(replays && state) {
            return Err("it is in order, and can't be replayed".to_owned());
        }
        Ok(())
    });
}
