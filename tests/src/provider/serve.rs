//! HTTP by hand: a library would not misbehave.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::reply::{Answer, Fault, Place, Reply};
use super::{Asked, Shared, chat, messages, odd, responses};

/// A piece of a streamed answer.
pub(super) struct Piece {
    place: Place,
    bytes: Vec<u8>,
}

impl Piece {
    pub(super) fn event(place: Place, name: Option<&str>, data: &Value) -> Self {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        Self::raw(place, &format!("{name}data: {data}\n\n"))
    }

    pub(super) fn raw(place: Place, text: &str) -> Self {
        Self { place, bytes: text.as_bytes().to_vec() }
    }
}

/// A text in up to three parts, so that there is a middle.
pub(super) fn parts(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(3).max(1);
    characters.chunks(size).map(|part| part.iter().collect()).collect()
}

/// Whether the connection can be used for another request.
#[derive(PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Close,
}

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut closed = false;
        shared.change(|state| {
            state.connections += 1;
            closed = matches!(state.replies.front(), Some(Reply::CloseAtAccept));
            if closed {
                state.replies.pop_front();
            }
        });
        if !closed {
            tokio::spawn(connection(stream, shared.clone()));
        }
    }
}

async fn connection(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut unread = Vec::new();
    while let Some(mut asked) = request(&mut stream, &mut unread).await {
        if asked.path.ends_with("/models") {
            let models = shared.lock().models.clone();
            if list(&mut stream, models).await.is_err() {
                return;
            }
            continue;
        }
        let mut reply = None;
        shared.change(|state| {
            asked.number = state.asked.len() + 1;
            match state.kept.whole(&asked.body) {
                Ok(whole) => {
                    asked.whole = whole;
                    reply = state.replies.pop_front();
                }
                Err(unknown) => reply = Some(*unknown),
            }
            state.asked.push(asked.clone());
        });
        let otherwise = || shared.otherwise.as_ref().map(|otherwise| otherwise(&asked.body));
        let none = || super::fails(500, "the test has no further reply");
        let mut reply = reply.or_else(otherwise).unwrap_or_else(none);
        while let Reply::Late(wait, then) = reply {
            tokio::time::sleep(wait).await;
            reply = *then;
        }
        // A client that is gone is the client's right.
        match answer(&mut stream, &shared, &asked, reply).await {
            Ok(After::Keep) => {}
            Ok(After::Close) => return,
            Err(_) => {
                shared.change(|state| state.hung_up += 1);
                return;
            }
        }
    }
}

/// The models of the server, as every protocol lists them.
async fn list(stream: &mut TcpStream, models: Option<Vec<String>>) -> std::io::Result<After> {
    let Some(models) = models else { return whole(stream, 404, &[], b"there is no such path").await };
    let rows: Vec<Value> = models.iter().map(|id| serde_json::json!({ "id": id })).collect();
    let document = serde_json::json!({ "object": "list", "data": rows });
    whole(stream, 200, &[], document.to_string().as_bytes()).await
}

/// The next request of a connection.
async fn request(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<Asked> {
    let mut buffer = vec![0; 16_384];
    loop {
        if let Some(end) = unread.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&unread[..end]).into_owned();
            let headers: Vec<(String, String)> = head
                .lines()
                .skip(1)
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
                .collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length = length.and_then(|(_, value)| value.parse::<usize>().ok()).unwrap_or(0);
            if unread.len() >= end + 4 + length {
                let body = serde_json::from_slice(&unread[end + 4..end + 4 + length]).unwrap_or(Value::Null);
                unread.drain(..end + 4 + length);
                let target = head.split(' ').nth(1).unwrap_or_default();
                // As a proxy, it is asked for a whole address.
                let path = target
                    .strip_prefix("http://")
                    .map_or(target, |rest| &rest[rest.find('/').unwrap_or(0)..]);
                let path = path.to_owned();
                return Some(Asked { path, headers, body, number: 0, whole: Vec::new() });
            }
        }
        match stream.read(&mut buffer).await {
            Ok(count) if count > 0 => unread.extend_from_slice(&buffer[..count]),
            Ok(_) | Err(_) => return None,
        }
    }
}

async fn answer(
    stream: &mut TcpStream,
    shared: &Shared,
    asked: &Asked,
    reply: Reply,
) -> std::io::Result<After> {
    match reply {
        Reply::Answer(answer) => said(stream, shared, asked, &answer, None).await,
        Reply::Faulty(answer, fault) => said(stream, shared, asked, &answer, Some(&fault)).await,
        Reply::Json(value) => whole(stream, 200, &[], value.to_string().as_bytes()).await,
        Reply::Status { code, headers, body } => whole(stream, code, &headers, body.as_bytes()).await,
        Reply::Body { content_type, bytes } => {
            whole(stream, 200, &[("content-type", content_type.to_owned())], &bytes).await
        }
        Reply::Raw(bytes) => {
            stream.write_all(&bytes).await?;
            Ok(After::Close)
        }
        Reply::Hang => Ok(hold(stream, shared).await),
        Reply::Close | Reply::CloseAtAccept => Ok(After::Close),
        Reply::Late(..) => unreachable!("waited for already"),
    }
}

/// A response with a length.
pub(super) async fn whole(
    stream: &mut TcpStream,
    code: u16,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> std::io::Result<After> {
    let mut head = format!("HTTP/1.1 {code} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await?;
    stream.write_all(body).await?;
    Ok(After::Keep)
}

/// Waits until the client hangs up.
async fn hold(stream: &mut TcpStream, shared: &Shared) -> After {
    let mut buffer = vec![0; 1_024];
    while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    shared.change(|state| state.hung_up += 1);
    After::Close
}

/// An answer in the protocol that was asked, with what goes wrong in it.
async fn said(
    stream: &mut TcpStream,
    shared: &Shared,
    asked: &Asked,
    answer: &Answer,
    fault: Option<&Fault>,
) -> std::io::Result<After> {
    let streamed = asked.body["stream"] == true;
    let (document, pieces) = match asked.path.split('?').next().unwrap_or_default() {
        "/v1/chat/completions" => (chat::document(answer), chat::stream(answer)),
        "/v1/responses" => {
            let document = responses::document(answer, asked);
            if fault.is_none() {
                shared.change(|state| state.kept.keep(&asked.body, &asked.whole, &document));
            }
            (document, responses::stream(answer, asked))
        }
        "/v1/messages" => (messages::document(answer, &asked.body), messages::stream(answer, &asked.body)),
        _ => return whole(stream, 404, &[], b"there is no such path").await,
    };
    let kind = if streamed { "text/event-stream" } else { "application/json" };
    let pieces = if streamed { pieces } else { vec![Piece::raw(Place::Start, &document.to_string())] };
    let sent = |pieces: &[Piece]| all(pieces).concat();
    match fault {
        None => chunked(stream, kind, all(&pieces), Then::End).await,
        Some(Fault::Cut(place)) => chunked(stream, kind, until(&pieces, *place), Then::Close).await,
        Some(Fault::End(place)) => chunked(stream, kind, until(&pieces, *place), Then::End).await,
        Some(Fault::Stall(place)) => {
            chunked(stream, kind, until(&pieces, *place), Then::Close).await?;
            Ok(hold(stream, shared).await)
        }
        Some(Fault::Error(place, error, message)) => {
            let error = match asked.path.split('?').next().unwrap_or_default() {
                "/v1/responses" => responses::error(error, message),
                "/v1/messages" => messages::error(error, message),
                _ => chat::error(error, message),
            };
            let mut bytes = until(&pieces, *place);
            bytes.push(error.bytes);
            chunked(stream, kind, bytes, Then::End).await
        }
        Some(Fault::Dribble(pause)) => {
            chunked(stream, kind, vec![], Then::Close).await?;
            dribble(stream, &pieces, *pause).await
        }
        Some(Fault::Typed(kind)) => chunked(stream, kind, all(&pieces), Then::End).await,
        Some(Fault::Echo) => chunked(stream, kind, [all(&pieces), all(&pieces)].concat(), Then::End).await,
        Some(Fault::Gzip) => odd::gzip(stream, kind, &sent(&pieces)).await,
        Some(Fault::Old) => odd::old(stream, kind, &sent(&pieces)).await,
        Some(Fault::Twice) => odd::twice(stream, kind, &sent(&pieces)).await,
    }
}

/// How a body goes on after its pieces.
enum Then {
    End,
    /// Without the end that HTTP demands.
    Close,
}

async fn chunked(
    stream: &mut TcpStream,
    kind: &str,
    pieces: Vec<Vec<u8>>,
    then: Then,
) -> std::io::Result<After> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    for bytes in pieces {
        chunk(stream, &bytes).await?;
    }
    match then {
        Then::End => end(stream).await,
        Then::Close => Ok(After::Close),
    }
}

fn all(pieces: &[Piece]) -> Vec<Vec<u8>> {
    pieces.iter().map(|piece| piece.bytes.clone()).collect()
}

/// What comes before a place: up to the middle of the pieces that are there; of a single piece, its half.
fn until(pieces: &[Piece], place: Place) -> Vec<Vec<u8>> {
    if let [only] = pieces {
        return vec![only.bytes[..only.bytes.len() / 2].to_vec()];
    }
    let there: Vec<usize> = (0..pieces.len()).filter(|&at| pieces[at].place == place).collect();
    let end = match place {
        Place::Start => 0,
        Place::InText | Place::InCall => {
            there.get(there.len() / 2).copied().unwrap_or_else(|| panic!("the answer has no {place:?}"))
        }
        Place::BeforeEnd => there.first().copied().unwrap_or(pieces.len()),
    };
    all(&pieces[..end])
}

async fn dribble(stream: &mut TcpStream, pieces: &[Piece], pause: Duration) -> std::io::Result<After> {
    for bytes in all(pieces).concat().chunks(16) {
        chunk(stream, bytes).await?;
        tokio::time::sleep(pause).await;
    }
    end(stream).await
}

async fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    stream.write_all(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()).await
}

async fn end(stream: &mut TcpStream) -> std::io::Result<After> {
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(After::Keep)
}
