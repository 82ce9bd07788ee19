//! Sizes for people.

/// So many bytes, with three digits that count.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut scaled = bytes as f64;
    let mut unit = 0;
    // What would be shown as 1000 is shown in the next unit.
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1_000.0;
        unit += 1;
    }
    let digits = match scaled {
        _ if unit == 0 => 0,
        small if small < 9.995 => 2,
        small if small < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.00 kB"),
            (9_996, "10.0 kB"),
            (99_960, "100 kB"),
            (999_500, "1.00 MB"),
            (35_512_345, "35.5 MB"),
            (4_200_000_000_000_000, "4200 TB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
