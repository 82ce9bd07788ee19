//! What requests to models take: tokens, and money where the model has a price (contract: agent.md, Turns).

use alloc::vec::Vec;
use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model_ref::{ModelRef, is_version};
use crate::usage::TokenUsage;

/// No request takes more, whatever a provider says: what one of them makes of its counters is nobody's bankruptcy.
pub const MOST: u64 = 1 << 40;
const MILLION: u64 = 1_000_000;

/// Millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Cost(pub u64);

impl Cost {
    /// By reference, as serde asks.
    pub fn is_nothing(&self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, micros) = (self.0 / MILLION, self.0 % MILLION);
        // Cents as always, and what is less than one where there is any.
        match micros % 10_000 {
            0 => write!(f, "${dollars}.{:02}", micros / 10_000),
            _ => write!(f, "${dollars}.{micros:06}"),
        }
    }
}

/// What something takes, or has taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Cost::is_nothing")]
    pub cost_micros: Cost,
}

impl Amount {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost_micros: Cost(self.cost_micros.0.saturating_add(other.cost_micros.0)),
        }
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost_micros: Cost(self.cost_micros.0.saturating_sub(other.cost_micros.0)),
        }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a model takes for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: Cost,
    /// Of input that the provider had in its cache.
    pub cached_input: Cost,
    pub output: Cost,
}

impl Price {
    /// What a request takes that is expected to have so many tokens.
    pub fn estimate(&self, input_tokens: u64, output_tokens: u64) -> Cost {
        self.of(TokenUsage { input_tokens, output_tokens, total_tokens: 0, cached_input_tokens: 0 })
    }

    /// What a request took. Tokens that are only in the total are of the answer: what a model thinks, for some providers.
    pub fn of(&self, usage: TokenUsage) -> Cost {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let output = usage.output_tokens.max(usage.total_tokens.saturating_sub(usage.input_tokens));
        let parts =
            [(usage.input_tokens - cached, self.input), (cached, self.cached_input), (output, self.output)];
        let all: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0)).sum();
        Cost(u64::try_from(all.div_ceil(u128::from(MILLION))).unwrap_or(MOST).min(MOST))
    }
}

/// The tokens that a provider says a request took; none where it says nothing.
pub fn tokens(usage: TokenUsage) -> Option<u64> {
    let parts = usage.input_tokens.saturating_add(usage.output_tokens);
    Some(usage.total_tokens.max(parts).min(MOST)).filter(|tokens| *tokens > 0)
}

/// Prices by model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prices(pub Vec<ModelPrice>);

/// The price of one model, and of its dated versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    pub model: ModelRef,
    #[serde(flatten)]
    pub price: Price,
}

impl Prices {
    /// The price of that model: its own, else that of the model that it is a dated version of.
    pub fn of(&self, model: &ModelRef) -> Option<Price> {
        let own = self.0.iter().find(|known| known.model == *model);
        let dated = || self.0.iter().find(|known| is_version(known.model.as_str(), model.as_str()));
        own.or_else(dated).map(|known| known.price)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Which of these models have no price.
    pub fn missing<'a>(&self, models: &'a [ModelRef]) -> Option<&'a ModelRef> {
        models.iter().find(|model| self.of(model).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn prices() -> Prices {
        let price = |name: &str, input| ModelPrice {
            model: ModelRef::new(name).unwrap(),
            price: Price { input: Cost(input), cached_input: Cost(input / 10), output: Cost(input * 5) },
        };
        Prices([price("a/big", 3_000_000), price("a/big-4", 5_000_000)].into())
    }

    #[test]
    fn a_version_costs_what_its_model_does_and_another_model_does_not() {
        let input = |name: &str| prices().of(&ModelRef::new(name).unwrap()).map(|price| price.input.0);
        for version in ["a/big", "a/big-20250929", "a/big-2025-09-29", "a/big-latest"] {
            assert_eq!(input(version), Some(3_000_000), "{version}");
        }
        assert_eq!(input("a/big-4-20250929"), Some(5_000_000));
        for other in ["b/big", "a/big-mini", "a/big-5", "a/bigger", "a/big-2025", "a/big-2025x929"] {
            assert_eq!(input(other), None, "{other}");
        }
    }

    #[test]
    fn what_was_cached_costs_less_and_nothing_is_rounded_away() {
        let price = prices().of(&ModelRef::new("a/big").unwrap()).unwrap();
        let usage = |input_tokens, cached_input_tokens, output_tokens| TokenUsage {
            input_tokens,
            output_tokens,
            total_tokens: input_tokens + output_tokens,
            cached_input_tokens,
        };
        assert_eq!(price.of(usage(1_000, 0, 100)), Cost(3_000 + 1_500));
        assert_eq!(price.of(usage(1_000, 900, 100)), Cost(300 + 270 + 1_500));
        assert_eq!(price.of(usage(1, 1, 0)), Cost(1), "0.3 millionths are one");
    }

    #[test]
    fn tokens_that_are_only_in_the_total_are_of_the_answer() {
        let price = prices().of(&ModelRef::new("a/big").unwrap()).unwrap();
        let usage = |input_tokens, output_tokens, total_tokens| TokenUsage {
            input_tokens,
            output_tokens,
            total_tokens,
            cached_input_tokens: 0,
        };
        assert_eq!(price.of(usage(1_000, 100, 21_100)), Cost(3_000 + 20_100 * 15));
        assert_eq!(price.of(usage(0, 0, 50_000)), Cost(50_000 * 15));
        assert_eq!(price.of(usage(1_000, 100, 7)), Cost(3_000 + 1_500), "a total that is too small");
        assert_eq!(price.estimate(1_000, 100), Cost(3_000 + 1_500));
    }

    #[test]
    fn counters_that_no_request_can_have_stay_within_bounds() {
        let price = prices().of(&ModelRef::new("a/big").unwrap()).unwrap();
        let most = TokenUsage {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            total_tokens: u64::MAX,
            cached_input_tokens: u64::MAX,
        };
        assert_eq!((price.of(most), tokens(most)), (Cost(MOST), Some(MOST)));
        assert_eq!(tokens(TokenUsage::default()), None);
    }

    #[test]
    fn money_reads_as_money() {
        let shown = [0, 10_000, 1_230_000, 12_000_005].map(|micros| Cost(micros).to_string());
        assert_eq!(shown, ["$0.00", "$0.01", "$1.23", "$12.000005"]);
    }
}
