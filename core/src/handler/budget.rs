//! Reserves what a request may take before it is sent, and settles what it took after it (contract: agent.md, Turns).

use alloc::string::String;

use holon_facts::budget::{Budget, BudgetKind, Period, Scope};
use holon_facts::event::scheduling::{HoldCause, HoldEnd, HoldEnded};
use holon_facts::event::turn::{BudgetExhausted, BudgetReserved};
use holon_facts::ids::{OpId, RunId};
use holon_facts::model::{AttemptFailure, FailureKind, ModelAnswer, TransportDiagnostics};
use holon_facts::model_ref::ModelRef;
use holon_facts::price::{self, Amount};
use holon_facts::time::Millis;
use holon_facts::usage::TokenUsage;

use crate::agent::turn::Run;
use crate::effect::Effect;
use crate::grants::Loan;
use crate::tx::{Alarm, Tx};

/// How long a turn waits, time and again, for what others have reserved and may not need.
const CROWDED: Millis = Millis::seconds(5);

/// A budget that does not cover the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exhausted {
    pub(crate) budget: Budget,
    pub(crate) used: u64,
    pub(crate) wanted: u64,
}

impl Exhausted {
    /// In words, with what to do.
    pub(crate) fn describe(&self) -> String {
        let Self { budget: Budget { budget, limit }, used, wanted } = *self;
        let number_of = |number| budget.format(number);
        let next = match budget.period() {
            Period::Turn | Period::Day | Period::All if wanted > limit => {
                format!(
                    "no such request fits in it: raise budget.{budget}, or lower runtime.max_output_tokens"
                )
            }
            Period::Turn => format!("send a prompt, whose turn has its own, or raise budget.{budget} before"),
            Period::Day => format!("raise budget.{budget}, or wait for the next day of UTC"),
            Period::All => format!("raise budget.{budget}"),
        };
        format!(
            "the budget {budget} ({}) is exhausted: {} used, {} wanted for the next request; {next}",
            number_of(limit),
            number_of(used),
            number_of(wanted),
        )
    }
}

/// Whether every budget covers the next request. One that does not ends the turn; where it would, were it not for what
/// others have reserved, the turn waits a little and asks again. It waits, too, for what is to be lent.
pub(crate) fn affords(tx: &mut Tx<'_>, wanted: Amount) -> bool {
    // Which day it is must be known.
    tx.follow_clock();
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return false };
    let (mut crowded, mut borrows) = (false, false);
    for (budget, limit) in tx.env.config.budgets.bounds() {
        let Some(asked) = Asked::new(tx, budget, limit, wanted) else { return false };
        let Some(there) = asked.there(tx) else {
            borrows = true;
            continue;
        };
        let Asked { used, reserved, wanted, .. } = asked;
        if used.saturating_add(wanted) > there {
            // The rest is for other hosts.
            let used = used.saturating_add(limit - there);
            tx.record(BudgetExhausted { run_id, budget, limit, used, wanted });
            let exhausted = Exhausted { budget: Budget { budget, limit }, used, wanted };
            super::turn::outage::budget_exhausted(tx, exhausted);
            return false;
        }
        crowded |= used.saturating_add(reserved).saturating_add(wanted) > there;
    }
    if borrows {
        tx.arm(Alarm::Grant, CROWDED);
    } else if crowded {
        tx.arm(Alarm::Backoff, CROWDED);
    }
    !borrows && !crowded
}

/// Whether every budget covers a request that nothing depends on, with all that is reserved.
pub(crate) fn covers(tx: &mut Tx<'_>, wanted: Amount) -> bool {
    tx.follow_clock();
    let mut bounds = tx.env.config.budgets.bounds();
    let mut covered = |(budget, limit)| {
        let asked = Asked::new(tx, budget, limit, wanted)?;
        let there = asked.there(tx)?;
        Some(asked.used.saturating_add(asked.reserved).saturating_add(asked.wanted) <= there)
    };
    bounds.all(|bound| covered(bound) == Some(true))
}

/// A request, and one of the budgets that it counts for.
struct Asked {
    budget: BudgetKind,
    limit: u64,
    used: u64,
    reserved: u64,
    wanted: u64,
}

impl Asked {
    fn new(tx: &Tx<'_>, budget: BudgetKind, limit: u64, wanted: Amount) -> Option<Self> {
        let (used, reserved) = counted(tx, tx.agent().run.as_ref()?, budget);
        let [used, reserved, wanted] = [used, reserved, wanted].map(|amount| budget.measure(amount));
        Some(Self { budget, limit, used, reserved, wanted })
    }

    /// How much of the budget is there for this host: all of it, or what is lent to it. What the next request like this one
    /// needs is asked for in advance; none where this one has to wait for the answer.
    fn there(&self, tx: &mut Tx<'_>) -> Option<u64> {
        let Self { budget, limit, used, reserved, wanted } = *self;
        if !tx.env.config.shares_budgets || budget.scope() != Scope::Runtime {
            return Some(limit);
        }
        let day = if budget.period() == Period::Day { tx.now().day() } else { 0 };
        let sum = |parts: &[u64]| parts.iter().copied().fold(0, u64::saturating_add);
        let grants = tx.env.grants;
        let lent = grants.lent(budget, day);
        let with_others = sum(&[used, reserved, wanted]);
        // The most that is there, of what is not lent yet.
        let needs = [sum(&[with_others, wanted]), with_others, sum(&[used, wanted])];
        let mut more = needs.into_iter().filter(|needed| *needed > lent && *needed <= limit);
        if let Some(needed) = more.find(|needed| !grants.refuses(budget, day, *needed)) {
            tx.effect(Effect::Borrow { loan: Loan { budget, day, needed, limit } });
            if lent < with_others {
                return None;
            }
        }
        Some(lent.min(limit))
    }
}

/// What counts for a budget: what was spent, and what others have reserved of it.
fn counted(tx: &Tx<'_>, run: &Run, budget: BudgetKind) -> (Amount, Amount) {
    let (own, others) = (&tx.agent().account, tx.env.others);
    // Whoever asks has nothing of its own in flight but a summary.
    let beside = own.beside.map(|reservation| reservation.amount).unwrap_or_default();
    let (own, others_spent) = match budget.period() {
        Period::Turn => (run.spent, Amount::default()),
        Period::Day => (own.on(tx.now().day()), others.of_day),
        Period::All => (own.total, others.total),
    };
    match budget.scope() {
        Scope::Turn | Scope::Agent => (own, beside),
        Scope::Subtree => {
            let spent = tx.agent().account.with_family().plus(others.subtree.spent);
            (spent, others.subtree.reserved.plus(beside))
        }
        Scope::Runtime => (own.plus(others_spent), others.reserved.plus(beside)),
    }
}

/// What a request may take, and the part of it that sending it takes.
pub(crate) fn estimate(tx: &Tx<'_>, model: &ModelRef, input: u64, output: u64) -> (Amount, Amount) {
    let price = tx.env.config.prices.of(model).unwrap_or_default();
    let amount = |output: u64| Amount {
        tokens: input.saturating_add(output),
        cost_micros: price.estimate(input, output),
    };
    (amount(output), amount(0))
}

/// Reserves what the request of an operation may take.
pub(crate) fn reserve(tx: &mut Tx<'_>, run_id: RunId, op: OpId, (amount, sent): (Amount, Amount)) {
    let day = tx.now().day();
    tx.record(BudgetReserved { run_id, op, day, amount, sent });
}

/// A model has answered. Where its provider does not say what that took, what was said on both sides is counted.
pub(crate) fn answered(tx: &mut Tx<'_>, op: OpId, answer: &ModelAnswer) {
    let estimated = || {
        let produced = answer.blocks.iter().map(holon_facts::model::AnswerBlock::est_tokens).sum();
        let sent = tx.agent().account.reservation(op).map_or(0, |reservation| reservation.sent.tokens);
        TokenUsage { input_tokens: sent, output_tokens: produced, total_tokens: 0, cached_input_tokens: 0 }
    };
    let usage = if price::tokens(answer.usage).is_some() { answer.usage } else { estimated() };
    let amount = took(tx, op, usage);
    tx.settle_budget(op, amount);
}

/// An attempt has failed. What its provider says it took counts; where it says nothing, the question does if it may
/// have been heard.
pub(crate) fn failed(tx: &mut Tx<'_>, op: OpId, failure: &AttemptFailure) {
    match failure.usage.filter(|usage| price::tokens(*usage).is_some()) {
        Some(usage) => {
            let amount = took(tx, op, usage);
            tx.settle_budget(op, amount);
        }
        None if may_be_heard(failure) => tx.settle_unknown(op),
        None => tx.settle_budget(op, Amount::default()),
    }
}

/// Whether the provider may have worked on the request, and did not only refuse it.
fn may_be_heard(failure: &AttemptFailure) -> bool {
    match failure.kind {
        FailureKind::Timeout | FailureKind::StreamCut | FailureKind::InvalidResponse => true,
        FailureKind::Server | FailureKind::RateLimited => {
            failure.diagnostics.as_ref().is_some_and(TransportDiagnostics::was_begun)
        }
        FailureKind::Connect
        | FailureKind::Quota
        | FailureKind::Auth
        | FailureKind::Client
        | FailureKind::UnsupportedTransport
        | FailureKind::ContextLength => false,
    }
}

/// What a request took: of the model in turn, or of the one that is asked for a summary.
fn took(tx: &Tx<'_>, op: OpId, usage: TokenUsage) -> Amount {
    let agent = tx.agent();
    let summary = agent.episodes.summarizing.as_ref().filter(|asked| asked.op == op);
    let model = summary.map(|asked| &asked.model).or_else(|| agent.run.as_ref().and_then(Run::model));
    let price = model.and_then(|model| tx.env.config.prices.of(model)).unwrap_or_default();
    Amount { tokens: price::tokens(usage).unwrap_or(0), cost_micros: price.of(usage) }
}

/// Only a start of the runtime changes budgets: what an exhausted one has stopped goes on once it is raised.
pub(crate) fn recover(tx: &mut Tx<'_>) {
    // Who has come to an end begins no more, whatever there is.
    if tx.agent().childhood.retired.is_some() {
        return;
    }
    let Some(hold) = &tx.agent().hold else { return };
    if hold.cause == HoldCause::Budget
        && hold.budget.is_none_or(|budget| budget.is_raised(&tx.env.config.budgets))
    {
        let since = hold.since;
        tx.record(HoldEnded { since, reason: HoldEnd::BudgetRaised });
    }
}
