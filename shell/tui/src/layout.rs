//! Rows in lines, the same for what is drawn and for what scrolling counts.

use holon_present::markdown;

use crate::model::{Anchor, Model};
use crate::row::{Row, Voice};
use crate::text::wrapped;

/// Smallest screen on which anything is drawn, in columns and lines.
pub(crate) const SMALLEST: (u16, u16) = (40, 10);
/// Most lines of the composer.
const COMPOSER: usize = 8;

/// Whose line it is, and its text.
pub(crate) type Line = (Voice, String);

/// One row; a message and a report have a blank line before them.
pub(crate) fn lines(row: &Row, columns: usize) -> Vec<Line> {
    let (before, indent, text) = match row.voice {
        Voice::Message => (true, "› ", row.text.clone()),
        Voice::Brief | Voice::Ask => (
            true,
            if row.voice == Voice::Ask { "? " } else { "" },
            markdown::render(&row.text, columns, false),
        ),
        Voice::Alarm | Voice::Activity | Voice::Aside => (false, "", row.text.clone()),
    };
    let text = wrapped(text.trim_end(), columns.saturating_sub(indent.len().min(2)));
    let first = before.then(|| (row.voice, String::new()));
    let shown = text.into_iter().enumerate().map(|(at, line)| {
        let indent = if at == 0 { indent } else { &"  "[..indent.chars().count()] };
        (row.voice, format!("{indent}{line}"))
    });
    first.into_iter().chain(shown).collect()
}

/// Lines for the conversation: what the composer, the notices and the status leave.
pub(crate) fn conversation_height(model: &Model) -> usize {
    let below = composer_height(model) + 4 + usize::from(model.notice.is_some());
    usize::from(model.look.height).saturating_sub(below)
}

pub(crate) fn composer_height(model: &Model) -> usize {
    let (lines, _) = model.composer.laid_out(composer_columns(model));
    lines.len().clamp(1, COMPOSER)
}

/// Columns for text behind the mark.
pub(crate) fn composer_columns(model: &Model) -> usize {
    usize::from(model.look.width).saturating_sub(3)
}

/// The lines that are on the screen, the last one at the bottom, and whether rows above them are missing.
pub(crate) fn visible(model: &Model) -> (Vec<Line>, bool) {
    let (columns, height) = (usize::from(model.look.width), conversation_height(model));
    let rows = model.conversation.rows();
    let end = model
        .anchor
        .map_or(rows.len(), |anchor| (model.conversation.index_of(anchor.seq) + 1).min(rows.len()));
    let below = model.anchor.map_or(0, |anchor| anchor.below);
    let mut shown: Vec<Line> = Vec::new();
    if model.anchor.is_none() {
        shown.extend(pending(model, columns).into_iter().rev());
    }
    if model.look.inline {
        shown.reverse();
        let surplus = shown.len().saturating_sub(height);
        return (shown.split_off(surplus), false);
    }
    for row in rows.range(..end).rev().filter(|row| row.is_shown(model.level)) {
        if shown.len() >= height + below {
            break;
        }
        shown.extend(lines(row, columns).into_iter().rev());
    }
    let missing = shown.len() < height + below && model.conversation.more;
    let mut shown: Vec<Line> = shown.into_iter().skip(below).take(height).collect();
    shown.reverse();
    (shown, missing)
}

/// What is not durable yet: prompts on their way, and what the model says.
fn pending(model: &Model, columns: usize) -> Vec<Line> {
    let mut shown = Vec::new();
    if let Some(live) = &model.live {
        shown.extend(wrapped(&format!("… {live}"), columns).into_iter().map(|line| (Voice::Aside, line)));
    }
    for prompt in &model.sending {
        let text = crate::text::clean(&prompt.text);
        let lines = wrapped(&format!("› {text} (sending)"), columns);
        shown.extend(lines.into_iter().map(|line| (Voice::Aside, line)));
    }
    shown
}

/// The anchor so many lines further up, or down where the number is negative; none at the newest row.
pub(crate) fn scrolled(model: &Model, up: isize) -> Option<Anchor> {
    let columns = usize::from(model.look.width);
    let rows = model.conversation.rows();
    let height = |at: usize| {
        let row = &rows[at];
        if row.is_shown(model.level) { lines(row, columns).len() } else { 0 }
    };
    let last = rows.len().checked_sub(1)?;
    let (mut at, mut below) = match model.anchor {
        Some(anchor) => (model.conversation.index_of(anchor.seq), anchor.below),
        None => (last, 0),
    };
    let mut left = up.unsigned_abs();
    while left > 0 {
        if up > 0 {
            let capacity = height(at).saturating_sub(below);
            if capacity > left || at == 0 {
                below += left.min(capacity.saturating_sub(1));
                break;
            }
            (left, at, below) = (left - capacity, at - 1, 0);
        } else if below >= left {
            below -= left;
            break;
        } else {
            left -= below;
            if at == last {
                return None;
            }
            at += 1;
            below = height(at);
        }
    }
    (at != last || below != 0 || model.conversation.is_cut()).then(|| Anchor { seq: rows[at].seq, below })
}
