//! Episodes as the records tell them: which turns have ended in the one that is open.

use alloc::sync::Arc;

use holon_facts::call::ToolName;
use holon_facts::episode::{EpisodeBoundary, TurnSpan};
use holon_facts::event::EpisodeFact;
use holon_facts::event::turn::{ToolsCatalogued, TurnStarted, TurnTerminal};
use holon_facts::ids::{EpisodeId, EventSeq, OpId, RunId};
use holon_facts::model_ref::ModelRef;
use holon_facts::tool::ServerTools;

use super::Past;

/// The episode that is open, and how many there were.
#[derive(Debug, Clone, Default)]
pub(crate) struct Episodes {
    pub(crate) count: u64,
    pub(crate) open: Option<Open>,
    /// Builds that closed none did not say what their turns went on with, either.
    pub(crate) closes: bool,
    /// The episode that a model is asked to sum up, and the run in whose middle it closes.
    pub(crate) summarizing: Option<Summarizing>,
    /// The same, once that is over.
    pub(crate) settled: Option<Summarizing>,
    /// What the runs of the agent offer.
    pub(crate) tools: Arc<[ToolName]>,
    /// The newest that is on record of tools of other programs.
    pub(crate) catalogue: Arc<ServerTools>,
    /// What of them calls of the run in progress may name.
    pub(crate) in_force: Arc<ServerTools>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Summarizing {
    pub(crate) op: OpId,
    pub(crate) episode_id: EpisodeId,
    pub(crate) run_id: RunId,
    /// It has closed.
    pub(crate) closed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) since: EventSeq,
    pub(crate) turns: Option<TurnSpan>,
    /// An operator wants it to close in the middle of a turn.
    pub(crate) to_close: bool,
    /// The model that its turns ask first, and what they offer.
    pub(crate) model: Option<ModelRef>,
    pub(crate) tools: Arc<[ToolName]>,
    /// The context of a turn was read in it.
    pub(crate) loaded: bool,
}

impl Episodes {
    pub(super) fn turn_started(&mut self, at: EventSeq, fact: &TurnStarted) {
        if let Some(tools) = &fact.tools_offered {
            self.tools = tools.clone();
        }
        self.in_force = self.catalogue.clone();
        if self.open.is_none() {
            self.opened(at);
        }
        let Some(open) = &mut self.open else { return };
        open.model = fact.models.first().cloned();
        open.tools = self.tools.clone();
    }

    pub(super) fn context_built(&mut self) {
        self.open.iter_mut().for_each(|open| open.loaded = true);
    }

    pub(super) fn tools_catalogued(&mut self, fact: &ToolsCatalogued) {
        self.catalogue = fact.catalogue.clone();
        let Some(tools) = &fact.tools_offered else { return };
        self.in_force = fact.catalogue.clone();
        self.tools = tools.clone();
        self.open.iter_mut().for_each(|open| open.tools = tools.clone());
    }

    pub(super) fn turn_ended(&mut self, fact: &TurnTerminal) {
        let Some(open) = &mut self.open else { return };
        let first = open.turns.map_or(fact.turn_index, |turns| turns.first);
        open.turns = Some(TurnSpan { first, last: fact.turn_index });
    }

    /// A model is asked to sum up the open one.
    pub(super) fn summary_requested(&mut self, op: OpId, run: Option<RunId>) {
        let episode_id = EpisodeId(self.count);
        self.summarizing = run.map(|run_id| Summarizing { op, episode_id, run_id, closed: false });
    }

    pub(super) fn summary_settled(&mut self, op: OpId) {
        self.settled = self.summarizing.take_if(|asked| asked.op == op).or(self.settled);
    }

    /// The open episode is over; a turn in progress goes on in the next.
    pub(super) fn closed(&mut self, at: EventSeq, running: bool) {
        self.closes = true;
        self.summarizing.iter_mut().for_each(|asked| asked.closed = true);
        let before = self.open.take();
        if running {
            self.opened(at);
            if let (Some(open), Some(before)) = (&mut self.open, before) {
                (open.model, open.tools) = (before.model, before.tools);
            }
        }
    }

    fn opened(&mut self, since: EventSeq) {
        self.count = self.count.saturating_add(1);
        self.open = Some(Open {
            since,
            turns: None,
            to_close: false,
            model: None,
            tools: Arc::default(),
            loaded: false,
        });
    }
}

impl Past {
    pub(super) fn episode(&mut self, at: EventSeq, fact: &EpisodeFact) {
        let fact = match fact {
            EpisodeFact::EpisodeClosed(fact) => fact,
            EpisodeFact::MemoryUpdated(fact) => return self.memory.updated(fact),
            EpisodeFact::EpisodeSummarized(_) => {
                self.episodes.settled = None;
                return;
            }
            EpisodeFact::CompactionRequested(_) => {
                self.episodes.open.iter_mut().for_each(|open| open.to_close = true);
                return;
            }
        };
        self.episodes.closed(at, self.run.is_some());
        self.requests.closed();
        if let Some(run) = &mut self.run {
            run.recapped = fact.hidden_rounds;
            run.refused |= fact.boundary == EpisodeBoundary::Refused;
        }
    }
}
