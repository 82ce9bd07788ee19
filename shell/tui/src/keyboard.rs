//! Keys and sizes, from a thread of their own: nothing wakes up while none comes.

use std::io;
use std::time::Duration;

use crossterm::event::{Event, poll, read};
use crossterm::terminal::size;
use holon_platform::spawn;
use ratatui::layout::{Position, Size};
use tokio::sync::mpsc;

/// Keys that wait for the loop; whoever types more waits.
const WAITING: usize = 1_024;
/// Sizes that come so close to each other are one. Below a scrollback nothing may be drawn while the terminal still changes:
/// tmux moves what it shows at once, and passes on the sizes that follow within 250 ms of another after that time.
const SETTLED: Duration = Duration::from_millis(30);
const SETTLED_INLINE: Duration = Duration::from_millis(300);

/// What the terminal sends.
#[derive(Debug)]
pub(crate) enum Typed {
    Event(Event),
    /// It has another size. Where its cursor stood then, as far as that is asked for and answered.
    Resized(Size, Option<Position>),
}

/// The answer to where the cursor stands comes from the keyboard, so that is asked for here alone, where `inline` needs it.
pub(crate) fn typed(inline: bool) -> io::Result<mpsc::Receiver<Typed>> {
    let (sender, keys) = mpsc::channel(WAITING);
    spawn::thread("keys", move || {
        while let Ok(events) = next(inline) {
            for event in events {
                if sender.blocking_send(event).is_err() {
                    return;
                }
            }
        }
    })?;
    Ok(keys)
}

/// Waits for the next event. Of sizes that follow each other the last one counts; what is typed meanwhile comes behind it.
fn next(inline: bool) -> io::Result<Vec<Typed>> {
    let event = read()?;
    if !matches!(event, Event::Resize(..)) {
        return Ok(vec![Typed::Event(event)]);
    }
    let settled = if inline { SETTLED_INLINE } else { SETTLED };
    let mut after = Vec::new();
    loop {
        // A terminal may report a size before it has moved what it shows.
        while after.len() < WAITING && poll(settled)? {
            let event = read()?;
            if !matches!(event, Event::Resize(..)) {
                after.push(Typed::Event(event));
            }
        }
        let (width, height) = size()?;
        let cursor = inline.then(|| crossterm::cursor::position().ok()).flatten();
        // A position belongs to the size that it was asked in.
        if size()? == (width, height) {
            let cursor = cursor.map(|(x, y)| Position { x, y });
            after.insert(0, Typed::Resized(Size { width, height }, cursor));
            return Ok(after);
        }
    }
}
