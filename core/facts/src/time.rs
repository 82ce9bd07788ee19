//! Time is a parameter. `Wall` is what records and schedules carry; `Mono` measures durations within one
//! process and never enters a record or a snapshot.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// More years than 64 bits of microseconds reach.
const YEARS: i64 = 300_000;

/// Microseconds since 1970-01-01 UTC; written as RFC 3339.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub i64);

/// Microseconds of a clock that only goes forward, from an arbitrary start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mono(pub u64);

/// A duration in milliseconds.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Millis(pub u64);

/// Both clocks, read at one moment by the caller of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    pub mono: Mono,
    pub wall: Wall,
}

impl Millis {
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    pub const fn minutes(minutes: u64) -> Self {
        Self::seconds(minutes.saturating_mul(60))
    }

    pub const fn hours(hours: u64) -> Self {
        Self::minutes(hours.saturating_mul(60))
    }

    /// Reads numbers with their units, one after the other: `90s`, `10m`, `1h30m`, `2d`, `250ms`.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut rest, mut all) = (text, 0_u64);
        while !rest.is_empty() {
            let digits = rest.find(|character: char| !character.is_ascii_digit())?;
            let (number, unit) = rest.split_at(digits);
            let letters = unit.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(unit.len());
            let (unit, after) = unit.split_at(letters);
            let scale = match unit {
                "ms" => Self(1),
                "s" => Self::seconds(1),
                "m" | "min" => Self::minutes(1),
                "h" => Self::hours(1),
                "d" => Self::hours(24),
                _ => return None,
            };
            all = all.checked_add(number.parse::<u64>().ok()?.checked_mul(scale.0)?)?;
            rest = after;
        }
        (!text.is_empty()).then_some(Self(all))
    }

    fn micros(self) -> u64 {
        self.0.saturating_mul(1_000)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms < 1_000 => write!(f, "{ms} ms"),
            ms if ms < 120_000 => write!(f, "{} s", ms / 1_000),
            ms if ms < 7_200_000 => write!(f, "{} min", ms / 60_000),
            ms => write!(f, "{} h", ms / 3_600_000),
        }
    }
}

impl Mono {
    #[must_use]
    pub fn after(self, duration: Millis) -> Self {
        Self(self.0.saturating_add(duration.micros()))
    }

    /// Time from `earlier` until this moment; zero when it is not earlier.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0) / 1_000)
    }

    /// Time from this moment until `later`, rounded up: whoever waits so long is not too early.
    pub fn until(self, later: Self) -> Millis {
        Millis(later.0.saturating_sub(self.0).div_ceil(1_000))
    }
}

impl Wall {
    #[must_use]
    pub fn after(self, duration: Millis) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.micros()).unwrap_or(i64::MAX)))
    }

    /// Time from `earlier` until this moment; zero when it is not earlier.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0) / 1_000)
    }

    /// Time from this moment until `later`, rounded up: whoever waits so long is not too early.
    pub fn until(self, later: Self) -> Millis {
        Millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0).div_ceil(1_000))
    }

    /// Whole days of UTC since 1970 began.
    pub fn day(self) -> i64 {
        self.0.div_euclid(MICROS_PER_DAY)
    }

    /// The day of UTC, as `2026-01-31`.
    pub fn date(self) -> impl fmt::Display {
        let (year, month, day) = civil_from_days(self.day());
        fmt::from_fn(move |f| write!(f, "{year:04}-{month:02}-{day:02}"))
    }

    /// When the next day of UTC begins.
    #[must_use]
    pub fn next_day(self) -> Self {
        Self(self.day().saturating_add(1).saturating_mul(MICROS_PER_DAY))
    }

    /// Moves by as much as a clock moved from `from` to `to`.
    #[must_use]
    pub fn shifted(self, from: Self, to: Self) -> Self {
        Self(self.0.saturating_add(to.0.saturating_sub(from.0)))
    }

    /// Reads RFC 3339, with up to six digits of a second, in UTC or with an offset from it. Years beyond four digits and before year 0
    /// are read too: whatever a clock has said stands in records, and must come back from them.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.split_once('T')?;
        let (time, offset) = offset(time)?;
        let (sign, date) = date.strip_prefix('-').map_or((1, date), |date| (-1, date));
        let mut date = date.splitn(3, '-').map(str::parse::<i64>);
        let (year, month, day) = (sign * date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
        let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let mut clock = clock.splitn(3, ':').map(str::parse::<i64>);
        let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
        let in_range = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (-YEARS..=YEARS).contains(&year);
        if !in_range
            || fraction.is_empty()
            || fraction.len() > 6
            || !fraction.bytes().all(|b| b.is_ascii_digit())
        {
            return None;
        }
        let days = days_from_civil(year, month, day);
        if civil_from_days(days) != (year, month, day) {
            return None;
        }
        let scale = 10_i64.pow(6 - u32::try_from(fraction.len()).ok()?);
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset;
        let micros = i128::from(seconds) * 1_000_000 + i128::from(fraction.parse::<i64>().ok()? * scale);
        i64::try_from(micros).ok().map(Self)
    }
}

/// The time of a day, and how many seconds its place is ahead of UTC.
fn offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some((time, 0));
    }
    let (time, offset) = time.split_at_checked(time.len().checked_sub(6)?)?;
    let (sign, offset) = match offset.split_at_checked(1)? {
        ("+", offset) => (1, offset),
        ("-", offset) => (-1, offset),
        _ => return None,
    };
    let (hours, minutes) = offset.split_once(':')?;
    let number = |digits: &str, most: i64| -> Option<i64> {
        let digits = Some(digits).filter(|it| it.len() == 2 && it.bytes().all(|it| it.is_ascii_digit()))?;
        digits.parse().ok().filter(|number| *number <= most)
    };
    Some((time, sign * (number(hours, 23)? * 3_600 + number(minutes, 59)? * 60)))
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, micros) = (self.0.div_euclid(MICROS_PER_DAY), self.0.rem_euclid(MICROS_PER_DAY));
        let (year, month, day) = civil_from_days(days);
        let seconds = micros / 1_000_000;
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let (year, from) = if (0..=9_999).contains(&year) {
            (year, 0)
        } else {
            write!(f, "{year:04}")?;
            (0, 4)
        };
        // Every record has some of these: they are written digit by digit.
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        digits(&mut text[0..4], year);
        digits(&mut text[5..7], month);
        digits(&mut text[8..10], day);
        digits(&mut text[11..13], hour);
        digits(&mut text[14..16], minute);
        digits(&mut text[17..19], second);
        digits(&mut text[20..26], micros % 1_000_000);
        f.write_str(core::str::from_utf8(&text[from..]).map_err(|_| fmt::Error)?)
    }
}

/// Writes a number that has no more digits than there is room for.
fn digits(room: &mut [u8], mut number: i64) {
    for digit in room.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

impl Serialize for Wall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Wall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("expected a time like 2026-01-31T12:00:00.000000Z"))
    }
}

impl JsonSchema for Wall {
    fn schema_name() -> Cow<'static, str> {
        "Wall".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "format": "date-time", "description": "RFC 3339 in UTC, with microseconds",
        })
    }
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn wall_is_rfc_3339_with_microseconds() {
        assert_eq!(Wall(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Wall(1_709_210_096_000_007).to_string(), "2024-02-29T12:34:56.000007Z");
        assert_eq!(Wall(-1).to_string(), "1969-12-31T23:59:59.999999Z");
    }

    proptest::proptest! {
        #[test]
        fn wall_reads_back_what_it_writes(micros in -62_135_596_800_000_000_i64..253_402_300_800_000_000) {
            proptest::prop_assert_eq!(Wall::parse(&Wall(micros).to_string()), Some(Wall(micros)));
        }

        #[test]
        fn wall_reads_back_what_a_broken_clock_said(micros in proptest::num::i64::ANY) {
            proptest::prop_assert_eq!(Wall::parse(&Wall(micros).to_string()), Some(Wall(micros)));
        }
    }

    #[test]
    fn the_ends_of_time_read_back() {
        for micros in [i64::MIN, i64::MIN + 1, i64::MAX] {
            assert_eq!(Wall::parse(&Wall(micros).to_string()), Some(Wall(micros)));
        }
        assert_eq!(Wall::parse("299999-01-01T00:00:00Z"), None);
    }

    #[test]
    fn a_wait_is_never_too_short() {
        assert_eq!(Mono(1).since(Mono(0)), Millis(0));
        assert_eq!(Mono(0).until(Mono(1)), Millis(1));
        assert_eq!(Wall(-1).until(Wall(2_000)), Millis(3));
        assert_eq!(Wall(5).until(Wall(5)), Millis(0));
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Wall(i64::MAX).after(Millis(u64::MAX)), Wall(i64::MAX));
        assert_eq!(Mono(5).since(Mono(9)), Millis(0));
        assert_eq!(Wall::parse("2024-13-01T00:00:00Z"), None);
    }

    #[test]
    fn a_day_that_does_not_exist_is_no_time() {
        for day in ["2027-02-29", "2027-02-31", "2100-02-29", "2026-04-31", "2026-00-10", "2026-01-00"] {
            assert_eq!(Wall::parse(&alloc::format!("{day}T09:00:00Z")), None, "{day}");
        }
        for day in ["2024-02-29", "2000-02-29", "2026-12-31"] {
            let time = alloc::format!("{day}T09:00:00.000000Z");
            assert_eq!(Wall::parse(&time).map(|it| it.to_string()), Some(time));
        }
    }

    #[test]
    fn a_time_may_say_how_far_its_place_is_from_utc() {
        let noon = Wall::parse("2026-01-31T12:00:00Z");
        for same in ["2026-01-31T13:30:00+01:30", "2026-01-31T04:00:00.0-08:00", "2026-02-01T00:00:00+12:00"]
        {
            assert_eq!(Wall::parse(same), noon, "{same}");
        }
        for wrong in
            ["2026-01-31T12:00:00", "2026-01-31T12:00:00+1:00", "2026-01-31T12:00:00+24:00", "T+01:00"]
        {
            assert_eq!(Wall::parse(wrong), None, "{wrong}");
        }
    }
}
