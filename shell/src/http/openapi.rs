//! The description of the surface, OpenAPI 3.1. A test makes it of the table of routes and the types of their handlers, and
//! fails when what is served is another.

use holon_api::OpenApi;
use holon_api::rows::ShowOpenApi;

use super::App;
use super::reply::Written;
use super::route::{Call, Handled};

/// The snapshot of that test: a heading between two lines, and the document.
const SNAPSHOT: &str = include_str!("../../../fixtures/http/openapi.snap");

/// `GET /openapi.json`: the document as it is, which no request has to read.
pub(super) async fn openapi(_: App, _: Call<ShowOpenApi>) -> Handled<Written<OpenApi>> {
    Ok(Written::new(SNAPSHOT.rsplit("\n---\n").next().unwrap_or_default().to_owned()))
}
