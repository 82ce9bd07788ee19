//! A collector of traces and metrics: a real HTTP server that can refuse, take and forget, and be away. It reads protobuf and JSON by
//! the published schema; what is not as that has it is answered with 400, and kept for the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What the collector was sent, and says to it.
#[derive(Debug, Default)]
struct State {
    /// The status of the next answers; 200 where there is none.
    status: Option<u16>,
    /// Larger bodies are answered with 413.
    most: Option<usize>,
    /// Whether it takes what it is sent, and ends the connection without an answer.
    mute: bool,
    taken: Vec<Value>,
    metrics: Vec<Value>,
    /// What is not as the schema has it.
    wrong: Vec<String>,
    requests: u64,
    headers: Vec<String>,
}

/// A collector on a port of its own. It ends with its process.
#[derive(Clone)]
pub struct Collector {
    /// Without the path of a signal.
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

    /// Refuses bodies of more bytes from now on.
    pub fn takes_at_most(&self, bytes: usize) {
        self.state().most = Some(bytes);
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

    /// The documents of metrics that it took.
    pub fn metrics(&self) -> Vec<Value> {
        self.state().metrics.clone()
    }

    /// # Panics
    /// Where a document was not as the schema has it.
    pub fn understood_all(&self) {
        let wrong = self.state().wrong.clone();
        assert!(wrong.is_empty(), "{wrong:#?}");
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
    let posted =
        |path: &str| head.first().is_some_and(|line| line.starts_with(&format!("POST {path} HTTP/1.1")));
    let content_type =
        head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-type: ").map(str::to_owned));
    let content_type = content_type.unwrap_or_default();
    let (traces, metrics) = (posted("/v1/traces"), posted("/v1/metrics"));
    let document = match (traces, metrics) {
        (true, _) => read::<ExportTraceServiceRequest>(&content_type, &body),
        (_, true) => read::<ExportMetricsServiceRequest>(&content_type, &body),
        (false, false) => Err("it is sent to nobody".to_owned()),
    };
    let mut state = state.lock().expect("nobody panicked");
    state.requests += u64::from(traces);
    let status = match (&document, state.most) {
        (Err(_), _) => 400,
        (Ok(_), Some(most)) if body.len() > most => 413,
        (Ok(_), _) => state.status.unwrap_or(200),
    };
    state.wrong.extend(document.as_ref().err().cloned());
    if traces {
        state.headers = head;
    }
    if (200..300).contains(&status) {
        let kept = if traces { &mut state.taken } else { &mut state.metrics };
        kept.extend(document.ok());
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

/// What was sent, with every field that its schema has.
fn read<T: Message + Default + DeserializeOwned + Serialize>(
    content_type: &str,
    body: &[u8],
) -> Result<Value, String> {
    match content_type {
        "application/x-protobuf" => {
            let document = T::decode(body).map_err(|error| error.to_string())?;
            // What it does not know would be missing in what it writes.
            if document.encoded_len() != body.len() {
                return Err(format!("{} of {} bytes were read", document.encoded_len(), body.len()));
            }
            serde_json::to_value(document).map_err(|error| error.to_string())
        }
        "application/json" => {
            let document: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
            let known = by_schema::<T>(&document)?;
            lost("", &document, &known).map_or(Ok(known), Err)
        }
        other => Err(format!("{other:?} is neither protobuf nor JSON")),
    }
}

/// A line of an export, with every field that its schema has.
///
/// # Panics
/// Where it is not as the schema has it.
pub fn traces_by_schema(line: &str) -> Value {
    let document = serde_json::from_str::<Value>(line).expect("a line is JSON");
    by_schema::<ExportTraceServiceRequest>(&document).expect("as the schema has it")
}

fn by_schema<T: DeserializeOwned + Serialize>(document: &Value) -> Result<Value, String> {
    serde_json::from_value::<T>(document.clone())
        .and_then(serde_json::to_value)
        .map_err(|error| error.to_string())
}

/// Where something is that whoever read it has not kept.
fn lost(path: &str, document: &Value, known: &Value) -> Option<String> {
    match (document, known) {
        (Value::Object(document), Value::Object(known)) => document.iter().find_map(|(name, value)| {
            lost(&format!("{path}/{name}"), value, known.get(name).unwrap_or(&Value::Null))
        }),
        (Value::Array(document), Value::Array(known)) if document.len() == known.len() => {
            let mut both = document.iter().zip(known).enumerate();
            both.find_map(|(at, (value, known))| lost(&format!("{path}/{at}"), value, known))
        }
        _ if document == known || text(document) == text(known) => None,
        _ => Some(format!("{path}: {document} was read as {known}")),
    }
}

/// Numbers of 64 bits may be texts.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
