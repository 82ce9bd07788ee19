//! The reducer: what happened changes the model, and asks for what is missing. Pure; knows no clock and no terminal.

mod actions;
mod answers;
mod keys;

use holon_facts::AgentId;

use crate::layout;
use crate::message::{Msg, Request};
use crate::model::{Flight, Link, Model, Recipient};
use crate::output::{Output, Piece};
use crate::overlay::{Kind, Overlay};
use crate::row::Row;
use crate::text::clean;

/// Events whose whole texts are asked for at once.
const TEXT_SPAN: u64 = 1_000;
/// Most bytes of what the model says that are kept until it is durable: its end.
const LIVE_BYTES: usize = 16 << 10;

/// What a fresh console asks for.
pub(crate) fn begin(model: &Model) -> Vec<Request> {
    vec![Request::Load(model.agent.clone())]
}

pub(crate) fn update(model: &mut Model, msg: Msg) -> Vec<Request> {
    let mut requests = match msg {
        Msg::Key(key, now) => keys::pressed(model, key, now),
        Msg::Wheel(lines) => keys::paged(model, lines),
        Msg::Paste(text) => {
            keys::typed(model, &text);
            Vec::new()
        }
        Msg::Resize(width, height) => {
            (model.look.width, model.look.height) = (width, height);
            Vec::new()
        }
        Msg::Tick(now) => {
            model.look.now = now;
            Vec::new()
        }
        Msg::Event(serial, row) if serial == model.session.follower => event(model, row),
        Msg::LiveAttempt(serial) if serial == model.session.follower => {
            model.live = Some(String::new());
            Vec::new()
        }
        Msg::LiveText(serial, text) if serial == model.session.follower => {
            live(model, &text);
            Vec::new()
        }
        Msg::LiveOutput(serial, lines) if serial == model.session.follower => {
            model.printed = clean(&lines);
            Vec::new()
        }
        Msg::Output(serial, piece) => {
            output(model, serial, piece);
            Vec::new()
        }
        Msg::Connected(serial, connected) if serial == model.session.follower => link(model, connected),
        Msg::FollowFailed(serial, code, problem) if serial == model.session.follower => {
            forget_live(model);
            // A ledger that was taken back to an earlier state has other events from here on.
            if code.as_deref() == Some("cursor_ahead") {
                model.notice = Some("the ledger was restored: loaded anew".to_owned());
                return reload(model);
            }
            model.link = Link::Lost;
            model.notice = Some(clean(&problem));
            Vec::new()
        }
        Msg::Event(..)
        | Msg::LiveAttempt(_)
        | Msg::LiveText(..)
        | Msg::LiveOutput(..)
        | Msg::Connected(..)
        | Msg::FollowFailed(..) => Vec::new(),
        Msg::Answer(answer) => answers::came(model, answer),
    };
    fed_no_more(model);
    requests.extend(missing(model));
    requests
}

/// What is written goes to a task while it runs and its output is open, and to the agent otherwise. A line that was begun for
/// the task must not reach the agent: it is called back with Up. What was written before stays.
fn fed_no_more(model: &mut Model) {
    let Recipient::Task(task) = model.recipient else { return };
    let open = |overlay: &Overlay| {
        overlay.kind == Kind::Output(task) && overlay.output.as_ref().is_some_and(|output| !output.ended)
    };
    if model.overlays.iter().any(open) {
        return;
    }
    model.recipient = Recipient::Agent;
    if !model.composer.is_blank() && model.composer.text() != model.session.draft {
        model.composer.take();
        model.notice = Some(format!("{task} takes no more input; {}", model.calls_back()));
    }
}

/// The next prompt to an agent, unless one is on its way: they arrive in the order in which they were written.
fn next_prompt(model: &mut Model, agent: &AgentId) -> Option<Request> {
    let first = model.sending.iter_mut().find(|prompt| prompt.agent == *agent)?;
    let before = std::mem::replace(&mut first.on_its_way, true);
    (!before).then(|| Request::Send(first.clone()))
}

/// Leaves at once where no prompt waits, and otherwise once they are sent, or when it is asked again.
fn leave(model: &mut Model) -> Vec<Request> {
    let waiting = model.sending.len();
    if waiting > 0 && !std::mem::replace(&mut model.session.leaves_when_sent, true) {
        let what = if waiting == 1 { "1 prompt is".to_owned() } else { format!("{waiting} prompts are") };
        model.notice = Some(format!("{what} not sent yet: leaves after that; again leaves now, Esc stays"));
        return Vec::new();
    }
    model.session.leaving = true;
    vec![Request::Leave]
}

fn event(model: &mut Model, row: Row) -> Vec<Request> {
    // What the model said is durable now, or void: the next prompt never inherits it.
    let ends = ["assistant_round_recorded", "brief_created", "turn_terminal", "turn_started"];
    if ends.contains(&row.kind.as_str()) {
        forget_live(model);
    }
    if ["tool_executed", "tool_execution_failed"].contains(&row.kind.as_str()) {
        model.printed.clear();
    }
    if !model.conversation.push(row, model.anchor.is_none()) {
        return Vec::new();
    }
    ask_status(model)
}

/// Nothing that is not durable is shown any more.
fn forget_live(model: &mut Model) {
    model.live = None;
    model.printed.clear();
}

fn ask_status(model: &mut Model) -> Vec<Request> {
    if std::mem::replace(&mut model.flight.status, true) {
        model.flight.status_again = true;
        return Vec::new();
    }
    vec![Request::Status(model.agent.clone())]
}

fn live(model: &mut Model, text: &str) {
    let live = model.live.get_or_insert_default();
    live.push_str(&clean(text));
    let surplus = live.len().saturating_sub(LIVE_BYTES);
    let begin = (surplus..live.len()).find(|at| live.is_char_boundary(*at)).unwrap_or_default();
    live.drain(..begin);
}

fn output(model: &mut Model, serial: u64, piece: Piece) {
    let mut of = model.overlays.iter_mut();
    let found = of.find(|overlay| overlay.output.as_ref().is_some_and(|output| output.serial == serial));
    if let Some(overlay) = found {
        overlay.write(|output, lines| output.take(piece, lines));
    }
}

/// Prompts on their way have answers of their own, however the stream is.
fn link(model: &mut Model, connected: bool) -> Vec<Request> {
    let was = std::mem::replace(&mut model.link, if connected { Link::Connected } else { Link::Lost });
    if !connected {
        forget_live(model);
        return Vec::new();
    }
    if was != Link::Lost {
        return Vec::new();
    }
    model.flight.older_failed = false;
    ask_status(model)
}

/// What the screen shows that is not here yet.
fn missing(model: &mut Model) -> Vec<Request> {
    if model.link != Link::Connected {
        return Vec::new();
    }
    let mut requests = Vec::new();
    if !model.flight.texts
        && let Some((first, last)) = model.conversation.wanted(TEXT_SPAN)
    {
        model.flight.texts = true;
        requests.push(Request::Texts(model.agent.clone(), first, last));
    }
    if !model.flight.older
        && !model.flight.older_failed
        && layout::wants_older(model)
        && let Some(first) = model.conversation.first()
    {
        model.flight.older = true;
        requests.push(Request::Older(model.agent.clone(), first));
    }
    requests
}

/// Begins with another agent, or with the same one anew.
fn switch(model: &mut Model, agent: AgentId) -> Vec<Request> {
    let before = std::mem::replace(&mut model.agent, agent);
    model.session.before.get_or_insert(before);
    model.recipient = Recipient::Agent;
    model.overlays.clear();
    reload(model)
}

fn reload(model: &mut Model) -> Vec<Request> {
    forget_live(model);
    (model.anchor, model.flight) = (None, Flight::default());
    // What still comes from the follower so far is not what follows the page that is loaded.
    model.session.follower += 1;
    vec![Request::Load(model.agent.clone())]
}

fn open(model: &mut Model, kind: Kind) -> Vec<Request> {
    // One of a kind: what is opened again comes to the top.
    model.overlays.retain(|overlay| overlay.kind != kind);
    if kind == Kind::Actions {
        model.overlays.push(Overlay::actions(String::new()));
        return Vec::new();
    }
    let Kind::Output(task) = kind else {
        model.overlays.push(Overlay::new(kind.clone()));
        return vec![Request::Open(model.agent.clone(), kind)];
    };
    // One task is followed at a time.
    model.overlays.retain(|overlay| overlay.output.is_none());
    model.session.followed += 1;
    let output = Some(Output::new(model.session.followed));
    model.overlays.push(Overlay { output, ..Overlay::new(kind) });
    vec![Request::FollowOutput(model.agent.clone(), task, model.session.followed)]
}

/// The newest row again. Where rows behind were dropped, they are loaded anew.
fn newest(model: &mut Model) -> Vec<Request> {
    model.anchor = None;
    if model.conversation.is_cut() { reload(model) } else { Vec::new() }
}

fn scroll(model: &mut Model, up: isize) -> Vec<Request> {
    model.flight.older_failed = false;
    model.anchor = layout::scrolled(model, up);
    if model.anchor.is_none() { newest(model) } else { Vec::new() }
}
