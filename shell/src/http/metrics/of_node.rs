//! What a node of a cluster counts, whatever cells are its own.

use holon_ledger::postgres::node::Tally;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::super::failure::Failure;
use super::super::route::Handled;

/// As OpenMetrics.
pub(super) fn shown(node: &Tally) -> Handled<String> {
    let seconds = |micros: u64| ConstGauge::new(micros as f64 / 1e6);
    let mut registry = Registry::with_prefix("holon_node");
    registry.register("cells", "Cells that the node owns", ConstGauge::new(node.cells() as f64));
    registry.register(
        "lease_left_seconds",
        "For how long the node may begin effects without another renewal; 0 where it may begin none",
        seconds(node.lease_left_us()),
    );
    registry.register(
        "database_seconds",
        "How long the database took to answer the last renewal",
        seconds(node.answer_us()),
    );
    let counters = [
        ("take_overs", "Cells that the node has claimed", node.take_overs()),
        ("appends_refused", "Appends that the database did not take", node.refused()),
        ("appends_unsettled", "Appends whose answer was lost", node.unsettled()),
    ];
    for (name, about, count) in counters {
        registry.register(name, about, ConstCounter::new(count));
    }
    let mut text = String::new();
    encode(&mut text, &registry).map_err(Failure::internal)?;
    Ok(text)
}
