//! Images: what is known of one, and how many of them go together. Their bytes are stored like long texts, in base64, as
//! requests carry them; no decision reads them.

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{ContentId, Text};

/// Most bytes of one image.
pub const BYTES: u64 = 5_000_000;
/// Most pixels of a side: providers refuse larger ones.
pub const SIDE: u32 = 8_000;
/// Most images of one request.
pub const PER_REQUEST: usize = 20;
/// Most bytes of all images of one request.
pub const REQUEST_BYTES: u64 = 20_000_000;
/// Most images of one message.
pub const PER_MESSAGE: usize = 10;
/// Most bytes of all images of one message.
pub const MESSAGE_BYTES: u64 = 10_000_000;
/// Longest name of one, in bytes.
pub const NAME_BYTES: usize = 200;

names! {
    /// The formats that all providers take, by their first bytes.
    ImageFormat { Png "png", Jpeg "jpeg", Webp "webp", Gif "gif" }
}

impl ImageFormat {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
        }
    }
}

/// An image that a model is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// Where it was read, or what its sender calls it; at most 200 bytes.
    pub name: String,
    pub format: ImageFormat,
    /// In pixels.
    pub width: u32,
    pub height: u32,
    /// Of the file.
    pub bytes: u64,
    /// Of the file.
    pub sha256: ContentId,
    /// The file in base64; its estimate of tokens is that of the image.
    pub data: Text,
}

/// How many bytes these files have together.
pub fn bytes_of(images: &[Image]) -> u64 {
    images.iter().map(|image| image.bytes).fold(0, u64::saturating_add)
}

impl Image {
    /// A line that stands for it.
    pub fn line(&self) -> String {
        let Self { name, format, width, height, bytes, .. } = self;
        format!("{name:?} ({format}, {width} x {height} pixels, {bytes} bytes)")
    }
}
