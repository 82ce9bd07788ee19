//! Text at the border of the core: short text passes as it is, longer text is kept here by its hash until
//! the ledger has stored it, and is looked up again when a performer needs it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::content::{INLINE_BYTES, clip, estimate_tokens};
use holon_core::{Content, ContentId, Text};
use sha2::{Digest, Sha256};

use crate::seal;

/// Bytes that stored texts for re-reading may take in memory.
const CACHE_BYTES: usize = 16 << 20;

/// Bytes of text that may wait for a record. Far more than what can be on its way to the ledger: what is
/// pushed out belongs to outcomes that nobody waited for.
const PENDING_BYTES: usize = 256 << 20;

/// What a text takes beside its bytes, about: short ones are mostly this.
const ENTRY_BYTES: usize = 256;

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

struct Inner {
    /// Text that no durable record names yet.
    pending: Shelf,
    cached: Shelf,
}

/// Texts up to a bound; the oldest leave first.
struct Shelf {
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
}

impl Texts {
    pub fn new(secrets: Secrets, reader: Reader) -> Self {
        let inner = Inner { pending: Shelf::new(PENDING_BYTES), cached: Shelf::new(CACHE_BYTES) };
        let inner = Arc::new(Mutex::new(inner));
        Self { inner, reader: Arc::new(reader), secrets: Arc::new(secrets) }
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

    /// Redacts a text that comes in pieces.
    pub fn pieces(&self) -> Pieces {
        Pieces { secrets: self.secrets.clone(), held: String::new(), covered: 0 }
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
            Err(problem) => Err(TextError::Unreadable { id, problem }),
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

impl Shelf {
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

impl Secrets {
    /// Values shorter than 8 characters are not secrets: they would redact ordinary words.
    pub fn new(named: impl IntoIterator<Item = (String, String)>) -> Self {
        let long_enough = named.into_iter().filter(|(_, value)| value.chars().count() >= 8);
        let mut values: Vec<_> = long_enough.flat_map(|(name, value)| forms(name, value)).collect();
        values.sort_by_key(|(_, value)| Reverse(value.len()));
        Self { values }
    }

    pub fn redact(&self, text: &str) -> String {
        self.without(text, 0..text.len())
    }

    /// A text that goes on behind a cut at its end, without what may be the beginning of one that the cut goes
    /// through.
    pub fn redact_head(&self, text: &str) -> String {
        self.without(text, 0..text.len() - self.begun_at_end(text))
    }

    /// A text that began before a cut at its start, without what may be the end of one that the cut goes through.
    pub fn redact_tail(&self, text: &str) -> String {
        self.without(text, self.ended_at_start(text)..text.len())
    }

    /// This part of a text. Those that its borders go through are named: they are all there.
    fn without(&self, text: &str, part: Range<usize>) -> String {
        let mut shown = String::with_capacity(part.len());
        let mut at = part.start;
        for (range, name) in self.find(text) {
            if range.end <= part.start || range.start >= part.end {
                continue;
            }
            shown.push_str(&text[at..range.start.max(at)]);
            shown.push_str(&format!("[redacted:{name}]"));
            at = range.end;
        }
        shown.push_str(&text[at.min(part.end)..part.end]);
        shown
    }
}

/// For those who show a part of a longer text and must know where its secrets are.
impl Secrets {
    /// Bytes of the longest one: so far beyond a cut one must look in order to see those that it goes through.
    pub fn longest(&self) -> usize {
        // They are sorted.
        self.values.first().map_or(0, |(_, value)| value.len()).max(seal::BYTES)
    }

    /// Where they stand, in order, with their names; those that overlap are one.
    pub fn find(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        for (name, value) in &self.values {
            // Nearly always there is none, which is seen faster than where one would be.
            if !text.contains(value.as_str()) {
                continue;
            }
            let (mut from, before) = (0, found.len());
            while let Some(at) = text[from..].find(value.as_str()) {
                let (begins, ends) = (from + at, from + at + value.len());
                match found[before..].last_mut() {
                    // One may overlap itself.
                    Some((last, _)) if begins < last.end => last.end = ends,
                    Some(_) | None => found.push((begins..ends, name)),
                }
                from = begins + value.chars().next().map_or(value.len(), char::len_utf8);
            }
        }
        found.extend(seal::find(text).map(|range| (range, seal::VARIABLE)));
        found.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let mut merged: Vec<(Range<usize>, &str)> = Vec::with_capacity(found.len());
        for (range, name) in found {
            match merged.last_mut() {
                Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
                Some(_) | None => merged.push((range, name)),
            }
        }
        merged
    }

    /// Bytes at the end of a text that may be the beginning of one which goes on behind a cut.
    pub fn begun_at_end(&self, text: &str) -> usize {
        let begun = self.values.iter().flat_map(|(_, value)| {
            let ends = value.char_indices().map(|(at, _)| at).skip(1);
            ends.filter(|end| text.ends_with(&value[..*end]))
        });
        begun.max().unwrap_or(0).max(seal::begun_at_end(text))
    }

    /// Bytes at the beginning of a text that may be the end of one which began before a cut.
    pub fn ended_at_start(&self, text: &str) -> usize {
        let ended = self.values.iter().flat_map(|(_, value)| {
            let begins = value.char_indices().map(|(at, _)| at).skip(1);
            begins.filter(|begins| text.starts_with(&value[*begins..])).map(|begins| value.len() - begins)
        });
        ended.max().unwrap_or(0).max(seal::ended_at_start(text))
    }
}

/// Redacts a text while it comes: what may be the beginning of a secret is held back until it is known not
/// to be one, so that no piece shows a part of one.
pub struct Pieces {
    secrets: Arc<Secrets>,
    held: String,
    /// How much of `held` belongs to a secret that is named already, in bytes.
    covered: usize,
}

impl Pieces {
    /// More of the text; what of it may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.scan(false)
    }

    /// What was held back, now that nothing follows.
    pub fn finish(&mut self) -> String {
        self.scan(true)
    }

    fn scan(&mut self, ended: bool) -> String {
        let values = &self.secrets.values;
        let (mut shown, mut at) = (String::new(), 0);
        let begins = |c: char| c == seal::FIRST || values.iter().any(|(_, value)| value.starts_with(c));
        while let Some(next) = self.held[at..].chars().next() {
            let rest = &self.held[at..];
            if self.covered <= at && !begins(next) {
                // Nearly everything: up to where a secret may begin.
                let plain = rest.find(begins).unwrap_or(rest.len());
                shown.push_str(&rest[..plain]);
                at += plain;
                continue;
            }
            let may_become = |value: &str| value.len() > rest.len() && value.starts_with(rest);
            let may_be_sealed = rest.len() < seal::BYTES && seal::begins(rest);
            if !ended && (may_be_sealed || values.iter().any(|(_, value)| may_become(value))) {
                break;
            }
            let sealed = rest.get(..seal::BYTES).filter(|sealed| seal::begins(sealed));
            let sealed = sealed.map(|sealed| (seal::VARIABLE, sealed.len()));
            let mut known = values.iter().map(|(name, value)| (name.as_str(), value));
            let known = known.find(|(_, value)| rest.starts_with(value.as_str()));
            if let Some((name, bytes)) = known.map(|(name, value)| (name, value.len())).or(sealed) {
                if self.covered <= at {
                    shown.push_str(&format!("[redacted:{name}]"));
                }
                self.covered = self.covered.max(at + bytes);
            }
            if self.covered <= at {
                shown.push(next);
            }
            at += next.len_utf8();
        }
        self.held.drain(..at);
        self.covered = self.covered.saturating_sub(at);
        shown
    }
}

/// A value as it is, as a terminal prints its ends of lines, and as each stands inside a JSON string where that is
/// something else.
fn forms(name: String, value: String) -> Vec<(String, String)> {
    let printed = value.replace('\n', "\r\n");
    let mut forms = vec![value];
    for value in [forms[0].clone(), printed] {
        let quoted = serde_json::to_string(&value).unwrap_or_default();
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
        for form in [value, inner] {
            if !form.is_empty() && !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms.into_iter().map(|form| (name.clone(), form)).collect()
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
    fn a_shelf_keeps_to_its_bound() {
        const EACH: usize = ENTRY_BYTES + 30;
        let mut shelf = Shelf::new(3 * EACH + 10);
        for number in 0..10_u8 {
            shelf.put(ContentId([number; 32]), Arc::from("x".repeat(30)));
        }
        assert_eq!((shelf.texts.len(), shelf.oldest_first.len(), shelf.bytes), (3, 3, 3 * EACH));
        assert!(shelf.take(ContentId([9; 32])).is_some());
        assert!(shelf.take(ContentId([0; 32])).is_none());
        assert_eq!((shelf.texts.len(), shelf.oldest_first.len(), shelf.bytes), (2, 2, 2 * EACH));
    }

    #[test]
    fn secrets_never_pass() {
        let taken = texts().take("the key is sk-canary-123456!");
        assert_eq!(taken, Text::Inline("the key is [redacted:OPENAI_API_KEY]!".into()));
        let awkward = "two\nlines with \"quotes\"";
        let secrets = Secrets::new([("DEPLOY_SECRET".into(), awkward.into())]);
        let printed = awkward.replace('\n', "\r\n");
        let forms = [awkward, &printed].map(|text| [text.to_owned(), serde_json::to_string(text).unwrap()]);
        for text in forms.concat() {
            let redacted = secrets.redact(&format!("<{text}>"));
            assert!(
                redacted.contains("[redacted:DEPLOY_SECRET]") && !redacted.contains("lines"),
                "{redacted}"
            );
        }
    }

    #[test]
    fn of_secrets_that_overlap_nothing_stays() {
        let named = [("LONG", "canary-1234-canary"), ("SHORT", "34-canary-end"), ("TWICE", "abababab")];
        let secrets = Secrets::new(named.map(|(name, value)| (name.into(), value.into())));
        for (text, expected) in [
            ("a canary-1234-canary-end b", "a [redacted:LONG] b"),
            ("a 34-canary-end b", "a [redacted:SHORT] b"),
            ("a ababababab b", "a [redacted:TWICE] b"),
            ("abababababababab", "[redacted:TWICE]"),
            ("canary-1234-canarycanary-1234-canary", "[redacted:LONG][redacted:LONG]"),
            ("plain ß", "plain ß"),
        ] {
            assert_eq!(secrets.redact(text), expected);
        }
    }

    /// What a cut goes through is left out; what only seems so at the end of a whole one does not uncover that.
    #[test]
    fn a_cut_shows_no_part_of_a_secret() {
        let secrets = Secrets::new([("KEY".into(), "ab-12345678-ab".into())]);
        for (text, head, tail) in [
            ("x ab-12345678-ab", "x [redacted:KEY]", "x [redacted:KEY]"),
            ("ab-12345678-ab x", "[redacted:KEY] x", "[redacted:KEY] x"),
            ("ab-12345678-ab", "[redacted:KEY]", "[redacted:KEY]"),
            ("x ab-1234", "x ", "x ab-1234"),
            ("78-ab x", "78-ab x", " x"),
            ("78-ab", "78-", ""),
            ("", "", ""),
        ] {
            assert_eq!((secrets.redact_head(text), secrets.redact_tail(text)), (head.into(), tail.into()));
        }
    }

    #[test]
    fn a_secret_split_over_pieces_is_never_shown() {
        let secrets = Secrets::new([
            ("SHORT".into(), "canary-1".into()),
            ("LONG".into(), "canary-1234-canary-ß".into()),
            ("OTHER".into(), "34-canary-ß-end".into()),
        ]);
        let texts = Texts::new(secrets, Box::new(|_| Ok(None)));
        for (text, expected) in [
            ("a canary-1 b", "a [redacted:SHORT] b"),
            ("a canary-1234-canary-ß b", "a [redacted:LONG] b"),
            ("a canary-1234-canary-ß-end b", "a [redacted:LONG] b"),
            ("a canary-1234-can", "a [redacted:SHORT]234-can"),
            ("cacanary-12", "ca[redacted:SHORT]2"),
            ("canary- canary", "canary- canary"),
        ] {
            for size in 1..text.chars().count() {
                let mut pieces = texts.pieces();
                let characters: Vec<char> = text.chars().collect();
                let mut shown = String::new();
                for piece in characters.chunks(size) {
                    let piece = pieces.push(&piece.iter().collect::<String>());
                    shown.push_str(&piece);
                    assert!(expected.starts_with(&shown), "{shown}");
                }
                shown.push_str(&pieces.finish());
                assert_eq!(shown, expected, "in pieces of {size}");
            }
        }
    }

    #[test]
    fn secrets_are_found_with_those_that_a_cut_goes_through() {
        let named = [("A", "canary-ß-1"), ("B", "ß-1-more-of-it"), ("C", "abababab")];
        let secrets = Secrets::new(named.map(|(name, value)| (name.into(), value.into())));
        assert_eq!((secrets.longest(), Secrets::default().longest()), (seal::BYTES, seal::BYTES));
        let text = "x canary-ß-1 canary-ß-1-more-of-it ababababab y";
        let found: Vec<_> =
            secrets.find(text).into_iter().map(|(range, name)| (&text[range], name)).collect();
        assert_eq!(found, [("canary-ß-1", "A"), ("canary-ß-1-more-of-it", "A"), ("ababababab", "C")]);
        for (text, begun, ended) in [
            ("a canary-ß", 9, 0),
            ("1 canary-ß-1", 4, 1),
            ("ß", 2, 0),
            ("ry-ß-1 a", 1, 7),
            ("", 0, 0),
            ("plain", 0, 0),
        ] {
            assert_eq!((secrets.begun_at_end(text), secrets.ended_at_start(text)), (begun, ended), "{text}");
        }
    }

    #[test]
    fn text_without_a_secret_is_shown_at_once() {
        let mut pieces = texts().pieces();
        assert_eq!(pieces.push("hello s"), "hello ");
        assert_eq!(pieces.push("o"), "so");
        assert_eq!(pieces.finish(), "");
    }
}
