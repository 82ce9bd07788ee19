//! The screen as a picture of the model. Pure; draws whatever the model holds, and changes nothing.

use std::collections::VecDeque;

use holon_facts::Wall;
use holon_present::{Level, within};
use holon_text::time::duration;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Clear;

use crate::command;
use crate::layout::{self, SMALLEST};
use crate::model::{Link, Model, Recipient};
use crate::overlay::Overlay;
use crate::row::Voice;
use crate::style;
use crate::text::{end_of, width};

/// Completions that are shown at once.
const COMPLETIONS: usize = 8;
/// Columns that the name of a model has at least.
const MODEL: usize = 12;

pub(crate) fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Verbose => "verbose",
        Level::Debug => "debug",
    }
}

pub(crate) fn view(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let (columns, lines) = SMALLEST;
        put(frame, area, &format!("the terminal is smaller than {columns}x{lines}"), Style::new());
        return;
    }
    let composer = u16::try_from(layout::composer_height(model)).unwrap_or(1);
    let notice = u16::from(model.notice.is_some());
    let parts = [
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(notice),
        Constraint::Length(1),
        Constraint::Length(composer),
        Constraint::Length(2),
    ];
    let [status, conversation, notices, rule, input, hints] = Layout::vertical(parts).areas(area);
    let text = status_line(model);
    let status = if model.look.inline { short(status, width(&text)) } else { status };
    put(frame, status, &text, Style::new().add_modifier(Modifier::REVERSED));
    match model.overlays.last() {
        Some(overlay) => draw_overlay(model, overlay, frame, conversation),
        None => draw_conversation(model, frame, conversation),
    }
    if let Some(text) = &model.notice {
        put(frame, notices, &text.replace('\n', " "), styled(model, Voice::Alarm));
    }
    draw_rule(model, frame, rule);
    draw_composer(model, frame, input);
    draw_completions(model, frame, rule);
    draw_hints(model, frame, hints);
}

/// No wider than it must be: below the scrollback a terminal that becomes narrower breaks lines that are wider.
fn short(area: Rect, columns: usize) -> Rect {
    Rect { width: u16::try_from(columns).unwrap_or(u16::MAX).min(area.width), ..area }
}

/// One line, filled to the edge.
fn put(frame: &mut Frame<'_>, area: Rect, text: &str, style: Style) {
    if area.height == 0 {
        return;
    }
    let area = Rect { height: 1, ..area };
    frame.buffer_mut().set_style(area, style);
    frame.render_widget(Line::styled(within(text, usize::from(area.width)), style), area);
}

fn styled(model: &Model, voice: Voice) -> Style {
    style::of(voice, model.look.colour)
}

fn status_line(model: &Model) -> String {
    let status = &model.status;
    let mut parts = vec![model.agent.to_string()];
    let link = match &model.link {
        Link::Loading => "connecting",
        Link::Missing(_) => "no runtime",
        Link::Connected => "connected",
        Link::Lost => "connection lost, trying again",
    };
    if model.link != Link::Connected {
        parts.push(link.to_owned());
    }
    match &status.run {
        Some((doing, since)) => parts.push(format!("{doing} {}", elapsed(*since, model.look.now))),
        None => parts.extend(Some(status.posture.replace('_', " ")).filter(|posture| !posture.is_empty())),
    }
    parts.extend(status.waits_for.clone().map(|what| format!("waits for {what}")));
    let mut after: Vec<String> =
        Some(status.today.clone()).filter(|today| !today.is_empty()).into_iter().collect();
    if model.link == Link::Connected {
        after.push(link.to_owned());
    }
    if let Some(name) = &status.model {
        // Its name may be a path: it gives way to what stands around it.
        let around: usize = parts.iter().chain(&after).map(|part| width(part) + 3).sum();
        parts.push(end_of(name, usize::from(model.look.width).saturating_sub(around + 1).max(MODEL)));
    }
    parts.append(&mut after);
    crate::text::clean(&format!(" {}", parts.join(" · "))).replace('\n', " ")
}

fn elapsed(since: Wall, now: Wall) -> String {
    duration(holon_facts::Millis(now.since(since).0 / 1_000 * 1_000))
}

fn draw_conversation(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    if let Link::Missing(problem) = &model.link
        && model.conversation.rows().is_empty()
    {
        let key = if model.session.can_start { "Ctrl-R starts it, or run: " } else { "start it with: " };
        let text = format!("No runtime answers.\n{problem}\n\n{key}holon daemon start");
        draw_lines(frame, area, layout::plain(&text, usize::from(area.width), Style::new()));
        return;
    }
    let (lines, _) = layout::visible(model);
    // The newest row stands at the bottom.
    let empty = usize::from(area.height).saturating_sub(lines.len());
    draw_lines(frame, area, std::iter::repeat_n(layout::Line::default(), empty).chain(lines));
}

fn draw_lines(frame: &mut Frame<'_>, area: Rect, lines: impl IntoIterator<Item = layout::Line>) {
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

fn draw_overlay(model: &Model, overlay: &Overlay, frame: &mut Frame<'_>, area: Rect) {
    let live = overlay.output.as_ref().is_some_and(|output| !output.ended);
    let live = if live { "· live, not durable yet " } else { "" };
    let filter = if overlay.filter.is_empty() { String::new() } else { format!("· {} ", overlay.filter) };
    put(
        frame,
        area,
        &format!("── {} {filter}{live}", overlay.kind.title()),
        Style::new().add_modifier(Modifier::BOLD),
    );
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let Some(entries) = &overlay.entries else {
        return put(frame, list, "loading …", styled(model, Voice::Aside));
    };
    if entries.is_empty() {
        return put(frame, list, "nothing here", styled(model, Voice::Aside));
    }
    let (columns, height) = (usize::from(list.width), usize::from(list.height));
    let lines = |at: usize| {
        let chosen = if at == overlay.selected { Modifier::REVERSED } else { Modifier::empty() };
        layout::plain(&entries[at].text, columns, Style::new().add_modifier(chosen))
    };
    // The selected entry and what stands before it, as far as that fits; then what follows.
    let selected = lines(overlay.selected);
    let offset = overlay.offset.min(selected.len().saturating_sub(height));
    let mut shown: VecDeque<layout::Line> = selected.into_iter().skip(offset).take(height).collect();
    for at in (0..overlay.selected).rev() {
        let before = lines(at);
        let fits = height.saturating_sub(shown.len());
        before.into_iter().rev().take(fits).for_each(|line| shown.push_front(line));
        if fits == 0 {
            break;
        }
    }
    for at in overlay.selected + 1..entries.len() {
        if shown.len() >= height {
            break;
        }
        shown.extend(lines(at));
    }
    draw_lines(frame, list, shown);
}

fn draw_rule(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let what = match (&model.recipient, model.anchor) {
        (Recipient::Ask(agent, brief), _) => format!(" answer to {agent}/{brief} "),
        (Recipient::Task(task), _) => format!(" input of {task} "),
        (Recipient::Agent, Some(_)) => " older rows: End shows the newest ".to_owned(),
        (Recipient::Agent, None) => String::new(),
    };
    let area = if model.look.inline { short(area, usize::from(SMALLEST.0)) } else { area };
    let rest = usize::from(area.width).saturating_sub(what.chars().count() + 2);
    put(frame, area, &format!("──{what}{}", "─".repeat(rest)), styled(model, Voice::Aside));
}

fn draw_composer(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let (lines, (line, column)) = model.composer.laid_out(layout::composer_columns(model));
    let first = (line + 1).saturating_sub(usize::from(area.height));
    for (y, (at, text)) in (area.y..area.bottom()).zip(lines.iter().enumerate().skip(first)) {
        let mark = if at == 0 { "> " } else { "  " };
        frame.render_widget(Line::raw(format!("{mark}{text}")), Rect { y, height: 1, ..area });
    }
    let place = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let x = area.x.saturating_add(2).saturating_add(place(column)).min(area.right().saturating_sub(1));
    frame.set_cursor_position(Position { x, y: area.y.saturating_add(place(line - first)) });
}

/// Commands that the typed one may become, above the composer.
fn draw_completions(model: &Model, frame: &mut Frame<'_>, rule: Rect) {
    let found = command::completions(model.composer.text());
    let count = u16::try_from(found.len().min(COMPLETIONS)).unwrap_or_default().min(rule.y.saturating_sub(1));
    let area = Rect { y: rule.y - count, height: count, ..rule };
    frame.render_widget(Clear, area);
    let lines = found
        .iter()
        .map(|command| format!("/{} {}  {}", command.name, command.argument, command.about))
        .map(|line| {
            layout::Line::styled(within(&line, usize::from(area.width)), styled(model, Voice::Activity))
        });
    draw_lines(frame, area, lines);
}

fn draw_hints(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let keys = match model.overlays.last() {
        Some(overlay) => overlay.kind.keys(),
        None => "Enter sends · Alt-Enter breaks the line · / commands · ? help · Ctrl-C twice leaves",
    };
    put(frame, area, &format!("── {} ", level_name(model.level)), styled(model, Voice::Aside));
    let last = Rect { y: area.y + 1, height: 1, ..area };
    put(frame, last, keys, styled(model, Voice::Aside));
}
