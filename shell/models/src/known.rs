//! What is known of models, as their providers documented it at a date: how much they take and answer, whether they think
//! first, and what they cost.

use holon_facts::config::KnownLimits;
use holon_facts::model_ref::ModelRef;
use holon_facts::price::{Cost, Price};

use crate::model_options::ModelOptions;

/// When the table below was right.
pub const AS_OF: &str = "2025-11-30";

/// What is known of a model, and of its dated versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownModel {
    /// Whose model it is: by this provider it has the price.
    pub provider: &'static str,
    pub name: &'static str,
    /// Tokens that it takes, question and answer together. Where a question alone has a bound, that bound.
    pub window: u64,
    /// Most tokens of one answer, with what it thinks before.
    pub output: u64,
    pub features: &'static [Feature],
    /// Only the standard price: what is charged otherwise for long contexts, batches or writing a cache is not in it.
    pub price: Price,
}

/// What a model can do that others can't.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// It reads images.
    Images,
    /// It thinks before it answers, and what it thought is sent back to it.
    Reasoning,
    /// It takes a temperature.
    Temperature,
    /// It can be asked for shorter or longer answers.
    Verbosity,
}

impl Feature {
    pub fn name(self) -> &'static str {
        match self {
            Self::Images => "images",
            Self::Reasoning => "reasoning",
            Self::Temperature => "temperature",
            Self::Verbosity => "verbosity",
        }
    }
}

const CLAUDE: &[Feature] = &[Feature::Images, Feature::Reasoning, Feature::Temperature];
const GPT_5: &[Feature] = &[Feature::Images, Feature::Reasoning, Feature::Verbosity];
const GPT_4: &[Feature] = &[Feature::Images, Feature::Temperature];
const O_SERIES: &[Feature] = &[Feature::Images, Feature::Reasoning];

/// Millionths of a dollar for a million tokens: input, input from the provider's cache, output.
type Prices = (u64, u64, u64);

const fn known(
    provider: &'static str,
    name: &'static str,
    (window, output): (u64, u64),
    features: &'static [Feature],
    (input, cached, answered): Prices,
) -> KnownModel {
    let price = Price { input: Cost(input), cached_input: Cost(cached), output: Cost(answered) };
    KnownModel { provider, name, window, output, features, price }
}

/// Everything that is known.
pub const KNOWN: &[KnownModel] = &[
    known("anthropic", "claude-opus-4-5", (200_000, 64_000), CLAUDE, (5_000_000, 500_000, 25_000_000)),
    known("anthropic", "claude-opus-4-1", (200_000, 32_000), CLAUDE, (15_000_000, 1_500_000, 75_000_000)),
    known("anthropic", "claude-opus-4", (200_000, 32_000), CLAUDE, (15_000_000, 1_500_000, 75_000_000)),
    known("anthropic", "claude-sonnet-4-5", (200_000, 64_000), CLAUDE, (3_000_000, 300_000, 15_000_000)),
    known("anthropic", "claude-sonnet-4", (200_000, 64_000), CLAUDE, (3_000_000, 300_000, 15_000_000)),
    known("anthropic", "claude-haiku-4-5", (200_000, 64_000), CLAUDE, (1_000_000, 100_000, 5_000_000)),
    known("anthropic", "claude-3-5-haiku", (200_000, 8_192), GPT_4, (800_000, 80_000, 4_000_000)),
    // Their window is 400,000 tokens, of which a question may have so many.
    known("openai", "gpt-5.1", (272_000, 128_000), GPT_5, (1_250_000, 125_000, 10_000_000)),
    known("openai", "gpt-5.1-codex", (272_000, 128_000), O_SERIES, (1_250_000, 125_000, 10_000_000)),
    known("openai", "gpt-5", (272_000, 128_000), GPT_5, (1_250_000, 125_000, 10_000_000)),
    known("openai", "gpt-5-codex", (272_000, 128_000), O_SERIES, (1_250_000, 125_000, 10_000_000)),
    known("openai", "gpt-5-mini", (272_000, 128_000), GPT_5, (250_000, 25_000, 2_000_000)),
    known("openai", "gpt-5-nano", (272_000, 128_000), GPT_5, (50_000, 5_000, 400_000)),
    known("openai", "gpt-4.1", (1_047_576, 32_768), GPT_4, (2_000_000, 500_000, 8_000_000)),
    known("openai", "gpt-4.1-mini", (1_047_576, 32_768), GPT_4, (400_000, 100_000, 1_600_000)),
    known("openai", "gpt-4.1-nano", (1_047_576, 32_768), GPT_4, (100_000, 25_000, 400_000)),
    known("openai", "gpt-4o", (128_000, 16_384), GPT_4, (2_500_000, 1_250_000, 10_000_000)),
    known("openai", "gpt-4o-mini", (128_000, 16_384), GPT_4, (150_000, 75_000, 600_000)),
    known("openai", "o3", (200_000, 100_000), O_SERIES, (2_000_000, 500_000, 8_000_000)),
    known("openai", "o4-mini", (200_000, 100_000), O_SERIES, (1_100_000, 275_000, 4_400_000)),
];

/// What is known of a model, whoever serves it: by its name.
pub fn of(model: &ModelRef) -> Option<&'static KnownModel> {
    model.among(KNOWN, |known| known.name)
}

/// What the core has to know of them.
pub fn limits() -> Vec<KnownLimits> {
    let limits = |known: &KnownModel| KnownLimits {
        name: known.name.to_owned(),
        tokens: known.window,
        output: known.output,
        images: known.has(Feature::Images),
    };
    KNOWN.iter().map(limits).collect()
}

/// Whether a model reads images: as somebody says of it, otherwise as it is known.
pub fn takes_images(model: &ModelRef, own: Option<&ModelOptions>) -> bool {
    let said = own.and_then(|own| own.images);
    said.unwrap_or_else(|| of(model).is_some_and(|known| known.has(Feature::Images)))
}

impl KnownModel {
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_its_name_whoever_serves_it() {
        let name = |text: &str| of(&ModelRef::new(text).unwrap()).map(|known| known.name);
        for (text, known) in [
            ("openai/gpt-5.1", Some("gpt-5.1")),
            ("openai-chat/gpt-5.1-2025-11-13", Some("gpt-5.1")),
            ("azure/gpt-5-mini", Some("gpt-5-mini")),
            ("openrouter/anthropic/claude-sonnet-4-5:beta", Some("claude-sonnet-4-5")),
            ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some("claude-sonnet-4-5")),
            ("openai/gpt-5.1-codex", Some("gpt-5.1-codex")),
            ("local/qwen3", None),
            ("local/gpt-5.2", None),
            ("local/x/", None),
        ] {
            assert_eq!(name(text), known, "{text}");
        }
    }

    #[test]
    fn every_row_is_possible() {
        for known in KNOWN {
            let Price { input, cached_input, output } = known.price;
            assert!(cached_input < input && input < output, "{}", known.name);
            assert!((8_192..=known.window).contains(&known.output), "{}", known.name);
            let named = format!("{}/{}", known.provider, known.name);
            assert_eq!(of(&ModelRef::new(&named).unwrap()).map(|it| it.name), Some(known.name));
        }
    }
}
