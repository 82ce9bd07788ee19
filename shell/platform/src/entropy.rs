//! The only place that draws random numbers.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::hex;

/// Random bytes from the kernel.
fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0_u8; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// A number for a new host's seed.
pub fn seed() -> io::Result<u64> {
    Ok(u64::from_le_bytes(bytes()?))
}

/// Thirty-two bytes as hexadecimal digits.
pub fn key() -> io::Result<String> {
    Ok(hex::write(&bytes::<32>()?))
}

/// Ten letters and digits, for names that must not collide.
pub fn name() -> io::Result<String> {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bytes: [u8; 10] = bytes()?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}
