//! Clients of the server: the product's own, and bare connections.

use std::time::Duration;

use holon_api::{
    Bearer, CONNECT_TIMEOUT, Client, ClientError, Connect, Connecting, Connection, Control, CreateAgent,
    Document, EventsQuery, Nothing, Prompt, PromptQuery, Prompted, not_reachable, silent,
};
use holon_facts::lifecycle::Status;
use holon_facts::{AgentId, EventSeq};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use turmoil::net::TcpStream;

use super::server::{NAME, PORT, TOKEN};

/// The host that is asked.
#[derive(Debug)]
struct Network(&'static str);

impl Connect for Network {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async {
            let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect((self.0, PORT))).await;
            match connected.unwrap_or_else(|_| Err(silent())) {
                Ok(stream) => Ok(Connection { stream: Box::new(stream), own_bearer: None }),
                Err(error) => Err(not_reachable(&self.0, &error)),
            }
        })
    }
}

/// The product's client.
pub(super) fn client() -> Client {
    client_at(NAME)
}

/// The same of another host.
pub(super) fn client_at(host: &'static str) -> Client {
    Client::over(Network(host)).with_bearer(Bearer::new(TOKEN))
}

pub(super) fn main() -> AgentId {
    AgentId::new("main").unwrap()
}

/// Makes the agent `main`, once the server is there.
pub(super) async fn create_main() {
    create_main_at(NAME).await;
}

/// The same by way of another host.
pub(super) async fn create_main_at(host: &'static str) {
    for _ in 0..100 {
        match client_at(host).create_agent(&main(), CreateAgent::default()).await {
            Ok(_) => return,
            Err(ClientError::NotReachable { .. }) => sleep(Duration::from_millis(100)).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("there is no server");
}

/// Prompts `main`, once under a key.
pub(super) async fn prompt(text: &str, key: Option<String>) -> Document<Prompted> {
    client().prompt(&main(), PromptQuery::default(), prompted(text), key).await.unwrap()
}

pub(super) fn prompted(text: &str) -> Prompt {
    serde_json::from_value(json!({ "text": text })).unwrap()
}

/// Waits until `main` has nothing left to do; says which event was its last.
pub(super) async fn at_rest() -> u64 {
    for _ in 0..1_000 {
        let status = client().status(&main()).await.unwrap();
        if status.summary.status == Status::Asleep && status.summary.queue.entries == 0 {
            return status.summary.event_seq.0;
        }
        sleep(Duration::from_millis(500)).await;
    }
    panic!("main does not come to rest");
}

/// Events of `main` of one kind.
pub(super) async fn events(kind: &str) -> Vec<Value> {
    let (mut found, mut after) = (Vec::new(), EventSeq(0));
    loop {
        let query = EventsQuery { after_seq: Some(after), limit: Some(512), ..EventsQuery::default() };
        let events = client().events(&main(), query).await.unwrap().into_reply().events;
        let Some(last) = events.last() else { return found };
        after = last.event_seq;
        let of_kind = events.into_iter().filter(|event| event.kind == kind);
        found.extend(of_kind.map(|event| serde_json::to_value(event).unwrap()));
    }
}

/// Asks the server to leave.
pub(super) async fn shut_down() {
    client().shut_down(Nothing {}).await.unwrap();
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
