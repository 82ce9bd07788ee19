//! Numbers of tokens, as servers report them.

use holon_facts::price::MOST;
use holon_facts::usage::TokenUsage;
use serde_json::Value;

/// The number at `path` of a usage object: negative ones are none, and none is more than counts.
pub(crate) fn count(usage: Option<&Value>, path: &str) -> u64 {
    let Some(value) = usage.and_then(|usage| usage.pointer(path)) else { return 0 };
    let count = match (value.as_u64(), value.as_f64()) {
        (Some(count), _) => count,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "such a cast saturates, which is what is wanted"
        )]
        (None, Some(count)) => count as u64,
        (None, None) => 0,
    };
    count.min(MOST)
}

/// `total` is what the server says of both together.
pub(crate) fn usage(input: u64, output: u64, total: u64, cached: u64) -> TokenUsage {
    TokenUsage {
        input_tokens: input,
        output_tokens: output,
        total_tokens: total.max(input.saturating_add(output)).min(MOST),
        cached_input_tokens: cached.min(input),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nonsense_saturates() {
        let reported = json!({"a": -5, "b": 1e300, "c": 3.7, "d": "7", "e": {"f": 9}, "g": null});
        let counts = ["/a", "/b", "/c", "/d", "/e/f", "/g", "/h"].map(|path| count(Some(&reported), path));
        assert_eq!(counts, [0, MOST, 3, 0, 9, 0, 0]);
        let all = usage(MOST, 5, 0, 7);
        assert_eq!((all.total_tokens, all.cached_input_tokens), (MOST, 7));
        assert_eq!(usage(3, 4, 1, 9), TokenUsage { cached_input_tokens: 3, ..usage(3, 4, 7, 0) });
    }
}
