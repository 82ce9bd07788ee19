//! Configurations in which everything is scarce.

use holon_facts::budget::{Bounds, BudgetKind, Budgets};
use holon_facts::config::{ChildLimits, Config, SummaryBy, WhileStopped};
use holon_facts::model_ref::ModelRef;
use holon_facts::price::{Cost, ModelPrice, Price, Prices};
use holon_facts::time::Millis;
use proptest::prelude::*;
use proptest::sample::select;

use crate::grants::Grant;
use crate::testing::config;

/// Bounds so small that every one of them is met.
pub(super) fn tight() -> impl Strategy<Value = Config> {
    (1..4_u64, 1..4_u32, 1..5_u64, budgets(), any::<(bool, bool, bool, bool)>()).prop_map(
        |(slots, few, keys, budgets, (queue, hold, roomy, shares))| {
            let mut config = config();
            config.queue.entries = 6;
            config.queue.reserved_entries = 2;
            config.queue.bytes = 400;
            config.queue.reserved_bytes = 100;
            config.queue.body_bytes = 200;
            config.queue.keys = keys;
            config.queue.keys_for = Millis::seconds(keys * 20);
            config.queue.crashes = few;
            config.turn.rounds = few + 1;
            config.budgets = budgets;
            config.shares_budgets = shares;
            // In half of the worlds that share budgets.
            config.lent_turns = (shares && hold).then_some(slots - 1);
            config.prices = prices();
            config.turn.calls_per_round = few;
            config.turn.repeats_remind = few;
            config.turn.repeats_end = few * 2;
            // The smallest, and one with room for every tool.
            config.context.window_tokens = if roomy { 16_384 } else { 8_192 };
            // Where there is more of both, more can be summed up.
            if slots == 1 {
                (config.context.window_tokens, config.budgets) = (32_768, Budgets::default());
            }
            config.context.summary = SummaryBy::Model;
            config.retry.retries = few - 1;
            config.hold.on_outage = hold;
            config.tasks.per_agent = slots;
            config.tasks.running = keys;
            config.limits.concurrent_turns = slots;
            config.limits.agents = 5;
            config.children = ChildLimits { depth: 2, per_agent: slots };
            config.limits.decisions_per_step = few;
            config.limits.deadlines_per_step = few;
            config.while_stopped = if queue { WhileStopped::Queue } else { WhileStopped::Refuse };
            config
        },
    )
}

fn budgets() -> impl Strategy<Value = Budgets> {
    let bounds = || {
        let bound = || prop::option::weighted(0.2, 0..60_000_u64);
        (bound(), bound()).prop_map(|(tokens, cost)| Bounds { tokens, cost_micros: cost.map(Cost) })
    };
    (bounds(), bounds(), bounds(), bounds(), bounds(), bounds()).prop_map(
        |(turn, agent, agent_day, runtime, runtime_day, subtree)| Budgets {
            subtree,
            turn,
            agent,
            agent_day,
            runtime,
            runtime_day,
        },
    )
}

fn prices() -> Prices {
    let price = Price { input: Cost(1_000_000), cached_input: Cost(100_000), output: Cost(2_000_000) };
    let models = ["local/one", "local/two"].map(|name| ModelRef::new(name).unwrap());
    Prices(models.map(|model| ModelPrice { model, price }).into())
}

/// What is lent of a budget, asked for or not.
pub(super) fn grant() -> impl Strategy<Value = Grant> {
    let refused = prop::option::weighted(0.3, 0..80_000_u64);
    (select(BudgetKind::ALL.to_vec()), 0..2_i64, 0..80_000_u64, refused)
        .prop_map(|(budget, day, lent, refused)| Grant { budget, day, lent, refused })
}
