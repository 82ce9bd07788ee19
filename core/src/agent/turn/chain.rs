//! The models of a run: whom a round asks first, who is asked after a failure, and how it waits for all of them.

use alloc::vec::Vec;

use holon_facts::event::turn::{ProviderAttemptRecorded, ProvidersAwaited};
use holon_facts::model::{AttemptOutcome, AttemptRecord, FailureKind, PROBE};
use holon_facts::model_ref::ModelRef;
use holon_facts::time::Wall;
use holon_facts::usage::TokenUsage;
use serde::{Deserialize, Serialize};

use crate::agent::turn::Phase;

/// The models of a run, and the attempts of the round in progress.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    pub models: Vec<ModelRef>,
    /// Which of them answered last, from 0: each round asks it first.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub candidate: u32,
    /// When the first of them was given up, while another one answers.
    pub first_left_at: Option<Wall>,
    /// The round in progress asks the first one once, to see whether it is back.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub probes: bool,
    pub attempts: Vec<AttemptRecord>,
    /// The chain has failed in the round in progress, and is gone through again.
    pub awaits: Option<Awaits>,
    /// What all attempts of the run took.
    pub usage: TokenUsage,
}

/// How a round waits for providers that are away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaits {
    /// When the chain had failed for the first time.
    pub since: Wall,
    /// How often it has failed.
    pub passes: u32,
    /// Attempts of the round before the pass in progress.
    pub attempts: u32,
}

impl Chain {
    pub(super) fn new(models: Vec<ModelRef>) -> Self {
        Self { models, ..Self::default() }
    }

    /// A round begins with the candidate that answered last, or looks whether the first one is back.
    pub(super) fn first_attempt(&self) -> Phase {
        let candidate = if self.probes { 0 } else { self.candidate };
        Phase::Requesting { candidate, attempt: 1 }
    }

    /// Whether the round after one that `candidate` answers at `now` asks the first one again.
    pub(crate) fn probe_is_due(&self, candidate: u32, now: Wall) -> bool {
        candidate > 0 && self.first_left_at.is_some_and(|left| now.since(left) >= PROBE)
    }

    /// Who is asked after this candidate; nobody after all others were.
    pub(crate) fn fallback(&self, candidate: u32) -> Option<u32> {
        self.order().skip_while(|other| *other != candidate).skip(1).find(|other| !self.is_out(*other))
    }

    /// Who is asked when the chain is gone through again: whoever failed in a way that may pass.
    pub(crate) fn worth_asking_again(&self) -> Vec<ModelRef> {
        let passed = self.pass().iter().filter(|attempt| attempt.outcome == AttemptOutcome::RetriesExhausted);
        passed.map(|attempt| attempt.model_ref.clone()).collect()
    }

    /// The attempts since the chain was begun.
    pub(crate) fn pass(&self) -> &[AttemptRecord] {
        let from = self.awaits.map_or(0, |awaits| awaits.attempts as usize);
        self.attempts.get(from..).unwrap_or_default()
    }

    /// The candidates in the order in which a round asks them.
    fn order(&self) -> impl Iterator<Item = u32> + use<> {
        let (first, probes) = (self.candidate.min(self.len()), self.probes);
        let others =
            (first..self.len()).chain(0..first).filter(move |candidate| !(probes && *candidate == 0));
        probes.then_some(0).into_iter().chain(others)
    }

    /// In a chain that is gone through again: whether waiting can't help this one. A request that was too long was made
    /// shorter.
    fn is_out(&self, candidate: u32) -> bool {
        let model = self.models.get(candidate as usize);
        self.awaits.is_some()
            && self.attempts.iter().any(|attempt| {
                attempt.outcome == AttemptOutcome::FailFastAborted
                    && attempt.failure_kind != Some(FailureKind::ContextLength)
                    && Some(&attempt.model_ref) == model
            })
    }

    fn len(&self) -> u32 {
        u32::try_from(self.models.len()).unwrap_or(u32::MAX)
    }

    /// The phase after an attempt at this candidate.
    pub(super) fn attempted(&mut self, at: Wall, fact: &ProviderAttemptRecorded, phase: Phase) -> Phase {
        let (Phase::Requesting { candidate, attempt } | Phase::BackingOff { candidate, attempt }) = phase
        else {
            return phase;
        };
        self.usage = self.usage.plus(fact.attempt.token_usage.unwrap_or_default());
        if candidate == 0 {
            self.first_left_at = fact.attempt.outcome.gives_up().then_some(at);
        }
        let next = match fact.attempt.outcome {
            AttemptOutcome::Succeeded => phase,
            AttemptOutcome::Retrying => Phase::BackingOff { candidate, attempt: attempt.saturating_add(1) },
            // The request is too long: it is made shorter, or the run ends here.
            AttemptOutcome::FailFastAborted
                if fact.attempt.failure_kind == Some(FailureKind::ContextLength) =>
            {
                Phase::Requesting { candidate, attempt: 1 }
            }
            AttemptOutcome::RetriesExhausted | AttemptOutcome::FailFastAborted => {
                let candidate = self.fallback(candidate).unwrap_or_else(|| self.len());
                Phase::Requesting { candidate, attempt: 1 }
            }
        };
        self.attempts.push(fact.attempt.clone());
        next
    }

    /// The phase in which the round waits until the chain is gone through again; none where nobody is worth it.
    pub(super) fn awaited(&mut self, fact: &ProvidersAwaited) -> Option<Phase> {
        let attempts = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        self.awaits = Some(Awaits { since: fact.since, passes: fact.passes, attempts });
        self.probes = false;
        let candidate = self.order().find(|candidate| !self.is_out(*candidate))?;
        Some(Phase::BackingOff { candidate, attempt: 1 })
    }

    /// This candidate has answered.
    pub(super) fn answered(&mut self, candidate: u32, probes: bool) {
        (self.candidate, self.probes, self.awaits) = (candidate, probes, None);
        self.attempts.clear();
    }
}
