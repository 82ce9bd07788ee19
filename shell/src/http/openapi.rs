//! The description of the surface, OpenAPI 3.1. A test makes it of the table of routes and the types of their handlers, and
//! fails when what is served is another.

use holon_api::OpenApi;
use holon_api::rows::ShowOpenApi;

use super::App;
use super::failure::Failure;
use super::route::{Call, Handled};

/// The snapshot of that test: a heading between two lines, and the document.
const SNAPSHOT: &str = include_str!("../../../fixtures/http/openapi.snap");

/// `GET /openapi.json`
pub(super) async fn openapi(_: App, _: Call<ShowOpenApi>) -> Handled<OpenApi> {
    let document = SNAPSHOT.rsplit("\n---\n").next().unwrap_or_default();
    let document = serde_json::from_str(document).map_err(|error| Failure::internal(&error))?;
    Ok(OpenApi(document))
}
