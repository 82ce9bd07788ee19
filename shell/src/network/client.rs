//! Clients of the server: the product's own, and bare connections.

use std::time::Duration;

use holon_core::AgentId;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use turmoil::net::TcpStream;

use super::server::{NAME, PORT, TOKEN};
use crate::client::{
    Ask, CONNECT, Client, ClientError, Connect, Connecting, Reached, not_reachable, too_long,
};
use crate::daemon::Token;

#[derive(Debug)]
struct Network;

impl Connect for Network {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async {
            match timeout(CONNECT, TcpStream::connect((NAME, PORT))).await.unwrap_or_else(|_| Err(too_long()))
            {
                Ok(stream) => Ok(Reached { stream: Box::new(stream), own_token: None }),
                Err(error) => Err(not_reachable(&NAME, &error)),
            }
        })
    }
}

/// The product's client.
pub(super) fn client() -> Client {
    Client::over(Network).with_token(Some(Token::new("a test", TOKEN).unwrap()))
}

pub(super) fn main() -> AgentId {
    AgentId::new("main").unwrap()
}

/// Makes the agent `main`, once the server is there.
pub(super) async fn create_main() {
    let ask = Ask::post("/control/agents/main/create", &json!({})).unwrap();
    for _ in 0..100 {
        match client().ask(&ask).await {
            Ok(_) => return,
            Err(ClientError::NotReachable { .. }) => sleep(Duration::from_millis(100)).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("there is no server");
}

pub(super) fn prompt(text: &str) -> Ask {
    Ask::post("/control/agents/main/prompt", &json!({ "text": text })).unwrap()
}

/// Waits until `main` has nothing left to do; says which event was its last.
pub(super) async fn at_rest() -> u64 {
    for _ in 0..1_000 {
        let status = client().ask(&Ask::get("/status", &[])).await.unwrap();
        if status["status"] == "asleep" && status["queue"]["entries"] == 0 {
            return status["event_seq"].as_u64().unwrap();
        }
        sleep(Duration::from_millis(500)).await;
    }
    panic!("main does not come to rest");
}

/// Events of `main` of one kind.
pub(super) async fn events(kind: &str) -> Vec<Value> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let query = [("after_seq", Some(after.to_string())), ("limit", Some("512".to_owned()))];
        let page = client().ask(&Ask::get("/agents/main/events", &query)).await.unwrap();
        let Some(events) = page["events"].as_array().filter(|events| !events.is_empty()) else {
            return found;
        };
        after = events.last().unwrap()["event_seq"].as_u64().unwrap();
        found.extend(events.iter().filter(|event| event["type"] == kind).cloned());
    }
}

/// Asks the server to leave.
pub(super) async fn shut_down() {
    let ask = Ask::post("/control/runtime/shutdown", &json!({})).unwrap();
    client().ask(&ask).await.unwrap();
}

/// A bare connection, over which `text` was sent.
pub(super) async fn say(text: &str) -> TcpStream {
    let mut stream = TcpStream::connect((NAME, PORT)).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// The head of a request, without the empty line after it.
pub(super) fn head(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: server\r\nauthorization: Bearer {TOKEN}\r\n")
}

/// The head of a prompt whose body has so many bytes, without the empty line after it.
pub(super) fn prompt_head(bytes: usize) -> String {
    let head = head("POST", "/control/agents/main/prompt");
    format!("{head}content-type: application/json\r\ncontent-length: {bytes}\r\n")
}

/// Reads until an empty line has come.
pub(super) async fn read_head(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(read).unwrap()
}
