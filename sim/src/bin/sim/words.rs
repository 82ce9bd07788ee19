//! The command line's arguments.

use std::time::Duration;

use sim::scenario::Scenario;

/// The scenario of a seed or of a file.
pub(crate) fn scenario(what: &str) -> Result<Scenario, String> {
    if let Ok(seed) = what.parse() {
        return Ok(sim::swarm::scenario(seed));
    }
    let text = std::fs::read_to_string(what).map_err(|error| format!("{what}: {error}"))?;
    Scenario::from_text(&text).map_err(|error| format!("{what}: {error}"))
}

/// The value of an option.
pub(crate) fn word<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1).copied()
}

/// The number of an option, if the option is present.
pub(crate) fn number(words: &[&str], name: &str) -> Result<Option<u64>, String> {
    let Some(at) = words.iter().position(|word| *word == name) else { return Ok(None) };
    let text = words.get(at + 1).copied().unwrap_or_default();
    text.parse().map(Some).map_err(|_| format!("{name} {text}: expected a number"))
}

/// The time of `--for`: `90`, `90s`, `30m` or `8h`.
pub(crate) fn duration(words: &[&str]) -> Result<Option<Duration>, String> {
    let Some(text) = word(words, "--for") else { return Ok(None) };
    let units = [("s", 1), ("m", 60), ("h", 3_600)];
    let with = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (count, seconds) = with.unwrap_or((text, 1));
    let count: u64 =
        count.parse().map_err(|_| format!("--for {text}: expected a time like 90, 10m or 8h"))?;
    Ok(Some(Duration::from_secs(count.saturating_mul(seconds))))
}
