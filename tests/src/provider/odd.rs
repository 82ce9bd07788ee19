//! Answers that are whole and right, in forms that servers seldom choose.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::serve::{After, whole};

/// Encoded, though nothing gets smaller.
pub(super) async fn gzip(stream: &mut TcpStream, kind: &str, body: &[u8]) -> std::io::Result<After> {
    let headers = [("content-type", kind.to_owned()), ("content-encoding", "gzip".to_owned())];
    whole(stream, 200, &headers, &gzipped(body)).await
}

/// In HTTP/1.0, without a length.
pub(super) async fn old(stream: &mut TcpStream, kind: &str, body: &[u8]) -> std::io::Result<After> {
    let head = format!("HTTP/1.0 200 OK\r\ncontent-type: {kind}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body].concat()).await?;
    Ok(After::Close)
}

/// Once more than was asked for, in one go.
pub(super) async fn twice(stream: &mut TcpStream, kind: &str, body: &[u8]) -> std::io::Result<After> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    let response = [head.as_bytes(), body].concat();
    stream.write_all(&[&response[..], &response].concat()).await?;
    Ok(After::Keep)
}

/// RFC 1952 around blocks that are stored as they are.
fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoded = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let blocks = body.chunks(0xffff);
    let last = blocks.len().saturating_sub(1);
    for (at, block) in blocks.enumerate() {
        let length = u16::try_from(block.len()).expect("a block is small");
        encoded.push(u8::from(at == last));
        encoded.extend(length.to_le_bytes());
        encoded.extend((!length).to_le_bytes());
        encoded.extend(block);
    }
    encoded.extend(crc(body).to_le_bytes());
    encoded.extend(u32::try_from(body.len()).expect("a body is small").to_le_bytes());
    encoded
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
