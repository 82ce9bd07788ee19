//! What models cost: those that are known, and what the file says instead.

use holon_facts::model_ref::ModelRef;
use holon_facts::price::{Cost, ModelPrice, Price, Prices};
use holon_models::known::KNOWN;
use serde_json::{Map, Value as Json, json};
use toml_edit::{InlineTable, Value};

/// More than anybody asks for a million tokens, or pays in all.
pub(super) const MOST_DOLLARS: f64 = 1e9;

/// The models that are known. Those of OpenAI cost the same by either of its interfaces.
pub fn built_in() -> impl Iterator<Item = ModelPrice> {
    KNOWN.iter().flat_map(|known| {
        let chat = (known.provider == "openai").then_some("openai-chat");
        let providers = std::iter::once(known.provider).chain(chat);
        providers.filter_map(|provider| {
            let model = ModelRef::new(&format!("{provider}/{}", known.name)).ok()?;
            Some(ModelPrice { model, price: known.price })
        })
    })
}

/// What the file says, then what is known of other models.
pub fn effective(configured: &Prices) -> Prices {
    Prices(configured.0.iter().cloned().chain(built_in()).collect())
}

/// Dollars as they stand in the file.
pub(super) fn dollars(value: &Value) -> Option<Cost> {
    #[expect(clippy::cast_precision_loss, reason = "no amount of dollars is that large")]
    let dollars = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the bounds")]
    let micros = |dollars: f64| (dollars * 1e6).round() as u64;
    // What is less than a millionth would be none at all.
    let whole = (dollars * 1e6 - (dollars * 1e6).round()).abs() < 1e-3;
    ((0.0..=MOST_DOLLARS).contains(&dollars) && whole).then(|| Cost(micros(dollars)))
}

/// Dollars as they stand in a document.
pub fn shown(cost: Cost) -> Json {
    #[expect(clippy::cast_precision_loss, reason = "no amount of dollars is that large")]
    let dollars = cost.0 as f64 / 1e6;
    json!(dollars)
}

/// Reads `{ "provider/model" = { input = 1.25, cached_input = 0.125, output = 10 } }`.
pub(super) fn read(value: &Value) -> Option<Prices> {
    let one = |(name, value): (&str, &Value)| {
        Some(ModelPrice { model: ModelRef::new(name).ok()?, price: price(value.as_inline_table()?)? })
    };
    value.as_inline_table()?.iter().map(one).collect::<Option<_>>().map(Prices)
}

fn price(table: &InlineTable) -> Option<Price> {
    let known = |name: &str| ["input", "cached_input", "output"].contains(&name);
    let dollars = |name| table.get(name).map(dollars);
    let input = dollars("input")??;
    let cached_input = dollars("cached_input").unwrap_or(Some(input))?;
    let output = dollars("output")??;
    table.iter().all(|(name, _)| known(name)).then_some(Price { input, cached_input, output })
}

pub(super) fn document(prices: &Prices) -> Json {
    let of = |known: &ModelPrice| {
        let Price { input, cached_input, output } = known.price;
        let price = [("input", input), ("cached_input", cached_input), ("output", output)];
        let price: Map<_, _> = price.iter().map(|(name, cost)| ((*name).to_owned(), shown(*cost))).collect();
        (known.model.to_string(), Json::Object(price))
    };
    Json::Object(prices.0.iter().map(of).collect())
}

pub(super) fn schema() -> Json {
    let dollars = json!({ "type": "number", "minimum": 0 });
    let price = json!({
        "type": "object",
        "properties": { "input": dollars, "cached_input": dollars, "output": dollars },
        "required": ["input", "output"],
        "additionalProperties": false,
    });
    json!({ "type": "object", "patternProperties": { "^[^/]+/.+$": price }, "additionalProperties": false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_model_has_a_name_and_a_price() {
        let known: Vec<_> = built_in().collect();
        assert!(known.len() > KNOWN.len(), "one interface of two");
    }

    #[test]
    fn the_file_says_what_counts() {
        let written: Value =
            r#"{ "openai/gpt-5" = { input = 1, output = 2.5 }, "local/x" = { input = 0, output = 0 } }"#
                .parse()
                .unwrap();
        let configured = read(&written).unwrap();
        let price = |name: &str| effective(&configured).of(&ModelRef::new(name).unwrap());
        assert_eq!(price("openai/gpt-5-2025-08-07").unwrap().output, Cost(2_500_000));
        assert_eq!(price("local/x"), Some(Price::default()));
        assert_eq!(price("openai-chat/gpt-5-mini").unwrap().output, Cost(2_000_000));
        assert_eq!(price("openai/gpt-5-mini").unwrap().output, Cost(2_000_000), "as it is known");
        assert_eq!(document(&configured)["openai/gpt-5"]["cached_input"], 1.0, "no cheaper than any input");
        let tenth = r#"{ "a/b" = { input = 0.0000001, output = 1 } }"#;
        assert_eq!(read(&tenth.parse().unwrap()), None, "less than there is");
        for wrong in
            ["{ x = { input = 1, output = 1 } }", "{ \"a/b\" = { input = 1 } }", "1", "{ \"a/b\" = 1 }"]
        {
            assert_eq!(read(&wrong.parse().unwrap()), None, "{wrong}");
        }
        let wrong = r#"{ "a/b" = { input = 1, output = -1 } }"#;
        assert_eq!(read(&wrong.parse().unwrap()), None);
        let wrong = r#"{ "a/b" = { input = 1, output = 1, outptu = 1 } }"#;
        assert_eq!(read(&wrong.parse().unwrap()), None);
    }
}
