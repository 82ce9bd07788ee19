//! A model that answers at once, with the same bytes each time: what is measured in front of it is the runtime.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A running model; it ends with its process.
pub struct Model {
    /// Base URL of the chat completions protocol.
    pub url: String,
}

/// A request, as far as it is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// What the last [`prompt`] in the request says.
    pub agent: u32,
    pub turn: u32,
    /// When all of it had come.
    pub at: Instant,
    /// Bytes of its body.
    pub bytes: usize,
}

/// What the model says to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    Done,
    /// Calls a command that does nothing.
    Command,
    /// Nothing, ever.
    Nothing,
}

type Decide = dyn Fn(Asked) -> Says + Send + Sync;

const MARK: &str = "@load:";

/// A prompt that the model knows again.
pub fn prompt(agent: u32, turn: u32) -> String {
    format!("Say that it is done. {MARK}{agent}:{turn};")
}

impl Model {
    /// Starts one that asks this function what to say; it must not wait for anything.
    pub fn start(decide: impl Fn(Asked) -> Says + Send + Sync + 'static) -> Self {
        let (sender, address) = std::sync::mpsc::channel::<SocketAddr>();
        let answers = Arc::new(Answers::new(Box::new(decide)));
        thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                sender.send(listener.local_addr().expect("an address")).expect("somebody waits");
                loop {
                    let (stream, _) = listener.accept().await.expect("a connection");
                    stream.set_nodelay(true).expect("a socket");
                    tokio::spawn(serve(stream, answers.clone()));
                }
            });
        });
        Self { url: format!("http://{}/v1", address.recv().expect("the server starts")) }
    }
}

struct Answers {
    decide: Box<Decide>,
    done: Vec<u8>,
    command: Vec<u8>,
}

impl Answers {
    fn new(decide: Box<Decide>) -> Self {
        let function = json!({ "name": "ExecCommand", "arguments": "{\"cmd\":\"true\"}" });
        let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
        let done = reply(&json!({ "role": "assistant", "content": "Done." }), "stop");
        let command = reply(&json!({ "role": "assistant", "tool_calls": [call] }), "tool_calls");
        Self { decide, done, command }
    }
}

/// A streamed answer, as it goes over the wire.
fn reply(delta: &Value, finish: &str) -> Vec<u8> {
    let chunk = |delta: &Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] }))
    };
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 });
    let usage = format!("data: {}\n\n", json!({ "id": "c", "choices": [], "usage": usage }));
    let body = [chunk(delta, None), chunk(&json!({}), Some(finish)), usage, "data: [DONE]\n\n".to_owned()];
    let body = body.concat();
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n");
    format!("{head}\r\n{body}").into_bytes()
}

async fn serve(mut stream: TcpStream, answers: Arc<Answers>) {
    let mut unread = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = whole(&unread) {
                break end;
            }
            if !matches!(stream.read_buf(&mut unread).await, Ok(1..)) {
                return;
            }
        };
        let says = (answers.decide)(asked(&unread[..end]));
        unread.drain(..end);
        let bytes = match says {
            Says::Done => &answers.done,
            Says::Command => &answers.command,
            Says::Nothing => {
                // Until the client gives up.
                drop(stream.read_buf(&mut unread).await);
                return;
            }
        };
        if stream.write_all(bytes).await.is_err() {
            return;
        }
    }
}

/// Where the first request ends, once all of it is there.
fn whole(unread: &[u8]) -> Option<usize> {
    let head = unread.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&unread[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let end = head + length.and_then(|length| length.trim().parse::<usize>().ok()).unwrap_or(0);
    (unread.len() >= end).then_some(end)
}

fn asked(request: &[u8]) -> Asked {
    let at = Instant::now();
    let text = String::from_utf8_lossy(request);
    let mark = text.rfind(MARK).map(|at| &text[at + MARK.len()..]);
    let mark = mark.and_then(|mark| mark.split(';').next()?.split_once(':'));
    let number = |part: Option<&str>| part.and_then(|part| part.parse().ok()).unwrap_or(u32::MAX);
    let (agent, turn) = (number(mark.map(|mark| mark.0)), number(mark.map(|mark| mark.1)));
    Asked { agent, turn, at, bytes: request.len() }
}
