//! A collector of traces: a real HTTP server that can refuse, take and forget, and be away.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::Value;

/// What the collector was sent, and says to it.
#[derive(Debug, Default)]
struct State {
    /// The status of the next answers; 200 where there is none.
    status: Option<u16>,
    /// Whether it takes what it is sent, and ends the connection without an answer.
    mute: bool,
    taken: Vec<Value>,
    requests: u64,
    headers: Vec<String>,
}

/// A collector on a port of its own. It ends with its process.
#[derive(Clone)]
pub struct Collector {
    /// Without the path of traces.
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl Collector {
    /// # Panics
    /// Where no port is free.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                thread::spawn(move || while serve(&stream, &state).is_some() {});
            }
        });
        Self { url, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panicked")
    }

    /// Answers with this status from now on.
    pub fn answers(&self, status: u16) {
        let mut state = self.state();
        (state.status, state.mute) = (Some(status), false);
    }

    /// Takes what comes, and says nothing.
    pub fn is_mute(&self) {
        self.state().mute = true;
    }

    pub fn requests(&self) -> u64 {
        self.state().requests
    }

    /// The lines of the head of the newest request.
    pub fn headers(&self) -> Vec<String> {
        self.state().headers.clone()
    }

    /// The spans that it took, doubles included.
    pub fn spans(&self) -> Vec<Value> {
        let taken = self.state().taken.clone();
        let spans = |document: &Value| {
            document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().unwrap_or_default()
        };
        taken.iter().flat_map(spans).collect()
    }
}

/// One request of a connection; none at its end.
fn serve(mut stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let length =
        head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let mut state = state.lock().expect("nobody panicked");
    state.requests += 1;
    let is_traces = head.first().is_some_and(|line| line.starts_with("POST /v1/traces HTTP/1.1"));
    let document = serde_json::from_slice(&body).ok().filter(|_| is_traces);
    let status = match (&document, state.status) {
        (None, _) => 400,
        (Some(_), status) => status.unwrap_or(200),
    };
    state.headers = head;
    if (200..300).contains(&status) {
        state.taken.extend(document);
    }
    if state.mute {
        return None;
    }
    drop(state);
    write!(
        stream,
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
    )
    .ok()
}
