//! What is known of an agent's requests: the last one, with which the next one is compared, and how each model's provider
//! counts tokens.

use alloc::boxed::Box;
use alloc::vec::Vec;

use holon_facts::delivery::GoesOnFrom;
use holon_facts::event::turn::{ProviderAttemptRecorded, ProviderRoundCompleted};
use holon_facts::model_ref::ModelRef;
use holon_facts::request::{Ratio, RequestRecord, RequestSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Models whose counts are kept: the ones that answered last.
const MODELS: usize = 8;
/// Rounds of a model before its counts alone decide.
const TRUSTED: u32 = 3;
/// A round changes what was counted before by at least one part of so many.
const MEMORY: u32 = 8;
/// What a tokenizer may count: less or more is a mistake of the provider's, and is not learnt from.
const PLAUSIBLE: core::ops::RangeInclusive<u32> = 500..=5_000;

#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    pub last: Option<Box<RequestRecord>>,
    /// The model that answered last comes last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibrations: Vec<Calibration>,
    /// What the provider keeps that answered last.
    pub kept: Option<Box<Kept>>,
}

/// An answer that its provider keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub model: ModelRef,
    pub from: GoesOnFrom,
}

/// How the provider of a model counts tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    pub model: ModelRef,
    /// What it counted by what was estimated: the mean of the first rounds, later an exponential average.
    pub ratio: Ratio,
    /// Rounds that were counted.
    pub rounds: u32,
}

impl Requests {
    /// By how much more than estimated the provider of a model is expected to count.
    pub(crate) fn ratio(&self, model: &ModelRef) -> Ratio {
        match self.calibrations.iter().find(|it| it.model == *model) {
            Some(Calibration { ratio, rounds, .. }) if *rounds >= TRUSTED => *ratio,
            Some(Calibration { ratio, .. }) => RequestSize::UNKNOWN.max(*ratio),
            None => RequestSize::UNKNOWN,
        }
    }

    pub(super) fn sent(&mut self, request: &RequestRecord) {
        self.last = Some(Box::new(request.clone()));
    }

    /// The answer of this model that the next request may go on from.
    pub(crate) fn goes_on_from(&self, model: &ModelRef) -> Option<Box<GoesOnFrom>> {
        let kept = self.kept.as_ref().filter(|kept| kept.model == *model)?;
        Some(Box::new(kept.from.clone()))
    }

    /// What has failed once is not gone on from again: the next attempt sends all of it.
    pub(super) fn attempted(&mut self, fact: &ProviderAttemptRecorded) {
        if fact.attempt.failure_kind.is_some() {
            self.kept = None;
        }
    }

    fn keep(&mut self, fact: &ProviderRoundCompleted) {
        let last = self.last.as_ref().filter(|last| last.model == fact.winning_model_ref);
        self.kept = last.zip(fact.stored.as_ref()).map(|(last, response)| {
            let from = GoesOnFrom { response: (**response).clone(), items: last.items.saturating_add(1) };
            Box::new(Kept { model: last.model.clone(), from })
        });
    }

    pub(super) fn answered(&mut self, fact: &ProviderRoundCompleted) {
        self.keep(fact);
        let Some(last) = self.last.as_ref().filter(|last| last.model == fact.winning_model_ref) else {
            return;
        };
        let counted = Ratio::new(fact.input_tokens(), last.size.est_tokens);
        if let Some(counted) = counted.filter(|counted| PLAUSIBLE.contains(&counted.0)) {
            let model = last.model.clone();
            self.counted(model, counted);
        }
    }

    fn counted(&mut self, model: ModelRef, counted: Ratio) {
        let known = self.calibrations.iter().position(|it| it.model == model);
        let known = known.map(|at| self.calibrations.remove(at));
        let (before, rounds) = known.map_or((counted, 0), |known| (known.ratio, known.rounds));
        let rounds = rounds.saturating_add(1);
        let weight = rounds.min(MEMORY);
        let ratio = Ratio((before.0 * (weight - 1) + counted.0) / weight);
        if self.calibrations.len() == MODELS {
            self.calibrations.remove(0);
        }
        self.calibrations.push(Calibration { model, ratio, rounds });
    }
}
