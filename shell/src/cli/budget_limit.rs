//! `--budget`: what a run may cost, in dollars or in tokens.

use std::fmt;
use std::str::FromStr;

use anyhow::anyhow;
use holon_facts::Config;
use holon_facts::budget::BudgetKind;
use holon_facts::price::Cost;

use super::output::Failure;

/// What a run may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BudgetLimit {
    Money(Cost),
    Tokens(u64),
}

impl BudgetLimit {
    /// Bounds what a temporary run takes with everything that it starts, or the next turns of a durable agent. Gives the
    /// budget that it sets; none where the configured one is smaller.
    ///
    /// # Errors
    /// Dollars for a model without a price, which would never count.
    pub(super) fn apply(self, config: &mut Config, temporary: bool) -> Result<Option<BudgetKind>, Failure> {
        if let (Self::Money(_), Some(model)) = (self, config.prices.missing(&config.models)) {
            let error = anyhow!("--budget is in dollars, and {model} has no price");
            let hint = "--budget with tokens, for example \"200k tokens\", or holon config set model.prices";
            return Err(Failure::usage(error).hint(hint));
        }
        let budgets = &mut config.budgets;
        let bounds = if temporary { &mut budgets.runtime } else { &mut budgets.turn };
        let counts = match self {
            Self::Money(cost) => {
                let counts = bounds.cost_micros.is_none_or(|own| cost <= own);
                bounds.cost_micros = if counts { Some(cost) } else { bounds.cost_micros };
                counts
            }
            Self::Tokens(tokens) => {
                let counts = bounds.tokens.is_none_or(|own| tokens <= own);
                bounds.tokens = if counts { Some(tokens) } else { bounds.tokens };
                counts
            }
        };
        Ok(counts.then_some(match (self, temporary) {
            (Self::Money(_), true) => BudgetKind::RuntimeCost,
            (Self::Money(_), false) => BudgetKind::TurnCost,
            (Self::Tokens(_), true) => BudgetKind::RuntimeTokens,
            (Self::Tokens(_), false) => BudgetKind::TurnTokens,
        }))
    }
}

/// As the option takes it.
impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money(Cost(micros)) => write!(f, "{}.{:06}", micros / 1_000_000, micros % 1_000_000),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
        }
    }
}

impl FromStr for BudgetLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "expected dollars, for example 0.50, or tokens, for example \"200k tokens\"".to_owned();
        let text = text.trim();
        let tokens = text.strip_suffix("tokens").or_else(|| text.strip_suffix("token")).map(str::trim_end);
        if let Some(number) = tokens {
            let (number, factor) = match number.strip_suffix(['k', 'K']) {
                Some(number) => (number, 1_000),
                None => number.strip_suffix(['m', 'M']).map_or((number, 1), |number| (number, 1_000_000)),
            };
            let number: u64 = number.trim().parse().map_err(|_| wrong())?;
            let tokens = number.checked_mul(factor).filter(|tokens| *tokens > 0).ok_or_else(wrong)?;
            return Ok(Self::Tokens(tokens));
        }
        let dollars = text.strip_prefix('$').unwrap_or(text);
        let (whole, cents) = dollars.split_once('.').unwrap_or((dollars, ""));
        let plain = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        if dollars.is_empty()
            || dollars == "."
            || cents.len() > 6
            || whole.len() > 9
            || !plain(whole)
            || !plain(cents)
        {
            return Err(wrong());
        }
        let number =
            |digits: &str| if digits.is_empty() { Ok(0) } else { digits.parse::<u64>().map_err(|_| wrong()) };
        let micros = number(whole)? * 1_000_000 + number(&format!("{cents:0<6}"))?;
        if micros == 0 { Err(wrong()) } else { Ok(Self::Money(Cost(micros))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_budget_of_the_configuration_counts() {
        let limit = BudgetLimit::Tokens(10);
        let mut config = Config::new(Vec::new());
        assert_eq!(limit.apply(&mut config, true).ok(), Some(Some(BudgetKind::RuntimeTokens)));
        assert_eq!(config.budgets.runtime.tokens, Some(10));
        config.budgets.turn.tokens = Some(9);
        assert_eq!(limit.apply(&mut config, false).ok(), Some(None));
        assert_eq!(config.budgets.turn.tokens, Some(9));
    }

    #[test]
    fn amounts_are_dollars_or_tokens() {
        let read = |text: &str| text.parse::<BudgetLimit>().ok();
        assert_eq!(read("0.50"), Some(BudgetLimit::Money(Cost(500_000))));
        assert_eq!(read("$2"), Some(BudgetLimit::Money(Cost(2_000_000))));
        assert_eq!(read(".000001"), Some(BudgetLimit::Money(Cost(1))));
        assert_eq!(read("200k tokens"), Some(BudgetLimit::Tokens(200_000)));
        assert_eq!(read("3Mtokens"), Some(BudgetLimit::Tokens(3_000_000)));
        assert_eq!(read("7 tokens"), Some(BudgetLimit::Tokens(7)));
        for amount in ["0.50", "$2", ".000001", "999999999.999999", "200k tokens"] {
            let amount = read(amount).unwrap();
            assert_eq!(read(&amount.to_string()), Some(amount));
        }
        for wrong in ["", "0", "-1", "1e3", ".", "$", "0 tokens", "k tokens", "1.2345678", "1.5 tokens", "x"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
