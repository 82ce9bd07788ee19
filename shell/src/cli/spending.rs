//! What was spent, in words, whatever version tells it.

use holon_core::agent::budget::BudgetKind;
use holon_core::price::Cost;
use serde_json::Value;

use super::explained::{items, object, row};
use super::through::{number, text};

/// What was spent, and each budget with what is used of it.
pub(super) fn rows(answer: &Value) -> Vec<Vec<String>> {
    let Some(spending) = object(answer, "/spending") else { return Vec::new() };
    let amount = |at: &str| {
        let tokens = number(spending, &format!("{at}/tokens"));
        match number(spending, &format!("{at}/cost_micros")) {
            0 => format!("{tokens} tokens"),
            micros => format!("{tokens} tokens, {}", Cost(micros)),
        }
    };
    let mut rows = vec![row("spent", format!("{}; today {}", amount("/total"), amount("/today")))];
    rows.extend(items(spending, "/budgets").iter().map(|budget| {
        let name = text(budget, "/budget");
        let [used, limit] = ["/used", "/limit"].map(|at| told(name, number(budget, at)));
        row("budget", format!("{name}: {used} of {limit}"))
    }));
    rows
}

/// A number of a budget, as people read it.
pub(super) fn told(budget: &str, number: u64) -> String {
    let known = BudgetKind::ALL.iter().find(|known| known.name() == budget);
    known.map_or_else(|| number.to_string(), |known| known.told(number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn money_is_told_as_money_and_what_nobody_knows_as_a_number() {
        let spending = json!({
            "total": { "tokens": 900, "cost_micros": 12_500 },
            "today": { "tokens": 0 },
            "budgets": [
                { "budget": "agent_cost", "limit": 2_000_000, "used": 12_500 },
                { "budget": "week_of_moons", "limit": 3, "used": 1 },
            ],
        });
        let told: Vec<String> =
            rows(&json!({ "spending": spending })).into_iter().map(|row| row.join(" ")).collect();
        let expected = [
            "spent 900 tokens, $0.012500; today 0 tokens",
            "budget agent_cost: $0.012500 of $2.00",
            "budget week_of_moons: 1 of 3",
        ];
        assert_eq!(told, expected);
        assert!(rows(&json!({})).is_empty(), "of an older runtime nothing");
    }
}
