//! The conversation that an agent's requests go on with: verbatim through an episode, of which nothing that was shown is
//! ever shown otherwise, and a digest of each that is over (contract: context.md, Conversation and episodes). What it
//! keeps is bounded by the turns and rounds of one episode, whatever the age of the agent.

mod digest;
mod shown;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::config::Config;
use holon_facts::content::Text;
use holon_facts::episode::{Digest, EpisodeBoundary};
use holon_facts::event::EpisodeClosed;
use holon_facts::event::episode::EpisodeSummarized;
use holon_facts::event::turn::TurnTerminal;
use holon_facts::fence::Fence;
use holon_facts::ids::{EpisodeId, EventSeq, OpId, RunId, TurnIndex, WorkItemId};
use holon_facts::image::Image;
use holon_facts::memory::WorkingMemory;
use holon_facts::model_ref::ModelRef;
use holon_facts::terminal::TurnKind;
use holon_facts::time::{Millis, Wall};
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::skills::ActiveSkill;
use crate::agent::turn::{About, Conversation, Run};
use crate::agent::work::outline::WorkOutline;

pub(crate) use digest::{done, of as digest};
pub(crate) use shown::Now;
pub use shown::{Changes, OpenTask, Shown, Standing, StandingChange, Summary, WorkChange};

/// Turns of one episode.
pub const TURNS: usize = 64;
/// Rounds of the turns of one episode.
pub const ROUNDS: usize = 400;
/// Digests that are kept: the newest, and as many older ones of items that were in focus.
const DIGESTS: usize = 8;

/// The episode that is open, and what is kept of those before it.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episodes {
    /// None before the first turn, and between a close and the turn that follows.
    pub open: Option<Box<Episode>>,
    /// The newest last.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub closed: VecDeque<Arc<Closed>>,
    /// How many there were.
    #[serde(default)]
    pub count: u64,
    /// The one that a model is asked to sum up.
    pub summarizing: Option<Summarizing>,
}

/// A request for a summary that has not been answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summarizing {
    pub op: OpId,
    pub episode_id: EpisodeId,
    /// The run in whose middle it closed.
    pub run_id: RunId,
    pub model: ModelRef,
}

/// A stretch of the conversation.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    pub id: EpisodeId,
    /// Its first record.
    pub since: EventSeq,
    /// What requests show before its conversation.
    pub head: Head,
    /// The item that its turns are about.
    pub focus: Option<WorkItemId>,
    /// The model that its turns ask first, and what they offer.
    pub model: Option<ModelRef>,
    pub tools: Arc<[ToolName]>,
    /// What its requests have shown last of what lasts longer than a turn.
    #[serde(default, skip_serializing_if = "Shown::is_empty")]
    pub shown: Shown,
    /// The first turn that ended in it.
    pub first: Option<TurnIndex>,
    /// Turns that have ended, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Arc<Turn>>,
    /// Rounds of these.
    pub rounds: usize,
    /// A summary that came since its head was fixed: what is said next shows it.
    pub summary: Option<Summary>,
    /// What a model made of the one before, which has no digest, as no turn had ended in it: that of this one shows it.
    pub inherited: Option<Text>,
    /// An operator wants it to close.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub compact: bool,
    /// When the last of them ended.
    pub rested_at: Option<Wall>,
}

/// What stands before the conversation of an episode, as it was when the episode began.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// What the tags of its fences are derived from.
    pub fence: Fence,
    /// The number of its episode.
    #[serde(default)]
    pub episode: u64,
    /// Earlier builds left it out.
    pub began_at: Option<Wall>,
    /// Earlier episodes that matter, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<Arc<Closed>>,
    /// A provider has refused a request as too long: digests take little room.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub tight: bool,
    /// Tokens that requests could have then: what it and summaries of rounds take of them stays as it was when they may
    /// have others. Earlier builds left it out.
    pub input_limit: Option<u64>,
    pub work: Option<Arc<WorkOutline>>,
    /// What the agent had in mind, and how often that had changed.
    pub memory: Option<Arc<WorkingMemory>>,
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub memory_revision: u64,
    /// Tasks that had not ended, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<OpenTask>,
    /// Skills that were in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<ActiveSkill>,
    /// Instruction files and environment of its first turn.
    pub standing: Option<Arc<Standing>>,
}

/// A turn that has ended, as requests of its episode show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub index: TurnIndex,
    pub about: About,
    pub conversation: Conversation,
    pub end: TurnKind,
}

impl Turn {
    /// Images of its messages, and of its rounds.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        let messages = core::iter::once(&self.about.incoming).chain(&self.about.also);
        messages.flat_map(|message| &message.images).chain(self.conversation.images())
    }
}

/// An episode that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub id: EpisodeId,
    pub boundary: EpisodeBoundary,
    pub at: Wall,
    pub digest: Digest,
    /// What a model made of it, or of the one before, in which no turn had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
}

/// A turn that is about to begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning<'a> {
    pub(crate) now: Wall,
    /// After so long an agent has rested.
    pub(crate) idle: Millis,
    pub(crate) model: Option<&'a ModelRef>,
    pub(crate) tools: &'a Arc<[ToolName]>,
    /// Tools of other programs have changed, if only in what is said of them.
    pub(crate) catalogue_changed: bool,
    pub(crate) focus: Option<WorkItemId>,
    /// No run of its message has begun before.
    pub(crate) fresh: bool,
}

/// What a turn would show that began now.
pub(crate) struct Preview {
    pub(crate) head: Head,
    pub(crate) turns: Vec<Arc<Turn>>,
    pub(crate) changes: Changes,
}

impl<'a> Beginning<'a> {
    pub(crate) fn new(
        agent: &Agent,
        (config, now): (&Config, Wall),
        models: &'a [ModelRef],
        tools: &'a Arc<[ToolName]>,
        fresh: bool,
    ) -> Self {
        let focus = agent.work.current().map(|item| item.id);
        let catalogue_changed = agent.servers.next.is_some();
        let (idle, model) = (config.context.episode_idle, models.first());
        Self { now, idle, model, tools, catalogue_changed, focus, fresh }
    }
}

impl Closed {
    fn shows(&self, summary: &Summary) -> bool {
        self.summary.as_ref() == Some(&summary.text)
    }

    fn focus(&self) -> Option<WorkItemId> {
        self.digest.focus.as_ref().map(|focus| focus.work_item_id)
    }
}

impl Episodes {
    pub(super) fn turns_mut(&mut self) -> impl Iterator<Item = &mut Arc<Turn>> {
        self.open.iter_mut().flat_map(|open| &mut open.turns)
    }

    /// The turns that are shown before the one in progress.
    pub fn turns(&self) -> &[Arc<Turn>] {
        self.open.as_ref().map_or(&[], |open| &open.turns)
    }

    /// Whether what is read for the turn that has just begun is what its episode begins with.
    pub(crate) fn begins(&self) -> bool {
        self.open.as_ref().is_none_or(|open| open.head.standing.is_none())
    }

    /// Why a turn that begins now with that model and those tools does not go on with the open episode.
    pub(crate) fn boundary(&self, turn: &Beginning<'_>) -> Option<EpisodeBoundary> {
        let open = self.open.as_ref()?;
        let surface =
            open.model.as_ref() != turn.model || open.tools != *turn.tools || turn.catalogue_changed;
        let focus = open.focus.is_some() && open.focus != turn.focus;
        let full = open.turns.len() >= TURNS || open.rounds >= ROUNDS;
        let rested = open.rested_at.is_some_and(|at| turn.now.since(at) > turn.idle);
        let begins_anew = [
            (surface, EpisodeBoundary::Surface),
            // A turn that goes on has all that it said before.
            (turn.fresh && focus, EpisodeBoundary::Focus),
            (turn.fresh && open.compact, EpisodeBoundary::Operator),
            (turn.fresh && full, EpisodeBoundary::Cap),
            (turn.fresh && rested, EpisodeBoundary::Rest),
        ];
        begins_anew.into_iter().find_map(|(holds, boundary)| holds.then_some(boundary))
    }

    /// A run has begun: where no episode is open, it opens one. One that goes on says what changed meanwhile: its own
    /// conversation is shown after all that other turns have shown since it was left.
    pub(super) fn run_began(&mut self, at: (EventSeq, Wall), run: &mut Run, now: Now, goes_on: bool) {
        if self.open.is_none() {
            if goes_on {
                // The head says how things stand now.
                run.forget_changes(|summary| !self.shows(summary));
            }
            self.open(at, run, now.clone(), false);
        }
        let Some(open) = &mut self.open else { return };
        open.focus = open.focus.or(now.focus);
        open.tools = run.environment.tools.clone();
        open.model = run.chain.models.first().cloned();
        run.environment.shown_before = open.shown.clone();
        run.environment.goes_on = goes_on;
        if goes_on {
            open.shown.again(run);
        }
        let (work, summary) = (open.shown.work(now.work), open.summary.take());
        if !goes_on {
            run.about.changes.work = work;
            run.about.changes.summary = summary.or_else(|| run.about.changes.summary.take());
        } else if work.is_some() || summary.is_some() {
            run.conversation.changed(Changes { summary, work, standing: None });
        }
    }

    /// The episode that begins with the run in progress offers these.
    pub(super) fn offers(&mut self, tools: &Arc<[ToolName]>) {
        if let Some(open) = &mut self.open {
            open.tools = tools.clone();
        }
    }

    /// What is standing for the run in progress is known.
    pub(super) fn loaded(&mut self, run: &mut Run, standing: Standing) {
        let Some(open) = &mut self.open else { return };
        let standing = open.shown.standing(standing);
        if open.head.standing.is_none() {
            open.head.standing.clone_from(&open.shown.standing);
        }
        if !run.environment.goes_on {
            run.about.changes.standing = standing;
        } else if standing.is_some() {
            run.conversation.changed(Changes { standing, ..Changes::default() });
        }
    }

    /// A run has ended whose message comes again: nobody goes on with it before that. Whether its requests had shown
    /// anything of what stands.
    pub(super) fn run_left(&mut self, run: &mut Run) -> bool {
        let Some(open) = &mut self.open else { return false };
        let mut before = core::mem::take(&mut run.environment.shown_before);
        before.standing = before.standing.or_else(|| open.head.standing.clone());
        !core::mem::replace(&mut open.shown, before).is_empty()
    }

    /// A turn has ended that does not come again.
    pub(super) fn turn_ended(&mut self, at: Wall, fact: &TurnTerminal, run: Run) {
        let Some(open) = &mut self.open else { return };
        open.rested_at = Some(at);
        open.first.get_or_insert(fact.turn_index);
        open.rounds += run.conversation.rounds.len();
        let Run { turn_index: index, about, conversation, .. } = run;
        open.turns.push(Arc::new(Turn { index, about, conversation, end: fact.kind }));
        // Builds before this one closed none.
        while open.turns.len() > TURNS || (open.rounds > ROUNDS && open.turns.len() > 1) {
            open.rounds = open.rounds.saturating_sub(open.turns[0].conversation.rounds.len());
            open.turns.remove(0);
        }
    }

    /// A model is asked to sum up the open one, which closes.
    pub(super) fn summary_requested(&mut self, op: OpId, run_id: RunId, model: &ModelRef) {
        let open = self.open.as_ref().map(|open| open.id);
        self.summarizing =
            open.map(|episode_id| Summarizing { op, episode_id, run_id, model: model.clone() });
    }

    /// The request for a summary is over.
    pub(super) fn summary_settled(&mut self, op: OpId) {
        self.summarizing.take_if(|summarizing| summarizing.op == op);
    }

    /// A model has summed up an episode that closed: its digest has that from now on, and what is said next.
    pub(super) fn summarized(&mut self, fact: &EpisodeSummarized) {
        let Some(text) = &fact.summary else { return };
        // One without a digest goes on in the next one that has one.
        match self.closed.iter_mut().find(|closed| closed.id >= fact.episode_id) {
            Some(closed) if closed.id == fact.episode_id || closed.summary.is_none() => {
                Arc::make_mut(closed).summary = Some(text.clone());
            }
            Some(_) => {}
            None => {
                if let Some(open) = &mut self.open {
                    open.inherited = Some(text.clone());
                }
            }
        }
        if let Some(open) = &mut self.open {
            open.summary = Some(Summary { episode_id: fact.episode_id, text: text.clone() });
        }
    }

    /// A model has answered: the next request says what came meanwhile.
    pub(super) fn answered(&mut self, run: &mut Run) {
        if let Some(summary) = self.open.as_mut().and_then(|open| open.summary.take()) {
            run.conversation.changed(Changes { summary: Some(summary), ..Changes::default() });
        }
    }

    /// An operator wants the open one to close.
    pub(super) fn compaction_requested(&mut self) {
        if let Some(open) = &mut self.open {
            open.compact = true;
        }
    }

    /// An episode is over. The turn in progress, if there is one, goes on in the next.
    pub(super) fn closed(
        &mut self,
        (seq, at): (EventSeq, Wall),
        fact: &EpisodeClosed,
        run: Option<&mut Run>,
        now: Now,
    ) {
        let (id, boundary, digest) = (fact.episode_id, fact.boundary, fact.digest.clone());
        let before = self.open.take();
        let mut inherited = before.as_ref().and_then(|before| before.inherited.clone());
        if digest.turns > 0 {
            let summary = inherited.take();
            self.closed.push_back(Arc::new(Closed { id, boundary, at, digest, summary }));
            self.forget();
        }
        let late = before.as_ref().and_then(|before| before.summary.clone());
        let Some(run) = run else { return };
        run.conversation.recap.rounds = fact.hidden_rounds;
        let refused = boundary == EpisodeBoundary::Refused;
        if refused {
            run.conversation.recap.refused_at = fact.size.map(|size| size.est_tokens);
        }
        // The head says how things stand now.
        run.forget_changes(|summary| !self.shows(summary));
        self.open((seq, at), run, now, refused);
        let Some(open) = &mut self.open else { return };
        let shown = |late: &Summary| open.head.digests.iter().any(|closed| closed.shows(late));
        (open.summary, open.inherited) = (late.filter(|late| !shown(late)), inherited);
        open.tools = run.environment.tools.clone();
        open.model = run.chain.models.first().cloned();
        let standing = before.and_then(|before| before.shown.standing).map(Standing::later);
        open.head.standing.clone_from(&standing);
        open.shown.standing = standing;
        run.environment.shown_before = open.shown.clone();
    }

    fn open(&mut self, (since, at): (EventSeq, Wall), run: &Run, now: Now, tight: bool) {
        self.count = self.count.saturating_add(1);
        let Now { work, focus, tasks, memory, memory_revision, input_limit, skills } = now;
        let digests = self.that_matter(focus);
        let head = Head {
            fence: run.about.fence,
            episode: self.count,
            began_at: Some(at),
            digests,
            tight,
            input_limit,
            work: work.clone(),
            memory,
            memory_revision,
            tasks,
            skills,
            standing: None,
        };
        self.open = Some(Box::new(Episode {
            id: EpisodeId(self.count),
            since,
            head,
            focus,
            model: None,
            tools: Arc::default(),
            shown: Shown { work, standing: None },
            first: None,
            turns: Vec::new(),
            rounds: 0,
            summary: None,
            inherited: None,
            compact: false,
            rested_at: None,
        }));
    }

    /// What a turn would show that began now.
    pub(crate) fn preview(&self, agent: &Agent, turn: &Beginning<'_>, standing: Standing) -> Preview {
        let now = Now::of(agent);
        let open = self.open.as_ref().filter(|_| self.boundary(turn).is_none());
        if let Some(open) = open {
            let mut shown = open.shown.clone();
            let (work, standing) = (shown.work(now.work), shown.standing(standing));
            let changes = Changes { summary: open.summary.clone(), work, standing };
            return Preview { head: open.head.clone(), turns: open.turns.clone(), changes };
        }
        let mut then = self.clone();
        let before = then.open.take().map(|open| (digest(agent, &open), open));
        if let Some((digest, open)) = before.filter(|(digest, _)| digest.turns > 0) {
            let (id, boundary, at) = (open.id, EpisodeBoundary::Rest, turn.now);
            then.closed.push_back(Arc::new(Closed { id, boundary, at, digest, summary: open.inherited }));
            then.forget();
        }
        let digests = then.that_matter(now.focus);
        let head = Head {
            fence: Fence::PREVIEW,
            episode: self.count.saturating_add(1),
            began_at: Some(turn.now),
            digests,
            tight: false,
            input_limit: None,
            work: now.work,
            memory: now.memory,
            memory_revision: now.memory_revision,
            tasks: now.tasks,
            skills: now.skills,
            standing: Some(Arc::new(standing)),
        };
        Preview { head, turns: Vec::new(), changes: Changes::default() }
    }

    /// Whether the digest of an episode that is over has a summary.
    fn shows(&self, summary: &Summary) -> bool {
        self.closed.iter().any(|closed| closed.shows(summary))
    }

    /// The newest, and those of the item in focus.
    fn that_matter(&self, focus: Option<WorkItemId>) -> Vec<Arc<Closed>> {
        let older = self.closed.len().saturating_sub(DIGESTS);
        let shown = |(at, closed): &(usize, &Arc<Closed>)| {
            *at >= older || (focus.is_some() && closed.focus() == focus)
        };
        self.closed.iter().enumerate().filter(shown).map(|(_, closed)| closed.clone()).collect()
    }

    /// Of older ones those stay that are about an item, and of each item the newest.
    fn forget(&mut self) {
        while self.closed.len() > DIGESTS {
            let older = self.closed.len() - DIGESTS;
            let again = |at: usize| {
                let focus = self.closed[at].focus();
                focus.is_none() || self.closed.range(at + 1..older).any(|newer| newer.focus() == focus)
            };
            let goes = (0..older).find(|at| again(*at)).or_else(|| (older > DIGESTS).then_some(0));
            let Some(goes) = goes else { break };
            self.closed.remove(goes);
        }
    }
}
