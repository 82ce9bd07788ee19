//! Who may ask, over real connections.

use axum::http::{Method, Request};
use bytes::Bytes;
use holon_api::AuthMode;
use holon_api::RouteAccess as Access;
use http_body_util::Full;

use super::{Scene, Setup, TOKEN, request};
use crate::http::table;

fn get(path: &str, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    request(Method::GET, path, headers, "")
}

#[tokio::test]
async fn a_configured_token_is_required_on_tcp_and_not_on_the_socket() {
    let scene = Scene::with(Setup { token: Some(TOKEN), ..Setup::default() }).await;
    scene.create("main").await;
    let missing = scene.send_tcp(get("/status", &[])).await;
    missing.fails(401, "missing_token");
    assert_eq!(missing.headers["www-authenticate"], "Bearer realm=\"holon\"");
    let wrong = scene.send_tcp(get("/status", &[("authorization", "Bearer no")])).await;
    wrong.fails(401, "wrong_token");
    let right = format!("Bearer {TOKEN}");
    scene.send_tcp(get("/status", &[("authorization", &right)])).await.ok();
    scene.get("/status").await.ok();
    // The handshake tells strangers that a token is needed, and not where the home is.
    let handshake = scene.send_tcp(get("/handshake", &[])).await;
    assert_eq!(handshake.ok().json["auth"]["required"], true);
    assert!(handshake.json["runtime"].get("home_dir").is_none());
    let known = scene.send_tcp(get("/handshake", &[("authorization", &right)])).await;
    assert!(known.json["runtime"]["home_dir"].is_string());
}

#[tokio::test]
async fn required_means_the_socket_too() {
    let setup = Setup { mode: AuthMode::Required, token: Some(TOKEN), ..Setup::default() };
    let scene = Scene::with(setup).await;
    scene.get("/agents/list").await.fails(401, "missing_token");
    let right = format!("Bearer {TOKEN}");
    scene.send(get("/agents/list", &[("authorization", &right)])).await.ok();
}

#[tokio::test]
async fn every_route_but_the_open_ones_asks_for_the_token() {
    let scene = Scene::with(Setup { token: Some(TOKEN), ..Setup::default() }).await;
    for route in table::routes() {
        let path = route.path.replace("{agent_id}", "main").replace("{token}", "main.1.no");
        let reply = scene.send_tcp(request(route.described.row.method, &path, &[], "")).await;
        match route.described.row.access {
            Access::Open => assert!(reply.status.is_success(), "{path}"),
            Access::Token => drop(reply.fails(404, "unknown_trigger")),
            // A token of its own is looked for, in a body that is none.
            Access::Login => drop(reply.fails(415, "unsupported_media_type")),
            Access::Signed | Access::Control | Access::Stream => drop(reply.fails(401, "missing_token")),
        }
    }
}

#[tokio::test]
async fn without_a_token_pages_of_other_sites_get_nothing() {
    let scene = Scene::with_main().await;
    scene.send_tcp(get("/status", &[])).await.ok();
    for headers in [("origin", "http://evil.example"), ("host", "rebound.example")] {
        scene.send_tcp(get("/status", &[headers])).await.fails(403, "forbidden_origin");
    }
}

#[tokio::test]
async fn what_was_proven_stands_in_the_message() {
    let scene = Scene::with(Setup { mode: AuthMode::Disabled, token: Some(TOKEN), ..Setup::default() }).await;
    scene.create("main").await;
    let prompt = |headers: &[(&str, &str)]| {
        let json = ("content-type", "application/json");
        let headers: Vec<_> = headers.iter().copied().chain([json]).collect();
        request(Method::POST, "/control/agents/main/prompt", &headers, r#"{"text":"hi"}"#)
    };
    let right = format!("Bearer {TOKEN}");
    scene.send(prompt(&[])).await.ok();
    scene.send_tcp(prompt(&[])).await.ok();
    scene.send_tcp(prompt(&[("authorization", &right)])).await.ok();
    let transcript = scene.get("/transcript").await;
    let entries = transcript.ok().json["entries"].as_array().unwrap();
    let contexts: Vec<&str> =
        entries.iter().filter_map(|entry| entry["admission_context"].as_str()).collect();
    assert_eq!(contexts, ["local_process", "public_unauthenticated", "control_authenticated"]);
}
