//! The conversation of the last request of a run, which the next one goes on with, so that a round costs what it adds and
//! not what stands before it. It is kept beside the agent's state and follows from that alone: whoever has none makes
//! all of it anew, to the same request.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::ids::{EpisodeId, RunId};
use holon_facts::model::{Block, Item, ModelRequest};
use holon_facts::request::{RequestRecord, RequestSize};
use holon_facts::shared::Shared;

use super::conversation;
use super::images::{self, Room};
use super::request_record::{self, Waypoint};
use crate::agent::Agent;
use crate::agent::episode::Turn;
use crate::agent::turn::Run;

/// What the requests of a run have said so far; nothing before the first one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extended(Option<Box<Rendered>>);

#[derive(Debug, Clone)]
struct Rendered {
    what: What,
    turns: Vec<Arc<Turn>>,
    /// Of the rounds that nothing is added to any more.
    rounds: Vec<Arc<[Block]>>,
    items: Shared<Item>,
    /// Up to the end of those rounds.
    settled: Measured,
    whole: Measured,
    waypoint: Option<Waypoint>,
}

/// With another one, everything is said anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct What {
    episode: Option<EpisodeId>,
    run: RunId,
    hidden: u32,
    recap: u64,
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    items: usize,
    tokens: u64,
    room: Room,
    names_images: bool,
}

impl Extended {
    /// What the next request of the run says; a summary of hidden rounds takes about so many tokens.
    pub(crate) fn next(&mut self, agent: &Agent, run: &Run, recap: u64) -> Shared<Item> {
        let episode = agent.episodes.open.as_ref().map(|open| open.id);
        let what = What { episode, run: run.id, hidden: run.conversation.recap.rounds, recap };
        let turns = agent.episodes.turns();
        let known = self.0.take().filter(|rendered| rendered.what == what && rendered.holds(turns, run));
        let mut rendered = known.unwrap_or_else(|| Box::new(Rendered::begin(what, turns, run)));
        rendered.go_on(run);
        self.0.insert(rendered).items.clone()
    }

    /// What that takes, estimated.
    pub(crate) fn tokens(&self) -> u64 {
        self.0.as_ref().map_or(0, |rendered| rendered.whole.tokens)
    }

    /// Whether it names images that others leave no room for.
    pub(crate) fn names_images(&self) -> bool {
        self.0.as_ref().is_some_and(|rendered| rendered.whole.names_images)
    }

    /// What is on record of the request that says it.
    pub(crate) fn record(
        &mut self,
        request: &ModelRequest,
        size: RequestSize,
        before: Option<&RequestRecord>,
    ) -> RequestRecord {
        let Some(rendered) = &mut self.0 else { return request_record::record(request, size, before) };
        let from = (rendered.waypoint, rendered.settled.items);
        let (record, waypoint) = request_record::extended(request, size, before, from);
        rendered.waypoint = Some(waypoint);
        record
    }
}

impl Rendered {
    fn begin(what: What, turns: &[Arc<Turn>], run: &Run) -> Self {
        let mut items = conversation::earlier(turns, what.recap);
        conversation::begin(&mut items, &run.about, &run.conversation, what.recap);
        let mut settled = Measured { items: 0, tokens: 0, room: Room::WHOLE, names_images: false };
        settled.take(&mut items);
        let (items, turns) = (items.into(), turns.to_vec());
        Self { what, turns, rounds: Vec::new(), items, settled, whole: settled, waypoint: None }
    }

    /// Whether what is settled is still told in the same words: thoughts may have been taken out of it.
    fn holds(&self, turns: &[Arc<Turn>], run: &Run) -> bool {
        let rounds = &run.conversation.rounds;
        let same = |(known, round): (&Arc<[Block]>, &_)| Arc::ptr_eq(known, round);
        self.turns.len() == turns.len()
            && self.turns.iter().zip(turns).all(|(known, turn)| Arc::ptr_eq(known, turn))
            && self.rounds.len() <= rounds.len()
            && self.rounds.iter().zip(rounds.iter().map(|round| &round.blocks)).all(same)
    }

    /// Says what came since. The last round gets results, and what stands after it becomes the next one's.
    fn go_on(&mut self, run: &Run) {
        let (about, conversation) = (&run.about, &run.conversation);
        let (known, all) = (self.rounds.len(), conversation.rounds.len());
        let settled = all.saturating_sub(1).max(known);
        let items = &mut *self.items;
        items.truncate(self.settled.items);
        conversation::rounds(items, about, conversation, known..settled);
        self.settled.take(items);
        self.rounds.extend(conversation.rounds[known..settled].iter().map(|round| round.blocks.clone()));
        conversation::rounds(items, about, conversation, settled..all);
        conversation::since(items, about, conversation);
        self.whole = self.settled;
        self.whole.take(items);
    }
}

impl Measured {
    /// Takes in the items that follow.
    fn take(&mut self, items: &mut [Item]) {
        let new = &mut items[self.items..];
        images::bound_within(&mut self.room, new);
        self.names_images |= images::are_too_many(new);
        self.tokens = new.iter().map(Item::est_tokens).fold(self.tokens, u64::saturating_add);
        self.items = items.len();
    }
}
