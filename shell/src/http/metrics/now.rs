//! How things stand at the moment at which somebody looks: gauges.

use std::sync::atomic::AtomicU64;

use holon_core::view::View;
use holon_facts::AgentId;
use holon_facts::lifecycle::Status;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

type Part = Gauge<f64, AtomicU64>;

#[derive(Default)]
pub(super) struct Now {
    by_status: Family<[(&'static str, &'static str); 1], Gauge>,
    tasks: Gauge,
    holds: Gauge,
    budgets: Family<[(&'static str, &'static str); 1], Part>,
    tokens_today: Gauge,
    dollars_today: Part,
    ledger: Gauge,
    check_failed: Gauge,
}

/// What the runtime has in memory.
pub(super) struct InMemory {
    tasks: u64,
    holds: u64,
    /// Budgets of the runtime, and the used part of each.
    budgets: Vec<(&'static str, f64)>,
    tokens_today: u64,
    micros_today: u64,
}

fn gauge(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl InMemory {
    pub(super) fn of(view: View<'_>) -> Self {
        let agents = || view.agent_ids().filter_map(|id: &AgentId| view.agent(id));
        let spending = view.spending();
        let used = spending
            .budgets
            .iter()
            .map(|state| (state.budget.budget.name(), state.used as f64 / state.budget.limit.max(1) as f64));
        Self {
            tasks: agents().map(|agent| agent.tasks.active_count()).sum(),
            holds: agents().filter(|agent| agent.hold.is_some()).count() as u64,
            budgets: used.collect(),
            tokens_today: spending.today.tokens,
            micros_today: spending.today.cost_micros.0,
        }
    }
}

impl Now {
    pub(super) fn in_memory(&self, now: InMemory) {
        self.tasks.set(gauge(now.tasks));
        self.holds.set(gauge(now.holds));
        self.budgets.clear();
        for (name, used) in now.budgets {
            self.budgets.get_or_create(&[("budget", name)]).set(used);
        }
        self.tokens_today.set(gauge(now.tokens_today));
        self.dollars_today.set(now.micros_today as f64 / 1_000_000.0);
    }

    /// How all agents stand, also those that are not in memory.
    pub(super) fn agents(&self, statuses: impl Iterator<Item = Status>) {
        for status in Status::ALL {
            self.by_status.get_or_create(&[("status", status.name())]).set(0);
        }
        for status in statuses {
            self.by_status.get_or_create(&[("status", status.name())]).inc();
        }
    }

    pub(super) fn ledger(&self, bytes: u64, check_failed: bool) {
        self.ledger.set(gauge(bytes));
        self.check_failed.set(i64::from(check_failed));
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "agents",
            "Agents by status, also those that are not in memory",
            self.by_status.clone(),
        );
        registry.register("tasks", "Commands that run in the background", self.tasks.clone());
        registry.register(
            "holds",
            "Agents that wait for a provider, a login or a budget",
            self.holds.clone(),
        );
        registry.register(
            "budget_used_ratio",
            "Used part of each budget of the runtime",
            self.budgets.clone(),
        );
        registry.register(
            "tokens_today",
            "Tokens of all agents since midnight, UTC",
            self.tokens_today.clone(),
        );
        registry.register(
            "cost_today_dollars",
            "What these cost, as far as models have prices",
            self.dollars_today.clone(),
        );
        registry.register_with_unit(
            "ledger",
            "Size of the file of the ledger",
            Unit::Bytes,
            self.ledger.clone(),
        );
        registry.register(
            "ledger_check_failed",
            "Whether the newest check of the whole ledger has found something that is not in order",
            self.check_failed.clone(),
        );
        let build = vec![("version", holon_platform::build::version())];
        registry.register("build", "The build that runs", Info::new(build));
    }
}
