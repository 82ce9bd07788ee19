//! How a server is spoken to, whatever the protocol.

use std::fmt;
use std::path::PathBuf;

use holon_facts::Millis;

use super::address::without_password;
use super::context_editing::ContextEditing;

/// What differs between servers that speak the same protocol.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderOptions {
    /// Ask for server-sent events rather than for one JSON document.
    pub stream: bool,
    /// Offer tools with strict schemas.
    pub strict_tools: bool,
    /// Offer `ApplyPatch` as a freeform tool, where the protocol has them.
    pub freeform_tools: bool,
    /// The field that bounds an answer, where the protocol has two; none is by the address.
    pub max_tokens_field: Option<MaxTokensField>,
    /// Send `prompt_cache_key`, where the protocol has it; none is by the address.
    pub prompt_cache_key: Option<bool>,
    /// The provider keeps its responses, and a request that goes on from one has only what is new; where the protocol can.
    pub incremental_responses: bool,
    /// What the provider may leave out of a long request, where the protocol can say so.
    pub context_editing: ContextEditing,
    /// The path of the method below the base, where it is not the protocol's own; `{model}` is the name of the model.
    pub path: Option<String>,
    /// The query of each address.
    pub query: Vec<(String, String)>,
    /// Headers of each request. Some are secrets.
    pub headers: Vec<(String, String)>,
    /// The header that carries the key as it is, where that is not the protocol's own.
    pub key_header: Option<String>,
    /// The provider keeps what is marked for an hour rather than for five minutes, where the protocol has marks.
    pub cache_for_an_hour: bool,
    /// Somebody has accepted that no public interface is promised, where that is so.
    pub accept_unofficial: bool,
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

/// The field of chat completions that bounds an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

impl MaxTokensField {
    pub const ALL: [Self; 2] = [Self::MaxTokens, Self::MaxCompletionTokens];

    pub fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl Default for ProviderOptions {
    fn default() -> Self {
        Self {
            stream: true,
            strict_tools: false,
            freeform_tools: false,
            max_tokens_field: None,
            prompt_cache_key: None,
            incremental_responses: false,
            context_editing: ContextEditing::default(),
            path: None,
            query: Vec::new(),
            headers: Vec::new(),
            key_header: None,
            cache_for_an_hour: false,
            accept_unofficial: false,
            connect_timeout: Millis::seconds(30),
            first_byte_timeout: Millis::minutes(10),
            idle_timeout: Millis::minutes(5),
            proxy: None,
            ca_file: None,
        }
    }
}

impl fmt::Debug for ProviderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderOptions")
            .field("stream", &self.stream)
            .field("strict_tools", &self.strict_tools)
            .field("freeform_tools", &self.freeform_tools)
            .field("proxy", &self.proxy.as_deref().map(without_password))
            .field("ca_file", &self.ca_file)
            .finish_non_exhaustive()
    }
}
