//! The description of the surface, OpenAPI 3.1. A test makes it of the table of routes and the types of their handlers, and
//! fails when what is served is another.

use std::io::Read as _;

use flate2::read::DeflateDecoder;
use holon_api::OpenApi;
use holon_api::rows::ShowOpenApi;
use holon_embed::deflated;

use super::App;
use super::failure::Failure;
use super::reply::Written;
use super::route::{Call, Handled};

/// The snapshot of that test: a heading between two lines, and the document. A tenth of its size in the binary.
const SNAPSHOT: &[u8] = deflated!("../fixtures/http/openapi.snap");

/// `GET /openapi.json`: the document as it is, which no request has to read.
pub(super) async fn openapi(_: App, _: Call<ShowOpenApi>) -> Handled<Written<OpenApi>> {
    let mut text = String::new();
    DeflateDecoder::new(SNAPSHOT).read_to_string(&mut text).map_err(Failure::internal)?;
    let start = text.rfind("\n---\n").map_or(0, |at| at + "\n---\n".len());
    Ok(Written::new(text.split_off(start)))
}
