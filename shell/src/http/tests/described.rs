//! The description of the surface says what the server does, and the page about it what the description says.

use std::collections::BTreeSet;

use holon_api::Code;
use serde_json::Value;

use super::{Scene, openapi, request};
use crate::http::table;

#[tokio::test]
async fn the_description_is_served_and_a_change_of_it_shows() {
    let scene = Scene::start().await;
    let served = scene.get("/openapi.json").await.ok().json.clone();
    let made = openapi::document();
    insta::with_settings!({ snapshot_path => "../../../../fixtures/http", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_json_snapshot!("openapi", made);
    });
    assert_eq!(served, made, "this build serves the snapshot that it was built with: run the test again");
}

#[test]
fn every_reference_of_the_description_leads_somewhere() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let document = openapi::document();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 30);
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("a reference within the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn every_route_of_the_table_is_served() {
    let scene = Scene::with_main().await;
    let mut ids = BTreeSet::new();
    for route in table::routes() {
        assert!(
            ids.insert((route.path, route.described.row.method.to_string())),
            "{} stands there twice",
            route.path
        );
        // The stream does not end, and the end is the end.
        if route.path.ends_with("/stream") || route.path.ends_with("/shutdown") {
            continue;
        }
        let path = route.path.replace("{agent_id}", "main").replace("{task_id}", "task_1");
        let reply = scene.send(request(route.described.row.method.clone(), &path, &[], "")).await;
        let code = reply.json["code"].as_str().unwrap_or_default();
        assert!(
            !["unknown_route", "method_not_allowed", "internal"].contains(&code),
            "{path}: {}",
            reply.text
        );
        let known = route.described.codes().iter().any(|known| known.name() == code);
        assert!(reply.status.is_success() || known, "{path} does not tell of {code}");
    }
}

#[test]
fn the_page_names_every_route_and_every_code() {
    let page = include_str!("../../../../docs/http.md");
    let mut routes = BTreeSet::new();
    for route in table::routes() {
        let (method, path) = (&route.described.row.method, route.path);
        let row = format!("| `{method} {path}` | {} |", route.described.summary);
        assert!(page.contains(&row), "docs/http.md lacks the row\n{row}");
        routes.insert(format!("{method} {path}"));
    }
    for line in page.lines().filter(|line| line.starts_with("| `GET ") || line.starts_with("| `POST ")) {
        let named = line.split('`').nth(1).unwrap();
        assert!(routes.contains(named), "docs/http.md tells of {named}, which is not there");
    }
    for code in Code::ALL {
        let row = format!("| {} | `{}` |", code.status().as_u16(), code.name());
        assert!(page.contains(&row), "docs/http.md lacks the row {row}");
    }
}
