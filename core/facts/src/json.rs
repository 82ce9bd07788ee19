//! JSON that came as bytes.

use serde::de::{DeserializeOwned, Error};

/// Reads a document. As text, like everywhere else: a reader of bytes would be a second copy of the code for each type.
///
/// # Errors
/// When it is no text, or no JSON of that shape.
pub fn read<T: DeserializeOwned>(document: &[u8]) -> serde_json::Result<T> {
    serde_json::from_str(core::str::from_utf8(document).map_err(Error::custom)?)
}
