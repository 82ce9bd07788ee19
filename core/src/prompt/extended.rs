//! The conversation of an agent's last request, which the next one goes on with, so that a round and a turn cost what they
//! add and not what stands before them. It is kept beside the agent's state and follows from that alone: whoever has none makes
//! all of it anew, to the same request.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::frame::PromptFrame;
use holon_facts::ids::{EpisodeId, RunId, TurnIndex};
use holon_facts::model::{Block, Item, ModelRequest};
use holon_facts::request::{RequestRecord, RequestSize};
use holon_facts::shared::Shared;

use super::conversation;
use super::framed::Framed;
use super::images::{self, Room};
use super::request_record::{self, Waypoint};
use super::sections::PromptFacts;
use crate::agent::Agent;
use crate::agent::episode::Turn;
use crate::agent::turn::{Conversation, Run};

/// What the requests of an episode have said so far; nothing before the first one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extended {
    framed: Framed,
    said: Option<Box<Rendered>>,
}

#[derive(Debug, Clone)]
struct Rendered {
    what: What,
    /// That have ended.
    turns: Vec<Arc<Turn>>,
    /// Up to their end.
    earlier: Measured,
    latest: Latest,
    items: Shared<Item>,
    /// Up to the end of the rounds that nothing is added to any more.
    settled: Measured,
    whole: Measured,
    waypoint: Option<Waypoint>,
}

/// With another one, everything is said anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct What {
    episode: Option<EpisodeId>,
    recap: u64,
}

/// The turn in progress, or the one that was until now.
#[derive(Debug, Clone)]
struct Latest {
    run: RunId,
    index: TurnIndex,
    hidden: u32,
    /// Of the rounds that nothing is added to any more.
    rounds: Vec<Arc<[Block]>>,
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    items: usize,
    tokens: u64,
    room: Room,
    names_images: bool,
}

impl Extended {
    /// What stands before the conversation of the next request.
    pub(crate) fn frame(&mut self, facts: &PromptFacts<'_>) -> Arc<PromptFrame> {
        self.framed.next(facts)
    }

    /// What the next request of the run says; a summary of hidden rounds takes about so many tokens.
    pub(crate) fn next(&mut self, agent: &Agent, run: &Run, recap: u64) -> Shared<Item> {
        let episode = agent.episodes.open.as_ref().map(|open| open.id);
        let (what, turns) = (What { episode, recap }, agent.episodes.turns());
        let known = self.said.take().filter(|rendered| rendered.what == what && rendered.begins(turns));
        let mut rendered = known.unwrap_or_else(|| Box::new(Rendered::nothing(what)));
        if !rendered.holds(turns, run) {
            rendered.end_turns(turns);
            rendered.begin(run);
        }
        rendered.go_on(run);
        self.said.insert(rendered).items.clone()
    }

    /// What the frame takes, estimated.
    pub(crate) fn frame_tokens(&self) -> u64 {
        self.framed.tokens()
    }

    /// What the conversation takes, estimated.
    pub(crate) fn tokens(&self) -> u64 {
        self.said.as_ref().map_or(0, |rendered| rendered.whole.tokens)
    }

    /// Whether it names images that others leave no room for.
    pub(crate) fn names_images(&self) -> bool {
        self.said.as_ref().is_some_and(|rendered| rendered.whole.names_images)
    }

    /// What is on record of the request that says it.
    pub(crate) fn record(
        &mut self,
        request: &ModelRequest,
        size: RequestSize,
        before: Option<&RequestRecord>,
    ) -> RequestRecord {
        let Some(rendered) = &mut self.said else { return request_record::record(request, size, before) };
        let from = (rendered.waypoint, rendered.settled.items);
        let (record, waypoint) = request_record::extended(request, size, before, from);
        rendered.waypoint = Some(waypoint);
        record
    }
}

impl Latest {
    /// Of no turn.
    const NONE: Self = Self { run: RunId(0), index: TurnIndex(0), hidden: 0, rounds: Vec::new() };

    fn of(run: &Run) -> Self {
        let hidden = run.conversation.recap.rounds;
        Self { run: run.id, index: run.turn_index, hidden, rounds: Vec::new() }
    }

    /// Whether what is settled is still told in the same words: thoughts may have been taken out of it.
    fn begins(&self, conversation: &Conversation) -> bool {
        let rounds = &conversation.rounds;
        let same = |(known, round): (&Arc<[Block]>, &_)| Arc::ptr_eq(known, round);
        self.hidden == conversation.recap.rounds
            && self.rounds.len() <= rounds.len()
            && self.rounds.iter().zip(rounds.iter().map(|round| &round.blocks)).all(same)
    }
}

impl Rendered {
    fn nothing(what: What) -> Self {
        let nothing = Measured { items: 0, tokens: 0, room: Room::WHOLE, names_images: false };
        let (earlier, settled, whole) = (nothing, nothing, nothing);
        let (turns, items, latest) = (Vec::new(), Vec::new().into(), Latest::NONE);
        Self { what, turns, earlier, latest, items, settled, whole, waypoint: None }
    }

    /// Whether these turns go on after those that were ended then.
    fn begins(&self, turns: &[Arc<Turn>]) -> bool {
        self.turns.len() <= turns.len()
            && self.turns.iter().zip(turns).all(|(known, turn)| Arc::ptr_eq(known, turn))
    }

    /// Whether this is the turn that it was, and goes on.
    fn holds(&self, turns: &[Arc<Turn>], run: &Run) -> bool {
        self.turns.len() == turns.len() && self.latest.run == run.id && self.latest.begins(&run.conversation)
    }

    /// Whether this is the turn that was in progress, and told in the same words so far.
    fn is_latest(&self, turn: &Turn) -> bool {
        let mut begin = Vec::new();
        conversation::begin(&mut begin, &turn.about, &turn.conversation, self.what.recap);
        turn.index == self.latest.index
            && self.latest.begins(&turn.conversation)
            && self.items[self.earlier.items..self.settled.items].starts_with(&begin)
    }

    /// Tells the turns that have ended since. Of the one that was in progress the end is new, unless it is told in other words
    /// now, or comes again.
    fn end_turns(&mut self, turns: &[Arc<Turn>]) {
        let new = &turns[self.turns.len()..];
        let (mut known, mut from) = (self.earlier, None);
        if new.first().is_some_and(|turn| self.is_latest(turn)) {
            (known, from) = (self.settled, Some(self.latest.rounds.len()));
        }
        self.waypoint = self.waypoint.filter(|waypoint| waypoint.items() <= known.items);
        self.settled = known;
        let items = &mut *self.items;
        items.truncate(known.items);
        for turn in new {
            if from.is_none() {
                conversation::begin(items, &turn.about, &turn.conversation, self.what.recap);
            }
            conversation::end(items, turn, from.take().unwrap_or(0));
        }
        self.settled.take(items);
        (self.earlier, self.latest) = (self.settled, Latest::NONE);
        self.turns.extend_from_slice(new);
    }

    fn begin(&mut self, run: &Run) {
        self.latest = Latest::of(run);
        let items = &mut *self.items;
        conversation::begin(items, &run.about, &run.conversation, self.what.recap);
        self.settled.take(items);
    }

    /// Says what came since. The last round gets results, and what stands after it becomes the next one's.
    fn go_on(&mut self, run: &Run) {
        let (about, conversation) = (&run.about, &run.conversation);
        let (known, all) = (self.latest.rounds.len(), conversation.rounds.len());
        let settled = all.saturating_sub(1).max(known);
        let items = &mut *self.items;
        items.truncate(self.settled.items);
        conversation::rounds(items, about, conversation, known..settled);
        self.settled.take(items);
        let rounds = &mut self.latest.rounds;
        rounds.extend(conversation.rounds[known..settled].iter().map(|round| round.blocks.clone()));
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
