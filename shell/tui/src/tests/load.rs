//! What a key waits for while many events arrive, without a terminal.

use std::time::Duration;

use tokio::time::Instant;

use super::*;

/// Events between two frames, at 30 frames a second.
const AT_200: u64 = 7;
const AT_1_000: u64 = 34;
const FRAMES: u64 = 200;

/// The time from a key to its frame, of 95 in 100 keys.
fn key_to_frame(events: u64) -> Duration {
    let mut model = model(120, 40);
    update(&mut model, loaded(vec![row(1, Voice::Message, "begin")], false));
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    let mut taken: Vec<Duration> = (0..FRAMES)
        .map(|frame| {
            let began = Instant::now();
            for event in 0..events {
                let text = "A line of some activity, with 漢字 and more words than fit into one line of it. "
                    .repeat(3);
                update(
                    &mut model,
                    Msg::Event(FIRST, row(2 + frame * events + event, Voice::Activity, &text)),
                );
            }
            press(&mut model, KeyCode::Char('x'));
            terminal.draw(|frame| view(&model, frame)).unwrap();
            began.elapsed()
        })
        .collect();
    taken.sort();
    taken[taken.len() * 95 / 100]
}

/// The target of an optimised build is 16 ms; this one is not optimised, and its machine has other work.
#[test]
fn a_key_is_drawn_soon_while_events_arrive() {
    let (some, many) = (key_to_frame(AT_200), key_to_frame(AT_1_000));
    println!("key to frame, p95: {some:?} at 200 events/s, {many:?} at 1,000 events/s");
    assert!(many < Duration::from_millis(250), "{many:?}");
}

/// A stream of eight hours, two turns a second: what is kept is bounded. Figures are printed with `--nocapture`.
#[test]
#[ignore = "a measurement of minutes"]
fn eight_hours_of_events_leave_memory_as_it_was() {
    const PER_SECOND: u64 = 40;
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap().to_owned();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let mut model = model(120, 40);
    update(&mut model, loaded(vec![row(1, Voice::Message, "begin")], false));
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    let mut each_hour = Vec::new();
    for second in 0..8 * 3_600_u64 {
        for event in 0..PER_SECOND {
            let seq = 2 + second * PER_SECOND + event;
            let text =
                format!("Event {seq} of some activity, with 漢字 and more words than fit into one line. ")
                    .repeat(3);
            update(&mut model, Msg::Event(FIRST, row(seq, Voice::Activity, &text)));
        }
        update(&mut model, Msg::LiveText(FIRST, "what the model says ".repeat(8)));
        update(&mut model, Msg::LiveOutput(FIRST, "a line\n".repeat(8)));
        if second % 60 == 0 {
            terminal.draw(|frame| view(&model, frame)).unwrap();
        }
        if second % 3_600 == 3_599 {
            each_hour.push(resident());
        }
    }
    println!("resident kB after each of 8 hours of {PER_SECOND} events/s: {each_hour:?}");
    assert_eq!(model.conversation.rows().len(), crate::conversation::ROWS);
    let (first, last) = (each_hour[0], each_hour[7]);
    // The allocator keeps a little of what it had; a fiftieth of the events would be more than this.
    assert!(last < first + 4_096, "{each_hour:?}");
}
