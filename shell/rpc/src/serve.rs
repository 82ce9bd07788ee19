//! The conversation with one client.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_platform::spawn;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use crate::LINE_BYTES;
use crate::lines::{Line, Lines};
use crate::message::{Error, Message, answer, notification};

/// Lines that wait for a client that does not read; then whoever writes waits, too.
const UNREAD: usize = 256;
/// Lines that were read and that nobody has looked at yet.
const AHEAD: usize = 16;
/// Requests at once.
const REQUESTS: usize = 64;
/// Requests under way at the end of the input may be answered so long.
const GRACE: Duration = Duration::from_secs(2);

/// A request as a [`Service`] gets it.
#[derive(Debug)]
pub struct Call {
    pub id: Value,
    pub method: String,
    pub params: Value,
    pub peer: Peer,
}

/// What answers a client.
pub trait Service: Send + Sync + 'static {
    /// Answers a request. What stands before the future is done before the next message is looked at.
    fn call(&self, call: Call) -> impl Future<Output = Result<Value, Error>> + Send + 'static;

    /// Takes a notification, before the next message is looked at. Gives the id of a request that is not to be answered
    /// any more.
    fn notified(&self, method: &str, params: Value) -> Option<Value>;
}

/// The client, for those who notify it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Peer {
    lines: mpsc::Sender<String>,
}

/// The client does not read any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub struct Gone;

impl Peer {
    /// A client whose messages are handed over there.
    pub fn new(lines: mpsc::Sender<String>) -> Self {
        Self { lines }
    }

    /// Waits until the client has room for it.
    ///
    /// # Errors
    /// When it is gone.
    pub async fn notify(&self, method: &str, params: &Value) -> Result<(), Gone> {
        self.write(&notification(method, params)).await
    }

    async fn write(&self, message: &Value) -> Result<(), Gone> {
        self.lines.send(message.to_string()).await.map_err(|_| Gone)
    }
}

/// Requests under way, by their ids.
#[derive(Clone, Default)]
struct UnderWay(Arc<Mutex<HashMap<String, AbortHandle>>>);

impl UnderWay {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a client until its end. Its lines are read and written by threads, so that neither side holds up the other.
///
/// # Errors
/// An input that can't be read, and threads that can't be had. A client that does not read any more is no error.
pub async fn serve(
    service: Arc<impl Service>,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let (sender, lines) = mpsc::channel(UNREAD);
    let (writing, mut written) = watch::channel(());
    let writer = spawn::thread("rpc-out", move || write(output, lines, &writing))?;
    let mut incoming = read(input)?;
    let peer = Peer { lines: sender };
    let under_way = UnderWay::default();
    let mut ended = Ok(());
    loop {
        let line = tokio::select! {
            line = incoming.recv() => line,
            // Nobody reads any more.
            _ = written.changed() => None,
        };
        match line {
            Some(Ok(line)) => take(&service, line, &peer, &under_way).await,
            Some(Err(error)) => ended = Err(error),
            None => break,
        }
    }
    // Each request under way has a sender: with the last one the channel is closed.
    drop((peer, service));
    tokio::select! {
        _ = written.changed() => {}
        () = tokio::time::sleep(GRACE) => {}
    }
    for (_, request) in under_way.lock().drain() {
        request.abort();
    }
    // Where the client does not read, the thread ends with the process.
    drop(writer);
    ended
}

/// Lines as they come, read by a thread that ends with the input, with its reader, or with the process.
fn read(input: impl BufRead + Send + 'static) -> io::Result<mpsc::Receiver<io::Result<Line>>> {
    let (sender, lines) = mpsc::channel(AHEAD);
    drop(spawn::thread("rpc-in", move || {
        let mut lines = Lines::new(input, LINE_BYTES);
        while let Some(line) = lines.next_line().transpose() {
            let last = line.is_err();
            if sender.blocking_send(line).is_err() || last {
                break;
            }
        }
    })?);
    Ok(lines)
}

/// Ends, and says so by dropping `_writing`, when nobody reads or nobody writes any more.
fn write(mut output: impl Write, mut lines: mpsc::Receiver<String>, _writing: &watch::Sender<()>) {
    while let Some(mut line) = lines.blocking_recv() {
        line.push('\n');
        if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_err() {
            break;
        }
    }
}

async fn take(service: &Arc<impl Service>, line: Line, peer: &Peer, under_way: &UnderWay) {
    let message = match line {
        Line::Read(line) => Message::read(&line),
        Line::TooLong(bytes) => {
            let text = format!("the line has {bytes} bytes, the limit is {LINE_BYTES}");
            Message::Invalid(answer(Value::Null, Err(Error::parse(text))))
        }
    };
    // A client that is gone is noticed by whoever reads.
    match message {
        Message::Response => {}
        Message::Invalid(refusal) => drop(peer.write(&refusal).await),
        Message::Notification { method, params } => {
            let cancelled = service.notified(&method, params);
            if let Some(request) = cancelled.and_then(|id| under_way.lock().remove(&id.to_string())) {
                request.abort();
            }
        }
        Message::Request { id, method, params } => {
            let refusal = {
                let under_way = under_way.lock();
                if under_way.len() >= REQUESTS {
                    Some(Error::new(-32_000, format!("more than {REQUESTS} requests at once")))
                } else if under_way.contains_key(&id.to_string()) {
                    Some(Error::invalid_request("id: a request of this id is under way"))
                } else {
                    None
                }
            };
            match refusal {
                Some(refusal) => drop(peer.write(&answer(id, Err(refusal))).await),
                None => begin(service, Call { id, method, params, peer: peer.clone() }, under_way),
            }
        }
    }
}

fn begin(service: &Arc<impl Service>, call: Call, under_way: &UnderWay) {
    let (key, id, peer) = (call.id.to_string(), call.id.clone(), call.peer.clone());
    let answered = service.call(call);
    let (done, own) = (under_way.clone(), key.clone());
    // It can't be done before it is known.
    let mut known = under_way.lock();
    let task = spawn::task(async move {
        let result = answered.await;
        // Whoever removes it answers it, so that what was cancelled is not answered.
        if done.lock().remove(&own).is_some() {
            drop(peer.write(&answer(id, result)).await);
        }
    });
    known.insert(key, task.abort_handle());
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, PipeReader, PipeWriter};

    use serde_json::json;

    use super::*;

    /// Answers `echo` with its parameters, and `hang` never.
    struct Echo;

    async fn echoed(call: Call) -> Result<Value, Error> {
        match call.method.as_str() {
            "echo" => Ok(call.params),
            "hang" => {
                drop(call.peer.notify("hangs", &json!({})).await);
                std::future::pending().await
            }
            other => Err(Error::unknown_method(other)),
        }
    }

    impl Service for Echo {
        fn call(&self, call: Call) -> impl Future<Output = Result<Value, Error>> + Send + 'static {
            echoed(call)
        }

        fn notified(&self, _: &str, params: Value) -> Option<Value> {
            params.get("id").cloned()
        }
    }

    struct Client {
        input: PipeWriter,
        output: BufReader<PipeReader>,
        served: tokio::task::JoinHandle<io::Result<()>>,
    }

    impl Client {
        fn new() -> Self {
            let (read, input) = io::pipe().unwrap();
            let (output, write) = io::pipe().unwrap();
            let served = spawn::task(serve(Arc::new(Echo), BufReader::new(read), write));
            Self { input, output: BufReader::new(output), served }
        }

        fn send(&mut self, message: &Value) {
            writeln!(self.input, "{message}").unwrap();
        }

        async fn next(mut self) -> (Self, Value) {
            spawn::blocking(move || {
                let mut line = String::new();
                self.output.read_line(&mut line).unwrap();
                let read = serde_json::from_str(&line).unwrap_or_default();
                (self, read)
            })
            .await
            .unwrap()
        }
    }

    fn request(id: u32, method: &str) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "of": id } })
    }

    #[tokio::test]
    async fn requests_are_answered_once_each_whatever_else_is_asked() {
        let mut client = Client::new();
        client.send(&request(1, "hang"));
        let (mut client, hangs) = client.next().await;
        assert_eq!(hangs["method"], "hangs");
        client.send(&request(1, "echo"));
        let (mut client, refused) = client.next().await;
        assert_eq!(refused["error"]["code"], -32_600, "{refused}");
        client.send(&request(2, "echo"));
        let (mut client, echoed) = client.next().await;
        assert_eq!((&echoed["id"], &echoed["result"]), (&json!(2), &json!({ "of": 2 })));
        client.send(&json!({ "jsonrpc": "2.0", "method": "cancel", "params": { "id": 1 } }));
        client.send(&request(1, "echo"));
        let (mut client, again) = client.next().await;
        assert_eq!(again["result"], json!({ "of": 1 }), "what was cancelled is not answered");
        writeln!(client.input, "{}", "x".repeat(LINE_BYTES + 1)).unwrap();
        let (mut client, long) = client.next().await;
        assert_eq!((&long["error"]["code"], &long["id"]), (&json!(-32_700), &Value::Null));
        client.send(&request(3, "nothing"));
        let (client, unknown) = client.next().await;
        assert_eq!(unknown["error"]["code"], -32_601);
        drop(client.input);
        client.served.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn too_many_requests_are_refused_and_the_end_of_the_client_ends_it() {
        let mut client = Client::new();
        for id in 0..=u32::try_from(REQUESTS).unwrap() {
            client.send(&request(id, "hang"));
        }
        let mut refused = Value::Null;
        while refused.get("error").is_none() {
            (client, refused) = client.next().await;
        }
        assert_eq!(refused["error"]["code"], -32_000, "{refused}");
        let Client { input, output, served } = client;
        drop((input, output));
        served.await.unwrap().unwrap();
    }
}
