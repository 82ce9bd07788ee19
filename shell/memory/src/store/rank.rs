//! The order of results: how well a document matches, and how new it is.

use holon_facts::Wall;

use super::Hit;

/// A document is worth half as much more than an old one after this time.
const HALF_LIFE_DAYS: f64 = 60.0;
const MICROS_PER_DAY: f64 = 86_400.0 * 1e6;

/// Between 1, for what is very old, and 2.
pub(super) fn recency(updated_at: Wall, now: Wall) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "days need no microseconds")]
    let days = now.0.saturating_sub(updated_at.0).max(0) as f64 / MICROS_PER_DAY;
    1.0 + (-days / HALF_LIFE_DAYS).exp2()
}

/// The best first, then the newest, then by reference.
pub(super) fn sort(hits: &mut [Hit]) {
    hits.sort_by(|a, b| {
        let (left, right) = (&a.entry, &b.entry);
        b.score
            .total_cmp(&a.score)
            .then(right.document.updated_at.cmp(&left.document.updated_at))
            .then(left.source_ref.cmp(&right.source_ref))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_is_worth_twice_as_much_at_most() {
        let now = Wall(1_000 * 86_400 * 1_000_000);
        let ago = |days: i64| Wall(now.0 - days * 86_400 * 1_000_000);
        assert_eq!(recency(now, now), 2.0);
        assert_eq!(recency(ago(-3), now), 2.0, "of a clock that went back");
        assert!((recency(ago(60), now) - 1.5).abs() < 1e-9);
        assert!(recency(ago(900), now) > 1.0 && recency(ago(900), now) < 1.001);
    }
}
