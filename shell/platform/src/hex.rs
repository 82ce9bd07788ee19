//! Bytes as hexadecimal digits.

/// Two digits for each.
pub fn write(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of so many digits, and of nothing else.
pub fn read<const N: usize>(digits: &str) -> Option<[u8; N]> {
    if digits.len() != 2 * N || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0_u8; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..][..2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_and_read() {
        assert_eq!(write(&[0x0f, 0xa0]), "0fa0");
        assert_eq!(read("0fA0"), Some([0x0f, 0xa0]));
        for wrong in ["", "0fa", "0fa00", "+f+1", "ß0f", "0fxx"] {
            assert_eq!(read::<2>(wrong), None, "{wrong}");
        }
    }
}
