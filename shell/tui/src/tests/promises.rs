//! What the console promises about events, as laws over each kind of event there is, and the proof that each law can
//! fail: the same law with a planted defect in what reaches the console.

use holon_api::Envelope;
use holon_present::Presentation;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What is wrong between the runtime and the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    None,
    /// After each reconnect the first event is left out.
    LosesOne,
    /// After each reconnect the last event comes again under a new number.
    Repeats,
    /// What only engineers read counts as news.
    ShowsTrace,
    /// A text reaches the model as it was written.
    Unclean,
}

fn samples() -> Vec<Value> {
    let lines = include_str!("../../../../fixtures/present/events.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A sample as the stream brings it.
fn envelope(seq: u64, sample: &Value) -> Envelope {
    let event = json!({
        "id": format!("main:{seq}"), "event_seq": seq, "ts": "2026-01-02T03:04:05Z", "agent_id": "main",
        "type": sample["type"], "v": sample["v"], "provenance": {}, "payload": sample["payload"],
    });
    serde_json::from_value(event).unwrap()
}

fn envelopes(picks: &[prop::sample::Index]) -> Vec<Envelope> {
    let samples = samples();
    (1..).zip(picks).map(|(seq, pick)| envelope(seq, &samples[pick.index(samples.len())])).collect()
}

fn row_of(event: &Envelope, defect: Defect) -> Row {
    let mut row = Row { wants_text: false, ..Row::of(event) };
    if defect == Defect::ShowsTrace && row.visibility > Visibility::Verbose {
        row.visibility = Visibility::Info;
    }
    row
}

fn tall() -> Model {
    let mut model = model(80, 24);
    model.look.height = 20_000;
    model
}

/// Follows events: the stream breaks at each cut, and then goes back by so many events.
fn followed(events: &[Envelope], cuts: &[(usize, usize)], defect: Defect) -> Model {
    let mut model = tall();
    update(&mut model, loaded(Vec::new(), false));
    let mut next = 0;
    for (cut, back) in cuts.iter().copied().chain([(events.len(), 0)]) {
        let until = cut.clamp(next, events.len());
        let from = next.saturating_sub(back);
        let missed = usize::from(defect == Defect::LosesOne && next > 0);
        for event in events[from..until].iter().skip(if missed > 0 { next - from + 1 } else { 0 }) {
            update(&mut model, Msg::Event(FIRST, row_of(event, defect)));
        }
        if defect == Defect::Repeats && until > 0 {
            let again = Row {
                seq: EventSeq(model.conversation.cursor().0 + 1),
                ..row_of(&events[until - 1], defect)
            };
            update(&mut model, Msg::Event(FIRST, again));
        }
        next = until;
        update(&mut model, Msg::Connected(FIRST, false));
        update(&mut model, Msg::Connected(FIRST, true));
    }
    model
}

/// CX28: the model after live events is the model after a fresh load at the same event.
fn live_is_fresh(events: &[Envelope], cuts: &[(usize, usize)], defect: Defect) -> Result<(), String> {
    let followed = followed(events, cuts, defect);
    let mut fresh = tall();
    let rows = events.iter().map(|event| row_of(event, Defect::None)).collect();
    update(&mut fresh, loaded(rows, false));
    let same = followed.conversation == fresh.conversation;
    let looks = crate::layout::visible(&followed) == crate::layout::visible(&fresh);
    if same && looks { Ok(()) } else { Err("another model than after a fresh load".to_owned()) }
}

/// CX29: a level shows what the presentation makes visible there, each event once, whatever the stream repeats.
fn a_level_shows_its_events(
    events: &[Envelope],
    cuts: &[(usize, usize)],
    defect: Defect,
) -> Result<(), String> {
    let mut followed = followed(events, cuts, defect);
    for level in [Level::Info, Level::Verbose, Level::Debug] {
        followed.level = level;
        let visible = |event: &&Envelope| level.shows(Presentation::of(&event.record().unwrap()).visibility);
        let expected: Vec<&Envelope> = events.iter().filter(visible).collect();
        let lines = |event: &&Envelope| crate::layout::lines(&row_of(event, Defect::None), 80, true);
        let expected: Vec<_> = expected.iter().flat_map(lines).collect();
        let (shown, _) = crate::layout::visible(&followed);
        if shown != expected {
            return Err(format!("{level:?} shows {} lines and not {}", shown.len(), expected.len()));
        }
    }
    Ok(())
}

/// Puts a text into each field that others write.
fn written(value: &mut Value, text: &str) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let free = ["text", "preview", "summary", "message", "reason", "objective", "waiting_for"];
                if free.contains(&name.as_str()) && field.is_string() {
                    *field = Value::String(text.to_owned());
                } else {
                    written(field, text);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| written(item, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn acts(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// CX30: no control byte of content reaches the terminal.
fn nothing_acts(text: &str, defect: Defect) -> Result<(), String> {
    let mut model = tall();
    model.level = Level::Debug;
    let mut rows = Vec::new();
    for (seq, mut sample) in (1..).zip(samples()) {
        written(&mut sample["payload"], text);
        rows.push(row_of(&envelope(seq, &sample), defect));
    }
    if defect == Defect::Unclean {
        rows[0].parts = vec![Part::Plain(text.to_owned())];
    }
    update(&mut model, loaded(rows, false));
    model.look.height = 40;
    update(&mut model, Msg::LiveText(FIRST, text.to_owned()));
    update(&mut model, Msg::Paste(text.to_owned()));
    let parts = model.conversation.rows().iter().flat_map(|row| &row.parts).map(|part| match part {
        Part::Plain(text) | Part::Markdown(text) | Part::Detail((_, text)) => text,
    });
    if let Some(bad) = parts.into_iter().find(|text| text.contains(acts)) {
        return Err(format!("{bad:?} is in the model"));
    }
    if screen(&model).contains(acts) { Err("it is on the screen".to_owned()) } else { Ok(()) }
}

const NASTY: &str = "a\u{1b}]0;title\u{7}\u{9b}2J\u{202e}b\rc\u{0}";

fn picks() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..120)
}

fn cuts() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0_usize..120, 0_usize..20), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn cx28_live_events_come_to_what_a_fresh_load_shows(picks in picks(), cuts in cuts()) {
        prop_assert_eq!(live_is_fresh(&envelopes(&picks), &cuts, Defect::None), Ok(()));
    }

    #[test]
    fn cx29_a_level_shows_what_is_visible_there_each_once(picks in picks(), cuts in cuts()) {
        prop_assert_eq!(a_level_shows_its_events(&envelopes(&picks), &cuts, Defect::None), Ok(()));
    }

    #[test]
    fn cx30_no_control_byte_of_content_reaches_the_terminal(text in "[\\x00-\\x1f\\x7f-\\u{9f}a漢\\u{202e}\\u{2066}]{0,60}") {
        prop_assert_eq!(nothing_acts(&text, Defect::None), Ok(()));
    }
}

/// Each law finds the defects that it is there for, and nothing where there is none.
#[test]
fn each_law_fails_with_its_planted_defects() {
    let samples = samples();
    let events: Vec<Envelope> = (1..).zip(&samples).map(|(seq, sample)| envelope(seq, sample)).collect();
    let cuts = [(20, 0), (40, 5)];
    for defect in [Defect::LosesOne, Defect::Repeats] {
        assert!(live_is_fresh(&events, &cuts, defect).is_err(), "{defect:?}");
        assert!(a_level_shows_its_events(&events, &cuts, defect).is_err(), "{defect:?}");
    }
    assert!(a_level_shows_its_events(&events, &cuts, Defect::ShowsTrace).is_err());
    assert!(nothing_acts(NASTY, Defect::Unclean).is_err());
    for law in [live_is_fresh, a_level_shows_its_events] {
        assert_eq!(law(&events, &cuts, Defect::None), Ok(()));
    }
    assert_eq!(nothing_acts(NASTY, Defect::None), Ok(()));
    // The text is in what is decoded, and not only in what no program knows.
    let read = samples.into_iter().filter(|sample| {
        let mut sample = sample.clone();
        written(&mut sample["payload"], NASTY);
        let event = envelope(1, &sample);
        sample["payload"].to_string().contains("title") && event.record().is_ok()
    });
    assert!(read.count() > 10);
}
