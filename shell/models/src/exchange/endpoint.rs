//! Where a provider is asked, and what it gets to see: made from its spec for each attempt, since only then
//! does a wrong value matter.

use std::borrow::Cow;

use holon_facts::model_ref::ModelRef;
use holon_platform::clock;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::Protocol;
use crate::provider::{Credential, Login, ProviderError, ProviderSpec};

/// Whose login it is.
const ACCOUNT: HeaderName = HeaderName::from_static("chatgpt-account-id");

/// A server and what it wants to see.
pub(super) struct Endpoint<'a> {
    /// The base with the path of the method.
    pub(super) url: Url,
    /// The key, and what else the protocol and the settings put into the head.
    pub(super) headers: HeaderMap,
    pub(super) spec: &'a ProviderSpec,
}

impl<'a> Endpoint<'a> {
    pub(super) fn new<P: Protocol>(spec: &'a ProviderSpec, model: &ModelRef) -> Result<Self, ProviderError> {
        Ok(Self { url: address::<P>(spec, model)?, headers: headers::<P>(spec, model)?, spec })
    }
}

/// The headers of the protocol, with the key where it belongs, then those of the settings.
fn headers<P: Protocol>(spec: &ProviderSpec, model: &ModelRef) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    let own = spec.options.key_header.as_deref();
    let key = key::<P>(spec, model)?;
    match own {
        Some(name) => {
            P::sign(&mut headers, None);
            if let Some(key) = key {
                headers.insert(header_name(spec, name)?, key);
            }
        }
        None => P::sign(&mut headers, key),
    }
    if let Credential::Login { path } = &spec.credential {
        let login = Login::read(path, clock::now().wall)
            .map_err(|problem| ProviderError::NoLogin { model: model.clone(), problem })?;
        let bad = |_| ProviderError::BadKey { origin: path.display().to_string() };
        for (name, value) in
            [(AUTHORIZATION, Some(format!("Bearer {}", login.token))), (ACCOUNT, login.account)]
        {
            let Some(value) = value else { continue };
            let mut value = HeaderValue::from_str(&value).map_err(bad)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    for (name, value) in &spec.options.headers {
        let origin = || format!("providers.{}.headers.{name}", spec.id);
        let mut value =
            HeaderValue::from_str(value).map_err(|_| ProviderError::BadKey { origin: origin() })?;
        value.set_sensitive(true);
        headers.insert(header_name(spec, name)?, value);
    }
    if let Some((name, feature)) = P::features(&spec.options) {
        headers.append(name, feature);
    }
    Ok(headers)
}

fn header_name(spec: &ProviderSpec, name: &str) -> Result<HeaderName, ProviderError> {
    HeaderName::try_from(name).map_err(|_| ProviderError::BadOption {
        provider: spec.id.clone(),
        problem: format!("{name:?} is not the name of a header"),
    })
}

/// The key as the header of its protocol carries it.
fn key<P: Protocol>(spec: &ProviderSpec, model: &ModelRef) -> Result<Option<HeaderValue>, ProviderError> {
    let (value, origin) = match &spec.credential {
        Credential::Unneeded | Credential::Login { .. } => return Ok(None),
        Credential::Missing { remedy } => {
            return Err(ProviderError::MissingKey { model: model.clone(), remedy: remedy.clone() });
        }
        Credential::Key { value, origin } => (value.trim(), origin),
    };
    let value = if spec.options.key_header.is_some() { value.to_owned() } else { P::credential(value) };
    let mut value =
        HeaderValue::from_str(&value).map_err(|_| ProviderError::BadKey { origin: origin.clone() })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The base with the path of the method; a query of the base is kept.
fn address<P: Protocol>(spec: &ProviderSpec, model: &ModelRef) -> Result<Url, ProviderError> {
    let bad = |problem: String| ProviderError::BadUrl { origin: spec.base_url_origin.clone(), problem };
    let mut url = Url::parse(spec.base_url.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad(format!("its scheme is {:?}", url.scheme())));
    }
    let base = url.path().trim_end_matches('/').to_owned();
    let path = match &spec.options.path {
        Some(path) => Cow::Owned(path.replace("{model}", &segment(model.model()))),
        None => Cow::Borrowed(P::path(&base)),
    };
    url.set_path(&format!("{base}{path}"));
    if !spec.options.query.is_empty() {
        url.query_pairs_mut().extend_pairs(&spec.options.query);
    }
    Ok(url)
}

/// The name of a model as one part of a path.
fn segment(model: &str) -> String {
    let mut text = String::new();
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    // What would name the folder, or the one above, names nothing.
    if text.bytes().all(|byte| byte == b'.') { format!("model{text}") } else { text }
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
        type Address = fn(&ProviderSpec, &ModelRef) -> Result<Url, ProviderError>;
        let model = ModelRef::new("x/my model/é").unwrap();
        let (chat, responses, messages): (Address, Address, Address) =
            (address::<OpenaiChat>, address::<OpenaiResponses>, address::<AnthropicMessages>);
        for (address, base, expected) in [
            (chat, "http://h:1/api/v1/?version=2", "http://h:1/api/v1/chat/completions?version=2"),
            (responses, " https://h/v1", "https://h/v1/responses"),
            (messages, "https://h", "https://h/v1/messages"),
            (messages, "https://h/v1/", "https://h/v1/messages"),
            (messages, "https://h/gateway/", "https://h/gateway/v1/messages"),
        ] {
            assert_eq!(address(&spec("local", base), &model).unwrap().as_str(), expected);
        }
        for base in ["localhost:11434", "ftp://h/v1", "", "http://"] {
            let error = chat(&spec("local", base), &model).unwrap_err().to_string();
            assert!(error.starts_with("HOLON_LOCAL_BASE_URL is not an address"), "{error}");
        }
    }

    #[test]
    fn an_endpoint_is_what_its_settings_say() {
        let model = ModelRef::new("azure/my model").unwrap();
        let mut azure = spec("openai-chat", "https://h.azure.com/");
        azure.credential = Credential::Key { value: "abc".into(), origin: "THE_KEY".into() };
        azure.options.path = Some("/openai/deployments/{model}/chat/completions".into());
        azure.options.query = vec![("api-version".into(), "2024-10-21".into())];
        azure.options.headers = vec![("x-team".into(), "a".into())];
        azure.options.key_header = Some("api-key".into());
        let endpoint = Endpoint::new::<OpenaiChat>(&azure, &model).unwrap();
        let expected =
            "https://h.azure.com/openai/deployments/my%20model/chat/completions?api-version=2024-10-21";
        assert_eq!(endpoint.url.as_str(), expected);
        assert_eq!(
            (&endpoint.headers["api-key"], &endpoint.headers["x-team"]),
            (&"abc".parse().unwrap(), &"a".parse().unwrap())
        );
        assert!(
            !endpoint.headers.contains_key("authorization") && endpoint.headers["api-key"].is_sensitive()
        );
        for name in ["..", ".", "a/../../b"] {
            let up = ModelRef::new(&format!("azure/{name}")).unwrap();
            let url = Endpoint::new::<OpenaiChat>(&azure, &up).unwrap().url;
            assert!(
                url.path().starts_with("/openai/deployments/") && url.path().ends_with("/chat/completions"),
                "{url}"
            );
        }
        azure.options.headers = vec![("x-team".into(), "canary\nx".into())];
        let error = Endpoint::new::<OpenaiChat>(&azure, &model).err().unwrap().to_string();
        assert!(
            error.contains("providers.openai-chat.headers.x-team") && !error.contains("canary"),
            "{error}"
        );
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
