//! Files of images, made by hand, and how often requests show one.

use serde_json::Value;

/// The header of a PNG of so many pixels; what follows makes files differ.
pub fn png(width: u32, height: u32, tail: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes().into_iter().chain(height.to_be_bytes()));
    bytes.extend([8, 2, 0, 0, 0]);
    bytes.extend(tail);
    bytes
}

pub fn gif(width: u16, height: u16) -> Vec<u8> {
    [b"GIF89a", &width.to_le_bytes()[..], &height.to_le_bytes(), b"\0\0\0\0\0\0"].concat()
}

/// How often this file stands in a request.
pub fn shown(request: &Value, bytes: &[u8]) -> usize {
    request.to_string().matches(&base64(bytes)).count()
}

/// As RFC 4648 has it: not by the product's own hands.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * at)) as usize & 63]);
            text.push(if at > three.len() { '=' } else { letter });
        }
    }
    text
}

#[test]
fn it_is_base64() {
    for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}
