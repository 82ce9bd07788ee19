//! Why a model can't be asked at all.

use holon_facts::model::FailureKind;
use holon_facts::model_ref::ModelRef;

use crate::answer::Failure;

/// Why a model can't be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("there is no provider {provider:?}{}; the providers are: {}", nearest(provider, known), known.join(", "))]
    Unknown { provider: String, known: Vec<String> },
    #[error("{model} needs a key: {remedy}")]
    MissingKey { model: ModelRef, remedy: String },
    #[error("{model} needs a login: {problem}")]
    NoLogin { model: ModelRef, problem: String },
    #[error("{origin} contains characters that no key has; copy it again without line breaks")]
    BadKey { origin: String },
    #[error(
        "{origin} is not an address of a server: {problem}; expected something like http://127.0.0.1:11434/v1"
    )]
    BadUrl { origin: String, problem: String },
    #[error("provider {provider}: {problem}")]
    BadOption { provider: String, problem: String },
    #[error("the provider {provider} can't be used: {problem}")]
    Unusable { provider: String, problem: String },
    #[error("{0}")]
    Scenario(String),
}

impl From<ProviderError> for Failure {
    fn from(problem: ProviderError) -> Self {
        let kind = match &problem {
            ProviderError::Unknown { .. } | ProviderError::Unusable { .. } => {
                FailureKind::UnsupportedTransport
            }
            ProviderError::MissingKey { .. }
            | ProviderError::NoLogin { .. }
            | ProviderError::BadKey { .. } => FailureKind::Auth,
            ProviderError::BadUrl { .. } | ProviderError::BadOption { .. } | ProviderError::Scenario(_) => {
                FailureKind::Client
            }
        };
        Self::new(kind, problem.to_string())
    }
}

/// Names the known provider that was probably meant.
fn nearest(name: &str, known: &[String]) -> String {
    let meant = holon_text::nearest::nearest(name, known.iter().map(String::as_str));
    meant.map(|known| format!(", did you mean {known:?}?")).unwrap_or_default()
}
