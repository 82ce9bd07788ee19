//! Who may reach a runtime, and with what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who is meant to reach the runtime over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// This machine alone.
    Local,
    /// This machine, and clients of a tunnel to it.
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
