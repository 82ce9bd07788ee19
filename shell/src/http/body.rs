//! Bodies of requests: read up to a bound and within a time, then parsed once, with the field at fault named.

use std::time::Duration;

use axum::body::Body as HttpBody;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::code::Code;
use super::failure::Failure;
use super::field;

/// Longest text of a prompt, in bytes.
pub(super) const PROMPT_BYTES: usize = 1 << 20;
/// Longest body with a prompt. Its text is measured as it is, however it is written: six bytes of JSON may be one
/// byte of it (`\u0000`). The rest is for what comes with it.
pub(super) const PROMPT_BODY_BYTES: usize = 6 * PROMPT_BYTES + (64 << 10);
/// Longest body of a message from outside.
pub(super) const WEBHOOK_BYTES: usize = 256 << 10;
/// Longest body of anything else.
pub(super) const OTHER_BYTES: usize = 64 << 10;
/// A body has so long to arrive.
pub(super) const ARRIVAL: Duration = Duration::from_secs(30);

/// What a route takes as its body.
pub(super) trait Body: Sized + Send {
    /// Longest body, in bytes.
    const BYTES: usize;
    /// Whether there must be one.
    const REQUIRED: bool;
    /// What kinds of it are taken.
    const MEDIA: &'static str = "application/json";

    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>>;
    fn schema(generator: &mut SchemaGenerator) -> Option<Schema>;
}

/// A JSON document of a type.
pub(super) struct Json<T, const BYTES: usize>(pub(super) T);

/// As [`Json`]; nothing means the default.
pub(super) struct Optional<T>(pub(super) T);

/// Any JSON document, as it came.
pub(super) struct AnyJson<const BYTES: usize>(pub(super) String);

/// Anything at all, as it came: JSON and text as they are, and bytes that are no text in base64.
pub(super) struct Anything<const BYTES: usize> {
    /// None where nothing came.
    pub(super) text: Option<String>,
    /// With `;base64` behind it where that is what the text is.
    pub(super) content_type: Option<String>,
}

/// None.
pub(super) struct Empty;

impl<T: DeserializeOwned + JsonSchema + Send, const BYTES: usize> Body for Json<T, BYTES> {
    const BYTES: usize = BYTES;
    const REQUIRED: bool = true;

    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>> {
        json(headers)?;
        object(bytes).map(Self)
    }

    fn schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }
}

impl<T: DeserializeOwned + Default + JsonSchema + Send> Body for Optional<T> {
    const BYTES: usize = OTHER_BYTES;
    const REQUIRED: bool = false;

    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>> {
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        json(headers)?;
        object(bytes).map(Self)
    }

    fn schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }
}

impl<const BYTES: usize> Body for AnyJson<BYTES> {
    const BYTES: usize = BYTES;
    const REQUIRED: bool = true;

    fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Box<Failure>> {
        json(headers)?;
        let document: serde_json::Value = parse(bytes)?;
        Ok(Self(document.to_string()))
    }

    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        Some(Schema::default())
    }
}

impl<const BYTES: usize> Body for Anything<BYTES> {
    const BYTES: usize = BYTES;
    const REQUIRED: bool = false;
    const MEDIA: &'static str = "*/*";

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

    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        Some(Schema::default())
    }
}

impl Body for Empty {
    const BYTES: usize = 0;
    const REQUIRED: bool = false;

    fn read(_: &HeaderMap, _: &Bytes) -> Result<Self, Box<Failure>> {
        Ok(Self)
    }

    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
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
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| field::at_fault(Code::InvalidBody, "the body", &error))?;
    deserializer.end().map_err(|problem| Failure::new(Code::InvalidBody, format!("the body: {problem}")))?;
    Ok(parsed)
}
