use std::sync::{Arc, Mutex};
use std::time::Duration;

use holon_platform::spawn;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// One thing that a server does with a connection.
#[derive(Clone)]
pub enum Send {
    Bytes(Vec<u8>),
    Wait(Duration),
    /// Until the client closes.
    Hold,
    /// Reads the next request on the same connection.
    Request,
    /// Resets the connection instead of closing it.
    Reset,
}

/// A request: its first line and headers in lower case, and its body.
type Asked = (String, Value);

/// A server that does what it is told to, one connection after the other.
pub struct Server {
    /// With `/v1`.
    pub base: String,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    /// How many connections the client has closed.
    pub closed: watch::Receiver<usize>,
}

impl Server {
    pub async fn start(connections: impl IntoIterator<Item = Vec<Send>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (closing, closed) = watch::channel(0);
        let connections: Vec<_> = connections.into_iter().collect();
        let seen = asked.clone();
        drop(spawn::task(async move {
            for steps in connections {
                let (stream, _) = listener.accept().await.unwrap();
                serve(stream, steps, &seen, &closing).await;
            }
        }));
        Self { base, asked, closed }
    }
}

async fn serve(
    mut stream: TcpStream,
    steps: Vec<Send>,
    seen: &Mutex<Vec<Asked>>,
    closing: &watch::Sender<usize>,
) {
    let Some(asked) = read_request(&mut stream).await else { return };
    seen.lock().unwrap().push(asked);
    for step in steps {
        match step {
            Send::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            Send::Wait(time) => tokio::time::sleep(time).await,
            Send::Hold => {
                let mut buffer = [0; 1_024];
                while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
                closing.send_modify(|count| *count += 1);
            }
            Send::Request => {
                let Some(asked) = read_request(&mut stream).await else { return };
                seen.lock().unwrap().push(asked);
            }
            Send::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
        }
    }
}

/// A whole request; none when the client closes before.
pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Asked> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 16_384]);
    loop {
        if let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length = length.map_or(0, |length| length.trim().parse::<usize>().unwrap());
            if bytes.len() >= head + 4 + length {
                let body = serde_json::from_slice(&bytes[head + 4..]).unwrap_or_default();
                return Some((text, body));
            }
        }
        match stream.read(&mut buffer).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
            Ok(_) | Err(_) => return None,
        }
    }
}

/// A whole response.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut response = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        response.push_str(&format!("{name}: {value}\r\n"));
    }
    response.push_str("\r\n");
    [response.as_bytes(), body].concat()
}

/// The beginning of a response that lasts until the connection is closed, as a stream of events.
pub fn events(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}").into()
}
