//! A kind of provider, as the registry asks it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use holon_core::model::{ModelRef, ModelRequest};
use holon_text::Texts;

use super::answer::{Failure, Reply};
use super::exchange::{OverHttp, Protocol};
use super::http::HttpClient;
use super::registry::ProviderError;
use super::spec::ProviderSpec;

/// Takes the text of an answer on its way, piece by piece, without secrets.
pub type Show<'a> = &'a (dyn Fn(String) + Send + Sync);

/// Answers requests to models, one attempt at a time.
pub(crate) trait Provider: Send + Sync {
    /// Whether a model could be asked. Sends nothing.
    fn check(&self, spec: &ProviderSpec, model: &ModelRef) -> Result<(), ProviderError>;

    /// One attempt, without retry.
    fn attempt<'a>(&'a self, attempt: Attempt<'a>) -> Attempting<'a>;
}

/// What an attempt is made with.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) client: &'a dyn HttpClient,
    pub(crate) texts: &'a Texts,
    pub(crate) spec: &'a ProviderSpec,
    pub(crate) request: &'a ModelRequest,
    pub(crate) show: Show<'a>,
}

/// Until the answer is there. Dropping it gives the attempt up.
pub(crate) type Attempting<'a> = Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>>;

/// How a provider is spoken to, by the name that it has in configuration.
#[derive(Clone, Copy)]
pub struct Transport {
    name: &'static str,
    has_address: bool,
    pub(crate) provider: fn() -> Arc<dyn Provider>,
}

impl Transport {
    /// One that needs no server.
    pub(crate) const fn local(name: &'static str, provider: fn() -> Arc<dyn Provider>) -> Self {
        Self { name, has_address: false, provider }
    }

    /// A wire protocol over HTTP.
    pub(crate) const fn http<P: Protocol + 'static>(name: &'static str) -> Self {
        Self { name, has_address: true, provider: || Arc::new(OverHttp::<P>::default()) }
    }

    /// The one of this name that this version speaks.
    pub fn named(name: &str) -> Option<Self> {
        super::TRANSPORTS.into_iter().find(|known| known.name == name)
    }

    pub fn name(self) -> &'static str {
        self.name
    }

    /// Whether it speaks to a server.
    pub fn has_address(self) -> bool {
        self.has_address
    }
}

impl PartialEq for Transport {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Transport {}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
