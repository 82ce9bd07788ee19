//! The model of whoever has configured none: a key alone is enough, since it says which provider is meant.

use holon_facts::model_ref::ModelRef;
use holon_models::Credential;
use holon_platform::Environment;

use super::credentials::Credentials;
use super::providers::Configured;
use super::{Origin, OwnServer, Settings};

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
        let keyed = DEFAULT_MODELS.iter().filter_map(|(provider, model)| {
            let spec = configured.specs.iter().find(|spec| spec.id == *provider)?;
            let Credential::Key { origin, .. } = &spec.credential else { return None };
            Some((spec, model, origin))
        });
        let (public, own): (Vec<_>, Vec<_>) = keyed.partition(|(spec, ..)| spec.is_public());
        let own =
            own.first().map(|(spec, _, key)| OwnServer { provider: spec.id.clone(), key: (*key).clone() });
        let chosen = public
            .into_iter()
            .find_map(|(_, model, key)| Some((ModelRef::new(model).ok()?, Origin::Key { key: key.clone() })));
        self.own_server = own.filter(|_| chosen.is_none());
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
    fn a_key_of_another_server_is_not_reported_as_missing() {
        let said = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let environment = Environment::new(variables);
            let mut settings = Settings::load(Path::new("/nowhere/config.toml"), &environment).unwrap();
            settings.choose_model(&environment, &Credentials::default());
            settings.core_config().unwrap_err().to_string()
        };
        assert!(said(&[]).contains("set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name"));
        let own =
            said(&[("OPENAI_API_KEY", "sk-canary-123456"), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]);
        assert!(
            own.contains("OPENAI_API_KEY is set, but the base URL of openai is not the public one"),
            "{own}"
        );
        assert!(own.contains("for example openai/"), "{own}");
        assert!(!own.contains("set OPENAI_API_KEY or"), "{own}");
    }

    #[test]
    fn default_models_have_a_price() {
        for (_, model) in DEFAULT_MODELS {
            assert!(prices::built_in().any(|known| known.model.as_str() == model), "{model}");
        }
    }
}
