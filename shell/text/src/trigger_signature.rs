//! What the signature in a trigger's address looks like, wherever it stands: by its form alone it is known as a secret,
//! of whichever agent and generation it is.

use holon_platform::hex;

/// Where commands find the address, and what stands for a signature that was replaced.
pub const VARIABLE: &str = "HOLON_EXTERNAL_TRIGGER_URL";

/// What each begins with.
pub const BEGINS: &[u8] = b"hwt_";
/// Hexadecimal digits.
const DIGITS: usize = 64;
const ENDS: &[u8] = b"_hwt";
/// Bytes of one.
pub const BYTES: usize = BEGINS.len() + DIGITS + ENDS.len();

/// A signature as it is written.
pub fn write(digest: &[u8; DIGITS / 2]) -> String {
    format!("hwt_{}_hwt", hex::write(digest))
}

/// The signature that is written like this.
pub fn read(text: &str) -> Option<[u8; DIGITS / 2]> {
    if !(text.len() == BYTES && fits(text.as_bytes(), 0)) {
        return None;
    }
    hex::read(&text[BEGINS.len()..][..DIGITS])
}

/// Whether a text may go on as one: its beginning, or all of it.
pub fn begins(text: &[u8]) -> bool {
    !text.is_empty() && text.len() <= BYTES && fits(text, 0)
}

/// Bytes at the beginning of a text that may be the end of one which began before a cut, with something of its secret.
pub fn ended_at_start(text: &str) -> usize {
    let ends = (ENDS.len() + 1..BYTES).rev();
    let bytes = text.as_bytes();
    ends.filter(|length| *length <= bytes.len())
        .find(|length| fits(&bytes[..*length], BYTES - length))
        .unwrap_or(0)
}

/// Whether these bytes may stand in one, so far behind its beginning.
fn fits(part: &[u8], offset: usize) -> bool {
    let may_stand = |(at, byte): (usize, &u8)| match at.checked_sub(BEGINS.len()) {
        None => BEGINS[at] == *byte,
        Some(digit) if digit < DIGITS => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        Some(behind) => ENDS.get(behind - DIGITS) == Some(byte),
    };
    (offset..).zip(part).all(may_stand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_written_and_read() {
        let digest = std::array::from_fn(|at| u8::try_from(at * 7).unwrap_or(255));
        let written = write(&digest);
        assert_eq!((written.len(), read(&written)), (BYTES, Some(digest)));
        for wrong in ["", "hwt__hwt", &written[1..], &written.to_uppercase(), &format!("{written}0")] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_beginning_of_one_may_become_one() {
        let written = write(&[0xab; 32]);
        assert!(begins(b"h") && begins(written.as_bytes()) && !begins(b"hut") && !begins(b""));
        assert_eq!(ended_at_start("wt and more"), 0);
    }
}
