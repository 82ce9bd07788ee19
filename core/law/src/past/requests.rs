//! Requests to models as the records have them.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use holon_facts::event::TurnFact;
use holon_facts::event::operation::{OpKind, OperationOpened};
use holon_facts::event::turn::ProviderRoundCompleted;
use holon_facts::ids::RunId;
use holon_facts::model_ref::ModelRef;
use holon_facts::request::{Ratio, RequestRecord};

/// The newest request, and what providers have counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    pub(crate) last: Option<Box<RequestRecord>>,
    /// The run of that one.
    pub(crate) run: Option<RunId>,
    /// An episode has closed since.
    pub(crate) closed: bool,
    /// What the model had thought in it was refused.
    pub(crate) thoughts_refused: bool,
    pub(crate) counted: BTreeMap<ModelRef, Counted>,
}

/// The least and the most that a provider has counted by what was estimated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) least: Ratio,
    pub(crate) most: Ratio,
}

impl Requests {
    pub(super) fn opened(&mut self, fact: &OperationOpened) {
        let (Some(request), OpKind::CallModel) = (&fact.request, fact.kind) else { return };
        self.last = Some(request.clone());
        (self.run, self.closed, self.thoughts_refused) = (fact.run_id, false, false);
    }

    pub(super) fn closed(&mut self) {
        self.closed = true;
    }

    pub(super) fn turn(&mut self, fact: &TurnFact) {
        if let TurnFact::ProviderRoundCompleted(fact) = fact {
            self.answered(fact);
        }
        if let TurnFact::ProviderAttemptRecorded(fact) = fact {
            let delivery = fact.attempt.delivery.as_ref();
            self.thoughts_refused |= delivery.is_some_and(|delivery| delivery.thoughts_refused);
        }
    }

    fn answered(&mut self, fact: &ProviderRoundCompleted) {
        let Some(last) = self.last.as_ref().filter(|last| last.model == fact.winning_model_ref) else {
            return;
        };
        let Some(ratio) = Ratio::new(fact.input_tokens(), last.size.est_tokens) else { return };
        let one = Counted { least: ratio, most: ratio };
        let counted = self.counted.entry(last.model.clone()).or_insert(one);
        *counted = Counted { least: counted.least.min(ratio), most: counted.most.max(ratio) };
    }
}
