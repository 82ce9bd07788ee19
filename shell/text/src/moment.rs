//! Moments for people: local, with their zone, and how long ago where that is near. Programs read RFC 3339 in UTC, which is
//! how a moment writes itself.

use std::sync::OnceLock;

use holon_facts::{Millis, Wall};
use holon_platform::clock;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// What is further away than this is not said relative to now.
const NEAR: Millis = Millis::hours(24);

/// The zone of this machine: of `TZ`, otherwise of the system; UTC where neither can be read.
fn zone() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(|| TimeZone::try_system().unwrap_or(TimeZone::UTC)).clone()
}

/// A moment to the second: `2026-01-31 13:00:00 CET`.
pub fn exact(at: Wall) -> String {
    written(at, &zone(), "%Y-%m-%d %H:%M:%S %Z")
}

/// A moment and how near it is: `13:00:00 CET (3 min ago)` of today, `2026-01-31 13:00:00 CET` of a day that is far.
pub fn near(at: Wall) -> String {
    near_to(at, clock::now().wall, &zone())
}

/// How near a moment is, in short: `3 min ago`, `in 2 h`, otherwise as it is.
pub fn relative(at: Wall) -> String {
    distance(at, clock::now().wall).unwrap_or_else(|| exact(at))
}

/// The runtime's own words, with each moment in them as people read it.
pub fn localized(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
        match Wall::parse(bare).filter(|_| bare.len() > "2026-01-31".len()) {
            Some(at) => near(at) + &word[bare.len()..],
            None => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn near_to(at: Wall, now: Wall, zone: &TimeZone) -> String {
    let day = |moment: Wall| zoned(moment, zone).map(|moment| moment.date());
    let format = if day(at) == day(now) { "%H:%M:%S %Z" } else { "%Y-%m-%d %H:%M:%S %Z" };
    let written = written(at, zone, format);
    match distance(at, now) {
        Some(distance) => format!("{written} ({distance})"),
        None => written,
    }
}

fn distance(at: Wall, now: Wall) -> Option<String> {
    let (ago, ahead) = (now.since(at), at.since(now));
    let apart = ago.max(ahead);
    if apart >= NEAR {
        return None;
    }
    let seconds = apart.0 / 1_000;
    let amount = match seconds {
        0 => return Some("now".to_owned()),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..36_000 if seconds % 3_600 >= 60 => {
            format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60)
        }
        3_600.. => format!("{} h", seconds / 3_600),
    };
    Some(if ahead > ago { format!("in {amount}") } else { format!("{amount} ago") })
}

fn zoned(at: Wall, zone: &TimeZone) -> Option<Zoned> {
    Some(Timestamp::from_microsecond(at.0).ok()?.to_zoned(zone.clone()))
}

/// A moment that no calendar has is shown as programs read it.
fn written(at: Wall, zone: &TimeZone, format: &str) -> String {
    zoned(at, zone).map_or_else(|| at.to_string(), |moment| moment.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(text: &str) -> Wall {
        Wall::parse(text).unwrap()
    }

    #[test]
    fn moments_in_a_text_are_told_like_others() {
        let at = wall("2020-01-31T12:00:00.000000Z");
        let told = localized("next at 2020-01-31T12:00:00.000000Z; see 2020-01-31 and T, or\nnothing");
        assert_eq!(told, format!("next at {}; see 2020-01-31 and T, or\nnothing", near(at)));
    }

    #[test]
    fn moments_are_local_with_their_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let now = wall("2026-01-31T12:00:00.000000Z");
        for (at, expected) in [
            ("2026-01-31T12:00:00.900000Z", "14:00:00 +02 (now)"),
            ("2026-01-31T11:59:48.000000Z", "13:59:48 +02 (12 s ago)"),
            ("2026-01-31T11:57:00.000000Z", "13:57:00 +02 (3 min ago)"),
            ("2026-01-31T15:10:00.000000Z", "17:10:00 +02 (in 3 h 10 min)"),
            ("2026-01-31T22:30:00.000000Z", "2026-02-01 00:30:00 +02 (in 10 h)"),
            ("2026-01-01T12:00:00.000000Z", "2026-01-01 14:00:00 +02"),
        ] {
            assert_eq!(near_to(wall(at), now, &zone), expected, "{at}");
        }
        let format = "%Y-%m-%d %H:%M:%S %Z";
        assert_eq!(written(now, &TimeZone::UTC, format), "2026-01-31 12:00:00 UTC");
        assert_eq!(written(Wall(i64::MAX), &TimeZone::UTC, format), Wall(i64::MAX).to_string());
    }
}
