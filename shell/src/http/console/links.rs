//! One-time tokens of login links.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_facts::ContentId;
use holon_platform::entropy;
use subtle::ConstantTimeEq;
use tokio::time::Instant;

/// A link is opened within this time.
pub(super) const LIFETIME: Duration = Duration::from_secs(60);
/// Most links that are open: of more the oldest ends.
const OPEN: usize = 16;

/// The links that are open, the oldest first; of each token the hash.
#[derive(Debug, Default)]
pub(super) struct Links(Mutex<VecDeque<(ContentId, Instant)>>);

impl Links {
    pub(super) fn make(&self) -> std::io::Result<String> {
        let token = entropy::key()?;
        let mut open = self.open();
        if open.len() == OPEN {
            open.pop_front();
        }
        open.push_back((holon_text::hash(token.as_bytes()), Instant::now() + LIFETIME));
        Ok(token)
    }

    /// Whether the token is that of a link that is open, which it is no longer from now on.
    pub(super) fn take(&self, token: &str) -> bool {
        let hash = holon_text::hash(token.as_bytes());
        let mut open = self.open();
        let before = open.len();
        open.retain(|(known, _)| !bool::from(known.0.ct_eq(&hash.0)));
        open.len() < before
    }

    fn open(&self) -> MutexGuard<'_, VecDeque<(ContentId, Instant)>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        open.retain(|(_, until)| *until > now);
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_link_works_once_and_for_a_minute() {
        let links = Links::default();
        let (first, second) = (links.make().unwrap(), links.make().unwrap());
        for wrong in ["", "x", &first.to_uppercase(), &first[1..]] {
            assert!(!links.take(wrong), "{wrong}");
        }
        assert!(links.take(&first));
        assert!(!links.take(&first), "once");
        tokio::time::advance(LIFETIME - Duration::from_secs(1)).await;
        let third = links.make().unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!links.take(&second), "for a minute");
        for _ in 0..OPEN {
            links.make().unwrap();
        }
        assert!(!links.take(&third), "the oldest ends");
        assert_eq!(links.open().len(), OPEN);
    }
}
