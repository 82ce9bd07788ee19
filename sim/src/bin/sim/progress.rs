//! Progress of long work: one line that is redrawn on a terminal, and a line now and then elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// When the work ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    Count(u64),
    Time(Duration),
    None,
}

pub(crate) struct Progress {
    unit: &'static str,
    bound: Bound,
    began: Instant,
    terminal: bool,
    /// Without a terminal, a line comes each time so much more is done.
    every: Option<u64>,
    /// Milliseconds from the beginning until the line may be drawn again.
    next: AtomicU64,
}

/// Milliseconds between two drawings.
const PAUSE: u64 = 100;
const WIDTH: u64 = 24;
/// Moves to the beginning of the line, and erases everything after it.
const CLEAR: &str = "\r\x1b[2K";

impl Progress {
    pub(crate) fn new(unit: &'static str, bound: Bound) -> Self {
        let terminal = stderr().is_terminal();
        Self { unit, bound, began: Instant::now(), terminal, every: None, next: AtomicU64::new(0) }
    }

    pub(crate) fn every(self, every: u64) -> Self {
        Self { every: Some(every), ..self }
    }

    /// So much is done, with so many failures. Any thread may report it.
    pub(crate) fn at(&self, done: u64, failures: u64) {
        let passed = self.began.elapsed();
        if !self.terminal {
            if self.every.is_some_and(|every| done > 0 && done.is_multiple_of(every)) {
                eprintln!("{}", line(self.unit, self.bound, done, failures, passed));
            }
            return;
        }
        let now = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let due = self.next.load(Ordering::Relaxed);
        let mine = |due| self.next.compare_exchange(due, now + PAUSE, Ordering::Relaxed, Ordering::Relaxed);
        if now >= due && mine(due).is_ok() {
            draw(&format!("{CLEAR}{}", line(self.unit, self.bound, done, failures, passed)));
        }
    }

    /// Erases the line, so that something else can be printed.
    pub(crate) fn clear(&self) {
        if self.terminal {
            draw(CLEAR);
        }
    }
}

/// A closed terminal does not end the work.
fn draw(text: &str) {
    let mut to = stderr().lock();
    if to.write_all(text.as_bytes()).is_ok() {
        to.flush().unwrap_or_default();
    }
}

fn line(unit: &str, bound: Bound, done: u64, failures: u64, passed: Duration) -> String {
    let seconds = passed.as_secs_f64().max(1e-3);
    let rate = done as f64 / seconds;
    // The share that is done, per thousand, and how long the rest takes.
    let (share, left) = match bound {
        Bound::Count(total) => {
            let left = total.saturating_sub(done) as f64 / rate;
            (done.saturating_mul(1_000) / total.max(1), (done > 0).then_some(left))
        }
        Bound::Time(lasts) => {
            let share = seconds / lasts.as_secs_f64().max(1e-3) * 1_000.0;
            (share as u64, Some((lasts.as_secs_f64() - seconds).max(0.0)))
        }
        Bound::None => (0, None),
    };
    let count = match bound {
        Bound::Count(total) => format!("{done}/{total} {unit}"),
        Bound::Time(_) | Bound::None => format!("{done} {unit}"),
    };
    let line = format!("{count}, {rate:.0} {unit}/s, {failures} failures");
    if matches!(bound, Bound::None) {
        return line;
    }
    let full = (share.min(1_000) * WIDTH / 1_000) as usize;
    let bar = format!("{}{}", "#".repeat(full), ".".repeat(WIDTH as usize - full));
    let left = left.map_or_else(String::new, |left| format!(", {} left", span(left)));
    format!("[{bar}] {line}{left}")
}

/// `42 s`, `3 m 05 s`, `2 h 10 m`.
fn span(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_is_done_and_what_is_left() {
        let passed = Duration::from_secs(10);
        let count = line("seeds", Bound::Count(4_000), 1_000, 2, passed);
        assert_eq!(count, "[######..................] 1000/4000 seeds, 100 seeds/s, 2 failures, 30 s left");
        let time = line("seeds", Bound::Time(Duration::from_secs(7_330)), 50, 0, passed);
        assert_eq!(time, "[........................] 50 seeds, 5 seeds/s, 0 failures, 2 h 02 m left");
        assert_eq!(line("states", Bound::None, 70, 0, passed), "70 states, 7 states/s, 0 failures");
    }

    #[test]
    fn work_that_outgrows_its_bound_is_full() {
        let passed = Duration::from_secs(65);
        let over = line("runs", Bound::Count(10), 20, 0, passed);
        assert!(
            over.starts_with(&format!("[{}] 20/10", "#".repeat(24))) && over.ends_with(" 0 s left"),
            "{over}"
        );
        let begins = line("runs", Bound::Count(65_000), 0, 0, Duration::ZERO);
        assert!(begins.starts_with("[....") && begins.contains("0/65000"), "{begins}");
    }
}
