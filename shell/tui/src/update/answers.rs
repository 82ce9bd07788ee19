//! What came of requests.

use holon_facts::AgentId;

use super::{ask_status, open, reload, switch};
use crate::entry::Entry;
use crate::message::{Answer, Loaded, Request};
use crate::model::{Link, Model};
use crate::overlay::Kind;
use crate::text::clean;

pub(super) fn came(model: &mut Model, answer: Answer) -> Vec<Request> {
    match answer {
        Answer::Loaded(agent, loaded) if agent == model.agent => return came_first(model, agent, loaded),
        Answer::LoadFailed { agent, again, problem } if agent == model.agent => {
            return load_failed(model, again, &problem);
        }
        Answer::Older { agent, rows, more } if agent == model.agent => {
            model.flight.older = false;
            model.conversation.prepend(rows, more);
        }
        Answer::OlderFailed(agent, problem) if agent == model.agent => {
            // What can't be read is not asked for again at once: scrolling asks anew.
            model.flight.older = false;
            model.conversation.more = false;
            model.notice = Some(clean(&problem));
        }
        Answer::Texts { agent, span, texts } if agent == model.agent => {
            model.flight.texts = false;
            model.conversation.texts(span, texts);
        }
        Answer::Status(agent, status) if agent == model.agent => {
            model.flight.status = false;
            if let Some(status) = status {
                model.status = status;
            }
            let mut requests = current(model);
            if std::mem::take(&mut model.flight.status_again) {
                requests.extend(ask_status(model));
            }
            return requests;
        }
        Answer::Sent(key) => model.sending.retain(|prompt| prompt.key != key),
        Answer::NotSent { key, again, problem } => not_sent(model, &key, again, &problem),
        Answer::Opened(agent, kind, entries) if agent == model.agent => opened(model, &kind, entries),
        Answer::Done(Ok(done)) => {
            model.notice = Some(clean(&done));
            let mut requests = ask_status(model);
            requests.extend(current(model));
            return requests;
        }
        Answer::Done(Err(problem)) => model.notice = Some(clean(&problem)),
        Answer::Forked(agent) => {
            model.notice = Some(format!("this is {agent} now"));
            return switch(model, agent);
        }
        Answer::Began(agent, task) if agent == model.agent => {
            model.notice = Some(format!("{task} runs; Esc closes its output, and it goes on"));
            return open(model, Kind::Output(task));
        }
        Answer::Began(_, task) => model.notice = Some(format!("{task} runs")),
        Answer::Loaded(..)
        | Answer::LoadFailed { .. }
        | Answer::Older { .. }
        | Answer::OlderFailed(..)
        | Answer::Texts { .. }
        | Answer::Status(..)
        | Answer::Opened(..) => {}
    }
    Vec::new()
}

/// What the list on top shows may be another now.
fn current(model: &Model) -> Vec<Request> {
    let top = model.overlays.last().map(|overlay| overlay.kind.clone());
    top.filter(Kind::is_current).map(|kind| Request::Open(model.agent.clone(), kind)).into_iter().collect()
}

fn came_first(model: &mut Model, agent: AgentId, loaded: Loaded) -> Vec<Request> {
    (model.link, model.session.before) = (Link::Connected, None);
    model.status = loaded.status;
    model.conversation.load(loaded.rows, loaded.last, loaded.more);
    let mut requests = vec![Request::Follow(agent, model.conversation.cursor())];
    requests.extend(model.sending.iter().cloned().map(Request::Send));
    requests
}

fn load_failed(model: &mut Model, again: bool, problem: &str) -> Vec<Request> {
    if again {
        model.link = Link::Missing(clean(problem));
        return vec![Request::Load(model.agent.clone())];
    }
    model.notice = Some(clean(problem));
    match model.session.before.take() {
        // Nothing was shown of the one that can't be loaded.
        Some(before) => {
            model.agent = before;
            reload(model)
        }
        None => open(model, Kind::Agents),
    }
}

/// What was refused comes back to the composer; what may pass is sent again when the stream stands.
fn not_sent(model: &mut Model, key: &str, again: bool, problem: &str) {
    if again {
        return;
    }
    let Some(at) = model.sending.iter().position(|prompt| prompt.key == key) else { return };
    let prompt = model.sending.remove(at);
    if model.composer.is_blank() {
        model.composer.replace(&prompt.text);
    }
    model.notice = Some(format!("not sent: {}", clean(problem)));
}

fn opened(model: &mut Model, kind: &Kind, entries: Result<Vec<Entry>, String>) {
    let Some(overlay) = model.overlays.iter_mut().find(|overlay| overlay.kind == *kind) else { return };
    let lines = match entries {
        Ok(entries) => entries,
        Err(problem) => vec![Entry::line(problem)],
    };
    overlay.fill(lines.into_iter().map(|entry| Entry { text: clean(&entry.text), ..entry }).collect());
}
