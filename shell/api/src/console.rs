//! The web console: how a browser logs in, and the sessions that are open.

use holon_facts::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link that logs a browser in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleLink {
    pub ok: bool,
    /// Address of the page; its fragment, which no browser sends to a server, has the one-time token.
    pub url: String,
    /// The link logs nobody in later.
    pub expires_at: Wall,
}

/// The one-time token of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    #[schemars(length(min = 1, max = 256))]
    pub token: String,
}

/// A session that has begun; its secret is in the cookie of the reply, which no script can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedIn {
    pub ok: bool,
    pub session_id: String,
    /// The session ends by then if it is not used.
    pub expires_at: Wall,
    /// The page sends it as the header `x-holon-csrf` with each request that changes something.
    pub csrf: String,
}

/// How the caller is let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleSession {
    pub ok: bool,
    /// None where no session is needed.
    pub session_id: Option<String>,
    pub expires_at: Option<Wall>,
    /// As in [`LoggedIn`].
    pub csrf: Option<String>,
    pub home_dir: String,
}

/// Sessions that are open, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleSessions {
    pub ok: bool,
    pub sessions: Vec<OpenSession>,
}

/// A browser that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenSession {
    pub session_id: String,
    pub created_at: Wall,
    /// To the minute.
    pub last_seen_at: Wall,
    /// The session ends by then if it is not used.
    pub expires_at: Wall,
    /// How the browser named itself at the login, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Whether it is the caller's own.
    pub current: bool,
}

/// A session that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndedSession {
    pub ok: bool,
    /// None where the caller had none.
    pub session_id: Option<String>,
}
