//! Sessions of browsers: a secret for each, of which only the hash is kept.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_facts::{ContentId, Millis, Wall};
use holon_platform::{clock, entropy};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

/// A session that is not used for so long ends.
const IDLE: Millis = Millis::seconds(12 * 60 * 60);
/// No session lasts longer.
const LONGEST: Millis = Millis::seconds(30 * 24 * 60 * 60);
/// Most sessions: of more the one that was not used for the longest time ends.
const SESSIONS: usize = 100;
/// That a session was used is noted so often.
const NOTED: Millis = Millis::seconds(60);
/// Whether a session has expired is looked at so often at least.
const LOOK: Duration = Duration::from_secs(60);
/// Most characters of what a browser calls itself.
const USER_AGENT: usize = 120;

/// A browser that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) session_id: String,
    pub(super) secret_hash: ContentId,
    pub(super) created_at: Wall,
    pub(super) last_seen_at: Wall,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user_agent: Option<String>,
}

impl Session {
    /// When it ends if it is not used.
    pub(super) fn expires_at(&self) -> Wall {
        self.last_seen_at.after(IDLE).min(self.created_at.after(LONGEST))
    }
}

/// A session, and what ends with it.
#[derive(Debug)]
struct Entry {
    session: Session,
    /// When it ends if it is not used any more.
    expires_at: watch::Sender<Wall>,
}

/// Whether a session is still open.
#[derive(Debug, Clone)]
pub(in crate::http) struct Lease(watch::Receiver<Wall>);

/// The sessions that are open.
#[derive(Debug)]
pub(super) struct Sessions(Mutex<Vec<Entry>>);

impl Sessions {
    /// Goes on with sessions that were open before.
    pub(super) fn new(open: Vec<Session>, now: Wall) -> Self {
        let entries = open.into_iter().take(SESSIONS).map(Entry::from).collect();
        let sessions = Self(Mutex::new(entries));
        drop(sessions.entries(now));
        sessions
    }

    /// A new session and its secret.
    pub(super) fn begin(&self, user_agent: Option<&str>, now: Wall) -> std::io::Result<(String, Session)> {
        let secret = entropy::key()?;
        let session = Session {
            session_id: entropy::name()?,
            secret_hash: holon_text::hash(secret.as_bytes()),
            created_at: now,
            last_seen_at: now,
            user_agent: user_agent.and_then(shortened),
        };
        let mut entries = self.entries(now);
        if entries.len() >= SESSIONS {
            let oldest = entries.iter().enumerate().min_by_key(|(_, entry)| entry.session.last_seen_at);
            if let Some(at) = oldest.map(|(at, _)| at) {
                entries.remove(at);
            }
        }
        entries.push(session.clone().into());
        Ok((secret, session))
    }

    /// The session of a secret.
    pub(super) fn find(&self, secret: &str, now: Wall) -> Option<Session> {
        let hash = holon_text::hash(secret.as_bytes());
        self.entries(now).iter().find(|entry| entry.has(&hash)).map(|entry| entry.session.clone())
    }

    /// Notes that a session is used; whether that is worth being stored.
    pub(super) fn touch(&self, session_id: &str, now: Wall) -> bool {
        let mut entries = self.entries(now);
        let found = entries.iter_mut().find(|entry| entry.session.session_id == session_id);
        let Some(Entry { session, expires_at }) =
            found.filter(|entry| entry.session.last_seen_at.after(NOTED) <= now)
        else {
            return false;
        };
        session.last_seen_at = now;
        expires_at.send_replace(session.expires_at());
        true
    }

    /// Whether there was such a session.
    pub(super) fn end(&self, session_id: &str) -> bool {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = entries.len();
        entries.retain(|entry| entry.session.session_id != session_id);
        entries.len() < before
    }

    pub(super) fn open(&self, now: Wall) -> Vec<Session> {
        self.entries(now).iter().map(|entry| entry.session.clone()).collect()
    }

    /// For what goes on as long as a session.
    pub(super) fn lease(&self, session_id: &str, now: Wall) -> Option<Lease> {
        let entries = self.entries(now);
        let entry = entries.iter().find(|entry| entry.session.session_id == session_id)?;
        Some(Lease(entry.expires_at.subscribe()))
    }

    /// Those that have not expired: the others are forgotten, and what goes on for them ends.
    fn entries(&self, now: Wall) -> MutexGuard<'_, Vec<Entry>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.session.expires_at() > now);
        entries
    }
}

impl Lease {
    pub(in crate::http) fn is_open(&self) -> bool {
        // The channel closes when the session is forgotten.
        self.0.has_changed().is_ok() && *self.0.borrow() > clock::now().wall
    }

    /// Waits for the end of the session: somebody ends it, or it is not used for too long.
    pub(super) async fn ended(mut self) {
        while self.is_open() {
            let left = clock::now().wall.until(*self.0.borrow_and_update());
            let looks = Duration::from_millis(left.0).min(LOOK);
            // The clock may be set meanwhile, so the lease looks again.
            drop(tokio::time::timeout(looks, self.0.changed()).await);
        }
    }
}

impl Entry {
    fn has(&self, hash: &ContentId) -> bool {
        bool::from(self.session.secret_hash.0.ct_eq(&hash.0))
    }
}

impl From<Session> for Entry {
    fn from(session: Session) -> Self {
        Self { expires_at: watch::Sender::new(session.expires_at()), session }
    }
}

/// What a browser calls itself, as it may be shown in a terminal; none where nothing is left of it.
fn shortened(user_agent: &str) -> Option<String> {
    let shown: String = user_agent.chars().filter(|c| !c.is_control()).take(USER_AGENT).collect();
    let shown = shown.trim();
    (!shown.is_empty()).then(|| shown.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Wall = Wall(1_000_000_000_000_000);

    fn none() -> Sessions {
        Sessions::new(Vec::new(), BEGIN)
    }

    #[test]
    fn a_session_ends_when_it_is_not_used_and_in_any_case_after_a_month() {
        let sessions = none();
        let (secret, session) = sessions.begin(Some("browser"), BEGIN).unwrap();
        assert_eq!(session.expires_at(), BEGIN.after(IDLE));
        assert_eq!(sessions.find(&secret, BEGIN), Some(session.clone()));
        assert_eq!(sessions.find(&secret.to_uppercase(), BEGIN), None);
        assert!(!sessions.touch(&session.session_id, BEGIN.after(Millis(59_999))), "not worth it yet");
        let mut now = BEGIN;
        while now < BEGIN.after(LONGEST) {
            assert!(sessions.find(&secret, now).is_some(), "{now}");
            now = now.after(Millis(IDLE.0 - 1));
            sessions.touch(&session.session_id, now);
        }
        assert_eq!(sessions.find(&secret, BEGIN.after(LONGEST)), None);

        let (secret, session) = sessions.begin(None, BEGIN).unwrap();
        assert!(sessions.find(&secret, BEGIN.after(Millis(IDLE.0 - 1))).is_some());
        assert_eq!(sessions.find(&secret, BEGIN.after(IDLE)), None);
        assert!(!sessions.end(&session.session_id), "it has ended already");
    }

    #[test]
    fn there_are_so_many_and_the_one_that_was_not_used_ends() {
        let sessions = none();
        let at = |minutes: u64| BEGIN.after(Millis::seconds(60 * minutes));
        let (unused, _) = sessions.begin(None, at(0)).unwrap();
        let (used, session) = sessions.begin(None, at(0)).unwrap();
        assert!(sessions.touch(&session.session_id, at(1)));
        for _ in 2..=SESSIONS {
            sessions.begin(None, at(2)).unwrap();
        }
        assert_eq!(sessions.open(at(2)).len(), SESSIONS);
        assert_eq!(sessions.find(&unused, at(2)), None);
        assert!(sessions.find(&used, at(2)).is_some());
    }

    #[tokio::test]
    async fn what_goes_on_for_a_session_ends_with_it() {
        let (sessions, now) = (none(), clock::now().wall);
        let (_, session) = sessions.begin(None, now).unwrap();
        let lease = sessions.lease(&session.session_id, now).unwrap();
        assert!(lease.is_open());
        let waiting = holon_platform::spawn::task(lease.clone().ended());
        assert!(!waiting.is_finished());
        assert!(sessions.end(&session.session_id));
        waiting.await.unwrap();
        assert!(!lease.is_open());
        lease.ended().await;
        assert!(sessions.lease(&session.session_id, now).is_none());
    }

    /// Nobody asks for anything meanwhile: the session ends all the same.
    #[tokio::test]
    async fn what_goes_on_for_a_session_ends_when_that_expires() {
        let (sessions, now) = (none(), clock::now().wall);
        let begun = Wall(now.0 - i64::try_from(IDLE.0).unwrap() * 1_000 + 200_000);
        let (_, session) = sessions.begin(None, begun).unwrap();
        let lease = sessions.lease(&session.session_id, now).unwrap();
        let waiting = holon_platform::spawn::task(lease.clone().ended());
        assert!(lease.is_open() && !waiting.is_finished());
        tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
        assert!(!lease.is_open() && clock::now().wall >= session.expires_at());
    }

    #[tokio::test]
    async fn what_goes_on_for_a_session_that_is_used_goes_on() {
        let (sessions, now) = (none(), clock::now().wall);
        let begun = Wall(now.0 - i64::try_from(IDLE.0).unwrap() * 1_000 + 200_000);
        let (_, session) = sessions.begin(None, begun).unwrap();
        let lease = sessions.lease(&session.session_id, now).unwrap();
        let waiting = holon_platform::spawn::task(lease.clone().ended());
        assert!(sessions.touch(&session.session_id, now));
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(lease.is_open() && !waiting.is_finished());
        waiting.abort();
    }

    #[test]
    fn what_a_browser_calls_itself_can_be_shown() {
        assert_eq!(shortened("\u{1b}[31mFire\tfox\r\n").as_deref(), Some("[31mFirefox"));
        assert_eq!(shortened(&"x".repeat(999)).map(|shown| shown.len()), Some(USER_AGENT));
        assert_eq!(shortened(" \u{7} "), None);
    }
}
