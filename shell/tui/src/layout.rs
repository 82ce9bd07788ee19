//! Rows in lines, the same for what is drawn and for what scrolling counts.

use holon_present::markdown::{self, Piece};
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::{Anchor, Model};
use crate::row::{Part, Row, Voice};
use crate::style;
use crate::text::{beginning, fitting, width, wrapped};

/// Smallest screen on which anything is drawn, in columns and lines.
pub(crate) const SMALLEST: (u16, u16) = (40, 10);
/// Most lines of the composer.
const COMPOSER: usize = 8;

/// A line in its styles.
pub(crate) type Line = ratatui::text::Line<'static>;

/// One row; a message and a report have a blank line before them.
pub(crate) fn lines(row: &Row, columns: usize, colour: bool) -> Vec<Line> {
    let style = style::of(row.voice, colour);
    let (before, mark) = match row.voice {
        Voice::Message => (true, "› "),
        Voice::Ask => (true, "? "),
        Voice::Brief => (true, ""),
        Voice::Alarm | Voice::Activity | Voice::Aside => (false, ""),
    };
    let indent = mark.chars().count();
    let columns = columns.saturating_sub(indent).max(2);
    let shown = row.parts.iter().flat_map(|part| of_part(part, columns, style, colour));
    let shown = shown.enumerate().map(|(at, mut line)| {
        let before = if at == 0 { mark } else { &"  "[..indent] };
        if indent > 0 {
            line.spans.insert(0, Span::styled(before.to_owned(), style));
        }
        line
    });
    before.then(Line::default).into_iter().chain(shown).collect()
}

fn of_part(part: &Part, columns: usize, style: Style, colour: bool) -> Vec<Line> {
    match part {
        Part::Plain(text) => plain(text.trim_end(), columns, style),
        Part::Detail((look, text)) => plain(text.trim_end(), columns, style::of_detail(*look, colour)),
        Part::Markdown(text) => {
            let rendered = markdown::lines(text, columns, colour);
            rendered.into_iter().flat_map(|line| broken(line, columns, colour)).collect()
        }
    }
}

pub(crate) fn plain(text: &str, columns: usize, style: Style) -> Vec<Line> {
    wrapped(text, columns).into_iter().map(|line| Line::styled(line, style)).collect()
}

/// A rendered line, broken where what stays whole there is longer than a line: code, and long words.
fn broken(pieces: Vec<Piece>, columns: usize, colour: bool) -> Vec<Line> {
    let (mut lines, mut line, mut used) = (Vec::new(), Line::default(), 0);
    for (text, style) in pieces {
        let style = style::of_piece(style, colour);
        let mut rest = text.as_str();
        loop {
            // Where nothing fits behind what is there, the next line begins.
            let end = if used == 0 {
                fitting(rest, columns)
            } else {
                beginning(rest, columns.saturating_sub(used))
            };
            if end == rest.len() {
                break;
            }
            line.push_span(Span::styled(rest[..end].to_owned(), style));
            lines.push(std::mem::take(&mut line));
            (rest, used) = (&rest[end..], 0);
        }
        used += width(rest);
        line.push_span(Span::styled(rest.to_owned(), style));
    }
    lines.push(line);
    lines
}

/// Lines for the conversation: what the composer, the notices and the status leave.
pub(crate) fn conversation_height(model: &Model) -> usize {
    let below = composer_height(model) + 4 + usize::from(model.notice.is_some());
    usize::from(model.look.height).saturating_sub(below)
}

/// Columns and lines of a list, below its title.
pub(crate) fn list_size(model: &Model) -> (usize, usize) {
    (usize::from(model.look.width), conversation_height(model).saturating_sub(1))
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
        shown.extend(lines(row, columns, model.look.colour).into_iter().rev());
    }
    let missing = shown.len() < height + below && model.conversation.more;
    let mut shown: Vec<Line> = shown.into_iter().skip(below).take(height).collect();
    shown.reverse();
    (shown, missing)
}

/// Whether the screen has space for older rows than those in memory, and memory has, too.
pub(crate) fn wants_older(model: &Model) -> bool {
    let capacity = model.conversation.capacity(model.anchor.map(|anchor| anchor.seq));
    if !model.conversation.more || model.look.inline || capacity == 0 {
        return false;
    }
    // Each row that is shown has a line at least: with enough of them nothing needs to be laid out.
    let needed = conversation_height(model) + model.anchor.map_or(0, |anchor| anchor.below);
    let rows = model.conversation.rows();
    let end = model.anchor.map_or(rows.len(), |anchor| model.conversation.index_of(anchor.seq) + 1);
    let shown = rows.range(..end.min(rows.len())).rev().filter(|row| row.is_shown(model.level));
    shown.take(needed).count() < needed && visible(model).1
}

/// What is not durable yet: prompts on their way, what the model says, and what its command prints.
fn pending(model: &Model, columns: usize) -> Vec<Line> {
    let (mut shown, aside) = (Vec::new(), style::of(Voice::Aside, model.look.colour));
    if let Some(live) = &model.live {
        shown.extend(plain(&format!("… {live}"), columns, aside));
    }
    if !model.printed.is_empty() {
        let inside = columns.saturating_sub(2);
        let lines = model.printed.split('\n').map(|line| holon_present::within(line, inside));
        shown.extend(lines.map(|line| Line::styled(format!("│ {line}"), aside)));
    }
    for prompt in &model.sending {
        let text = crate::text::clean(&prompt.text);
        let other = Some(&prompt.agent).filter(|agent| **agent != model.agent);
        let whom = other.map_or_else(String::new, |agent| format!(" to {agent}"));
        shown.extend(plain(&format!("› {text} (sending{whom})"), columns, aside));
        if let Some(problem) = &prompt.problem {
            let back = if model.taken_back().is_some() { "; Up takes the last one back" } else { "" };
            let why = format!("  not sent yet: {problem}{back}");
            shown.extend(plain(&why, columns, style::of(Voice::Alarm, model.look.colour)));
        }
    }
    shown
}

/// The anchor so many lines further up, or down where the number is negative; none at the newest row.
pub(crate) fn scrolled(model: &Model, up: isize) -> Option<Anchor> {
    let columns = usize::from(model.look.width);
    let rows = model.conversation.rows();
    let height = |at: usize| {
        let row = &rows[at];
        if row.is_shown(model.level) { lines(row, columns, false).len() } else { 0 }
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
    if up > 0 && !model.conversation.more {
        // The first row is at the top of the screen, and goes no further down.
        let (first, above) = top(height, last, conversation_height(model));
        if at < first || (at == first && below > above) {
            (at, below) = (first, above);
        }
    }
    // What is not durable yet may cover rows.
    let covered = || up > 0 && !pending(model, columns).is_empty();
    let older = at != last || below != 0 || model.conversation.is_cut() || covered();
    older.then(|| Anchor { seq: rows[at].seq, below })
}

/// The row at the bottom of a screen that begins with the first one, and how many of its lines are below the edge.
fn top(height: impl Fn(usize) -> usize, last: usize, screen: usize) -> (usize, usize) {
    let mut lines = 0;
    for at in 0..=last {
        lines += height(at);
        if lines >= screen {
            return (at, lines - screen);
        }
    }
    (last, 0)
}
