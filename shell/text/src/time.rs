//! Times for people.

use holon_facts::Millis;

/// How long something took: `1.5 s`, `2 min 3 s`, `1 h 2 min`.
pub fn duration(duration: Millis) -> String {
    let seconds = duration.0 / 1_000;
    match seconds {
        0..10 => format!("{seconds}.{} s", duration.0 % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600.. => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// A time as it was configured, with nothing rounded away: `150 ms`, `1.5 s`, `150 s`, `10 min`.
pub fn exactly(time: Millis) -> String {
    let ms = time.0;
    if ms >= 1_000 && !ms.is_multiple_of(1_000) {
        let digits = format!("{}.{:03}", ms / 1_000, ms % 1_000);
        return format!("{} s", digits.trim_end_matches('0'));
    }
    match ms {
        120_000.. if !ms.is_multiple_of(60_000) => format!("{} s", ms / 1_000),
        7_200_000.. if !ms.is_multiple_of(3_600_000) => format!("{} min", ms / 60_000),
        0.. => time.to_string(),
    }
}

/// A time that is counted: `0:05`, `12:00`, `1:00:00`.
pub fn clock(time: Millis) -> String {
    let seconds = time.0 / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        assert_eq!(
            [900, 1_540, 59_999, 123_000, 3_725_000].map(|ms| duration(Millis(ms))),
            ["0.9 s", "1.5 s", "59 s", "2 min 3 s", "1 h 2 min"]
        );
        assert_eq!(
            [150, 1_000, 1_500, 90_050, 120_000, 150_000, 7_260_000, 7_200_000].map(|ms| exactly(Millis(ms))),
            ["150 ms", "1 s", "1.5 s", "90.05 s", "2 min", "150 s", "121 min", "2 h"]
        );
        assert_eq!([4_999, 65_000, 3_600_000].map(|ms| clock(Millis(ms))), ["0:04", "1:05", "1:00:00"]);
    }
}
