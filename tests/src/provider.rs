//! A chat completions server that answers what it is told to, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};

/// What the server does with one request.
pub enum Reply {
    Json(Value),
    Status {
        code: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// Answers after so long.
    Late(Duration, Value),
}

/// A running server; it ends with its process.
pub struct Provider {
    pub url: String,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    replies: VecDeque<Reply>,
    requests: Vec<Value>,
}

impl Provider {
    /// Answers one request after the other; past the last one it fails.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let shared =
            Arc::new(Mutex::new(Shared { replies: replies.into_iter().collect(), requests: vec![] }));
        let state = shared.clone();
        let (sender, address) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
                sender.send(listener.local_addr().expect("an address")).expect("the test listens");
                let router = Router::new().route("/v1/chat/completions", post(answer)).with_state(state);
                axum::serve(listener, router).await.expect("the server runs");
            });
        });
        let url = format!("http://{}/v1", address.recv().expect("the server starts"));
        Self { url, shared }
    }

    /// The bodies of the requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.lock().expect("no test panics here").requests.clone()
    }
}

async fn answer(State(shared): State<Arc<Mutex<Shared>>>, body: String) -> Response<Body> {
    let reply = {
        let mut shared = shared.lock().expect("no test panics here");
        shared.requests.push(serde_json::from_str(&body).unwrap_or(Value::Null));
        shared.replies.pop_front()
    };
    match reply {
        Some(Reply::Json(value)) => respond(200, &[], value.to_string()),
        Some(Reply::Status { code, headers, body }) => respond(code, &headers, body),
        Some(Reply::Late(wait, value)) => {
            tokio::time::sleep(wait).await;
            respond(200, &[], value.to_string())
        }
        None => respond(500, &[], "the test has no further reply".to_owned()),
    }
}

fn respond(code: u16, headers: &[(&'static str, String)], body: String) -> Response<Body> {
    let mut response = Response::builder().status(StatusCode::from_u16(code).expect("a status"));
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    response.body(Body::from(body)).expect("a response")
}

/// An answer that ends the turn.
pub fn says(text: &str) -> Reply {
    Reply::Json(completion(&json!({ "role": "assistant", "content": text }), "stop"))
}

/// An answer that calls tools: name and arguments of each.
pub fn calls(calls: &[(&str, Value)]) -> Reply {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            json!({ "id": format!("call_{at}"), "type": "function", "function": function })
        })
        .collect();
    let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    Reply::Json(completion(&message, "tool_calls"))
}

/// A failure with a status.
pub fn fails(code: u16, body: &str) -> Reply {
    Reply::Status { code, headers: vec![], body: body.to_owned() }
}

pub fn completion(message: &Value, finish_reason: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "test",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 }
    })
}
