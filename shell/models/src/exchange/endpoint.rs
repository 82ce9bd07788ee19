//! Where a provider is asked, and what it gets to see: made from its spec for each attempt, since only then
//! does a wrong value matter.

use holon_facts::model_ref::ModelRef;
use http::header::HeaderValue;
use url::Url;

use super::Protocol;
use crate::provider::{Credential, ProviderError, ProviderSpec};

/// A server and what it wants to see.
pub(super) struct Endpoint<'a> {
    /// The base with the path of the method.
    pub(super) url: Url,
    pub(super) key: Option<HeaderValue>,
    pub(super) spec: &'a ProviderSpec,
}

impl<'a> Endpoint<'a> {
    pub(super) fn new<P: Protocol>(spec: &'a ProviderSpec, model: &ModelRef) -> Result<Self, ProviderError> {
        Ok(Self { url: address::<P>(spec)?, key: key::<P>(spec, model)?, spec })
    }
}

/// The key as the header of its protocol carries it.
fn key<P: Protocol>(spec: &ProviderSpec, model: &ModelRef) -> Result<Option<HeaderValue>, ProviderError> {
    let (value, origin) = match &spec.credential {
        Credential::Unneeded => return Ok(None),
        Credential::Missing { remedy } => {
            return Err(ProviderError::MissingKey { model: model.clone(), remedy: remedy.clone() });
        }
        Credential::Key { value, origin } => (value.trim(), origin),
    };
    let mut value = HeaderValue::from_str(&P::credential(value))
        .map_err(|_| ProviderError::BadKey { origin: origin.clone() })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The base with the path of the method; a query of the base is kept.
fn address<P: Protocol>(spec: &ProviderSpec) -> Result<Url, ProviderError> {
    let bad = |problem: String| ProviderError::BadUrl { origin: spec.base_url_origin.clone(), problem };
    let mut url = Url::parse(spec.base_url.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad(format!("its scheme is {:?}", url.scheme())));
    }
    let base = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{base}{}", P::path(&base)));
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in::built_in;
    use crate::protocol::anthropic::AnthropicMessages;
    use crate::protocol::openai_chat::OpenaiChat;
    use crate::protocol::openai_responses::OpenaiResponses;

    fn spec(id: &str, base_url: &str) -> ProviderSpec {
        let spec = built_in(|_| None).into_iter().find(|spec| spec.id == id).unwrap();
        ProviderSpec { base_url: base_url.to_owned(), ..spec }
    }

    #[test]
    fn the_path_is_added_to_the_base() {
        type Address = fn(&ProviderSpec) -> Result<Url, ProviderError>;
        let (chat, responses, messages): (Address, Address, Address) =
            (address::<OpenaiChat>, address::<OpenaiResponses>, address::<AnthropicMessages>);
        for (address, base, expected) in [
            (chat, "http://h:1/api/v1/?version=2", "http://h:1/api/v1/chat/completions?version=2"),
            (responses, " https://h/v1", "https://h/v1/responses"),
            (messages, "https://h", "https://h/v1/messages"),
            (messages, "https://h/v1/", "https://h/v1/messages"),
            (messages, "https://h/gateway/", "https://h/gateway/v1/messages"),
        ] {
            assert_eq!(address(&spec("local", base)).unwrap().as_str(), expected);
        }
        for base in ["localhost:11434", "ftp://h/v1", "", "http://"] {
            let error = chat(&spec("local", base)).unwrap_err().to_string();
            assert!(error.starts_with("HOLON_LOCAL_BASE_URL is not an address"), "{error}");
        }
    }

    #[test]
    fn keys_are_sent_as_their_protocol_wants() {
        let model = ModelRef::new("x/y").unwrap();
        let keyed = |value: &str| {
            let credential = Credential::Key { value: value.into(), origin: "THE_KEY".into() };
            ProviderSpec { credential, ..spec("openai", "http://h") }
        };
        assert_eq!(key::<OpenaiResponses>(&keyed("abc\n"), &model).unwrap().unwrap(), "Bearer abc");
        let bare = key::<AnthropicMessages>(&keyed("abc"), &model).unwrap().unwrap();
        assert!(bare == "abc" && bare.is_sensitive());
        let error = key::<OpenaiResponses>(&keyed("sk-canary\n123456"), &model).unwrap_err().to_string();
        assert!(error.contains("THE_KEY") && !error.contains("canary"), "{error}");
    }
}
