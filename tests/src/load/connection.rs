//! One connection that stays open, and one request at a time on it.

use std::io;
use std::path::Path;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// A reply is at most so long.
const LONGEST: usize = 32 << 20;

/// A socket of any kind.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A client that stays connected.
pub struct Connection {
    pub(super) io: Box<dyn Io>,
    /// What came and was not looked at yet.
    pub(super) unread: Vec<u8>,
}

/// A reply as it came.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
}

/// The start of a reply.
pub(super) struct Head {
    pub(super) status: u16,
    /// None of a body in chunks.
    pub(super) length: Option<usize>,
}

impl Connection {
    /// # Errors
    /// When nobody listens there.
    pub async fn unix(path: &Path) -> io::Result<Self> {
        Ok(Self::over(UnixStream::connect(path).await?))
    }

    /// # Errors
    /// When nobody listens there.
    pub async fn tcp(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }

    pub fn over(io: impl Io + 'static) -> Self {
        Self { io: Box::new(io), unread: Vec::new() }
    }

    /// # Errors
    /// When the connection breaks.
    pub async fn get(&mut self, path: &str) -> io::Result<Reply> {
        self.send("GET", path, "", b"").await?;
        self.reply().await
    }

    /// # Errors
    /// When the connection breaks.
    pub async fn post(&mut self, path: &str, body: &Value) -> io::Result<Reply> {
        self.send("POST", path, "content-type: application/json\r\n", body.to_string().as_bytes()).await?;
        self.reply().await
    }

    /// A prompt that must be taken.
    ///
    /// # Errors
    /// When the connection breaks, or it is refused.
    pub async fn prompt(&mut self, agent: &str, text: &str) -> io::Result<()> {
        let path = format!("/control/agents/{agent}/prompt");
        self.post(&path, &serde_json::json!({ "text": text })).await?.taken()
    }

    /// # Errors
    /// When the connection breaks, or there is one of that name already.
    pub async fn create(&mut self, agent: &str) -> io::Result<()> {
        let path = format!("/control/agents/{agent}/create");
        self.post(&path, &serde_json::json!({})).await?.taken()
    }

    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> io::Result<()> {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n{headers}\r\n"
        );
        self.io.write_all(&[head.as_bytes(), body].concat()).await
    }

    async fn reply(&mut self) -> io::Result<Reply> {
        let Head { status, length } = self.head().await?;
        let length =
            length.filter(|length| *length <= LONGEST).ok_or_else(|| odd("a reply without length"))?;
        while self.unread.len() < length {
            self.more().await?;
        }
        Ok(Reply { status, body: self.unread.drain(..length).collect() })
    }

    pub(super) async fn head(&mut self) -> io::Result<Head> {
        let end = loop {
            if let Some(end) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            self.more().await?;
        };
        let head = String::from_utf8_lossy(&self.unread[..end]).to_lowercase();
        self.unread.drain(..end + 4);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length = length.and_then(|length| length.trim().parse().ok());
        Ok(Head { status: status.ok_or_else(|| odd("no status"))?, length })
    }

    /// Waits for more bytes.
    pub(super) async fn more(&mut self) -> io::Result<()> {
        if self.unread.len() > LONGEST {
            return Err(odd("a reply without end"));
        }
        match self.io.read_buf(&mut self.unread).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl Reply {
    /// # Errors
    /// When it is no success.
    pub fn taken(self) -> io::Result<()> {
        match self.status {
            200..300 => Ok(()),
            status => Err(odd(&format!("{status}: {}", String::from_utf8_lossy(&self.body)))),
        }
    }

    /// # Errors
    /// When it is no success, or no JSON.
    pub fn json(self) -> io::Result<Value> {
        let value = serde_json::from_slice(&self.body)?;
        self.taken()?;
        Ok(value)
    }
}

pub(super) fn odd(what: &str) -> io::Error {
    io::Error::other(what.to_owned())
}
