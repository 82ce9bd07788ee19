//! Episodes as the records tell them: which turns have ended in the one that is open.

use alloc::sync::Arc;

use holon_facts::call::ToolName;
use holon_facts::episode::{EpisodeBoundary, TurnSpan};
use holon_facts::event::EpisodeFact;
use holon_facts::event::turn::{TurnStarted, TurnTerminal};
use holon_facts::ids::EventSeq;
use holon_facts::model_ref::ModelRef;

use super::Past;

/// The episode that is open, and how many there were.
#[derive(Debug, Clone, Default)]
pub(crate) struct Episodes {
    pub(crate) count: u64,
    pub(crate) open: Option<Open>,
    /// Builds that closed none did not say what their turns went on with, either.
    pub(crate) closes: bool,
    /// What the runs of the agent offer.
    pub(crate) tools: Arc<[ToolName]>,
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
}

impl Episodes {
    pub(super) fn turn_started(&mut self, at: EventSeq, fact: &TurnStarted) {
        if let Some(tools) = &fact.tools_offered {
            self.tools = tools.clone();
        }
        if self.open.is_none() {
            self.opened(at);
        }
        let Some(open) = &mut self.open else { return };
        open.model = fact.models.first().cloned();
        open.tools = self.tools.clone();
    }

    pub(super) fn turn_ended(&mut self, fact: &TurnTerminal) {
        let Some(open) = &mut self.open else { return };
        let first = open.turns.map_or(fact.turn_index, |turns| turns.first);
        open.turns = Some(TurnSpan { first, last: fact.turn_index });
    }

    /// The open episode is over; a turn in progress goes on in the next.
    pub(super) fn closed(&mut self, at: EventSeq, running: bool) {
        self.closes = true;
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
        self.open = Some(Open { since, turns: None, to_close: false, model: None, tools: Arc::default() });
    }
}

impl Past {
    pub(super) fn episode(&mut self, at: EventSeq, fact: &EpisodeFact) {
        let fact = match fact {
            EpisodeFact::EpisodeClosed(fact) => fact,
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
