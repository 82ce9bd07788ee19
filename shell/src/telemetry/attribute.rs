//! What is known of a span.

use holon_facts::usage::TokenUsage;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    Text(String),
    Number(u64),
    Texts(Vec<String>),
}

pub(super) fn text(value: impl ToString) -> Attribute {
    Attribute::Text(value.to_string())
}

pub(super) fn usage(usage: TokenUsage) -> Vec<(&'static str, Attribute)> {
    vec![
        ("gen_ai.usage.input_tokens", Attribute::Number(usage.input_tokens)),
        ("gen_ai.usage.output_tokens", Attribute::Number(usage.output_tokens)),
        ("gen_ai.usage.cache_read.input_tokens", Attribute::Number(usage.cached_input_tokens)),
    ]
}
