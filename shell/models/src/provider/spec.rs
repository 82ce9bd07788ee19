//! A provider as it is configured: where it is, how it is spoken to, and with which key (contract:
//! providers.md, Transports). Who reads settings makes these; the registry only looks them up.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use holon_facts::model_ref::ModelRef;

use super::Transport;
use crate::address::{is_public, is_public_openai, without_password};
use crate::known::{self, Feature};
use crate::model_options::ModelOptions;
use crate::options::{MaxTokensField, ProviderOptions};

/// One provider.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderSpec {
    /// What stands before the first slash of a model reference.
    pub id: String,
    pub transport: Transport,
    /// The base that the path of the method is added to; empty for `scripted`.
    pub base_url: String,
    /// Where the base comes from, for errors: a variable, or a key of `config.toml`.
    pub base_url_origin: String,
    pub credential: Credential,
    /// How to give a key, or another one, for errors: `set OPENAI_API_KEY`.
    pub key_remedy: String,
    pub options: ProviderOptions,
    /// What is configured of its models, by their names.
    pub models: BTreeMap<String, ModelOptions>,
}

/// The key of a provider. Its value never shows, not even in debug output.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// The provider asks for none.
    Unneeded,
    /// `origin` says where the key comes from, for errors; it is also the name of the redaction.
    Key { value: String, origin: String },
    /// The login of the `codex` program, in this file.
    Login { path: PathBuf },
    /// A key is needed and there is none; `remedy` says how to give one.
    Missing { remedy: String },
}

impl ProviderSpec {
    /// Whether its address is the public one of a company that needs a key.
    pub fn is_public(&self) -> bool {
        is_public(&self.base_url)
    }

    /// The field that bounds an answer of chat completions: the newer one is what the public address takes for every
    /// model. Compatible servers know the older one.
    pub fn max_tokens_field(&self) -> MaxTokensField {
        self.options.max_tokens_field.unwrap_or_else(|| {
            let public = is_public_openai(&self.base_url);
            if public { MaxTokensField::MaxCompletionTokens } else { MaxTokensField::MaxTokens }
        })
    }

    /// Whether a model is known or said to think before it answers.
    pub fn reasons(&self, model: &ModelRef) -> bool {
        let said = self.models.get(model.model()).and_then(|own| {
            let effort = own.reasoning_effort.as_deref().map(|effort| effort != "none");
            own.reasoning.or(effort)
        });
        said.unwrap_or_else(|| known::of(model).is_some_and(|known| known.has(Feature::Reasoning)))
    }

    /// Whether a model is known or said to read images.
    pub fn takes_images(&self, model: &ModelRef) -> bool {
        known::takes_images(model, self.models.get(model.model()))
    }

    /// Whether requests carry `prompt_cache_key`. Compatible servers refuse a field that they don't know.
    pub fn sends_prompt_cache_key(&self) -> bool {
        self.options.prompt_cache_key.unwrap_or_else(|| is_public_openai(&self.base_url))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unneeded => f.write_str("Unneeded"),
            Self::Key { origin, .. } => write!(f, "Key({origin})"),
            Self::Login { .. } => f.write_str("Login"),
            Self::Missing { .. } => f.write_str("Missing"),
        }
    }
}

impl fmt::Debug for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSpec")
            .field("id", &self.id)
            .field("transport", &self.transport)
            .field("base_url", &without_password(&self.base_url))
            .field("credential", &self.credential)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::built_in::built_in;

    #[test]
    fn debug_output_shows_no_secret() {
        let url = |_: &str| Some("http://me:canary-1@host:1/v1?key=canary-2".to_owned());
        let mut specs = built_in(url);
        specs[0].options.proxy = Some("http://me:canary-3@proxy".into());
        let shown = format!("{specs:?}");
        assert!(shown.contains("http://host:1/v1") && !shown.contains("canary"), "{shown}");
    }
}
