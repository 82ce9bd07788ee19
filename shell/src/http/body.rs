//! Bodies of requests: read up to a bound and within a time, then parsed once, with the field at fault named.

use std::time::Duration;

use axum::body::Body as HttpBody;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use holon_api::{AnyJson, Anything, Body, Code, Empty, Json, Optional};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::failure::Failure;
use super::field;

/// A body has so long to arrive.
pub(super) const ARRIVAL: Duration = Duration::from_secs(30);

/// How a body is read.
pub(super) trait ReadBody: Body {
    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>>;
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static, const BYTES: usize> ReadBody
    for Json<T, BYTES>
{
    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>> {
        json(headers)?;
        object(bytes).map(Self)
    }
}

impl<T: Serialize + DeserializeOwned + Default + JsonSchema + Send + 'static, const BYTES: usize> ReadBody
    for Optional<T, BYTES>
{
    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>> {
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        json(headers)?;
        object(bytes).map(Self)
    }
}

impl<const BYTES: usize> ReadBody for AnyJson<BYTES> {
    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>> {
        json(headers)?;
        let document: serde_json::Value = parse(bytes)?;
        let text = std::str::from_utf8(bytes)
            .map_err(|problem| Failure::new(Code::InvalidBody, format!("the body: {problem}")))?;
        Ok(Self { text: text.trim().to_owned(), canonical: document.to_string() })
    }
}

impl<const BYTES: usize> ReadBody for Anything<BYTES> {
    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>> {
        let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::trim);
        let content_type = named.filter(|name| !name.is_empty()).map(str::to_owned);
        if bytes.is_empty() {
            return Ok(Self { text: None, content_type: None });
        }
        if json(headers).is_ok() {
            parse::<IgnoredAny>(bytes)?;
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Ok(Self { text: Some(text.to_owned()), content_type });
        }
        let content_type = content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        let text = Some(BASE64_STANDARD.encode(bytes));
        Ok(Self { text, content_type: Some(format!("{content_type};base64")) })
    }
}

impl ReadBody for Empty {
    fn read(_: &HeaderMap, _: &Bytes) -> Result<Self, Box<Failure>> {
        Ok(Self)
    }
}

/// The whole body.
pub(super) async fn collect(body: HttpBody, limit: usize) -> Result<Bytes, Box<Failure>> {
    let too_large = || {
        Failure::new(Code::TooLarge, format!("the body is longer than {limit} bytes")).detail("limit", limit)
    };
    // A length that was declared says so at once.
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let collected = tokio::time::timeout(ARRIVAL, Limited::new(body, limit).collect());
    match collected.await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Failure::new(Code::InvalidBody, format!("the body can't be read: {error}"))),
        Err(_) => Err(Failure::new(
            Code::RequestTimeout,
            format!("the body did not arrive within {} seconds", ARRIVAL.as_secs()),
        )),
    }
}

/// Whether what is sent calls itself JSON.
pub(super) fn json(headers: &HeaderMap) -> Result<(), Box<Failure>> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
        return Ok(());
    }
    let got = if kind.is_empty() { "nothing".to_owned() } else { format!("{kind:?}") };
    Err(Failure::new(Code::UnsupportedMediaType, format!("expected a body of application/json, got {got}"))
        .hint("send it with `Content-Type: application/json`"))
}

/// A document with named fields. An array is none: it would be taken for their values, one after the other.
fn object<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Box<Failure>> {
    let kind = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') | None => return parse(bytes),
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(_) => "a number",
    };
    // What is no JSON at all is told as that.
    parse::<IgnoredAny>(bytes)?;
    Err(Failure::new(Code::InvalidBody, format!("the body must be a JSON object, it is {kind}")))
}

fn parse<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Box<Failure>> {
    let text = std::str::from_utf8(bytes)
        .map_err(|problem| Failure::new(Code::InvalidBody, format!("the body is no text: {problem}")))?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| field::at_fault(Code::InvalidBody, "the body", &error))?;
    deserializer.end().map_err(|problem| Failure::new(Code::InvalidBody, format!("the body: {problem}")))?;
    Ok(parsed)
}
