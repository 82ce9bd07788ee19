//! Tokens for streams: `EventSource` of a browser sends no headers, so a page that has the control token gets a token that
//! may stand in an address. It lives for minutes, opens streams and nothing else, and is never logged.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::Uri;
use holon_api::rows::MakeStreamToken;
use holon_api::{Code, StreamToken};
use holon_facts::{ContentId, Millis};
use holon_platform::{clock, entropy};
use tokio::time::Instant;

use super::App;
use super::auth::Caller;
use super::console::Lease;
use super::failure::Failure;
use super::route::{Call, Handled};

/// A stream begins within this time.
const LIFETIME: Duration = Duration::from_secs(120);
/// Most tokens that are alive: of more the oldest ends.
const ALIVE: usize = 1_024;

/// Of a request whose token another node of the cluster has checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct HasToken;

/// The tokens that are alive, the oldest first.
#[derive(Debug, Default)]
pub struct StreamTokens(Mutex<VecDeque<Token>>);

#[derive(Debug)]
struct Token {
    hash: ContentId,
    until: Instant,
    /// Of the session that it was made for: it ends with that, and so do its streams.
    lease: Option<Lease>,
}

impl StreamTokens {
    fn make(&self, lease: Option<Lease>) -> std::io::Result<String> {
        let token = entropy::key()?;
        let mut alive = self.alive();
        if alive.len() == ALIVE {
            alive.pop_front();
        }
        let (hash, until) = (holon_text::hash(token.as_bytes()), Instant::now() + LIFETIME);
        alive.push_back(Token { hash, until, lease });
        Ok(token)
    }

    /// The session with which a stream of this token ends, if one has made it.
    ///
    /// # Errors
    /// A token that was never made, or has expired, or whose session has ended.
    pub(super) fn check(&self, token: &str) -> Handled<Option<Lease>> {
        // Hashes are compared: how far they agree says nothing about a token.
        let hash = holon_text::hash(token.as_bytes());
        let lease = self.alive().iter().find(|known| known.hash == hash).map(|known| known.lease.clone());
        if let Some(lease) = lease.filter(|lease| lease.as_ref().is_none_or(Lease::is_open)) {
            return Ok(lease);
        }
        let text = "the token of the stream is unknown or has expired";
        Err(Failure::new(Code::WrongToken, text).hint("POST /control/stream-token creates a new one"))
    }

    fn alive(&self) -> std::sync::MutexGuard<'_, VecDeque<Token>> {
        let mut alive = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while alive.front().is_some_and(|token| token.until <= now) {
            alive.pop_front();
        }
        alive
    }
}

/// The token in an address, if there is one.
pub(super) fn in_query(uri: &Uri) -> Option<String> {
    let query = uri.query()?.as_bytes();
    url::form_urlencoded::parse(query).find(|(name, _)| name == "token").map(|(_, token)| token.into_owned())
}

/// `POST /control/stream-token`
pub(super) async fn create(app: App, call: Call<MakeStreamToken>) -> Handled<StreamToken> {
    let expires_at = clock::now().wall.after(Millis::seconds(LIFETIME.as_secs()));
    let of_session = call.from.caller == Some(Caller::Session);
    let lease = of_session.then(|| app.console.lease(&call.from.headers)).transpose()?;
    let token = app.stream_tokens.make(lease).map_err(Failure::internal)?;
    Ok(StreamToken { ok: true, token, expires_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tokens_live_for_minutes_and_there_are_so_many() {
        let tokens = StreamTokens::default();
        let first = tokens.make(None).unwrap();
        tokens.check(&first).unwrap();
        tokio::time::advance(LIFETIME - Duration::from_secs(1)).await;
        let second = tokens.make(None).unwrap();
        tokens.check(&first).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(tokens.check(&first).unwrap_err().code(), Code::WrongToken);
        tokens.check(&second).unwrap();
        for _ in 0..ALIVE {
            tokens.make(None).unwrap();
        }
        assert!(tokens.check(&second).is_err(), "the oldest ends");
        assert_eq!(tokens.alive().len(), ALIVE);
        for wrong in ["", "x", &first.to_uppercase()] {
            assert!(tokens.check(wrong).is_err(), "{wrong}");
        }
    }
}
