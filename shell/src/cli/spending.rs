//! What was spent, in words.

use holon_core::summary::spending::Spending;
use holon_facts::price::{Amount, Cost};

use super::explained::row;

/// What was spent, and each budget with what is used of it.
pub(super) fn rows(spending: &Spending) -> Vec<Vec<String>> {
    let (total, today) = (amount(spending.total), amount(spending.today));
    let mut rows = vec![row("spent", format!("{total}; today {today}"))];
    rows.extend(spending.budgets.iter().map(|state| {
        let kind = state.budget.budget;
        let (used, limit) = (kind.format(state.used), kind.format(state.budget.limit));
        row("budget", format!("{kind}: {used} of {limit}"))
    }));
    rows
}

fn amount(amount: Amount) -> String {
    match amount.cost_micros {
        Cost(0) => format!("{} tokens", amount.tokens),
        cost => format!("{} tokens, {cost}", amount.tokens),
    }
}

/// Money where there is any, tokens otherwise.
pub(super) fn in_short(amount: Amount) -> String {
    match amount {
        Amount { tokens: 0, cost_micros: Cost(0) } => "-".to_owned(),
        Amount { tokens, cost_micros: Cost(0) } => format!("{tokens} tokens"),
        Amount { cost_micros, .. } => cost_micros.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn money_is_shown_as_money() {
        let spending = json!({
            "total": { "tokens": 900, "cost_micros": 12_500 },
            "today": { "tokens": 0 },
            "budgets": [{ "budget": "agent_cost", "limit": 2_000_000, "used": 12_500 }],
        });
        let shown = rows(&serde_json::from_value(spending).unwrap());
        let shown: Vec<String> = shown.into_iter().map(|row| row.join(" ")).collect();
        let expected =
            ["spent 900 tokens, $0.012500; today 0 tokens", "budget agent_cost: $0.012500 of $2.00"];
        assert_eq!(shown, expected);
    }
}
