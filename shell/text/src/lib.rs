//! Text at the border of the core: short text passes as it is, longer text is kept here by its hash until
//! the ledger has stored it, and is looked up again when a performer needs it.

pub mod moment;
pub mod nearest;
mod secret_names;
mod secrets;
pub mod time;
pub mod trigger_signature;
pub mod variables;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use holon_facts::content::{INLINE_BYTES, clip};
use holon_facts::tokens;
use holon_facts::{Content, ContentId, Text};
use sha2::{Digest, Sha256};

pub use secrets::{LEAST_CHARS, Pieces, Redactor, Secrets};

/// Bytes that stored texts for re-reading may take in memory.
const CACHE_BYTES: usize = 16 << 20;

/// Bytes of text that may wait for a record. Far more than what can be on its way to the ledger: what is
/// pushed out belongs to outcomes that nobody waited for.
const PENDING_BYTES: usize = 256 << 20;

/// What a text takes beside its bytes, about: short ones are mostly this.
const ENTRY_BYTES: usize = 256;

/// Reads a stored text from the ledger.
pub type Reader = Box<dyn Fn(ContentId) -> Result<Option<String>, ReadError> + Send + Sync>;

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// It was removed with time: its name and its beginning are left.
    Removed,
    Unreadable(String),
}

/// All text that crosses the border. Cheap to share.
#[derive(Clone)]
pub struct Texts {
    inner: Arc<Mutex<Inner>>,
    reader: Arc<Reader>,
    secrets: Arc<Secrets>,
}

struct Inner {
    /// Text that no durable record names yet.
    pending: Bounded,
    cached: Bounded,
}

/// Texts up to a bound; the oldest leave first.
struct Bounded {
    texts: BTreeMap<ContentId, Arc<str>>,
    oldest_first: VecDeque<ContentId>,
    bytes: usize,
    limit: usize,
}

/// A text that is named but can't be read.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    #[error("content {0} is not stored")]
    Missing(ContentId),
    #[error("content {id} can't be read: {problem}")]
    Unreadable { id: ContentId, problem: String },
    #[error("content {0} was removed by `holon ledger gc --texts`")]
    Removed(ContentId),
}

/// What is left of a text.
fn removed(content: &Content) -> String {
    format!("{} [removed: it had {} bytes]", content.preview, content.bytes)
}

impl Texts {
    pub fn new(secrets: Secrets, reader: Reader) -> Self {
        let inner = Inner { pending: Bounded::new(PENDING_BYTES), cached: Bounded::new(CACHE_BYTES) };
        let inner = Arc::new(Mutex::new(inner));
        Self { inner, reader: Arc::new(reader), secrets: Arc::new(secrets) }
    }

    /// Redacts, and names what does not fit into a record by its hash.
    pub fn take(&self, text: &str) -> Text {
        self.keep(self.secrets.redact(text))
    }

    /// The same of what a model has written to be executed: known values are redacted, and a token that it has made
    /// up, for a test or an example, is written as it says.
    pub fn take_written(&self, text: &str) -> Text {
        self.keep(self.secrets.redact_known(text))
    }

    /// Names a text that is worth nothing unless it stays as it is, and whose beginning nobody reads. None where it
    /// contains a secret: it could not stay as it is.
    pub fn take_opaque(&self, text: &str) -> Option<Text> {
        (self.secrets.redact(text) == text).then(|| self.store(text.to_owned(), String::new()))
    }

    /// Names bytes that are no text, in the form in which they are sent, with the tokens that they are estimated to take.
    /// Whoever has them looks for secrets in the bytes themselves ([`Secrets::are_in`]).
    pub fn take_encoded(&self, encoded: String, est_tokens: u64) -> Text {
        self.hold(encoded, String::new(), est_tokens)
    }

    /// A text has no NUL: no database stores one in a text, and nobody means one.
    fn keep(&self, text: String) -> Text {
        let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
        if text.len() <= INLINE_BYTES {
            return Text::Inline(text);
        }
        let preview = clip(&text, INLINE_BYTES);
        self.store(text, preview)
    }

    fn store(&self, text: String, preview: String) -> Text {
        let est_tokens = tokens::estimate(&text);
        self.hold(text, preview, est_tokens)
    }

    fn hold(&self, text: String, preview: String, est_tokens: u64) -> Text {
        let content = Content { id: hash(text.as_bytes()), bytes: text.len() as u64, est_tokens, preview };
        let id = content.id;
        self.lock().pending.put(id, Arc::from(text));
        Text::Stored(content)
    }

    /// A short text for diagnostics: redacted, then cut to what a record carries itself.
    pub fn brief(&self, text: &str) -> String {
        clip(&self.redact(text), INLINE_BYTES)
    }

    /// Without secrets. Before a text is cut: half a secret would pass.
    pub fn redact(&self, text: &str) -> String {
        self.secrets.redact(text)
    }

    /// Where secrets are looked for in a part of a text.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The same for whoever keeps them.
    pub fn shared_secrets(&self) -> Arc<Secrets> {
        self.secrets.clone()
    }

    /// Redacts a text that comes in pieces.
    pub fn pieces(&self) -> Pieces {
        Pieces::new(self.secrets.clone())
    }

    /// The whole of a text.
    pub fn resolve(&self, text: &Text) -> Result<Arc<str>, TextError> {
        let Some(content) = text.content() else { return Ok(Arc::from(text.preview())) };
        let id = content.id;
        if let Some(known) = self.lock().find(id) {
            return Ok(known);
        }
        match (self.reader)(id) {
            Ok(Some(read)) => {
                let read: Arc<str> = Arc::from(read);
                self.lock().cached.put(id, read.clone());
                Ok(read)
            }
            Ok(None) => Err(TextError::Missing(id)),
            Err(ReadError::Removed) if content.preview.is_empty() => Err(TextError::Removed(id)),
            Err(ReadError::Removed) => Ok(Arc::from(removed(content))),
            Err(ReadError::Unreadable(problem)) => Err(TextError::Unreadable { id, problem }),
        }
    }

    /// A text that is still to be stored; none when it is stored already.
    pub fn pending(&self, id: ContentId) -> Option<Arc<str>> {
        self.lock().pending.texts.get(&id).cloned()
    }

    /// The ledger holds these now.
    pub fn stored(&self, ids: impl IntoIterator<Item = ContentId>) {
        let mut inner = self.lock();
        for id in ids {
            if let Some(text) = inner.pending.take(id) {
                inner.cached.put(id, text);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn find(&self, id: ContentId) -> Option<Arc<str>> {
        self.pending.texts.get(&id).or_else(|| self.cached.texts.get(&id)).cloned()
    }
}

impl Bounded {
    fn new(limit: usize) -> Self {
        Self { texts: BTreeMap::new(), oldest_first: VecDeque::new(), bytes: 0, limit }
    }

    fn put(&mut self, id: ContentId, text: Arc<str>) {
        let bytes = ENTRY_BYTES + text.len();
        if self.texts.insert(id, text).is_some() {
            return;
        }
        self.bytes += bytes;
        self.oldest_first.push_back(id);
        while self.bytes > self.limit {
            let Some(oldest) = self.oldest_first.pop_front() else { return };
            self.drop_text(oldest);
        }
    }

    fn take(&mut self, id: ContentId) -> Option<Arc<str>> {
        let text = self.drop_text(id)?;
        // What left early is nearly always among the oldest.
        if let Some(at) = self.oldest_first.iter().position(|waiting| *waiting == id) {
            self.oldest_first.remove(at);
        }
        Some(text)
    }

    fn drop_text(&mut self, id: ContentId) -> Option<Arc<str>> {
        let text = self.texts.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(ENTRY_BYTES + text.len());
        Some(text)
    }
}

/// SHA-256 of the bytes.
pub fn hash(bytes: &[u8]) -> ContentId {
    ContentId(Sha256::digest(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Texts {
        let secrets = Secrets::new([("OPENAI_API_KEY".into(), "sk-canary-123456".into())]);
        Texts::new(secrets, Box::new(|_| Ok(None)))
    }

    #[test]
    fn long_text_is_named_by_its_hash_and_read_back() {
        let texts = texts();
        let long = "x".repeat(10_000);
        let named = texts.take(&long);
        assert!(matches!(&named, Text::Stored(content) if content.bytes == 10_000));
        assert_eq!(&*texts.resolve(&named).unwrap(), long);
        let id = named.content().unwrap().id;
        texts.stored([id]);
        assert!(texts.pending(id).is_none());
        assert_eq!(&*texts.resolve(&named).unwrap(), long);
    }

    #[test]
    fn a_text_has_no_nul() {
        let texts = texts();
        for length in [1, 400] {
            let text = texts.take(&format!("a\0{}", "b".repeat(length)));
            assert_eq!(*texts.resolve(&text).unwrap(), format!("a\u{fffd}{}", "b".repeat(length)));
        }
    }

    #[test]
    fn a_store_keeps_to_its_bound() {
        const EACH: usize = ENTRY_BYTES + 30;
        let mut store = Bounded::new(3 * EACH + 10);
        for number in 0..10_u8 {
            store.put(ContentId([number; 32]), Arc::from("x".repeat(30)));
        }
        assert_eq!((store.texts.len(), store.oldest_first.len(), store.bytes), (3, 3, 3 * EACH));
        assert!(store.take(ContentId([9; 32])).is_some());
        assert!(store.take(ContentId([0; 32])).is_none());
        assert_eq!((store.texts.len(), store.oldest_first.len(), store.bytes), (2, 2, 2 * EACH));
    }
}
