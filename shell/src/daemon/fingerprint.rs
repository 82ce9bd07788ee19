//! What a runtime was started with, so that a later start can tell whether it would be the same one. Values that
//! are secret are there as digests; defaults are left out, so that versions with more keys agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use holon_platform::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::endpoint::Endpoint;
use crate::settings::Settings;

/// The key of the control token, where one is configured.
const TOKEN: &str = "control token";

/// The effective configuration, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(BTreeMap<String, String>);

impl Fingerprint {
    /// `secrets` are the keys and passwords that providers got, with their names.
    pub fn new(settings: &Settings, endpoint: &Endpoint, secrets: &[(String, String)]) -> Self {
        let defaults = Settings::new(settings.file());
        let usual: BTreeSet<(String, String)> =
            defaults.entries().into_iter().map(|entry| (entry.key.clone(), entry.text())).collect();
        let entries = settings.entries().into_iter().map(|entry| (entry.key.clone(), entry.text()));
        // Commands of a client read their own settings.
        let of_clients = |key: &str| key.starts_with("run.") || key.starts_with("daemon.");
        let mut values: BTreeMap<String, String> =
            entries.filter(|entry| !usual.contains(entry) && !of_clients(&entry.0)).collect();
        let home = settings.file();
        let token = endpoint.token.iter().map(|token| (TOKEN.to_owned(), token.expose()));
        let secrets = secrets.iter().map(|(name, value)| (name.clone(), value.as_str()));
        for (name, value) in token.chain(secrets) {
            // A password inside an address, which is there without it.
            let name = if values.contains_key(&name) { format!("{name}, its password") } else { name };
            values.insert(name, digest(home, value));
        }
        Self(values)
    }

    /// A short name for the whole.
    pub fn digest(&self) -> String {
        let lines: Vec<String> = self.0.iter().map(|(key, value)| format!("{key}={value:?}\n")).collect();
        short(&Sha256::digest(lines.concat()), 16)
    }

    /// Whether it has a control token that the other one does not have.
    pub fn has_another_token(&self, other: &Self) -> bool {
        self.0.get(TOKEN).is_some_and(|token| other.0.get(TOKEN) != Some(token))
    }

    /// What is different, by key, with both values: first this one's.
    pub fn differences(&self, other: &Self) -> Vec<(String, String, String)> {
        let keys: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let value =
            |side: &Self, key: &String| side.0.get(key).map_or("the default", String::as_str).to_owned();
        let pairs = keys.into_iter().map(|key| (key.clone(), value(self, key), value(other, key)));
        pairs.filter(|(_, here, there)| here != there).collect()
    }
}

/// A value that must not be seen, as far as it takes to see that it changed.
fn digest(home: &Path, value: &str) -> String {
    let salted = format!("{}\n{value}", home.display());
    format!("sha256:{}", short(&Sha256::digest(salted), 8))
}

fn short(bytes: &[u8], digits: usize) -> String {
    hex::write(bytes).chars().take(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::Token;
    use crate::home::Home;

    fn fingerprint(flags: &[(&str, &str)], token: Option<&str>) -> Fingerprint {
        let mut settings = Settings::new("/h/config.toml".as_ref());
        for (key, value) in flags {
            settings.flag("--test", key, value).unwrap();
        }
        let token = token.map(|token| Token::new("test", token).unwrap());
        let endpoint = Endpoint::new(&settings.server, token, &Home::at("/h")).unwrap();
        Fingerprint::new(&settings, &endpoint, &[])
    }

    #[test]
    fn what_is_different_is_named_and_secrets_are_not_shown() {
        let plain = fingerprint(&[], None);
        assert_eq!(plain, Fingerprint::default(), "defaults are left out");
        let one = fingerprint(&[("model.default", "local/a"), ("run.keep", "7")], Some("canary-0123456789"));
        let other = fingerprint(&[("model.default", "local/b")], Some("canary-9876543210"));
        let different = one.differences(&other);
        assert_eq!(different.len(), 2, "{different:?}");
        assert_eq!(different[1], ("model.default".into(), "local/a".into(), "local/b".into()));
        assert_eq!(different[0].0, TOKEN);
        assert!(one.has_another_token(&other) && one.has_another_token(&plain));
        assert!(!one.has_another_token(&one) && !plain.has_another_token(&one));
        let url = |password: &str| {
            let endpoint = format!("http://me:{password}@collector:4318");
            let mut settings = Settings::new("/h/config.toml".as_ref());
            settings.flag("--test", "telemetry.otlp.endpoint", &endpoint).unwrap();
            let endpoint = Endpoint::new(&settings.server, None, &Home::at("/h")).unwrap();
            Fingerprint::new(&settings, &endpoint, &settings.passwords())
        };
        let (here, there) = (url("canary-1"), url("canary-2"));
        assert!(!serde_json::to_string(&here).unwrap().contains("canary"), "{here:?}");
        assert_eq!(here.differences(&there)[0].0, "telemetry.otlp.endpoint, its password");
        let shown = format!("{different:?}{}", serde_json::to_string(&one).unwrap());
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(one.differences(&one), []);
        assert_ne!(one.digest(), other.digest());
        assert_eq!(
            plain.differences(&fingerprint(&[("server.listen", "127.0.0.1:0")], None))[0].1,
            "the default"
        );
    }
}
