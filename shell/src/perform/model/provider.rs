//! A provider as it is configured: where it is, how it is spoken to, and with which key (contract:
//! providers.md, Transports). Who reads settings makes these; the registry only looks them up.

use std::fmt;
use std::path::PathBuf;

use holon_core::Millis;

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    OpenaiResponses,
    OpenaiChatCompletions,
    AnthropicMessages,
    Scripted,
}

/// One provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSpec {
    /// What stands before the first slash of a model reference.
    pub id: String,
    pub transport: TransportKind,
    /// The base that the path of the method is added to; empty for `scripted`.
    pub base_url: String,
    /// Where the base comes from, for errors: a variable, or a key of `config.toml`.
    pub base_url_origin: String,
    pub credential: Credential,
    pub options: ProviderOptions,
}

/// The key of a provider. Its value never shows, not even in debug output.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// The provider asks for none.
    Unneeded,
    /// `origin` says where the key comes from, for errors; it is also the name of the redaction.
    Key { value: String, origin: String },
    /// A key is needed and there is none; `remedy` says how to give one.
    Missing { remedy: String },
}

/// What differs between servers that speak the same protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderOptions {
    /// Ask for server-sent events rather than for one JSON document.
    pub stream: bool,
    /// Offer tools with strict schemas.
    pub strict_tools: bool,
    /// Offer `ApplyPatch` as a freeform tool, where the protocol has them.
    pub freeform_tools: bool,
    /// Send `max_completion_tokens` rather than `max_tokens`, where the protocol has both.
    pub max_completion_tokens: bool,
    /// Time until a connection stands.
    pub connect_timeout: Millis,
    /// Time from the request to the first byte of the answer; slow local models need much of it.
    pub first_byte_timeout: Millis,
    /// Longest silence inside an answer.
    pub idle_timeout: Millis,
    /// `http://`, `https://`, `socks5://` or `socks5h://`; none is what the environment says.
    pub proxy: Option<String>,
    /// PEM certificates to trust besides those of the system.
    pub ca_file: Option<PathBuf>,
}

impl Default for ProviderOptions {
    fn default() -> Self {
        Self {
            stream: true,
            strict_tools: false,
            freeform_tools: false,
            max_completion_tokens: false,
            connect_timeout: Millis::seconds(30),
            first_byte_timeout: Millis::minutes(10),
            idle_timeout: Millis::minutes(5),
            proxy: None,
            ca_file: None,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unneeded => f.write_str("Unneeded"),
            Self::Key { origin, .. } => write!(f, "Key({origin})"),
            Self::Missing { .. } => f.write_str("Missing"),
        }
    }
}
