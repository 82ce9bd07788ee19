//! The model of whoever has configured none: a key alone is enough, since it says which provider is meant.

use holon_facts::model_ref::ModelRef;
use holon_models::Credential;
use holon_platform::Environment;

use super::credentials::Credentials;
use super::providers::Configured;
use super::{Origin, Settings};

/// The model that each key stands for, the first key that is there first. Both are in the table of prices.
pub const DEFAULT_MODELS: [(&str, &str); 2] =
    [("openai", "openai/gpt-5.1"), ("anthropic", "anthropic/claude-sonnet-4-5")];

impl Settings {
    /// Chooses the default model of the first provider that has a key, where no model is configured. A server that
    /// isn't the provider's own has models of its own: nothing is chosen for it.
    /// Gives the providers that it has looked at.
    pub fn choose_model(&mut self, environment: &Environment, credentials: &Credentials) -> Configured {
        let configured = Configured::new(self, environment, credentials);
        if self.model.is_some() {
            return configured;
        }
        let chosen = DEFAULT_MODELS.iter().find_map(|(provider, model)| {
            let spec = configured.specs.iter().find(|spec| spec.id == *provider)?;
            let Credential::Key { origin, .. } = &spec.credential else { return None };
            let model = ModelRef::new(model).ok().filter(|_| spec.is_public())?;
            Some((model, Origin::Key { key: origin.clone() }))
        });
        if let Some((model, origin)) = chosen {
            self.model = Some(model);
            self.origins.insert("model.default".to_owned(), origin);
        }
        configured
    }

    /// The model that was chosen for a key, as a line for who runs it.
    pub fn chosen_model(&self) -> Option<String> {
        let Some(Origin::Key { key }) = self.origins.get("model.default") else { return None };
        let model = self.model.as_ref()?;
        Some(format!(
            "model {model}, the default for {key}; `holon config set model.default MODEL` changes it"
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::prices;

    fn chosen(variables: &[(&str, &str)]) -> Option<String> {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let environment = Environment::new(variables);
        let mut settings = Settings::load(Path::new("/nowhere/config.toml"), &environment).unwrap();
        settings.choose_model(&environment, &Credentials::default());
        settings.model.map(|model| model.to_string())
    }

    #[test]
    fn a_key_alone_is_enough() {
        let (openai, anthropic) =
            (("OPENAI_API_KEY", "sk-canary-123456"), ("ANTHROPIC_API_KEY", "sk-canary-654321"));
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[openai]).as_deref(), Some("openai/gpt-5.1"));
        assert_eq!(chosen(&[anthropic]).as_deref(), Some("anthropic/claude-sonnet-4-5"));
        assert_eq!(chosen(&[anthropic, openai]).as_deref(), Some("openai/gpt-5.1"));
        assert_eq!(chosen(&[openai, ("HOLON_MODEL", "local/qwen3")]).as_deref(), Some("local/qwen3"));
        assert_eq!(chosen(&[openai, ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]), None);
    }

    #[test]
    fn default_models_have_a_price() {
        for (_, model) in DEFAULT_MODELS {
            assert!(prices::built_in().any(|known| known.model.as_str() == model), "{model}");
        }
    }
}
