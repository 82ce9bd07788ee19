//! The providers that are built in, and what the environment says about them (contract: providers.md,
//! Transports).

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::address::{PUBLIC_ANTHROPIC, PUBLIC_OPENAI, is_public};
use super::options::ProviderOptions;
use super::protocol::{self, anthropic, openai_chat, openai_codex, openai_responses};
use super::provider::{Credential, ProviderSpec};

/// The scenario of `scripted/demo`, as its file.
pub use super::protocol::scripted::DEMO;

/// Where the address of the login's service is said.
const CODEX_URL: &str = "HOLON_CODEX_BASE_URL";
const PUBLIC_CODEX: &str = "https://chatgpt.com/backend-api/codex";
const LOCAL: &str = "http://127.0.0.1:11434/v1";

/// The built-in providers. `get` gives the value of an environment variable; an empty one counts as absent.
/// Whoever replaces a base URL afterwards asks [`credential`] again: whether a key is needed depends on it.
pub fn built_in(get: impl Fn(&str) -> Option<String>) -> Vec<ProviderSpec> {
    let get = |name: &str| get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let spec = |id: &str, transport, (url_variable, public): (&str, &str), key_variable: Option<&str>| {
        let base_url = get(url_variable).unwrap_or_else(|| public.to_owned());
        let credential = key_variable.map_or(Credential::Unneeded, |variable| {
            credential(get(variable).map(|value| (value, variable.to_owned())), &base_url, || {
                format!("set {variable}, or point {url_variable} at a server that needs none")
            })
        });
        ProviderSpec {
            id: id.to_owned(),
            transport,
            base_url,
            base_url_origin: url_variable.to_owned(),
            credential,
            key_remedy: key_variable.map_or_else(String::new, |variable| format!("set {variable}")),
            options: ProviderOptions::default(),
            models: BTreeMap::new(),
        }
    };
    let openai = ("OPENAI_BASE_URL", PUBLIC_OPENAI);
    let messages = ("ANTHROPIC_BASE_URL", PUBLIC_ANTHROPIC);
    let (openai_key, anthropic_key) = (Some("OPENAI_API_KEY"), Some("ANTHROPIC_API_KEY"));
    vec![
        spec("anthropic", anthropic::TRANSPORT, messages, anthropic_key),
        spec("local", openai_chat::TRANSPORT, ("HOLON_LOCAL_BASE_URL", LOCAL), None),
        spec("openai", openai_responses::TRANSPORT, openai, openai_key),
        spec("openai-chat", openai_chat::TRANSPORT, openai, openai_key),
        codex(&get),
        scripted(),
    ]
}

/// The login of the `codex` program.
fn codex(get: &dyn Fn(&str) -> Option<String>) -> ProviderSpec {
    let home = get("CODEX_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(get("HOME")?).join(".codex")));
    let path = home.unwrap_or_else(|| PathBuf::from("/.codex")).join("auth.json");
    ProviderSpec {
        id: "openai-codex".to_owned(),
        transport: openai_codex::TRANSPORT,
        base_url: get(CODEX_URL).unwrap_or_else(|| PUBLIC_CODEX.to_owned()),
        base_url_origin: CODEX_URL.to_owned(),
        credential: Credential::Login { path },
        key_remedy: "run `codex login`".to_owned(),
        options: ProviderOptions::default(),
        models: BTreeMap::new(),
    }
}

/// The offline provider; the whole registry of the demo.
pub fn scripted() -> ProviderSpec {
    ProviderSpec {
        id: "scripted".to_owned(),
        transport: protocol::scripted::TRANSPORT,
        base_url: String::new(),
        base_url_origin: String::new(),
        credential: Credential::Unneeded,
        key_remedy: String::new(),
        options: ProviderOptions::default(),
        models: BTreeMap::new(),
    }
}

/// What a server gets to see: the key where there is one (value and origin); without one, nothing where the
/// server is somebody's own.
pub fn credential(
    key: Option<(String, String)>,
    base_url: &str,
    remedy: impl FnOnce() -> String,
) -> Credential {
    match key {
        Some((value, origin)) => Credential::Key { value, origin },
        None if is_public(base_url) => Credential::Missing { remedy: remedy() },
        None => Credential::Unneeded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], id: &str) -> ProviderSpec {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        built_in(get).into_iter().find(|spec| spec.id == id).unwrap()
    }

    #[test]
    fn a_key_is_needed_for_public_addresses_only() {
        for (id, variable) in [
            ("openai", "OPENAI_API_KEY"),
            ("openai-chat", "OPENAI_API_KEY"),
            ("anthropic", "ANTHROPIC_API_KEY"),
        ] {
            let Credential::Missing { remedy } = found(&[], id).credential else { panic!("{id}") };
            assert!(remedy.contains(&format!("set {variable}")), "{remedy}");
            let keyed = found(&[(variable, " sk-canary-123456\n")], id);
            let expected = Credential::Key { value: "sk-canary-123456".into(), origin: variable.to_owned() };
            assert_eq!(keyed.credential, expected);
            assert!(!format!("{keyed:?}").contains("canary"));
            let url_variable = keyed.base_url_origin;
            let own = found(&[(&url_variable, "http://127.0.0.1:1/v1/"), (variable, "  ")], id);
            assert_eq!(own.credential, Credential::Unneeded);
        }
        assert_eq!(found(&[], "local").credential, Credential::Unneeded);
    }

    #[test]
    fn the_environment_says_where_servers_are() {
        assert_eq!(found(&[], "local").base_url, LOCAL);
        assert_eq!(found(&[("HOLON_LOCAL_BASE_URL", "")], "local").base_url, LOCAL);
        assert_eq!(found(&[("HOLON_LOCAL_BASE_URL", "http://h/v1")], "local").base_url, "http://h/v1");
    }
}
