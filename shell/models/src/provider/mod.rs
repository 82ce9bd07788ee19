//! A kind of provider, as the registry asks it.

mod error;
mod login;
mod spec;
mod transport;

use std::pin::Pin;

use holon_facts::Millis;
use holon_facts::model::ModelRequest;
use holon_facts::model_ref::ModelRef;
use holon_text::{TextError, Texts};
use serde_json::Value;

use super::answer::{Failure, Reply};
use super::http::HttpClient;
use super::tools::Tools;

pub use error::ProviderError;
pub(crate) use login::{Login, RefusedLogins};
pub use spec::{Credential, ProviderSpec};
pub use transport::Transport;

/// Takes the text of an answer on its way, piece by piece, without secrets.
pub type Show<'a> = &'a (dyn Fn(String) + Send + Sync);

/// Answers requests to models, one attempt at a time.
pub(crate) trait Provider: Send + Sync {
    /// Whether a model could be asked. Sends nothing.
    fn check(&self, spec: &ProviderSpec, model: &ModelRef) -> Result<(), ProviderError>;

    /// One attempt, without retry.
    fn attempt<'a>(&'a self, attempt: Attempt<'a>) -> Attempting<'a>;

    /// The body that an attempt at the request sends; none where nothing is sent.
    fn lower(
        &self,
        _: &ProviderSpec,
        _: (&Texts, &Tools),
        _: &ModelRequest,
    ) -> Option<Result<Value, TextError>> {
        None
    }

    /// The models that a server lists; none where it lists none.
    fn models<'a>(&'a self, _: &'a dyn HttpClient, _: &'a ProviderSpec, _within: Millis) -> Listing<'a> {
        Box::pin(async { Vec::new() })
    }
}

/// What an attempt is made with.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) client: &'a dyn HttpClient,
    pub(crate) texts: &'a Texts,
    pub(crate) spec: &'a ProviderSpec,
    pub(crate) tools: &'a Tools,
    /// Models that exist, whoever lists them.
    pub(crate) models: &'a [ModelRef],
    pub(crate) request: &'a ModelRequest,
    pub(crate) show: Show<'a>,
}

/// Until the list is there.
pub(crate) type Listing<'a> = Pin<Box<dyn Future<Output = Vec<String>> + Send + 'a>>;

/// Until the answer is there. Dropping it gives the attempt up.
pub(crate) type Attempting<'a> = Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>>;
