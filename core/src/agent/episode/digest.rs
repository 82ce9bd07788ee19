//! What is kept of an episode that closes.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::clip;
use holon_facts::episode::{Digest, Done, Focus, KindCount, Request, SeenImage};
use holon_facts::hash::Fnv;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::MessageKind;
use holon_facts::subsystem::SUPERVISOR;
use holon_facts::work::{LINE_BYTES, TodoState};

use crate::agent::Agent;
use crate::agent::episode::{Episode, Turn};
use crate::agent::turn::{Conversation, Note, Round};
use crate::agent::work::WorkItem;

/// Requests that are kept, changed files, calls, open steps, and images.
const REQUESTS: usize = 16;
const FILES: usize = 32;
const CALLS: usize = 32;
const STEPS: usize = 8;
const IMAGES: usize = 8;
/// Bytes of a path.
const PATH_BYTES: usize = 200;

/// From the turns that ended in it; of what is in focus, as it stands.
pub(crate) fn of(agent: &Agent, open: &Episode) -> Digest {
    let mut digest = Digest::default();
    let conversations = || open.turns.iter().map(|turn| &turn.conversation);
    digest.turns = count(open.turns.len());
    digest.rounds = count(conversations().map(|conversation| conversation.rounds.len()).sum());
    for turn in &open.turns {
        received(&mut digest, turn);
    }
    digest.more_requests = count(keep_newest(&mut digest.requests, REQUESTS));
    digest.focus = open.focus.and_then(|id| agent.work.get(id)).map(focus);
    digest.done = done(conversations().flat_map(|conversation| &conversation.rounds));
    digest.more_done = count(keep_newest(&mut digest.done, CALLS));
    digest.changed_files = files(conversations());
    digest.more_files = count(keep_newest(&mut digest.changed_files, FILES));
    digest.images = images(&open.turns);
    digest.more_images = count(keep_newest(&mut digest.images, IMAGES));
    digest.end = open.turns.last().map(|turn| turn.end);
    let text = |turn: &Turn| turn.conversation.rounds.iter().rev().find_map(Round::text).cloned();
    digest.last_text = open.turns.iter().rev().find_map(|turn| text(turn));
    digest
}

/// What a turn was for, and what was said in its middle.
fn received(digest: &mut Digest, Turn { about, conversation, .. }: &Turn) {
    for message in core::iter::once(&about.incoming).chain(&about.also) {
        if defines_the_task(message) {
            let text = message.body.text.clone();
            digest.requests.push(Request { message_id: message.id, at: message.created_at, text });
            continue;
        }
        match digest.others.iter_mut().find(|other| other.kind == message.kind) {
            Some(other) => other.count = other.count.saturating_add(1),
            None => digest.others.push(KindCount { kind: message.kind, count: 1 }),
        }
    }
    let notes = conversation.rounds.iter().flat_map(|round| &round.notes).chain(&conversation.notes);
    for note in notes {
        if let Note::Interjection { message_id, at, text, .. } = note {
            digest.requests.push(Request { message_id: *message_id, at: *at, text: text.clone() });
        }
    }
}

/// It is an operator's or a supervisor's.
fn defines_the_task(message: &Message) -> bool {
    let supervisor = matches!(&message.origin, Origin::System { subsystem } if subsystem == SUPERVISOR);
    message.kind == MessageKind::OperatorPrompt || supervisor
}

/// Calls that had effects, in order; the same one with the same outcome once.
pub(crate) fn done<'a>(rounds: impl Iterator<Item = &'a Round>) -> Vec<Done> {
    let mut all: Vec<Done> = Vec::new();
    let mut alike = BTreeMap::<u64, Vec<usize>>::new();
    for round in rounds {
        for (((_, tool_name, arguments), verdict), receipt) in
            round.calls().zip(&round.verdicts).zip(&round.results)
        {
            if !verdict.has_effect() {
                continue;
            }
            let made = Done {
                tool_name: String::from(tool_name),
                arguments: arguments.clone(),
                times: 1,
                exit_status: receipt.facts.exit_status,
                failed: receipt.error.as_ref().map(|error| error.kind),
            };
            let alike = alike.entry(Fnv::START.piece(tool_name.as_bytes()).text(arguments).0).or_default();
            match alike.iter().find(|at| all[**at].is_same(&made)) {
                Some(at) => all[*at].times = all[*at].times.saturating_add(1),
                None => {
                    alike.push(all.len());
                    all.push(made);
                }
            }
        }
    }
    all
}

fn files<'a>(conversations: impl Iterator<Item = &'a Conversation>) -> Vec<String> {
    let receipts =
        conversations.flat_map(|conversation| &conversation.rounds).flat_map(|round| &round.results);
    let mut files: Vec<String> = Vec::new();
    for file in receipts.flat_map(|receipt| &receipt.facts.changed_files) {
        let file = clip(file, PATH_BYTES);
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// Each once, at the place of its last view.
fn images(turns: &[Arc<Turn>]) -> Vec<SeenImage> {
    let mut images: Vec<SeenImage> = Vec::new();
    for image in turns.iter().flat_map(|turn| turn.images()).map(SeenImage::from) {
        images.retain(|seen| *seen != image);
        images.push(image);
    }
    images
}

fn focus(item: &WorkItem) -> Focus {
    let open = item.todo_list.iter().filter(|todo| todo.state != TodoState::Completed);
    Focus {
        work_item_id: item.id,
        objective: clip(&item.objective, LINE_BYTES),
        plan_status: item.plan_status,
        state: item.state(),
        open_steps: open.take(STEPS).map(|todo| todo.text.clone()).collect(),
        blocked_by: item.blocked_by.clone(),
    }
}

/// Says how many are left out.
fn keep_newest<T>(all: &mut Vec<T>, most: usize) -> usize {
    let over = all.len().saturating_sub(most);
    all.drain(..over);
    over
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}
