//! Results of bounded length: what a model reads of a long text is its beginning.

use serde_json::{Value, json};

/// Most bytes of a result, about 25,000 tokens.
pub(crate) const RESULT_BYTES: usize = 96_000;
/// Texts are cut to so many characters, until the whole fits.
const LENGTHS: [usize; 5] = [16_000, 4_000, 1_000, 250, 60];

/// The value, with texts cut as far as need be. What still does not fit is not passed on.
pub(crate) fn bounded(mut value: Value) -> Value {
    for length in LENGTHS {
        if value.to_string().len() <= RESULT_BYTES {
            return value;
        }
        cut(&mut value, length);
    }
    if value.to_string().len() <= RESULT_BYTES {
        return value;
    }
    json!({
        "ok": false,
        "code": "too_large",
        "error": format!("the result has more than {RESULT_BYTES} bytes"),
        "hint": "ask for less of it: with a smaller limit",
    })
}

fn cut(value: &mut Value, length: usize) {
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            if count > length {
                let kept: String = text.chars().take(length).collect();
                *text = format!("{kept} [… {} more characters]", count - length);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| cut(value, length)),
        Value::Object(members) => members.values_mut().for_each(|value| cut(value, length)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_and_what_is_too_much_is_refused() {
        let short = json!({ "text": "short" });
        assert_eq!(bounded(short.clone()), short);
        let long = bounded(json!({ "text": "ä".repeat(200_000), "more": [{ "text": "b".repeat(3_000) }] }));
        assert!(long.to_string().len() <= RESULT_BYTES, "{}", long.to_string().len());
        assert!(long["text"].as_str().unwrap().ends_with("ä [… 184000 more characters]"), "{long}");
        assert_eq!(long["more"][0]["text"], "b".repeat(3_000), "it is cut no further than need be");
        let much = bounded(json!(vec![1; 100_000]));
        assert_eq!(much["code"], "too_large");
    }
}
