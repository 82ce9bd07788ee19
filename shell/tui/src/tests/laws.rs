//! What holds of every sequence of keys, events and answers.

use proptest::prelude::*;

use super::*;
use crate::command::COMMANDS;
use crate::conversation::ROWS;
use crate::message::Control;
use crate::model::{Anchor, Recipient};

fn key() -> impl Strategy<Value = KeyEvent> {
    let code = prop_oneof![
        4 => prop::sample::select(vec!['a', ' ', '/', '?', '漢', '🙂', '\u{301}', '\u{202e}', '\u{7}']).prop_map(KeyCode::Char),
        4 => prop::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Backspace, KeyCode::Delete, KeyCode::Left, KeyCode::Right,
            KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::End, KeyCode::PageUp, KeyCode::PageDown, KeyCode::Tab,
        ]),
        1 => (1_u8..12).prop_map(KeyCode::F),
    ];
    let modifiers = prop_oneof![
        6 => Just(KeyModifiers::NONE), 1 => Just(KeyModifiers::CONTROL), 1 => Just(KeyModifiers::ALT),
    ];
    let letters = prop::sample::select("abdefhjkprtuwx".chars().collect::<Vec<_>>());
    prop_oneof![
        4 => (code, modifiers).prop_map(|(code, modifiers)| KeyEvent::new(code, modifiers)),
        1 => letters.prop_map(|c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)),
    ]
}

fn msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        12 => (key(), 0_u64..10_000).prop_map(|(key, at)| Msg::Key(key, Millis(at))),
        2 => prop::sample::select(COMMANDS.to_vec()).prop_map(|command| Msg::Paste(format!("/{} x", command.name))),
        1 => "\\PC{0,40}".prop_map(Msg::Paste),
        1 => (0_u16..200, 0_u16..80).prop_map(|(width, height)| Msg::Resize(width, height)),
        2 => (1_u64..400, "\\PC{0,60}").prop_map(|(seq, text)| Msg::Event(FIRST, row(seq, Voice::Brief, &text))),
        1 => "\\PC{0,60}".prop_map(|text| Msg::LiveText(FIRST, text)),
        1 => any::<bool>().prop_map(|connected| Msg::Connected(FIRST, connected)),
        1 => (1_u64..50).prop_map(|first| {
            let rows = (first..50).map(|seq| row(seq, Voice::Activity, "older")).collect();
            Msg::Answer(Answer::Older { agent: agent(), before: EventSeq(50), rows, more: first > 1 })
        }),
    ]
}

/// Rows with seqs that count up.
fn rows(seqs: std::ops::Range<u64>) -> Vec<Row> {
    seqs.map(|seq| row(seq, if seq % 3 == 0 { Voice::Brief } else { Voice::Activity }, &format!("row {seq}")))
        .collect()
}

fn acts(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// No sequence of keys, events and sizes panics, and Esc always reaches the composer.
    #[test]
    fn esc_always_reaches_the_composer(messages in prop::collection::vec(msg(), 0..120)) {
        let mut model = model(80, 24);
        update(&mut model, loaded(rows(50..60), true));
        for message in messages {
            update(&mut model, message);
            screen(&model);
        }
        let layers = model.overlays.len() + 2;
        for _ in 0..layers {
            press(&mut model, KeyCode::Esc);
        }
        prop_assert!(model.overlays.is_empty());
        prop_assert_eq!(&model.recipient, &Recipient::Agent);
        model.composer.clear();
        typed(&mut model, "x");
        prop_assert_eq!(model.composer.text(), "x");
    }

    /// The model after live events is the model after a fresh load at the same event; what a broken stream repeats
    /// changes nothing.
    #[test]
    fn live_events_and_a_fresh_load_come_to_the_same(
        begin in 1_u64..200, live in 0_u64..300, cuts in prop::collection::vec((0_u64..300, 0_u64..40), 0..5),
    ) {
        let (first, end) = (begin, begin + live);
        let mut followed = model(80, 24);
        update(&mut followed, loaded(rows(1..first), false));
        let mut next = first;
        for (at, back) in cuts.into_iter().chain([(live, 0)]) {
            // The stream breaks, and begins again behind an event that came already.
            let until = (first + at).min(end).max(next);
            let again = next.saturating_sub(back).max(1);
            for row in rows(again..until) {
                update(&mut followed, Msg::Event(FIRST, row));
            }
            next = until;
            update(&mut followed, Msg::Connected(FIRST, false));
            update(&mut followed, Msg::Connected(FIRST, true));
        }
        let mut fresh = model(80, 24);
        update(&mut fresh, loaded(rows(1..end), false));
        prop_assert_eq!(&followed.conversation, &fresh.conversation);
        let seqs: Vec<u64> = followed.conversation.rows().iter().map(|row| row.seq.0).collect();
        prop_assert_eq!(seqs, (1..end).collect::<Vec<_>>());
        prop_assert_eq!(screen(&followed), screen(&fresh));
    }

    /// Nothing that comes from outside acts on the terminal.
    #[test]
    fn no_control_byte_reaches_the_screen(text in "[\\x00-\\x1f\\x7f-\\u{9f}a漢\\u{202e}\\u{2066}]{0,80}") {
        let mut model = model(80, 24);
        let seen = [Voice::Message, Voice::Brief, Voice::Ask, Voice::Alarm, Voice::Activity];
        let rows = (1..).zip(seen).map(|(seq, voice)| row(seq, voice, &text)).collect();
        update(&mut model, loaded(rows, false));
        update(&mut model, Msg::LiveText(FIRST, text.clone()));
        update(&mut model, Msg::Paste(text.clone()));
        update(&mut model, Msg::Answer(Answer::Done(Err(text.clone()))));
        prop_assert!(!screen(&model).contains(acts));
        model.overlays.push(crate::overlay::Overlay::new(crate::overlay::Kind::Why));
        let entries = Ok(vec![crate::entry::Entry::line(text)]);
        update(&mut model, Msg::Answer(Answer::Opened(agent(), crate::overlay::Kind::Why, entries)));
        prop_assert!(!screen(&model).contains(acts));
    }

    /// Reading older rows and coming back shows every row that was fetched, each line once.
    #[test]
    fn scrolling_up_and_down_again_comes_back(steps in 1_isize..200) {
        let mut model = model(60, 20);
        update(&mut model, loaded(rows(1..80), false));
        let newest = screen(&model);
        model.anchor = crate::layout::scrolled(&model, steps);
        let expected: Option<Anchor> = model.anchor;
        model.anchor = crate::layout::scrolled(&model, 0);
        prop_assert_eq!(model.anchor, expected);
        while model.anchor.is_some() {
            model.anchor = crate::layout::scrolled(&model, -1);
        }
        prop_assert_eq!(screen(&model), newest);
    }
}

#[test]
fn memory_is_bounded_and_older_rows_are_asked_for_again() {
    let mut model = model(80, 24);
    update(&mut model, loaded(rows(1..10), false));
    for row in rows(10..20_000) {
        update(&mut model, Msg::Event(FIRST, row));
    }
    assert_eq!(model.conversation.rows().len(), ROWS);
    let asked = (0..ROWS).find_map(|_| {
        let requests = press(&mut model, KeyCode::PageUp);
        requests.into_iter().find(|request| matches!(request, Request::Older(..)))
    });
    let first = model.conversation.first().unwrap();
    assert_eq!(asked, Some(Request::Older(agent(), first)));
    update(
        &mut model,
        Msg::Answer(Answer::Older {
            agent: agent(),
            before: first,
            rows: rows(first.0 - 256..first.0),
            more: true,
        }),
    );
    assert_eq!(model.conversation.rows().len(), ROWS);
    assert_eq!(model.conversation.first(), Some(EventSeq(first.0 - 256)));
    // The newer end gave way; going there loads it again.
    assert_eq!(press(&mut model, KeyCode::End), [Request::Load(agent())]);
}

#[test]
fn an_interrupt_clears_and_a_second_one_soon_leaves() {
    let interrupt = |model: &mut Model, at| {
        update(model, Msg::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), Millis(at)))
    };
    let mut model = model(80, 24);
    typed(&mut model, "draft");
    assert!(interrupt(&mut model, 0).is_empty() && model.composer.is_blank());
    assert!(interrupt(&mut model, 2_001).is_empty());
    assert_eq!(interrupt(&mut model, 4_001), [Request::Leave]);
}

#[test]
fn actions_are_filtered_by_what_is_typed_and_a_prompt_that_was_begun_stays() {
    let mut model = model(80, 24);
    update(&mut model, loaded(rows(1..3), false));
    typed(&mut model, "a draft");
    press(&mut model, KeyCode::F(9));
    typed(&mut model, "wsp?");
    assert!(screen(&model).contains("actions · wsp?") && screen(&model).contains("nothing here"));
    press(&mut model, KeyCode::Backspace);
    let shown = screen(&model);
    assert!(
        shown.contains("/workspace") && !shown.contains("/display") && shown.contains("> a draft"),
        "{shown}"
    );
    assert!(press(&mut model, KeyCode::Enter).is_empty() && model.overlays.is_empty());
    assert_eq!(model.composer.text(), "/workspace ");
    model.composer.clear();
    press(&mut model, KeyCode::Up);
    assert_eq!(model.composer.text(), "a draft");
    // Esc gives characters back to the composer.
    press(&mut model, KeyCode::F(9));
    typed(&mut model, "stop");
    press(&mut model, KeyCode::Esc);
    typed(&mut model, "!");
    assert_eq!(model.composer.text(), "a draft!");
}

#[test]
fn what_a_command_prints_is_shown_until_it_has_ended() {
    let mut model = model(80, 24);
    update(&mut model, loaded(rows(1..3), false));
    let printed = |model: &mut Model, lines: &str| {
        update(model, Msg::LiveOutput(FIRST, lines.to_owned()));
        screen(model)
    };
    let shown = printed(&mut model, "one\ntwo\u{1b}");
    assert!(shown.contains("│ one") && shown.contains("│ two") && !shown.contains(acts), "{shown}");
    let shown = printed(&mut model, "three");
    assert!(shown.contains("│ three") && !shown.contains("│ one"), "{shown}");
    assert!(!printed(&mut model, "").contains("│ "));
    let kinds = ["tool_executed", "tool_execution_failed", "turn_terminal", "turn_started"];
    for (seq, kind) in (10..).zip(kinds) {
        assert!(printed(&mut model, "again").contains("│ again"));
        update(
            &mut model,
            Msg::Event(FIRST, Row { kind: kind.to_owned(), ..row(seq, Voice::Activity, "x") }),
        );
        assert!(!screen(&model).contains("│ again"), "{kind}");
    }
    printed(&mut model, "again");
    update(&mut model, Msg::Connected(FIRST, false));
    assert!(!screen(&model).contains("│ again"));
}

#[test]
fn an_ask_is_answered_and_a_task_is_fed_from_the_composer() {
    use crate::entry::{Entry, Target};
    use crate::overlay::Kind;
    let mut model = model(80, 24);
    update(&mut model, loaded(rows(1..3), false));
    let (ask, task) = ("brief_3".parse().unwrap(), "task_7".parse().unwrap());
    press(&mut model, KeyCode::F(8));
    let entries = Ok(vec![Entry::of("may I?", Target::Ask(agent(), ask))]);
    update(&mut model, Msg::Answer(Answer::Opened(agent(), Kind::Inbox, entries)));
    press(&mut model, KeyCode::Enter);
    typed(&mut model, "yes");
    let sent = press(&mut model, KeyCode::Enter);
    assert!(matches!(&sent[..], [Request::Send(prompt)] if prompt.answers == Some(ask)), "{sent:?}");
    press(&mut model, KeyCode::F(3));
    let entries = Ok(vec![Entry::of("sleep", Target::Task { task, runs: true })]);
    update(&mut model, Msg::Answer(Answer::Opened(agent(), Kind::Tasks, entries)));
    let key = |c| Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL), Millis(0));
    assert_eq!(
        update(&mut model, key('x')),
        [Request::Control(agent(), Control::StopTask { task, force: false })]
    );
    update(&mut model, key('t'));
    typed(&mut model, "y");
    let written = Control::WriteTask(task, "y\n".to_owned());
    assert_eq!(press(&mut model, KeyCode::Enter), [Request::Control(agent(), written)]);
}
