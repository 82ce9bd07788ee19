//! Spending limits (B3): independent accounts, kept from records and the configuration alone.

use std::collections::BTreeMap;

use holon_core::Input;
use holon_core::host::Host;
use holon_core::replay::Call;
use holon_facts::budget::BudgetKind;
use holon_facts::event::scheduling::HoldEnd;
use holon_facts::event::task::TaskCause;
use holon_facts::event::turn::BudgetExhausted;
use holon_facts::event::{LifecycleFact, SchedulingFact, TaskFact, TurnFact};
use holon_facts::ids::{OpId, RunId, TaskId};
use holon_facts::model::AttemptRecord;
use holon_facts::price::Amount;
use holon_facts::usage::TokenUsage;
use holon_facts::{AgentId, Config, Event, Record};

use crate::failure::{Failure, ensure};

/// Tokens, and millionths of a dollar.
type Sum = [u64; 2];

/// What each agent has spent.
#[derive(Debug, Clone, Default)]
pub struct Spending {
    agents: BTreeMap<AgentId, Own>,
    /// The parent and task of each child; a lost child has none.
    parents: BTreeMap<AgentId, (AgentId, TaskId)>,
    /// Loans to this life, by budget and day.
    lent: BTreeMap<(BudgetKind, i64), u64>,
    /// How often the law was checked.
    pub checked: u64,
}

#[derive(Debug, Clone, Default)]
struct Own {
    total: Sum,
    day: i64,
    of_day: Sum,
    turn: Sum,
    /// The run in progress, or the last one.
    run: Option<RunId>,
    /// Reservations of requests in flight: for the turn, and for a summary.
    reserved: BTreeMap<OpId, Sum>,
    /// The cost of the last settled request.
    settled: Sum,
    /// The budget of its hold, with the limit.
    held: Option<(BudgetKind, u64)>,
}

impl Spending {
    /// A life begins without loans, and may spend what it is lent.
    pub fn call(&mut self, call: &Call) {
        if let Call::RuntimeStarted { .. } = call {
            self.lent.clear();
        }
        if let Call::Step { input: Input::Granted { grant }, .. } = call {
            let lent = self.lent.entry((grant.budget, grant.day)).or_default();
            *lent = grant.lent.max(*lent);
        }
    }

    /// How much of a budget this host may use.
    fn there(&self, config: &Config, (budget, limit): (BudgetKind, u64), day: i64) -> u64 {
        let of_all = [BudgetKind::RuntimeTokens, BudgetKind::RuntimeCost].contains(&budget);
        let of_day = [BudgetKind::RuntimeDayTokens, BudgetKind::RuntimeDayCost].contains(&budget);
        if !config.shares_budgets || !(of_all || of_day) {
            return limit;
        }
        let lent = self.lent.get(&(budget, if of_day { day } else { 0 }));
        lent.map_or(0, |lent| limit.min(*lent))
    }

    /// Checks a record under the configuration in force. `twice` is sabotage: it counts spending twice.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub fn record(&mut self, record: &Record, config: &Config, twice: bool) -> Result<(), Failure> {
        match &record.event {
            Event::Turn(TurnFact::BudgetExhausted(fact)) => {
                self.exhausted(&record.agent, fact, config, record.at.day())
            }
            Event::Turn(fact) => self.turn(&record.agent, fact, config, twice),
            Event::Lifecycle(LifecycleFact::AgentCreated(fact)) => {
                if let Some(supervisor) = &fact.spec.supervisor {
                    let parent = (supervisor.agent_id.clone(), supervisor.task_id);
                    self.parents.insert(record.agent.clone(), parent);
                }
                Ok(())
            }
            Event::Lifecycle(LifecycleFact::ClockStepped(fact)) => {
                let own = self.own(&record.agent);
                own.day = own.day.min(fact.to.day());
                Ok(())
            }
            Event::Scheduling(SchedulingFact::HoldSet(fact)) => {
                self.own(&record.agent).held = fact.budget.map(|budget| (budget.budget, budget.limit));
                Ok(())
            }
            Event::Scheduling(SchedulingFact::HoldEnded(fact)) => {
                let held = self.own(&record.agent).held.take();
                let raised = held.is_some_and(|(budget, limit)| more(config, budget, limit));
                ensure!(
                    raised || fact.reason != HoldEnd::BudgetRaised,
                    "B3",
                    "{} goes on, and {held:?} is as it was",
                    record.agent
                );
                Ok(())
            }
            Event::Task(TaskFact::TaskStatusUpdated(fact)) if fact.cause == TaskCause::Unproven => {
                // The spending of a lost child is lost to its tree.
                let task = (record.agent.clone(), fact.task_id);
                self.parents.retain(|_, parent| *parent != task);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    fn turn(&mut self, id: &AgentId, fact: &TurnFact, config: &Config, twice: bool) -> Result<(), Failure> {
        match fact {
            TurnFact::TurnStarted(fact) => {
                let own = self.own(id);
                (own.turn, own.run) = (Sum::default(), Some(fact.run_id));
            }
            TurnFact::BudgetReserved(fact) => {
                self.checked += 1;
                let wanted = sum(fact.amount);
                for (budget, limit) in limits(config) {
                    let (used, others) = self.counted(id, budget, fact.day);
                    let all = used.saturating_add(others).saturating_add(of(budget, wanted));
                    let there = self.there(config, (budget, limit), fact.day);
                    ensure!(
                        all <= there,
                        "B3",
                        "{id} asks, and {budget} ({there} of {limit}) does not cover {all}"
                    );
                }
                let own = self.own(id);
                (own.of_day, own.day) = (own.on(fact.day), fact.day);
                own.reserved.insert(fact.op, wanted);
            }
            TurnFact::BudgetSettled(fact) => {
                let own = self.own(id);
                own.settled = sum(fact.amount);
                own.reserved.remove(&fact.op);
                let in_turn = own.run == Some(fact.run_id);
                for _ in 0..=u8::from(twice) {
                    own.total = plus(own.total, own.settled);
                    if fact.day == own.day {
                        own.of_day = plus(own.of_day, own.settled);
                    }
                    if in_turn {
                        own.turn = plus(own.turn, own.settled);
                    }
                }
            }
            TurnFact::ProviderAttemptRecorded(fact) => {
                let settled = self.own(id).settled;
                return paid(id, &fact.attempt, settled, config);
            }
            _ => {}
        }
        Ok(())
    }

    /// An exhausted budget is configured, and was used as recorded.
    fn exhausted(
        &mut self,
        id: &AgentId,
        fact: &BudgetExhausted,
        config: &Config,
        day: i64,
    ) -> Result<(), Failure> {
        self.checked += 1;
        let limit = limits(config).find(|(budget, _)| *budget == fact.budget).map(|(_, limit)| limit);
        ensure!(limit == Some(fact.limit), "B3", "{id} has exhausted {fact:?}, set is {limit:?}");
        let others = fact.limit - self.there(config, (fact.budget, fact.limit), day);
        let used = self.counted(id, fact.budget, day).0.saturating_add(others);
        ensure!(used == fact.used, "B3", "{id} has used {used} of {}, told are {}", fact.budget, fact.used);
        Ok(())
    }

    /// Compares the totals of a live host.
    pub fn live(&self, host: &Host) -> Result<(), Failure> {
        let shown = host.view().spending();
        let all = |part: fn(&Own) -> Sum| self.agents.values().map(part).fold(Sum::default(), plus);
        let (total, reserved) = (all(|own| own.total), all(Own::reserved));
        let same = (sum(shown.total), sum(shown.reserved)) == (total, reserved);
        ensure!(same, "B3", "{shown:?} is told to be spent, {total:?} was, and {reserved:?} is reserved");
        Ok(())
    }

    /// The root of an agent's tree, which has no supervisor.
    fn root<'a>(&'a self, agent: &'a AgentId) -> &'a AgentId {
        let mut root = agent;
        while let Some((parent, _)) = self.parents.get(root) {
            root = parent;
        }
        root
    }

    fn own(&mut self, agent: &AgentId) -> &mut Own {
        self.agents.entry(agent.clone()).or_default()
    }

    /// What was spent of a budget, and what is reserved of it.
    fn counted(&self, id: &AgentId, budget: BudgetKind, day: i64) -> (u64, u64) {
        let all = |part: &dyn Fn(&Own) -> Sum| self.agents.values().map(part).fold(Sum::default(), plus);
        let own = self.agents.get(id).cloned().unwrap_or_default();
        let reserved = all(&Own::reserved);
        let (used, reserved) = match budget {
            BudgetKind::TurnTokens | BudgetKind::TurnCost => (own.turn, own.reserved()),
            BudgetKind::AgentTokens | BudgetKind::AgentCost => (own.total, own.reserved()),
            BudgetKind::AgentDayTokens | BudgetKind::AgentDayCost => (own.on(day), own.reserved()),
            BudgetKind::SubtreeTokens | BudgetKind::SubtreeCost => {
                let subtree = || self.agents.iter().filter(|(other, _)| self.root(other) == self.root(id));
                let reserved = subtree().map(|(_, own)| own.reserved()).fold(Sum::default(), plus);
                (subtree().map(|(_, own)| own.total).fold(Sum::default(), plus), reserved)
            }
            BudgetKind::RuntimeTokens | BudgetKind::RuntimeCost => (all(&|own| own.total), reserved),
            BudgetKind::RuntimeDayTokens | BudgetKind::RuntimeDayCost => (all(&|own| own.on(day)), reserved),
        };
        (of(budget, used), of(budget, reserved))
    }
}

impl Own {
    fn reserved(&self) -> Sum {
        self.reserved.values().copied().fold(Sum::default(), plus)
    }

    fn on(&self, day: i64) -> Sum {
        if self.day == day { self.of_day } else { Sum::default() }
    }
}

/// The settled cost is the usage that the provider reports.
fn paid(id: &AgentId, attempt: &AttemptRecord, settled: Sum, config: &Config) -> Result<(), Failure> {
    let Some(usage) = attempt.token_usage.filter(|usage| *usage != TokenUsage::default()) else {
        return Ok(());
    };
    let tokens = usage.total_tokens.max(usage.input_tokens.saturating_add(usage.output_tokens));
    let known = config.prices.0.iter().find(|known| known.model == attempt.model_ref);
    let cached = usage.cached_input_tokens.min(usage.input_tokens);
    // Whatever is no input was produced.
    let produced = usage.total_tokens.saturating_sub(usage.input_tokens).max(usage.output_tokens);
    let micros = known.map_or(0, |known| {
        let parts = [
            (usage.input_tokens - cached, known.price.input),
            (cached, known.price.cached_input),
            (produced, known.price.output),
        ];
        let all: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0)).sum();
        all.div_ceil(1_000_000)
    });
    let right = [tokens.min(1 << 40), u64::try_from(micros).unwrap_or(u64::MAX).min(1 << 40)];
    ensure!(settled == right, "B3", "{id} pays {settled:?} for {usage:?}, right is {right:?}");
    Ok(())
}

fn limits(config: &Config) -> impl Iterator<Item = (BudgetKind, u64)> {
    let budgets = &config.budgets;
    let spans = [
        (budgets.turn, BudgetKind::TurnTokens, BudgetKind::TurnCost),
        (budgets.agent, BudgetKind::AgentTokens, BudgetKind::AgentCost),
        (budgets.agent_day, BudgetKind::AgentDayTokens, BudgetKind::AgentDayCost),
        (budgets.subtree, BudgetKind::SubtreeTokens, BudgetKind::SubtreeCost),
        (budgets.runtime, BudgetKind::RuntimeTokens, BudgetKind::RuntimeCost),
        (budgets.runtime_day, BudgetKind::RuntimeDayTokens, BudgetKind::RuntimeDayCost),
    ];
    spans.into_iter().flat_map(|(bounds, tokens, cost)| {
        [(tokens, bounds.tokens), (cost, bounds.cost_micros.map(|cost| cost.0))]
            .into_iter()
            .filter_map(|(budget, limit)| Some((budget, limit?)))
    })
}

/// Whether the budget has a higher limit than this, or none.
fn more(config: &Config, budget: BudgetKind, limit: u64) -> bool {
    limits(config).find(|(set, _)| *set == budget).is_none_or(|(_, set)| set > limit)
}

/// The part of a sum that a budget counts.
fn of(budget: BudgetKind, sum: Sum) -> u64 {
    let money = [
        BudgetKind::TurnCost,
        BudgetKind::AgentCost,
        BudgetKind::AgentDayCost,
        BudgetKind::SubtreeCost,
        BudgetKind::RuntimeCost,
        BudgetKind::RuntimeDayCost,
    ];
    sum[usize::from(money.contains(&budget))]
}

fn sum(amount: Amount) -> Sum {
    [amount.tokens, amount.cost_micros.0]
}

fn plus(a: Sum, b: Sum) -> Sum {
    [a[0].saturating_add(b[0]), a[1].saturating_add(b[1])]
}
