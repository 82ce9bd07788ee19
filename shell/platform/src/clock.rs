//! The only place that reads clocks.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use holon_facts::{Millis, Mono, Now, Wall};
use tokio::time::Instant;

/// Both clocks at one moment; the monotonic one starts with the process. It is the one that timers follow, so
/// that both agree where a test decides how fast time passes.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn now() -> Now {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = *START.get_or_init(Instant::now);
    let mono = Mono(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
    Now { mono, wall: wall_of(SystemTime::now()) }
}

/// Microseconds of a clock that goes on while the machine sleeps, or this process stands still: what leases are measured by.
pub fn boot() -> u64 {
    let now = rustix::time::clock_gettime(BOOT);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds.saturating_mul(1_000_000) + u64::try_from(now.tv_nsec / 1_000).unwrap_or_default()
}

#[cfg(target_os = "linux")]
const BOOT: rustix::time::ClockId = rustix::time::ClockId::Boottime;
/// Elsewhere the monotonic clock does.
#[cfg(not(target_os = "linux"))]
const BOOT: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

/// A time of the wall clock, as that of a file.
pub fn wall_of(time: SystemTime) -> Wall {
    Wall(match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    })
}

/// Time since an earlier moment.
pub fn since(earlier: Now) -> Millis {
    now().mono.since(earlier.mono)
}

/// The wall clock, to compare with the times of files.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn system() -> SystemTime {
    SystemTime::now()
}
