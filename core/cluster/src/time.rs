//! Moments and spans. The machine reads no clock: each step gets the moment at which it is made.

/// Microseconds of this node's monotonic clock, which goes on while the machine sleeps (`CLOCK_BOOTTIME`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub u64);

/// Microseconds between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// Microseconds since 1970 by the clock of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub i64);

impl Mono {
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// How long ago `earlier` was; nothing if it is still to come.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    pub const fn millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// What is left of it without a part.
    pub const fn less(self, part: Self) -> Self {
        Self(self.0.saturating_sub(part.0))
    }
}

/// How far the clock of the database is ahead of this node's monotonic one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Offset(i64);

impl Offset {
    /// The database read its clock at some moment between the two; the middle of them is wrong by half of a round trip at most.
    pub(crate) fn of(wall: Wall, sent: Mono, answered: Mono) -> Self {
        let middle = sent.0.saturating_add(answered.since(sent).0 / 2);
        Self(wall.0.saturating_sub(i64::try_from(middle).unwrap_or(i64::MAX)))
    }

    pub(crate) fn wall(self, now: Mono) -> Wall {
        Wall(i64::try_from(now.0).unwrap_or(i64::MAX).saturating_add(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Mono(5).since(Mono(7)), Span(0));
        assert_eq!(Mono(u64::MAX).after(Span(1)), Mono(u64::MAX));
        assert_eq!(Span(3).less(Span(4)), Span(0));
    }

    #[test]
    fn wall_time_is_the_one_of_the_database() {
        let offset = Offset::of(Wall(1_000_050), Mono(0), Mono(100));
        assert_eq!(offset.wall(Mono(50)), Wall(1_000_050));
        assert_eq!(offset.wall(Mono(80)), Wall(1_000_080));
        assert_eq!(Offset::of(Wall(-10), Mono(20), Mono(20)).wall(Mono(21)), Wall(-9));
    }
}
