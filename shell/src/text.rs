//! Text at the border of the core: short text passes as it is, longer text is kept here by its hash until
//! the ledger has stored it, and is looked up again when a performer needs it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::content::{INLINE_BYTES, clip, estimate_tokens};
use holon_core::{Content, ContentId, Text};
use sha2::{Digest, Sha256};

/// Bytes of stored text that stay in memory for re-reading.
const CACHE_BYTES: usize = 16 << 20;

/// Reads a stored text from the ledger.
pub type Reader = Box<dyn Fn(ContentId) -> Result<Option<String>, String> + Send + Sync>;

/// All text that crosses the border. Cheap to share.
#[derive(Clone)]
pub struct Texts {
    inner: Arc<Mutex<Inner>>,
    reader: Arc<Reader>,
    secrets: Arc<Secrets>,
}

/// Values that never reach the core, the ledger, a log or a reply, with the names that stand for them.
#[derive(Default)]
pub struct Secrets {
    values: Vec<(String, String)>,
}

#[derive(Default)]
struct Inner {
    /// Text that no durable record names yet.
    pending: BTreeMap<ContentId, Arc<str>>,
    cached: BTreeMap<ContentId, Arc<str>>,
    oldest_first: VecDeque<ContentId>,
    cached_bytes: usize,
}

/// A text that is named but can't be read.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    #[error("content {0} is not stored")]
    Missing(ContentId),
    #[error("content {id} can't be read: {problem}")]
    Unreadable { id: ContentId, problem: String },
}

impl Texts {
    pub fn new(secrets: Secrets, reader: Reader) -> Self {
        Self { inner: Arc::default(), reader: Arc::new(reader), secrets: Arc::new(secrets) }
    }

    /// Redacts, and names what does not fit into a record by its hash.
    pub fn take(&self, text: &str) -> Text {
        let text = self.secrets.redact(text);
        if text.len() <= INLINE_BYTES {
            return Text::Inline(text);
        }
        let content = Content {
            id: hash(text.as_bytes()),
            bytes: text.len() as u64,
            est_tokens: estimate_tokens(text.chars().count() as u64),
            preview: clip(&text, INLINE_BYTES),
        };
        let id = content.id;
        self.lock().pending.insert(id, Arc::from(text));
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
                self.lock().cache(id, read.clone());
                Ok(read)
            }
            Ok(None) => Err(TextError::Missing(id)),
            Err(problem) => Err(TextError::Unreadable { id, problem }),
        }
    }

    /// A text that is still to be stored; none when it is stored already.
    pub fn pending(&self, id: ContentId) -> Option<Arc<str>> {
        self.lock().pending.get(&id).cloned()
    }

    /// The ledger holds these now.
    pub fn stored(&self, ids: impl IntoIterator<Item = ContentId>) {
        let mut inner = self.lock();
        for id in ids {
            if let Some(text) = inner.pending.remove(&id) {
                inner.cache(id, text);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn find(&self, id: ContentId) -> Option<Arc<str>> {
        self.pending.get(&id).or_else(|| self.cached.get(&id)).cloned()
    }

    fn cache(&mut self, id: ContentId, text: Arc<str>) {
        self.cached_bytes += text.len();
        if self.cached.insert(id, text).is_none() {
            self.oldest_first.push_back(id);
        }
        while self.cached_bytes > CACHE_BYTES {
            let Some(oldest) = self.oldest_first.pop_front() else { break };
            if let Some(text) = self.cached.remove(&oldest) {
                self.cached_bytes = self.cached_bytes.saturating_sub(text.len());
            }
        }
    }
}

impl Secrets {
    /// Values shorter than 8 characters are not secrets: they would redact ordinary words.
    pub fn new(named: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut values: Vec<_> = named.into_iter().filter(|(_, value)| value.chars().count() >= 8).collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self { values }
    }

    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), &format!("[redacted:{name}]"));
            }
        }
        text
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
    fn secrets_never_pass() {
        let taken = texts().take("the key is sk-canary-123456!");
        assert_eq!(taken, Text::Inline("the key is [redacted:OPENAI_API_KEY]!".into()));
    }
}
