//! Reading: far back in the conversation, and through lists with entries of many lines.

use std::collections::BTreeSet;

use super::*;
use crate::conversation::ROWS;
use crate::entry::Entry;
use crate::overlay::Kind;

fn rows(seqs: std::ops::Range<u64>) -> Vec<Row> {
    seqs.map(|seq| row(seq, Voice::Activity, &format!("row {seq}"))).collect()
}

fn listed(kind: Kind, entries: Vec<Entry>) -> Model {
    let mut model = model(60, 16);
    update(&mut model, loaded(rows(1..3), false));
    model.overlays.push(crate::overlay::Overlay::new(kind.clone()));
    update(&mut model, Msg::Answer(Answer::Opened(agent(), kind, Ok(entries))));
    model
}

/// An entry of so many lines, each of which is there once.
fn tall(name: &str, lines: usize) -> Entry {
    let lines: Vec<String> = (0..lines).map(|line| format!("{name}{line:03}.")).collect();
    Entry::line(lines.join("\n"))
}

#[test]
fn each_line_of_a_list_can_be_read_in_both_directions_and_by_pages() {
    let sizes = [1, 3, 50, 1, 12, 40, 9, 9, 9, 2];
    let entries: Vec<Entry> =
        ('a'..).zip(sizes).map(|(name, lines)| tall(&name.to_string(), lines)).collect();
    let all: BTreeSet<&str> = entries.iter().flat_map(|entry| entry.text.lines()).collect();
    for keys in [[KeyCode::Down, KeyCode::Up], [KeyCode::PageDown, KeyCode::PageUp]] {
        let mut model = listed(Kind::Work, entries.clone());
        for key in keys {
            let mut read = BTreeSet::new();
            for _ in 0..all.len() {
                let shown = screen(&model);
                read.extend(all.iter().copied().filter(|line| shown.contains(line)));
                press(&mut model, key);
            }
            assert_eq!(read, all, "{key:?}");
        }
        assert_eq!((model.overlays[0].selected, model.overlays[0].offset), (0, 0));
    }
}

#[test]
fn a_list_that_begins_at_its_end_shows_the_end_of_a_tall_entry() {
    let mut model = listed(Kind::Events, vec![tall("a", 3), tall("b", 40)]);
    assert!(screen(&model).contains("b039."), "{}", screen(&model));
    press(&mut model, KeyCode::Up);
    let shown = screen(&model);
    assert!(shown.contains("b038.") && !shown.contains("b039."), "{shown}");
}

#[test]
fn lists_have_whole_texts() {
    let long = format!("{}end", "word ".repeat(10_000));
    let model = listed(Kind::Transcript, vec![Entry::line(long.clone())]);
    assert_eq!(model.overlays[0].entries.as_ref().unwrap()[0].text, long);
    assert!(screen(&model).contains("word end"), "{}", screen(&model));
    let huge = listed(Kind::Transcript, vec![Entry::line("x".repeat(4 << 20))]);
    let kept = &huge.overlays[0].entries.as_ref().unwrap()[0].text;
    assert!(kept.len() < 1 << 20 && kept.ends_with("--json)"), "{}", kept.len());
}

/// A result as the runtime lists it, with so many lines of output.
fn result(lines: usize) -> holon_api::TranscriptEntry {
    let output: String = (0..lines).map(|line| format!("line {line}\n")).collect();
    let text = serde_json::json!({ "exit_status": 0, "stdout_preview": output }).to_string();
    let entry = serde_json::json!({
        "event_seq": 1, "at": "2026-01-02T03:04:05Z", "kind": "tool_results", "run_id": "run_1", "round": 1,
        "tool_name": "ExecCommand", "text": text, "exit_status": 0,
    });
    serde_json::from_value(entry).unwrap()
}

#[test]
fn the_transcript_has_all_lines_of_an_output_up_to_a_limit() {
    let parts = |lines| crate::perform::parts(&result(lines), crate::perform::WHOLE);
    // One more is how it ended.
    assert_eq!(parts(500).len(), 501);
    // Another one counts those that are left out.
    assert_eq!(parts(5_000).len(), 2_002);
}

/// The operator reads the oldest rows of so many that the newest were dropped.
fn far_back() -> Model {
    let mut model = model(80, 24);
    update(&mut model, loaded(rows(1..10), false));
    for row in rows(10..20_000) {
        update(&mut model, Msg::Event(FIRST, row));
    }
    while !model.flight.older {
        press(&mut model, KeyCode::PageUp);
    }
    let first = model.conversation.first().unwrap();
    let older = rows(first.0 - 256..first.0);
    update(&mut model, Msg::Answer(Answer::Older { agent: agent(), before: first, rows: older, more: true }));
    assert!(model.conversation.is_cut() && model.conversation.rows().len() == ROWS);
    model
}

#[test]
fn sending_and_another_level_load_the_newest_rows_where_they_were_dropped() {
    for line in ["hello", "/display info"] {
        let mut model = far_back();
        typed(&mut model, line);
        let requests = press(&mut model, KeyCode::Enter);
        assert!(requests.contains(&Request::Load(agent())), "{line}: {requests:?}");
        update(&mut model, loaded(rows(19_900..20_000), true));
        let follower = model.session.follower;
        update(&mut model, Msg::Event(follower, row(20_000, Voice::Brief, "the newest")));
        assert!(screen(&model).contains("the newest"), "{line}");
    }
}

#[test]
fn older_rows_of_an_earlier_load_leave_no_gap() {
    let mut model = far_back();
    let first = model.conversation.first().unwrap();
    press(&mut model, KeyCode::End);
    update(&mut model, loaded(rows(19_900..20_000), true));
    let late = Answer::Older { agent: agent(), before: first, rows: rows(1..first.0), more: false };
    update(&mut model, Msg::Answer(late));
    assert_eq!(model.conversation.first(), Some(EventSeq(19_900)));
}

#[test]
fn older_rows_that_could_not_be_read_are_asked_for_again() {
    let mut model = model(80, 24);
    let asks = |requests: &[Request]| requests.contains(&Request::Older(agent(), EventSeq(100)));
    assert!(asks(&update(&mut model, loaded(rows(100..105), true))));
    let fails = |model: &mut Model| {
        let failed = Answer::OlderFailed(agent(), "away".to_owned());
        let requests = update(model, Msg::Answer(failed));
        assert!(!asks(&requests), "{requests:?}");
        assert!(!asks(&update(model, Msg::Tick(Wall::default()))));
    };
    fails(&mut model);
    assert!(asks(&press(&mut model, KeyCode::PageUp)));
    fails(&mut model);
    update(&mut model, Msg::Connected(FIRST, false));
    assert!(asks(&update(&mut model, Msg::Connected(FIRST, true))));
    let older = Answer::Older { agent: agent(), before: EventSeq(100), rows: rows(1..100), more: false };
    update(&mut model, Msg::Answer(older));
    assert_eq!(model.conversation.first(), Some(EventSeq(1)));
}

#[test]
fn the_first_row_stays_at_the_top_of_the_screen() {
    let mut model = model(80, 24);
    update(&mut model, loaded(rows(1..60), false));
    for _ in 0..9 {
        press(&mut model, KeyCode::PageUp);
    }
    let shown = screen(&model);
    let height = crate::layout::conversation_height(&model);
    assert!(shown.lines().nth(1).unwrap().contains("row 1 "), "{shown}");
    assert!(shown.contains(&format!("row {height} ")), "{shown}");
    // Where all rows fit, there is nothing to scroll.
    let mut small = model.clone();
    update(&mut small, loaded(rows(1..4), false));
    press(&mut small, KeyCode::PageUp);
    assert_eq!(small.anchor, None);
}

/// Answers each request for older rows from so many events before the first one, as long as one is asked for.
fn filled(model: &mut Model, mut requests: Vec<Request>, rows: impl Fn(std::ops::Range<u64>) -> Vec<Row>) {
    for _ in 0..100 {
        let older = requests
            .iter()
            .find_map(|request| if let Request::Older(_, before) = request { Some(*before) } else { None });
        let Some(before) = older else { return };
        let first = before.0.saturating_sub(256).max(1);
        let (rows, more) = (rows(first..before.0), first > 1);
        requests = update(model, Msg::Answer(Answer::Older { agent: agent(), before, rows, more }));
    }
    panic!("older rows are asked for again and again");
}

/// An agent of many calls at level info: all rows in memory together are less than a screen of shown ones.
#[test]
fn few_rows_of_a_level_leave_the_newest_ones_where_they_are() {
    let mut model = model(80, 24);
    model.level = Level::Info;
    let mut newest = rows(18_744..19_000);
    newest.push(row(19_000, Voice::Brief, "the report"));
    let requests = update(&mut model, loaded(newest, true));
    filled(&mut model, requests, rows);
    assert!(model.conversation.rows().len() == ROWS && !model.conversation.is_cut());
    assert!(screen(&model).contains("the report"), "{}", screen(&model));
    // A busy agent is followed on, and nothing older is asked for.
    for seq in 19_001..19_300 {
        let requests = update(&mut model, Msg::Event(FIRST, row(seq, Voice::Activity, "a call")));
        assert!(!requests.iter().any(|request| matches!(request, Request::Older(..))), "{requests:?}");
    }
    update(&mut model, Msg::Event(FIRST, row(19_300, Voice::Message, "a later prompt")));
    let shown = screen(&model);
    assert!(shown.contains("the report") && shown.contains("a later prompt"), "{shown}");
    // Whoever scrolls up gets older ones, and keeps the row at the edge.
    let requests = press(&mut model, KeyCode::PageUp);
    let edge = model.anchor.unwrap().seq;
    filled(&mut model, requests, rows);
    assert_eq!(model.conversation.rows().len(), ROWS);
    assert_eq!(model.conversation.rows().back().map(|row| row.seq), Some(edge));
    assert!(press(&mut model, KeyCode::End).contains(&Request::Load(agent())));
}

/// What is left of the follower before a reload would leave a gap behind the page that was loaded.
#[test]
fn what_is_left_of_an_earlier_follower_is_not_taken() {
    let mut model = far_back();
    press(&mut model, KeyCode::End);
    for seq in [101, 102] {
        update(&mut model, Msg::Event(FIRST, row(20_000 + seq, Voice::Brief, "old")));
    }
    let requests = update(&mut model, loaded(rows(20_000..20_101), true));
    let follow = requests.iter().find_map(|request| {
        if let Request::Follow(_, after, follower) = request { Some((*after, *follower)) } else { None }
    });
    let (after, follower) = follow.unwrap();
    assert_eq!((after, follower), (EventSeq(20_100), model.session.follower));
    update(&mut model, Msg::Event(FIRST, row(20_103, Voice::Brief, "old")));
    update(&mut model, Msg::LiveText(FIRST, "old".to_owned()));
    assert!(model.conversation.cursor() == EventSeq(20_100) && model.live.is_none());
    for seq in [101, 102, 103] {
        update(&mut model, Msg::Event(follower, row(20_000 + seq, Voice::Brief, "new")));
    }
    let last: Vec<u64> = model.conversation.rows().iter().rev().take(4).map(|row| row.seq.0).collect();
    assert_eq!(last, [20_103, 20_102, 20_101, 20_100]);
    // Each load has a follower of its own.
    update(&mut model, loaded(rows(20_000..20_103), true));
    update(&mut model, Msg::Event(follower, row(20_104, Voice::Brief, "old")));
    assert_eq!(model.conversation.cursor(), EventSeq(20_102));
}
