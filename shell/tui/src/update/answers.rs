//! What came of requests.

use holon_facts::AgentId;

use super::{ask_status, leave, next_prompt, open, reload, switch};
use crate::entry::Entry;
use crate::message::{Answer, Loaded, Prompt, Request};
use crate::model::{Link, Model, Recipient};
use crate::overlay::Kind;
use crate::text::{clean, clean_whole};

pub(super) fn came(model: &mut Model, answer: Answer) -> Vec<Request> {
    match answer {
        Answer::Loaded(agent, loaded) if agent == model.agent => return came_first(model, agent, loaded),
        Answer::LoadFailed { agent, again, problem } if agent == model.agent => {
            return load_failed(model, again, &problem);
        }
        Answer::Older { agent, before, rows, more } if agent == model.agent => {
            model.flight.older = false;
            // Where the first row is another one now, there would be a gap behind these.
            if model.conversation.first() == Some(before) {
                model.conversation.prepend(rows, more, model.anchor.map(|anchor| anchor.seq));
            }
        }
        Answer::OlderFailed(agent, problem) if agent == model.agent => {
            // What can't be read is not asked for again at once: scrolling asks anew.
            (model.flight.older, model.flight.older_failed) = (false, true);
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
        Answer::Sent(key) => return sent(model, &key),
        Answer::NotSent { key, again: true, problem } => return deferred(model, &key, &problem),
        Answer::NotSent { key, again: false, problem } => return refused(model, &key, &problem),
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
    model.session.follower += 1;
    vec![Request::Follow(agent, model.conversation.cursor(), model.session.follower)]
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
        None => {
            // Nothing is followed.
            model.link = Link::Loading;
            open(model, Kind::Agents)
        }
    }
}

/// Takes a prompt off those on their way.
fn answered(model: &mut Model, key: &str) -> Option<Prompt> {
    let at = model.sending.iter().position(|prompt| prompt.key == key)?;
    Some(model.sending.remove(at))
}

fn sent(model: &mut Model, key: &str) -> Vec<Request> {
    let Some(prompt) = answered(model, key) else { return Vec::new() };
    let mut requests: Vec<Request> = next_prompt(model, &prompt.agent).into_iter().collect();
    if model.sending.is_empty() && std::mem::take(&mut model.session.leaves_when_sent) {
        // What was begun since would be lost.
        if model.composer.is_blank() {
            requests.extend(leave(model));
        }
    }
    requests
}

/// What may pass is sent again under the same key after a pause. Those behind it wait.
fn deferred(model: &mut Model, key: &str, problem: &str) -> Vec<Request> {
    let Some(prompt) = model.sending.iter_mut().find(|prompt| prompt.key == key) else { return Vec::new() };
    prompt.deferred = prompt.deferred.saturating_add(1);
    prompt.problem = Some(clean(problem));
    vec![Request::Send(prompt.clone())]
}

/// What was refused comes back to the composer with whom it was for, where nothing else was begun there.
fn refused(model: &mut Model, key: &str, problem: &str) -> Vec<Request> {
    let Some(prompt) = answered(model, key) else { return Vec::new() };
    model.session.leaves_when_sent = false;
    let recipient = model.recipient_of(&prompt);
    let (agent, problem) = (prompt.agent, clean(problem));
    let whom = prompt.answers.map_or_else(|| agent.to_string(), |brief| format!("{agent}/{brief}"));
    let free = model.composer.is_blank() && model.recipient == Recipient::Agent;
    if let Some(recipient) = recipient.filter(|_| free) {
        model.composer.replace(&prompt.text);
        model.recipient = recipient;
        model.notice = Some(format!("not sent: {problem}"));
    } else {
        model.notice = Some(format!("not sent to {whom}, {}: {problem}", model.calls_back()));
    }
    next_prompt(model, &agent).into_iter().collect()
}

fn opened(model: &mut Model, kind: &Kind, entries: Result<Vec<Entry>, String>) {
    let Some(overlay) = model.overlays.iter_mut().find(|overlay| overlay.kind == *kind) else { return };
    let lines = match entries {
        Ok(entries) => entries,
        Err(problem) => vec![Entry::line(problem)],
    };
    overlay.fill(lines.into_iter().map(|entry| Entry { text: clean_whole(&entry.text), ..entry }).collect());
}
