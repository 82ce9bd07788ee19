//! What is configured of one model: `models.<provider/model>.<option>`.

use std::fmt;

use serde_json::{Number, Value};

/// What differs between models of one provider. What is left out is as the provider has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// Tokens that it takes, question and answer together; none is what is known of the model.
    pub context_window_tokens: Option<u64>,
    /// Most tokens of one answer; none is what is known of the model.
    pub max_output_tokens: Option<u64>,
    /// Whether it thinks before it answers; none is what is known of the model.
    pub reasoning: Option<bool>,
    /// Whether it reads images; none is what is known of the model.
    pub images: Option<bool>,
    pub reasoning_effort: Option<String>,
    /// `adaptive` or `disabled`.
    pub thinking: Option<String>,
    pub thinking_budget_tokens: Option<u64>,
    pub temperature: Option<Temperature>,
    pub verbosity: Option<String>,
    pub parallel_tool_calls: Option<bool>,
}

/// In hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temperature(u16);

impl Temperature {
    /// From 0 to 2, in steps of a hundredth.
    pub fn new(value: f64) -> Option<Self> {
        let hundredths = (value * 100.0).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 200")]
        let new = |hundredths: f64| Self(hundredths as u16);
        ((0.0..=200.0).contains(&hundredths) && (value * 100.0 - hundredths).abs() < 1e-6)
            .then(|| new(hundredths))
    }

    pub fn value(self) -> Value {
        Number::from_f64(f64::from(self.0) / 100.0).map_or(Value::Null, Value::Number)
    }
}

impl fmt::Display for Temperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temperature_is_sent_as_it_was_written() {
        for (value, sent) in [(0.0, "0.0"), (0.7, "0.7"), (1.0, "1.0"), (2.0, "2.0"), (0.55, "0.55")] {
            assert_eq!(Temperature::new(value).unwrap().to_string(), sent);
        }
        for wrong in [-0.1, 2.01, 0.001, f64::NAN, f64::INFINITY] {
            assert_eq!(Temperature::new(wrong), None, "{wrong}");
        }
    }
}
