//! When a server says that it may be asked again. Nonsense saturates; the core bounds what it follows.

use holon_facts::Wall;
use holon_platform::clock;
use http::header::HeaderMap;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

use super::ReportedError;

/// How long to wait, in milliseconds: as the headers say, otherwise as the error does.
pub(super) fn retry_after(headers: &HeaderMap, said: &ReportedError) -> Option<u64> {
    let resets_in = || Some(said.resets_in?.saturating_mul(1_000));
    named(headers).or(said.retry_in).or_else(resets_in)
}

/// `retry-after-ms`, or `retry-after` in seconds or as a date.
fn named(headers: &HeaderMap) -> Option<u64> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = header("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Some(whole(ms));
    }
    let value = header("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Some(whole(seconds * 1_000.0));
    }
    let at = DateTimeParser::new().parse_timestamp(value).ok()?;
    let left = at.as_microsecond().saturating_sub(clock::now().wall.0);
    Some(u64::try_from(left).unwrap_or(0).div_ceil(1_000))
}

/// When a quota is full again: what the error says, otherwise the latest of the headers that name a reset, otherwise the
/// end of the wait that is asked for.
pub(super) fn resets_at(headers: &HeaderMap, said: &ReportedError, wait: Option<u64>) -> Option<Wall> {
    let now = clock::now().wall;
    let own = said.resets_at.map(|seconds| Wall(seconds.saturating_mul(1_000_000)));
    let own = own.or_else(|| Some(later(now, whole(said.resets_in? as f64 * 1_000.0))));
    let reset = || {
        let named = headers.iter().filter(|(name, _)| {
            let name = name.as_str();
            name.starts_with("x-ratelimit-reset")
                || (name.starts_with("x-codex-") && name.ends_with("-reset-at"))
                || (name.starts_with("anthropic-ratelimit-") && name.ends_with("-reset"))
        });
        named.filter_map(|(_, value)| moment(value.to_str().ok()?.trim(), now)).max()
    };
    own.or_else(reset).or_else(|| Some(later(now, wait?)))
}

/// A date, seconds since 1970, or a time from now: `2026-01-02T03:04:05Z`, `1767322800`, `6m0s`, `20ms`, `30`.
fn moment(text: &str, now: Wall) -> Option<Wall> {
    /// Numbers from here on are moments in seconds, and in milliseconds.
    const SECONDS: f64 = 1e9;
    const MILLISECONDS: f64 = 1e12;
    if let Ok(number) = text.parse::<f64>() {
        return Some(if number >= MILLISECONDS {
            Wall(signed(whole(number)).saturating_mul(1_000))
        } else if number >= SECONDS {
            Wall(signed(whole(number * 1_000.0)).saturating_mul(1_000))
        } else {
            later(now, whole(number * 1_000.0))
        });
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(Wall(at.as_microsecond()));
    }
    if let Ok(at) = DateTimeParser::new().parse_timestamp(text) {
        return Some(Wall(at.as_microsecond()));
    }
    Some(later(now, span(text)?))
}

/// How servers begin to say in how long they may be asked again.
const AGAIN: [&str; 6] = [
    "try again in ",
    "retry in ",
    "retry after ",
    "try again after ",
    "retry your request in ",
    "available in ",
];

/// The time that words name, in lower case: "please try again in 1.2s", "retry after 26 seconds". In milliseconds.
pub(super) fn stated(words: &str) -> Option<u64> {
    AGAIN.iter().find_map(|begin| {
        let (_, rest) = words.split_once(begin)?;
        let (total, left) = leading(rest);
        // A number alone is of seconds, where nothing else follows that it may count.
        let number = || {
            let end = left.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(left.len());
            let ends = left[end..].chars().next().is_none_or(|next| !next.is_alphanumeric() && next != ' ');
            let seconds: f64 = left[..end].trim_end_matches('.').parse().ok()?;
            ends.then_some(seconds * 1_000.0)
        };
        total.or_else(number).map(whole)
    })
}

/// `1h2m3.5s` in milliseconds.
pub(super) fn span(text: &str) -> Option<u64> {
    let (total, rest) = leading(text);
    total.filter(|_| rest.is_empty()).map(whole)
}

/// The times with their units that a text begins with, added up, and what follows them.
fn leading(text: &str) -> (Option<f64>, &str) {
    let (mut rest, mut total) = (text, None);
    loop {
        let begun = rest.trim_start_matches([' ', ',']);
        let begun = begun.strip_prefix("and ").unwrap_or(begun).trim_start();
        let digits = begun.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(begun.len());
        let Ok(number) = begun[..digits].parse::<f64>() else { return (total, rest) };
        let unit = begun[digits..].trim_start();
        let letters = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let ms = match &unit[..letters] {
            "d" | "day" | "days" => 86_400_000.0,
            "h" | "hr" | "hour" | "hours" => 3_600_000.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
            "ms" | "millisecond" | "milliseconds" => 1.0,
            _ => return (total, rest),
        };
        total = Some(total.unwrap_or(0.0) + number * ms);
        rest = &unit[letters..];
    }
}

fn later(now: Wall, ms: u64) -> Wall {
    Wall(now.0.saturating_add(signed(ms).saturating_mul(1_000)))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "such a cast saturates, which is what is wanted"
)]
pub(super) fn whole(number: f64) -> u64 {
    number.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{HeaderName, HeaderValue};
    use serde_json::json;

    fn headers(named: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        named.iter().map(pair).collect()
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let after = |value| named(&headers(&[("retry-after", value)]));
        for (value, expected) in [
            ("7", Some(7_000)),
            ("0.5", Some(500)),
            ("-3", Some(0)),
            ("NaN", Some(0)),
            ("1e300", Some(u64::MAX)),
            ("99999999999999999999999999", Some(u64::MAX)),
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(0)),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(after(value), expected, "{value}");
        }
        assert!(after("Wed, 21 Oct 2415 07:28:00 GMT").unwrap() > 1_000_000_000);
        assert_eq!(named(&headers(&[("retry-after-ms", "20"), ("retry-after", "7")])), Some(20));
    }

    #[test]
    fn words_may_say_when_to_ask_again() {
        for (words, expected) in [
            ("rate limit reached. please try again in 1.2s. visit the page", Some(1_200)),
            ("please try again in 28ms.", Some(28)),
            ("please try again in 7m12s", Some(432_000)),
            ("retry after 26 seconds.", Some(26_000)),
            ("retry in 1 minute and 3 seconds", Some(63_000)),
            ("please retry in 36.5s.", Some(36_500)),
            ("retry after 30", Some(30_000)),
            ("retry after 30.", Some(30_000)),
            ("retry after 3 attempts", None),
            ("try again in a moment", None),
            ("try again later", None),
            ("retry in 99999999999999999999999 hours", Some(u64::MAX)),
            ("", None),
        ] {
            assert_eq!(stated(words), expected, "{words}");
        }
        for (error, expected) in [
            (json!({"message": "Slow down", "retry_after": 1.5}), Some(1_500)),
            (json!({"message": "m", "details": [{"@type": "x"}, {"retryDelay": "36s"}]}), Some(36_000)),
            (json!({"message": "m", "details": "none"}), None),
        ] {
            assert_eq!(ReportedError::of(&error).retry_in, expected, "{error}");
        }
        let said = ReportedError::of(&json!({"message": "Please try again in 2s"}));
        assert_eq!(retry_after(&headers(&[]), &said), Some(2_000));
        assert_eq!(retry_after(&headers(&[("retry-after", "7")]), &said), Some(7_000), "a header is plainer");
        let said = ReportedError::of(&json!({"message": "m", "resets_in_seconds": 90}));
        assert_eq!(retry_after(&headers(&[]), &said), Some(90_000));
    }

    #[test]
    fn a_reset_is_a_moment_or_a_time_from_now() {
        let now = Wall(1_000_000);
        for (text, expected) in [
            ("30", Some(31_000_000)),
            ("6m0s", Some(361_000_000)),
            ("1h0.5s", Some(3_601_500_000)),
            ("20ms", Some(1_020_000)),
            ("1767322800", Some(1_767_322_800_000_000)),
            ("1767322800000", Some(1_767_322_800_000_000)),
            ("2026-01-02T03:00:00Z", Some(1_767_322_800_000_000)),
            ("1e300", Some(i64::MAX)),
            ("never", None),
            ("5 apples", None),
            ("5", Some(6_000_000)),
        ] {
            assert_eq!(moment(text, now), expected.map(Wall), "{text}");
        }
        let all = headers(&[
            ("x-ratelimit-reset-requests", "1s"),
            ("anthropic-ratelimit-tokens-reset", "2426-01-02T03:00:00Z"),
            ("anthropic-ratelimit-tokens-limit", "9426-01-02T03:00:00Z"),
        ]);
        let found = resets_at(&all, &ReportedError::default(), Some(7_000)).unwrap();
        assert_eq!(found, moment("2426-01-02T03:00:00Z", now).unwrap());
        let said = ReportedError::of(&json!({"resets_at": 1_767_322_800}));
        assert_eq!(resets_at(&all, &said, None), Some(Wall(1_767_322_800_000_000)));
        let said = ReportedError::of(&json!({"resets_in_seconds": u64::MAX}));
        assert_eq!(resets_at(&all, &said, None), Some(Wall(i64::MAX)));
        let none = (headers(&[]), ReportedError::default());
        assert_eq!(resets_at(&none.0, &none.1, None), None);
        assert_eq!(resets_at(&none.0, &none.1, Some(u64::MAX)), Some(Wall(i64::MAX)));
    }
}
