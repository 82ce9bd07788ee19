//! Keys. Characters go to the composer, whatever lies over the conversation; only the list of actions takes them, to filter.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use holon_facts::Millis;
use holon_facts::ids::TaskId;

use super::{actions, leave, newest, open, scroll};
use crate::command;
use crate::entry::Target;
use crate::layout::{conversation_height, list_size};
use crate::message::{Control, Request};
use crate::model::{Link, Model, Recipient};
use crate::overlay::{Kind, Overlay};
use crate::text::clean;

/// Ctrl-C twice within this leaves.
const TWICE: Millis = Millis(2_000);
/// Most characters of what is typed to find an action.
const FILTER: usize = 40;

#[expect(clippy::wildcard_enum_match_arm, reason = "a terminal has more keys than this console")]
pub(super) fn pressed(model: &mut Model, key: KeyEvent, now: Millis) -> Vec<Request> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    model.notice = None;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && key.code == KeyCode::Char('c') {
        return interrupt(model, now);
    }
    model.session.interrupted = None;
    match key.code {
        KeyCode::Char(c) if control => controlled(model, c),
        KeyCode::Enter if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            model.composer.insert("\n");
            Vec::new()
        }
        KeyCode::Enter => actions::enter(model),
        KeyCode::Esc => escape(model),
        KeyCode::Char('?') if model.composer.text().is_empty() && filtered(model).is_none() => {
            open(model, Kind::Help)
        }
        KeyCode::Char(c) => {
            typed(model, c.encode_utf8(&mut [0; 4]));
            Vec::new()
        }
        code => moved(model, code),
    }
}

/// The list of actions, where it is on top.
fn filtered(model: &mut Model) -> Option<&mut Overlay> {
    model.overlays.last_mut().filter(|top| top.kind == Kind::Actions)
}

/// Characters that were typed or pasted.
pub(super) fn typed(model: &mut Model, text: &str) {
    match filtered(model) {
        Some(actions) => {
            let typed = clean(text.lines().next().unwrap_or_default());
            let filter = actions.filter.chars().chain(typed.chars()).take(FILTER).collect();
            *actions = Overlay::actions(filter);
        }
        None => model.composer.insert(text),
    }
}

fn backspace(model: &mut Model) {
    match filtered(model) {
        Some(actions) => {
            let mut filter = std::mem::take(&mut actions.filter);
            filter.pop();
            *actions = Overlay::actions(filter);
        }
        None => model.composer.backspace(),
    }
}

/// Keys without a character.
#[expect(clippy::wildcard_enum_match_arm, reason = "a terminal has more keys than this console")]
fn moved(model: &mut Model, code: KeyCode) -> Vec<Request> {
    let page = isize::try_from(conversation_height(model).saturating_sub(1).max(1)).unwrap_or(1);
    match code {
        KeyCode::Backspace => backspace(model),
        KeyCode::Delete => model.composer.delete(),
        KeyCode::Left => model.composer.left(),
        KeyCode::Right => model.composer.right(),
        KeyCode::Home => model.composer.home(),
        KeyCode::End if model.anchor.is_some() && model.composer.is_blank() => return newest(model),
        KeyCode::End => model.composer.end(),
        KeyCode::Tab => complete(model),
        KeyCode::Up => return vertical(model, -1),
        KeyCode::Down => return vertical(model, 1),
        KeyCode::PageUp => return paged(model, -page),
        KeyCode::PageDown => return paged(model, page),
        KeyCode::F(number) => return function(model, number),
        _ => {}
    }
    Vec::new()
}

fn function(model: &mut Model, number: u8) -> Vec<Request> {
    let kind = match number {
        1 => Kind::Help,
        2 => Kind::Agents,
        3 => Kind::Tasks,
        4 => Kind::Work,
        5 => Kind::Transcript,
        6 => Kind::Events,
        7 => Kind::Why,
        8 => Kind::Inbox,
        9 => Kind::Actions,
        _ => return Vec::new(),
    };
    open(model, kind)
}

fn controlled(model: &mut Model, c: char) -> Vec<Request> {
    match c {
        'j' => model.composer.insert("\n"),
        'a' => model.composer.home(),
        'e' => model.composer.end(),
        'b' => model.composer.left(),
        'f' => model.composer.right(),
        'h' => backspace(model),
        'w' => model.composer.delete_word(),
        'u' => model.composer.delete_to_begin(),
        'p' => return open(model, Kind::Actions),
        'r' if model.session.can_start && matches!(model.link, Link::Missing(_) | Link::Lost) => {
            model.notice = Some("starting the runtime".to_owned());
            return vec![Request::StartRuntime];
        }
        't' | 'x' | 'd' | 'k' | 'r' => return of_selected(model, c),
        _ => {}
    }
    Vec::new()
}

/// What can be done to a selected entry besides Enter.
fn of_selected(model: &mut Model, c: char) -> Vec<Request> {
    let top = model.overlays.last();
    let target = top.and_then(|overlay| overlay.target()).cloned();
    let control = match (c, top.and_then(|overlay| overlay.task()), target) {
        ('x' | 'k', Some(task), _) => Control::StopTask { task, force: c == 'k' },
        ('t', Some(task), _) => return feed(model, task),
        ('x', None, Some(Target::Timer(timer))) => Control::CancelTimer(timer),
        ('x', None, Some(Target::Trigger)) => Control::RevokeTrigger,
        ('r', None, Some(Target::Trigger)) => Control::RotateTrigger,
        ('x', None, Some(Target::Workspace(workspace))) => Control::Detach(workspace),
        ('d', None, Some(Target::Ask(agent, brief))) => {
            return vec![Request::Control(agent, Control::CloseAsk(brief))];
        }
        ('d', _, _) => {
            model.composer.delete();
            return Vec::new();
        }
        ('k', None, _) => {
            model.composer.delete_to_end();
            return Vec::new();
        }
        (_, _, _) => return Vec::new(),
    };
    vec![Request::Control(model.agent.clone(), control)]
}

/// The composer writes to a task, whose output lies over the conversation.
fn feed(model: &mut Model, task: TaskId) -> Vec<Request> {
    if !model.overlays.last().is_some_and(Overlay::runs) {
        model.notice = Some(format!("{task} does not run, so it takes no input"));
        return Vec::new();
    }
    if model.recipient != Recipient::Task(task) {
        model.session.draft = model.composer.text().to_owned();
    }
    model.recipient = Recipient::Task(task);
    let shown = model.overlays.last().is_some_and(|overlay| overlay.kind == Kind::Output(task));
    if shown { Vec::new() } else { open(model, Kind::Output(task)) }
}

fn interrupt(model: &mut Model, now: Millis) -> Vec<Request> {
    let twice = model.session.interrupted.is_some_and(|then| now.0.saturating_sub(then.0) <= TWICE.0);
    if twice || (model.session.leaves_when_sent && model.composer.is_blank()) {
        return leave(model);
    }
    model.composer.clear();
    model.session.interrupted = Some(now);
    model.notice = Some("Ctrl-C again leaves; agents go on".to_owned());
    Vec::new()
}

/// Closes what is on top, then what the composer is about, then what is typed as a command.
fn escape(model: &mut Model) -> Vec<Request> {
    if let Some(closed) = model.overlays.pop() {
        // What is written next is for the agent again.
        if matches!((&closed.kind, &model.recipient), (Kind::Output(shown), Recipient::Task(fed)) if shown == fed)
        {
            model.recipient = Recipient::Agent;
        }
        return Vec::new();
    }
    if std::mem::take(&mut model.session.leaves_when_sent) {
        model.notice = Some("leaving is called off".to_owned());
    } else if model.recipient != Recipient::Agent {
        model.recipient = Recipient::Agent;
    } else if model.composer.text().starts_with('/') {
        model.composer.clear();
    } else {
        return newest(model);
    }
    Vec::new()
}

fn vertical(model: &mut Model, by: isize) -> Vec<Request> {
    let size = list_size(model);
    match model.overlays.last_mut() {
        Some(overlay) => overlay.scroll(by, size),
        None if by < 0 => match actions::take_back(model) {
            Some(requests) => return requests,
            None => model.composer.up(),
        },
        None => model.composer.down(),
    }
    Vec::new()
}

pub(super) fn paged(model: &mut Model, by: isize) -> Vec<Request> {
    let size = list_size(model);
    match model.overlays.last_mut() {
        Some(overlay) => {
            overlay.scroll(by, size);
            Vec::new()
        }
        None => scroll(model, -by),
    }
}

/// The longest beginning that all commands share which the typed one may become.
fn complete(model: &mut Model) {
    let found = command::completions(model.composer.text());
    let Some(first) = found.first() else { return };
    let shared = (1..=first.name.len())
        .rev()
        .find(|end| found.iter().all(|command| command.name.starts_with(&first.name[..*end])));
    let name = &first.name[..shared.unwrap_or_default()];
    let blank = if found.len() == 1 && !first.argument.is_empty() { " " } else { "" };
    if name.len() + 1 >= model.composer.text().len() {
        model.composer.replace(&format!("/{name}{blank}"));
    }
}
