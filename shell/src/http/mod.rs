//! The control surface over HTTP: one router on the home's socket and on TCP (contract: surface.md, HTTP).

pub mod api;
mod server;

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};

use crate::events::Hub;
use crate::home::Home;
use crate::runtime::Runtime;

pub use server::{Listener, Peer, serve};

/// What every handler can reach. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
pub struct Parts {
    pub runtime: Runtime,
    pub hub: Hub,
    pub home: Home,
}

impl App {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

/// Every route.
pub fn router(app: App) -> Router {
    Router::new().route("/healthz", get(healthz)).with_state(app)
}

async fn healthz(State(App(parts)): State<App>) -> Json<serde_json::Value> {
    let agents = parts.runtime.read(None, |view| view.agent_ids().count()).await;
    Json(serde_json::json!({ "ok": agents.is_ok() }))
}
