//! Headers that say one thing.

use axum::http::{HeaderMap, HeaderValue};
use holon_api::Code;

use super::failure::Failure;
use super::route::Handled;

/// The value of a header. Of two that differ neither is taken: the other one would be lost without a word.
pub(super) fn sole<'a>(headers: &'a HeaderMap, name: &str) -> Handled<Option<&'a HeaderValue>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.any(|value| Some(value) != first) {
        return Err(Failure::new(Code::InvalidHeader, format!("{name}: came more than once, and differs"))
            .detail("field", name));
    }
    Ok(first)
}
