//! The only place that reads clocks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
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
    let own = wall_of(SystemTime::now());
    Now { mono, wall: Wall(own.0.saturating_add(AHEAD.load(Ordering::Relaxed))) }
}

/// Microseconds that the clock to go by is ahead of this machine's.
static AHEAD: AtomicI64 = AtomicI64::new(0);

/// Goes by another clock from now on, which shows `wall` at this moment: those who share something agree on the time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn go_by(wall: Wall) {
    let ahead = wall.0.saturating_sub(wall_of(SystemTime::now()).0);
    let before = AHEAD.load(Ordering::Relaxed);
    // What a round trip may account for is no difference.
    if ahead.abs_diff(before) > ROUND_TRIP {
        AHEAD.store(ahead, Ordering::Relaxed);
    }
}

const ROUND_TRIP: u64 = 20_000;

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
