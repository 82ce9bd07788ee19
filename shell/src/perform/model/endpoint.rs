//! Where a provider is asked, and what it gets to see: made from its spec for each attempt, since only then
//! does a wrong value matter.

use holon_core::model::ModelRef;
use http::header::HeaderValue;
use reqwest::Url;

use super::provider::{Credential, ProviderSpec, TransportKind};
use super::registry::ProviderError;

/// A server and what it wants to see.
pub(super) struct Endpoint<'a> {
    /// The base with the path of the method.
    pub(super) url: Url,
    pub(super) key: Option<HeaderValue>,
    pub(super) spec: &'a ProviderSpec,
}

impl<'a> Endpoint<'a> {
    pub(super) fn new(spec: &'a ProviderSpec, model: &ModelRef) -> Result<Self, ProviderError> {
        Ok(Self { url: address(spec)?, key: key(spec, model)?, spec })
    }
}

/// The key as the header of its protocol carries it.
fn key(spec: &ProviderSpec, model: &ModelRef) -> Result<Option<HeaderValue>, ProviderError> {
    let (value, origin) = match &spec.credential {
        Credential::Unneeded => return Ok(None),
        Credential::Missing { remedy } => {
            return Err(ProviderError::MissingKey { model: model.clone(), remedy: remedy.clone() });
        }
        Credential::Key { value, origin } => (value.trim(), origin),
    };
    let text = match spec.transport {
        TransportKind::AnthropicMessages => value.to_owned(),
        TransportKind::OpenaiResponses | TransportKind::OpenaiChatCompletions | TransportKind::Scripted => {
            format!("Bearer {value}")
        }
    };
    let mut value =
        HeaderValue::from_str(&text).map_err(|_| ProviderError::BadKey { origin: origin.clone() })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The base with the path of the method; a query of the base is kept.
fn address(spec: &ProviderSpec) -> Result<Url, ProviderError> {
    let bad = |problem: String| ProviderError::BadUrl { origin: spec.base_url_origin.clone(), problem };
    let mut url = Url::parse(spec.base_url.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad(format!("its scheme is {:?}", url.scheme())));
    }
    let base = url.path().trim_end_matches('/').to_owned();
    let method = match spec.transport {
        TransportKind::OpenaiResponses => "/responses",
        TransportKind::OpenaiChatCompletions => "/chat/completions",
        // This base is without the version; who writes it all the same is understood.
        TransportKind::AnthropicMessages if base.ends_with("/v1") => "/messages",
        TransportKind::AnthropicMessages => "/v1/messages",
        TransportKind::Scripted => "",
    };
    url.set_path(&format!("{base}{method}"));
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perform::model::built_in::built_in;

    fn spec(id: &str, base_url: &str) -> ProviderSpec {
        let spec = built_in(|_| None).into_iter().find(|spec| spec.id == id).unwrap();
        ProviderSpec { base_url: base_url.to_owned(), ..spec }
    }

    #[test]
    fn the_path_is_added_to_the_base() {
        for (id, base, expected) in [
            ("local", "http://h:1/api/v1/?version=2", "http://h:1/api/v1/chat/completions?version=2"),
            ("openai", " https://h/v1", "https://h/v1/responses"),
            ("anthropic", "https://h", "https://h/v1/messages"),
            ("anthropic", "https://h/v1/", "https://h/v1/messages"),
            ("anthropic", "https://h/gateway/", "https://h/gateway/v1/messages"),
        ] {
            assert_eq!(address(&spec(id, base)).unwrap().as_str(), expected);
        }
        for base in ["localhost:11434", "ftp://h/v1", "", "http://"] {
            let error = address(&spec("local", base)).unwrap_err().to_string();
            assert!(error.starts_with("HOLON_LOCAL_BASE_URL is not an address"), "{error}");
        }
    }

    #[test]
    fn keys_are_sent_as_their_protocol_wants() {
        let model = ModelRef::new("x/y").unwrap();
        let shown = |id: &str, value: &str| {
            let credential = Credential::Key { value: value.into(), origin: "THE_KEY".into() };
            key(&ProviderSpec { credential, ..spec(id, "http://h") }, &model)
        };
        assert_eq!(shown("openai", "abc\n").unwrap().unwrap(), "Bearer abc");
        let bare = shown("anthropic", "abc").unwrap().unwrap();
        assert!(bare == "abc" && bare.is_sensitive());
        let error = shown("openai", "sk-canary\n123456").unwrap_err().to_string();
        assert!(error.contains("THE_KEY") && !error.contains("canary"), "{error}");
    }
}
