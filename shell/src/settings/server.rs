//! How the runtime of a home is reached, as it is configured.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who is meant to reach the runtime over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// This machine alone.
    Local,
    /// This machine, and whoever comes through somebody's tunnel.
    Tunnel,
    /// The private network of a given address.
    Lan,
    /// The tailnet of a given address.
    Tailnet,
}

/// When a control token is required.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// On TCP whenever one is configured, and always on an address that is not loopback.
    #[default]
    Auto,
    /// Also on the socket.
    Required,
    /// Nowhere; only loopback addresses and the socket are served.
    Disabled,
}

/// The keys below `server`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    pub access: Access,
    pub listen: SocketAddr,
    /// The address under which others reach it.
    pub advertise: Option<String>,
    pub auth: AuthMode,
    pub token_file: Option<PathBuf>,
    /// Name of the key that webhooks are signed with.
    pub webhook_credential: Option<String>,
    /// The home's own where none is named.
    pub socket: Option<PathBuf>,
    pub default_agent: String,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            access: Access::Local,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)),
            advertise: None,
            auth: AuthMode::Auto,
            token_file: None,
            webhook_credential: None,
            socket: None,
            default_agent: "main".to_owned(),
        }
    }
}

impl Access {
    /// Every word for it, as it stands in the file.
    pub const WORDS: &[&str] = &["local", "tunnel", "lan", "tailnet"];

    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Tunnel => "tunnel",
            Self::Lan => "lan",
            Self::Tailnet => "tailnet",
        }
    }
}

impl AuthMode {
    /// Every word for it, as it stands in the file.
    pub const WORDS: &[&str] = &["auto", "required", "disabled"];

    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Required => "required",
            Self::Disabled => "disabled",
        }
    }
}
