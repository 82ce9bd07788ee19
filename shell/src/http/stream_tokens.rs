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
use super::failure::Failure;
use super::route::{Call, Handled};

/// A stream begins within this time.
const LIFETIME: Duration = Duration::from_secs(120);
/// Most tokens that are alive: of more the oldest ends.
const ALIVE: usize = 1_024;

/// Of a request whose token another node of the cluster has checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct HasToken;

/// The tokens that are alive, the oldest first; of each the hash.
#[derive(Debug, Default)]
pub struct StreamTokens(Mutex<VecDeque<(ContentId, Instant)>>);

impl StreamTokens {
    fn make(&self) -> std::io::Result<String> {
        let token = entropy::key()?;
        let mut alive = self.alive();
        if alive.len() == ALIVE {
            alive.pop_front();
        }
        alive.push_back((holon_text::hash(token.as_bytes()), Instant::now() + LIFETIME));
        Ok(token)
    }

    /// # Errors
    /// A token that was never made, or has expired.
    pub(super) fn check(&self, token: &str) -> Handled<()> {
        // Hashes are compared: how far they agree says nothing about a token.
        let hash = holon_text::hash(token.as_bytes());
        if self.alive().iter().any(|(known, _)| *known == hash) {
            return Ok(());
        }
        let text = "the token of the stream is unknown or has expired";
        Err(Failure::new(Code::WrongToken, text).hint("POST /control/stream-token creates a new one"))
    }

    fn alive(&self) -> std::sync::MutexGuard<'_, VecDeque<(ContentId, Instant)>> {
        let mut alive = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while alive.front().is_some_and(|(_, until)| *until <= now) {
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
pub(super) async fn create(app: App, _: Call<MakeStreamToken>) -> Handled<StreamToken> {
    let expires_at = clock::now().wall.after(Millis::seconds(LIFETIME.as_secs()));
    let token = app.stream_tokens.make().map_err(Failure::internal)?;
    Ok(StreamToken { ok: true, token, expires_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tokens_live_for_minutes_and_there_are_so_many() {
        let tokens = StreamTokens::default();
        let first = tokens.make().unwrap();
        tokens.check(&first).unwrap();
        tokio::time::advance(LIFETIME - Duration::from_secs(1)).await;
        let second = tokens.make().unwrap();
        tokens.check(&first).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(tokens.check(&first).unwrap_err().code(), Code::WrongToken);
        tokens.check(&second).unwrap();
        for _ in 0..ALIVE {
            tokens.make().unwrap();
        }
        assert!(tokens.check(&second).is_err(), "the oldest ends");
        assert_eq!(tokens.alive().len(), ALIVE);
        for wrong in ["", "x", &first.to_uppercase()] {
            assert!(tokens.check(wrong).is_err(), "{wrong}");
        }
    }
}
