//! What a provider's requests carry beside what its protocol says: headers, and the query of their address.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value as Json, json};
use toml_edit::Value;

use super::field::Field;
use super::kind::is_name;

/// Most headers, or parts of a query, and most bytes of one.
pub(super) const PARTS: usize = 32;
const BYTES: usize = 4_096;

/// Headers that HTTP itself or the protocol needs as they are.
const RESERVED: [&str; 7] =
    ["host", "content-length", "content-type", "transfer-encoding", "connection", "accept", "upgrade"];
/// Words in names of what should not stand in a file that is not its owner's alone.
const SECRETIVE: [&str; 7] = ["authorization", "key", "token", "secret", "cookie", "password", "signature"];

/// Headers by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub BTreeMap<String, HeaderText>);

/// Where the value of a header comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderText {
    Text(String),
    /// The key of this name in `credentials.toml`.
    Credential(String),
}

/// The query of an address, in the order of names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(pub BTreeMap<String, String>);

fn secretive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETIVE.iter().any(|word| name.contains(word))
}

/// The name of a header that may be set.
pub(super) fn is_header(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    HeaderName::try_from(name).is_ok() && !RESERVED.contains(&&*lower)
}

impl Field for Headers {
    /// Reads `{ "x-team" = "a", "x-key" = { credential = "name" } }`. A header with the name of a secret has to name a
    /// credential.
    fn read(value: &Value) -> Option<Self> {
        let table = value.as_inline_table()?;
        let one = |(name, value): (&str, &Value)| {
            let text = match (value.as_str(), value.as_inline_table()) {
                (Some(text), _) => {
                    let fits = text.len() <= BYTES && HeaderValue::from_str(text).is_ok() && !secretive(name);
                    HeaderText::Text(fits.then(|| text.to_owned())?)
                }
                (None, Some(reference)) => {
                    let credential = reference.get("credential")?.as_str()?;
                    let fits = reference.len() == 1 && is_name(credential);
                    HeaderText::Credential(fits.then(|| credential.to_owned())?)
                }
                (None, None) => return None,
            };
            is_header(name).then(|| (name.to_ascii_lowercase(), text))
        };
        let headers = table.iter().map(one).collect::<Option<BTreeMap<_, _>>>()?;
        (headers.len() <= PARTS && headers.len() == table.len()).then_some(Self(headers))
    }

    fn show(&self) -> Json {
        texts(&self.0)
    }
}

/// Texts by name, as they are shown.
pub(super) fn texts(texts: &BTreeMap<String, HeaderText>) -> Json {
    let shown = texts.iter().map(|(name, text)| {
        let value = match text {
            HeaderText::Text(text) => json!(text),
            HeaderText::Credential(credential) => json!({ "credential": credential }),
        };
        (name.clone(), value)
    });
    Json::Object(shown.collect::<Map<_, _>>())
}

impl Field for Query {
    fn read(value: &Value) -> Option<Self> {
        let table = value.as_inline_table()?;
        let one = |(name, value): (&str, &Value)| {
            let text =
                value.as_str().filter(|text| text.len() <= BYTES && !text.contains(char::is_control))?;
            let fits = !name.is_empty() && name.len() <= 128 && !secretive(name);
            fits.then(|| (name.to_owned(), text.to_owned()))
        };
        let parts = table.iter().map(one).collect::<Option<BTreeMap<_, _>>>()?;
        (parts.len() <= PARTS).then_some(Self(parts))
    }

    fn show(&self) -> Json {
        json!(self.0)
    }
}

/// A path below a base: `{model}` in it stands for the name of the model.
pub(super) fn is_route(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'\\');
    text.starts_with('/') && text.len() <= 1_024 && text.bytes().all(plain) && !text.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(text: &str) -> Option<Headers> {
        Headers::read(&text.parse().unwrap())
    }

    #[test]
    fn a_secret_is_named_and_not_written() {
        let read = headers(r#"{ "X-Team" = "a b", "api-key" = { credential = "azure" } }"#).unwrap();
        assert_eq!(read.show(), json!({ "x-team": "a b", "api-key": { "credential": "azure" } }));
        for wrong in [
            r#"{ "api-key" = "canary" }"#,
            r#"{ Authorization = "Bearer canary" }"#,
            r#"{ Host = "a" }"#,
            r#"{ "a b" = "c" }"#,
            r#"{ a = "line\nbreak" }"#,
            r#"{ a = 1 }"#,
            r#"{ a = { credential = "A B" } }"#,
            r#"{ a = { credential = "x", more = 1 } }"#,
            r#"{ a = "1", A = "2" }"#,
            r#""a""#,
        ] {
            assert_eq!(headers(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_query_has_plain_parts() {
        let query = |text: &str| Query::read(&text.parse().unwrap());
        let read = query(r#"{ "api-version" = "2024-10-21" }"#).unwrap();
        assert_eq!(read.0["api-version"], "2024-10-21");
        for wrong in [r#"{ key = "canary" }"#, r#"{ a = 1 }"#, r#"{ "" = "x" }"#, "7"] {
            assert_eq!(query(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_path_stays_below_its_base() {
        assert!(is_route("/openai/deployments/{model}/chat/completions"));
        for wrong in ["", "x", "/a?b", "/a#b", "/../b", "/a b", "/ä"] {
            assert!(!is_route(wrong), "{wrong}");
        }
    }
}
