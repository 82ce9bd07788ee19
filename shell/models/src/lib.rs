//! Models: one attempt at a request, over whichever wire protocol its provider speaks (contract: providers.md). It knows
//! what a request and an answer are, how text is kept and redacted, and nothing of settings, ledgers or runtimes.
//!
//! [`Providers`] is made of [`ProviderSpec`]s and asked for answers; [`HttpClient`] carries the requests. To add a wire
//! protocol, add its folder and its row in `protocol/`.

mod address;
mod answer;
pub mod built_in;
mod context_editing;
mod dialect;
#[cfg(test)]
mod dialect_tests;
mod exchange;
mod http;
mod images;
#[cfg(test)]
mod images_tests;
pub mod known;
mod lower;
mod model_options;
mod options;
mod parts;
mod probe;
mod protocol;
mod provider;
#[cfg(test)]
mod reasoning_tests;
mod registry;
#[cfg(test)]
mod settings_tests;
#[cfg(test)]
mod shapes_tests;
#[cfg(any(test, feature = "testing"))]
#[expect(clippy::unwrap_used, reason = "only tests come here")]
pub mod testing;
mod tools;
#[cfg(test)]
mod wire;

pub use answer::given;
pub use built_in::built_in;
pub use context_editing::{ClearToolUses, ContextEditing, KeptThinking, Trigger};
pub use dialect::SchemaMode;
pub use http::{Answer, Broken, DocumentPost, How, HttpClient, Posted, Sending};
pub use model_options::{ModelOptions, Temperature};
pub use options::{MaxTokensField, ProviderOptions};
pub use parts::joined;
pub use protocol::{TRANSPORTS, transport};
pub use provider::{Credential, ProviderError, ProviderSpec, Show, Transport};
pub use registry::{LowerError, Providers};
pub use tools::{Tools, parameters};
