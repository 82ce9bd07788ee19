//! A follower that takes every event once and in order, or says which one it did not.

use std::io;

use super::connection::{Connection, Head, odd};

/// Follows an agent on a connection of its own.
pub struct Follower {
    connection: Connection,
    /// Text of the stream, without the chunks that it came in, that is not a whole event yet.
    text: Vec<u8>,
    /// So much of it was handed over already.
    told: usize,
    /// What the stream still has to bring of the chunk that was begun.
    chunk: usize,
    seen: u64,
}

/// An event of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub seq: u64,
    pub kind: String,
    /// Whether the agent falls asleep by it.
    pub falls_asleep: bool,
}

impl Follower {
    /// Follows an agent after an event.
    ///
    /// # Errors
    /// When the stream is refused.
    pub async fn new(mut connection: Connection, agent: &str, after: u64) -> io::Result<Self> {
        let path = format!("/agents/{agent}/events/stream");
        connection.send("GET", &path, &format!("last-event-id: {after}\r\n"), b"").await?;
        let Head { status, length } = connection.head().await?;
        if status != 200 || length.is_some() {
            return Err(odd(&format!("a stream of status {status}")));
        }
        Ok(Self { connection, text: Vec::new(), told: 0, chunk: 0, seen: after })
    }

    /// The last event that came.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// When the stream ends, or the event is not the one that comes next.
    pub async fn next(&mut self) -> io::Result<Told> {
        loop {
            while let Some(length) = self.text[self.told..].windows(2).position(|window| window == b"\n\n") {
                let event = self.told..self.told + length;
                self.told = event.end + 2;
                // Others are comments.
                let Some(told) = told(&self.text[event])? else { continue };
                if told.seq != self.seen + 1 {
                    return Err(odd(&format!("event {} came after {}", told.seq, self.seen)));
                }
                self.seen = told.seq;
                return Ok(told);
            }
            self.text.drain(..std::mem::take(&mut self.told));
            self.read().await?;
        }
    }

    /// Goes on until an event; how many there were.
    ///
    /// # Errors
    /// As [`Follower::next`].
    pub async fn until(&mut self, seq: u64) -> io::Result<u64> {
        let before = self.seen;
        while self.seen < seq {
            self.next().await?;
        }
        Ok(self.seen - before)
    }

    /// Goes on until the agent has nothing to do.
    ///
    /// # Errors
    /// As [`Follower::next`].
    pub async fn until_asleep(&mut self) -> io::Result<()> {
        let mut ended = false;
        loop {
            let told = self.next().await?;
            ended |= told.kind == "turn_terminal";
            if ended && told.falls_asleep {
                return Ok(());
            }
        }
    }

    /// Brings more of the text, out of its chunks.
    async fn read(&mut self) -> io::Result<()> {
        let Self { connection, text, chunk, .. } = self;
        loop {
            if *chunk > 0 {
                let take = connection.unread.len().min(*chunk);
                text.extend(connection.unread.drain(..take));
                *chunk -= take;
                if take > 0 {
                    return Ok(());
                }
            } else if let Some(size) = size(&mut connection.unread)? {
                *chunk = size;
                continue;
            }
            connection.more().await?;
        }
    }
}

/// Takes the size of the chunk that begins here; none before all of it has come.
fn size(unread: &mut Vec<u8>) -> io::Result<Option<usize>> {
    // The line end of the chunk before.
    let start = if unread.starts_with(b"\r\n") { 2 } else { 0 };
    let Some(end) = unread[start..].windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
    let size = str::from_utf8(&unread[start..start + end]).ok();
    let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
    unread.drain(..start + end + 2);
    match size {
        Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Some(size) => Ok(Some(size)),
        None => Err(odd("a chunk without size")),
    }
}

/// An event, whose number stands in it twice; none of a comment.
fn told(text: &[u8]) -> io::Result<Option<Told>> {
    let text = str::from_utf8(text).map_err(|error| odd(&error.to_string()))?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let Some(id) = field("id: ") else { return Ok(None) };
    let (Some(kind), Some(data)) = (field("event: "), field("data: ")) else {
        return Err(odd(&format!("an event without data: {text}")));
    };
    if !data.contains(&format!("\"event_seq\":{id},")) || !data.ends_with('}') {
        return Err(odd(&format!("event {id} is not what it says: {data}")));
    }
    let seq = id.parse().map_err(|_| odd(&format!("an event with the number {id}")))?;
    let falls_asleep = kind == "scheduler_posture_decision" && data.contains("\"next\":\"asleep\"");
    Ok(Some(Told { seq, kind: kind.to_owned(), falls_asleep }))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    async fn follow(body: &str) -> Vec<Result<u64, String>> {
        let (ours, mut theirs) = tokio::io::duplex(4_096);
        let body = body.to_owned();
        let server = tokio::spawn(async move {
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            theirs.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        });
        let mut follower = Follower::new(Connection::over(ours), "main", 4).await.unwrap();
        let mut seen = Vec::new();
        loop {
            let told = follower.next().await.map(|told| told.seq).map_err(|error| error.to_string());
            let ended = told.is_err();
            seen.push(told);
            if ended {
                server.abort();
                return seen;
            }
        }
    }

    fn event(seq: u64, of: u64) -> String {
        format!("id: {seq}\nevent: turn_started\ndata: {{\"id\":\"evt\",\"event_seq\":{of},\"v\":1}}\n\n")
    }

    fn chunk(text: &str) -> String {
        format!("{:x}\r\n{text}\r\n", text.len())
    }

    #[tokio::test]
    async fn events_come_out_of_chunks_that_end_anywhere() {
        let text = format!(": events\nretry: 1000\n\n{}{}", event(5, 5), event(6, 6));
        let (one, other) = text.split_at(40);
        let seen = follow(&[chunk(one), chunk(other), "0\r\n\r\n".to_owned()].concat()).await;
        assert_eq!(seen[..2], [Ok(5), Ok(6)]);
        assert_eq!(seen.len(), 3, "{seen:?}");
    }

    #[tokio::test]
    async fn a_gap_a_repetition_and_another_event_are_told() {
        for (text, error) in [
            (event(6, 6), "event 6 came after 4"),
            (event(5, 5) + &event(5, 5), "event 5 came after 5"),
            (event(5, 7), "event 5 is not what it says"),
        ] {
            let seen = follow(&chunk(&text)).await;
            let Some(Err(told)) = seen.last() else { panic!("{seen:?}") };
            assert!(told.starts_with(error), "{told}");
        }
    }
}
