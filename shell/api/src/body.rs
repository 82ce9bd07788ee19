//! Bodies of requests: what a route takes, how long it may be, and how a client writes it.

use holon_facts::image::MESSAGE_BYTES;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

/// Longest text of a prompt, in bytes.
pub const PROMPT_BYTES: usize = 1 << 20;
/// Longest body with a prompt. Its text is measured as it is, however it is written: six bytes of JSON may be one
/// byte of it (`\u0000`). The rest is for what comes with it.
pub const PROMPT_BODY_BYTES: usize = 6 * PROMPT_BYTES + (64 << 10);
/// Longest body of a prompt with images, which stand in it in base64.
pub const PROMPT_WITH_IMAGES_BYTES: usize = PROMPT_BODY_BYTES + (MESSAGE_BYTES as usize).div_ceil(3) * 4;
/// Longest body of a message from outside.
pub const WEBHOOK_BYTES: usize = 256 << 10;
/// Longest body of anything else.
pub const OTHER_BYTES: usize = 64 << 10;

/// What a route takes as its body.
pub trait Body: Sized + Send + 'static {
    /// Longest body, in bytes.
    const BYTES: usize;
    /// Whether there must be one.
    const REQUIRED: bool;
    /// What kinds of it are taken.
    const MEDIA: &'static str = "application/json";

    fn schema(generator: &mut SchemaGenerator) -> Option<Schema>;

    /// The text that a client sends.
    ///
    /// # Errors
    /// What can't be written as JSON, which nothing of this crate is.
    fn write(&self) -> serde_json::Result<String>;
}

/// A JSON document of a type.
#[derive(Debug)]
pub struct Json<T, const BYTES: usize>(pub T);

/// As [`Json`]; nothing means the default.
#[derive(Debug)]
pub struct Optional<T, const BYTES: usize = OTHER_BYTES>(pub T);

/// Any JSON document.
#[derive(Debug)]
pub struct AnyJson<const BYTES: usize> {
    /// As it came.
    pub text: String,
    /// The same for documents that differ in white space and in the order of their fields alone.
    pub canonical: String,
}

/// Anything at all, as it came: JSON and text as they are, and bytes that are no text in base64.
#[derive(Debug)]
pub struct Anything<const BYTES: usize> {
    /// None where nothing came.
    pub text: Option<String>,
    /// With `;base64` behind it where that is what the text is.
    pub content_type: Option<String>,
}

/// None.
#[derive(Debug)]
pub struct Empty;

impl<T: Serialize + JsonSchema + Send + 'static, const BYTES: usize> Body for Json<T, BYTES> {
    const BYTES: usize = BYTES;
    const REQUIRED: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }

    fn write(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.0)
    }
}

impl<T: Serialize + JsonSchema + Send + 'static, const BYTES: usize> Body for Optional<T, BYTES> {
    const BYTES: usize = BYTES;
    const REQUIRED: bool = false;

    fn schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }

    fn write(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.0)
    }
}

impl<const BYTES: usize> Body for AnyJson<BYTES> {
    const BYTES: usize = BYTES;
    const REQUIRED: bool = true;

    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        Some(Schema::default())
    }

    fn write(&self) -> serde_json::Result<String> {
        Ok(self.text.clone())
    }
}

impl<const BYTES: usize> Body for Anything<BYTES> {
    const BYTES: usize = BYTES;
    const REQUIRED: bool = false;
    const MEDIA: &'static str = "*/*";

    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        Some(Schema::default())
    }

    fn write(&self) -> serde_json::Result<String> {
        Ok(self.text.clone().unwrap_or_default())
    }
}

impl Body for Empty {
    const BYTES: usize = 0;
    const REQUIRED: bool = false;

    fn schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }

    // A request without any body could be a form of some page.
    fn write(&self) -> serde_json::Result<String> {
        Ok("{}".to_owned())
    }
}

impl<T, const BYTES: usize> From<T> for Json<T, BYTES> {
    fn from(body: T) -> Self {
        Self(body)
    }
}

impl<T, const BYTES: usize> From<T> for Optional<T, BYTES> {
    fn from(body: T) -> Self {
        Self(body)
    }
}
