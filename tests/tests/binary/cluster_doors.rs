//! Who asks, at the door of a node: it knows its callers also for agents of other nodes, and nobody passes for a node.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::provider::Provider;
use end_to_end::wait_for;
use serde_json::json;

use crate::cluster_cells::{AGENTS, Nodes, not_tried};
use crate::web_console::{Browser, connect, get, send};

const TOKEN: &str = "a-control-token-of-a-test";
const BEARER: (&str, &str) = ("Authorization", "Bearer a-control-token-of-a-test");
/// What only nodes may write.
const FORGED: [(&str, &str); 4] =
    [("X-Holon-Passed-On", "1"), ("X-Holon-Cell", "1"), ("X-Holon-Stream", "1"), ("X-Holon-Other-User", "1")];

/// Two nodes with one token, and agents of both.
fn nodes() -> Option<Nodes> {
    let provider = Provider::start([]);
    let own: &[(&str, &str)] = &[("HOLON_CONTROL_TOKEN", TOKEN)];
    let nodes = Nodes::each_with([own, own], 2, &provider)?;
    wait_for("each node to own a cell", || nodes.owned(0).into_values().eq([1, 1]));
    for agent in AGENTS {
        nodes.nodes[0].ok(&["agent", "create", agent]);
    }
    Some(nodes)
}

/// The status of the answer to a request whose rest never comes.
fn answered_before_its_body(daemon: &Daemon, path: &str, headers: &[(&str, &str)]) -> String {
    let address = daemon.metadata().expect("it is ready")["http_addr"].as_str().expect("one").to_owned();
    let mut stream = TcpStream::connect(&address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: 10000000\r\n{more}\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    status_of(&stream)
}

fn status_of(stream: &TcpStream) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    line.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_session_of_a_node_counts_for_agents_of_all_nodes() {
    let Some(nodes) = nodes() else { return not_tried() };
    let door = &nodes.nodes[0];
    let browser = Browser::log_in(door);
    for agent in AGENTS {
        let status = browser.get(door, &format!("/agents/{agent}/status"));
        assert_eq!(status.status, 200, "{agent}");
        assert_eq!(status.json()["agent_id"], agent);
        let path = format!("/control/agents/{agent}/model/clear");
        browser.post(door, &path, &[]).fails(403, "wrong_csrf");
        let cleared = browser.post(door, &path, &[("x-holon-csrf", &browser.csrf)]);
        assert_eq!(cleared.status, 200, "{agent}");
        get(door, &format!("/agents/{agent}/status"), &[]).fails(401, "missing_token");
    }
}

#[test]
fn a_token_for_streams_opens_those_of_all_agents_and_nothing_else() {
    let Some(nodes) = nodes() else { return not_tried() };
    let door = &nodes.nodes[0];
    let made = send(door, "POST", "/control/stream-token", &[BEARER], Some(&json!({}))).json();
    let token = made["token"].as_str().unwrap_or_else(|| panic!("{made}"));
    for agent in AGENTS {
        let stream = |token: &str, headers: &[(&str, &str)]| {
            let path = format!("/agents/{agent}/events/stream?token={token}");
            status_of(&connect(door, "GET", &path, headers, None))
        };
        assert_eq!(stream(token, &[]), "200", "{agent}");
        assert_eq!(stream("another", &[]), "401", "{agent}");
        assert_eq!(stream("another", &FORGED), "401", "{agent}");
        get(door, &format!("/agents/{agent}/status?token={token}"), &[]).fails(401, "missing_token");
    }
}

#[test]
fn nobody_passes_for_a_node_and_bodies_of_strangers_are_not_waited_for() {
    let Some(nodes) = nodes() else { return not_tried() };
    for door in &nodes.nodes {
        for agent in AGENTS {
            let status = format!("/agents/{agent}/status");
            assert_eq!(get(door, &status, &[BEARER]).status, 200, "{agent}");
            get(door, &status, &FORGED).fails(401, "missing_token");
            let prompt = format!("/control/agents/{agent}/prompt");
            assert_eq!(answered_before_its_body(door, &prompt, &[]), "401", "{agent}");
            assert_eq!(answered_before_its_body(door, &prompt, &FORGED), "401", "{agent}");
        }
    }
}
