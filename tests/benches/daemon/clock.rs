//! Figures out of measured times and sizes, and many clients at once.

use std::io;
use std::time::Duration;

use tokio::task::JoinSet;

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

pub(crate) fn per(sum: f64, count: usize) -> f64 {
    sum / count as f64
}

/// The time below which so many of a hundred are; sorts them.
pub(crate) fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}

/// Waits for all of them, for what they leave, in no order; the first mistake ends it.
pub(crate) async fn all<T: 'static>(mut tasks: JoinSet<io::Result<T>>) -> io::Result<Vec<T>> {
    let mut left = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        left.push(ended.map_err(io::Error::other)??);
    }
    Ok(left)
}
