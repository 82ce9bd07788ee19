//! What stands for a document outside: nobody who was not given it can write it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use holon_facts::AgentId;
use serde::Serialize;
use sha2::Sha256;

use crate::document::{Document, Source};

const PREFIX: &str = "mem_";
/// Bytes of the signature: 16 characters of 5 bits.
const BYTES: usize = 10;
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The same for a source as long as the home keeps its key, also after the index was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceRef(pub(crate) [u8; BYTES]);

/// A document as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub source_ref: SourceRef,
    pub document: Document,
}

/// What a home signs with.
#[derive(Clone)]
pub struct RefKey(Hmac<Sha256>);

impl fmt::Debug for RefKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefKey")
    }
}

impl RefKey {
    pub fn new(key: &[u8]) -> Self {
        // It takes keys of any length.
        Self(Hmac::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes every key")))
    }

    /// What stands for a source of an agent.
    pub fn sign(&self, agent: &AgentId, source: &Source) -> SourceRef {
        let named = format!("{agent}\n{}\n{}", source.kind.name(), source.id);
        let digest: [u8; 32] = self.0.clone().chain_update(named).finalize().into_bytes().into();
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&digest[..BYTES]);
        SourceRef(bytes)
    }
}

impl SourceRef {
    /// One that has the form; whether it was given to anybody is another question.
    pub fn read(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        if digits.len() != BYTES * 8 / 5 {
            return None;
        }
        let mut bytes = [0; BYTES];
        let (mut held, mut bits, mut at) = (0_u32, 0, 0);
        for digit in digits.bytes() {
            let value = DIGITS.iter().position(|known| *known == digit)?;
            held = (held << 5 | u32::try_from(value).ok()?) & 0xfff;
            bits += 5;
            if bits >= 8 {
                bits -= 8;
                *bytes.get_mut(at)? = u8::try_from(held >> bits & 0xff).ok()?;
                at += 1;
            }
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for SourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        for five in self.0.chunks(5) {
            let number = five.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
            for place in (0..8).rev() {
                let digit = usize::try_from(number >> (5 * place) & 31).unwrap_or_default();
                write!(f, "{}", char::from(DIGITS[digit]))?;
            }
        }
        Ok(())
    }
}

impl Serialize for SourceRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Kind;

    #[test]
    fn a_reference_is_written_and_read_and_belongs_to_one_source_of_one_agent() {
        let key = RefKey::new(b"a key");
        let main = AgentId::new("main").unwrap();
        let source = |id: &str| Source { kind: Kind::Brief, id: id.to_owned() };
        let signed = key.sign(&main, &source("brief_1"));
        let written = signed.to_string();
        assert_eq!(written.len(), 20, "{written}");
        assert_eq!(SourceRef::read(&written), Some(signed));
        assert_ne!(key.sign(&main, &source("brief_2")), signed);
        assert_ne!(key.sign(&AgentId::new("other").unwrap(), &source("brief_1")), signed);
        assert_ne!(RefKey::new(b"another").sign(&main, &source("brief_1")), signed);
        for wrong in
            ["", "mem_", "brief_1", "mem_AAAAAAAAAAAAAAAA", "mem_aaaaaaaaaaaaaaaa1", "mem_aaaaaaaaaaaaaaaé"]
        {
            assert_eq!(SourceRef::read(wrong), None, "{wrong}");
        }
    }
}
