//! The reducer and the view without a terminal.

mod laws;
mod load;
mod promises;
mod reading;
mod screens;
mod sending;
mod terminal;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use holon_facts::{AgentId, EventSeq, Millis, Wall};
use holon_present::{Level, Visibility};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::message::{Answer, Loaded, Msg, Request, Status};
use crate::model::{Look, Model};
use crate::row::{Part, Row, Voice};
use crate::update::update;
use crate::view::view;

/// The number of the follower that the first load brings.
const FIRST: u64 = 1;

fn agent() -> AgentId {
    AgentId::new("main").unwrap()
}

fn model(width: u16, height: u16) -> Model {
    let look = Look { width, height, colour: true, inline: false, now: Wall::default() };
    Model::new(agent(), Level::Verbose, look, "test".to_owned(), true)
}

fn row(seq: u64, voice: Voice, text: &str) -> Row {
    let visibility = match voice {
        Voice::Message | Voice::Brief | Voice::Alarm => Visibility::Info,
        Voice::Ask => Visibility::ActionRequired,
        Voice::Activity => Visibility::Verbose,
        Voice::Aside => Visibility::Debug,
    };
    let (at, kind, text) = (Wall::default(), "test".to_owned(), crate::text::clean(text));
    let part =
        if matches!(voice, Voice::Brief | Voice::Ask) { Part::Markdown(text) } else { Part::Plain(text) };
    Row { seq: EventSeq(seq), at, kind, visibility, voice, parts: vec![part], wants_text: false }
}

fn loaded(rows: Vec<Row>, more: bool) -> Msg {
    let last = rows.last().map_or(EventSeq(0), |row| row.seq);
    let status = Status {
        posture: "idle".to_owned(),
        model: Some("scripted/hello".to_owned()),
        today: "1200 tokens $0.01 today".to_owned(),
        ..Status::default()
    };
    Msg::Answer(Answer::Loaded(agent(), Loaded { status, rows, last, more }))
}

fn press(model: &mut Model, code: KeyCode) -> Vec<Request> {
    update(model, Msg::Key(KeyEvent::new(code, KeyModifiers::NONE), Millis(0)))
}

fn typed(model: &mut Model, text: &str) {
    for c in text.chars() {
        press(model, KeyCode::Char(c));
    }
}

fn screen(model: &Model) -> String {
    let size = (model.look.width, model.look.height);
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| view(model, frame)).unwrap();
    // A screen without columns has no lines to read.
    if size.0 == 0 { String::new() } else { terminal.backend().to_string() }
}
