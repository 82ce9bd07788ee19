//! How the runtime of a home is reached, as it is configured.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

pub use holon_api::{Access, AuthMode};
use holon_facts::Millis;

use super::page_origin::PageOrigin;

/// The keys below `server`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    pub access: Access,
    pub listen: SocketAddr,
    /// The address under which others reach it.
    pub advertise: Option<String>,
    pub auth: AuthMode,
    pub token_file: Option<PathBuf>,
    /// Whose pages may read replies, besides those of this machine.
    pub allowed_origins: Vec<PageOrigin>,
    /// Whether browsers get the web console.
    pub web_console: bool,
    /// Agents in memory up to which each has labels of its own in `/metrics`.
    pub agent_labels: u64,
    /// Between two checks of the whole ledger; zero for none.
    pub verify_every: Millis,
    /// Name of the key that webhooks are signed with.
    pub webhook_credential: Option<String>,
    /// The home's own where none is named.
    pub socket: Option<PathBuf>,
    pub default_agent: String,
    /// Whether a start writes the templates of the build into the folder of the user.
    pub seed_templates: bool,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            access: Access::Local,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)),
            advertise: None,
            auth: AuthMode::Auto,
            token_file: None,
            allowed_origins: Vec::new(),
            web_console: true,
            agent_labels: 200,
            verify_every: Millis::hours(24),
            webhook_credential: None,
            socket: None,
            default_agent: "main".to_owned(),
            seed_templates: true,
        }
    }
}
