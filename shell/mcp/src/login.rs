//! Logging in at servers over HTTP (OAuth 2.1 with PKCE, as the protocol wants it), by the library for the protocol: it finds
//! the authorization server, registers this client there, and renews what it was given.

use std::time::Duration;

use async_trait::async_trait;
use holon_platform::spawn;
use reqwest::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::redirect::Policy;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialRefreshGuard,
    CredentialStore, StoredCredentials,
};
use serde_json::Value;

use crate::logins::Login;

/// As authorization servers show this client to whoever logs in.
const CLIENT: &str = "Holon";
/// Something that a server lets nobody do who is not logged in, and that does nothing.
const PING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;
/// It has so long to answer.
const ASKED: Duration = Duration::from_secs(10);

/// Why nobody is logged in.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LoginError(String);

impl LoginError {
    fn of(error: &AuthError) -> Self {
        if let AuthError::NoAuthorizationSupport = error {
            return Self("the server does not say where to log in".to_owned());
        }
        if let AuthError::RegistrationFailed(why) = error {
            let (_, why) = why.rsplit_once("failed: ").unwrap_or(("", why));
            return Self(format!(
                "the server does not register this client: {why} (--client-id names one that it knows)"
            ));
        }
        Self(crate::protocol::with_causes(error))
    }
}

/// How somebody wants to log in.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Where the browser is sent back to.
    pub redirect: String,
    /// As this client is registered, where servers don't register clients by themselves.
    pub client_id: Option<String>,
    /// What it asks for; what the server suggests, where it is empty.
    pub scopes: Vec<String>,
}

/// Somebody logs in.
pub struct Attempt(AuthorizationSession);

impl Attempt {
    /// Asks the server where to log in.
    ///
    /// # Errors
    /// It can't be reached, or does not let this client in.
    pub async fn begin(login: &Login, wish: Wish) -> Result<Self, LoginError> {
        crate::protocol::install_provider();
        let mut manager = manager(login).await.map_err(|error| LoginError::of(&error))?;
        let refusal = refusal(login.url()).await;
        let challenge = refusal.as_ref().and_then(|refusal| refusal.as_deref());
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        let found = found.map_err(|error| LoginError::of(&error))?;
        if refusal.is_none() && !found.source.is_discovered() {
            return Err(LoginError("the server wants no login, and does not say where to log in".to_owned()));
        }
        manager.set_metadata(found.metadata);
        let mut request = AuthorizationRequest::new(wish.redirect).with_client_name(CLIENT);
        if let Some(client) = wish.client_id {
            request = request.with_preregistered_client(client);
        }
        request = if wish.scopes.is_empty() {
            request.with_initial_scope_selection()
        } else {
            request.with_scopes(wish.scopes)
        };
        let session = AuthorizationSession::new(manager, request).await;
        session.map(Self).map_err(|(_, error)| LoginError::of(&error))
    }

    /// The page on which to log in.
    pub fn page(&self) -> &str {
        self.0.get_authorization_url()
    }

    /// Takes the address to which the browser was sent back, and keeps the login.
    ///
    /// # Errors
    /// It is not the answer to this attempt, or the server refuses it.
    pub async fn finish(&self, redirected: &str) -> Result<(), LoginError> {
        let done = self.0.handle_callback_url(redirected).await;
        done.map(drop).map_err(|error| LoginError::of(&error))
    }
}

/// How the server refuses whoever is not logged in, if it does: with where to do that, and what to ask for.
async fn refusal(url: &str) -> Option<Option<String>> {
    let client = reqwest::Client::builder().timeout(ASKED).redirect(Policy::none()).build().ok()?;
    let asked = client.post(url).header(CONTENT_TYPE, "application/json");
    let asked = asked.header(ACCEPT, "application/json, text/event-stream").body(PING);
    let answer = asked.send().await.ok()?;
    let challenge = answer.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.and_then(|challenge| challenge.to_str().ok()).map(ToOwned::to_owned);
    matches!(answer.status().as_u16(), 401 | 403).then_some(challenge)
}

/// What renews a login; none where nobody has logged in.
///
/// # Errors
/// The authorization server can't be reached.
pub(crate) async fn renewing(login: &Login) -> Result<Option<AuthorizationManager>, AuthError> {
    if !login.is_there() {
        return Ok(None);
    }
    let mut manager = manager(login).await?;
    Ok(manager.initialize_from_store().await?.then_some(manager))
}

async fn manager(login: &Login) -> Result<AuthorizationManager, AuthError> {
    let mut manager = AuthorizationManager::new(login.url()).await?;
    manager.set_credential_store(Store(login.clone()));
    Ok(manager)
}

/// The file of a login, as the library wants to have it.
struct Store(Login);

fn failed(problem: impl std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(problem.to_string())
}

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.0.read().map(serde_json::from_value::<StoredCredentials>).transpose().map_err(failed)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let login: Value = serde_json::to_value(credentials).map_err(failed)?;
        self.0.write(login).map_err(failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.0.remove().map(drop).map_err(failed)
    }

    /// Whoever renews it first is waited for, another process too: a login is renewed once.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let login = self.0.clone();
        let lock = spawn::blocking(move || login.lock()).await.map_err(failed)?.map_err(failed)?;
        Ok(Some(CredentialRefreshGuard::new(lock)))
    }
}
