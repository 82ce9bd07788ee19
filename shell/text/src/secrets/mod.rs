//! Values that never reach the core, the ledger, a log or a reply, with the names that stand for them.

mod scan;
mod shapes;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use scan::{Look, Piece, State, show, text};

use crate::trigger_signature as signature;

pub use scan::{Pieces, Redactor};

/// Shorter values are no secrets: they would redact ordinary words.
pub const LEAST_CHARS: usize = 8;

/// What is secret: values by their names, and whatever has the shape of a credential.
pub struct Secrets {
    /// The longest first.
    values: Vec<Value>,
    /// As they were given, for a process that redacts on its own.
    named: Vec<(String, String)>,
    shapes: bool,
    begins: Beginnings,
}

struct Value {
    name: String,
    form: String,
}

/// With which bytes a secret may begin: nearly every other place of a text is passed over by that.
struct Beginnings {
    first: [bool; 256],
    /// A bit for each pair.
    pairs: Box<[u64; 1024]>,
}

/// What stands at one place of a text.
pub(super) enum ValueMatch<'a> {
    Nothing,
    /// That depends on what follows.
    Undecided,
    Value {
        name: &'a str,
        bytes: usize,
    },
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new([])
    }
}

impl Secrets {
    pub fn new(named: impl IntoIterator<Item = (String, String)>) -> Self {
        let long_enough = |(_, value): &(String, String)| value.chars().count() >= LEAST_CHARS;
        let mut seen = BTreeSet::new();
        let first = |(_, value): &(String, String)| seen.insert(value.clone());
        let named: Vec<(String, String)> = named.into_iter().filter(long_enough).filter(first).collect();
        let mut values: Vec<Value> = named.iter().flat_map(forms).collect();
        values.sort_by_key(|value| Reverse(value.form.len()));
        let mut secrets = Self { values, named, shapes: true, begins: Beginnings::new() };
        secrets.note_beginnings();
        secrets
    }

    /// Whether tokens are looked for by their shape as well.
    #[must_use]
    pub fn with_shapes(mut self, shapes: bool) -> Self {
        self.shapes = shapes;
        self.note_beginnings();
        self
    }

    /// The values with their names, for a process that redacts on its own.
    pub fn named(&self) -> &[(String, String)] {
        &self.named
    }

    pub fn shapes(&self) -> bool {
        self.shapes
    }

    fn note_beginnings(&mut self) {
        self.begins = Beginnings::new();
        for value in &self.values {
            self.begins.note(value.form.as_bytes());
        }
        self.begins.note(signature::BEGINS);
        if self.shapes {
            shapes::beginnings().for_each(|pair| self.begins.note(&pair));
        }
    }

    pub fn redact(&self, text: &str) -> String {
        self.redact_by(text, Look::All)
    }

    /// Without known values, whatever has the shape of a token: for what a model has written itself.
    pub fn redact_known(&self, text: &str) -> String {
        self.redact_by(text, Look::ValueMatch)
    }

    /// The first known value that stands in bytes that are no text.
    pub fn are_in(&self, bytes: &[u8]) -> Option<String> {
        let mut found = None;
        self.scan(&mut State::default(), bytes, Look::ValueMatch, true, |piece| {
            if let Piece::Secret(name) = piece {
                found.get_or_insert_with(|| name.to_owned());
            }
        });
        found
    }

    fn redact_by(&self, whole: &str, look: Look) -> String {
        let mut shown = Vec::with_capacity(whole.len());
        self.scan(&mut State::default(), whole.as_bytes(), look, true, |piece| show(&mut shown, piece));
        text(shown)
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
    /// So many bytes beyond a cut one must look in order to see the secrets that it goes through.
    pub fn reach(&self) -> usize {
        let shapes = if self.shapes { shapes::REACH } else { 0 };
        // They are sorted.
        self.values.first().map_or(0, |value| value.form.len()).max(signature::BYTES).max(shapes)
    }

    /// Where they stand, in order, with their names; those that overlap are one.
    pub fn find(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let mut found: Vec<(Range<usize>, String)> = Vec::new();
        let mut at = 0;
        self.scan(&mut State::default(), text.as_bytes(), Look::All, true, |piece| match piece {
            Piece::Plain(bytes) => at += bytes.len(),
            Piece::Secret(name) => found.push((at..at, name.to_owned())),
            Piece::Hidden(bytes) => {
                at += bytes;
                if let Some((range, _)) = found.last_mut() {
                    range.end = at;
                }
            }
        });
        found
    }

    /// Bytes at the end of a text that may be the beginning of one which goes on behind a cut.
    pub fn begun_at_end(&self, text: &str) -> usize {
        let judged = self.scan(&mut State::default(), text.as_bytes(), Look::All, false, |_| {});
        let held = &text.as_bytes()[judged..];
        if !shapes::only_begins(held) {
            return held.len();
        }
        let known = |at: &usize| matches!(self.known_at(&held[*at..], false), ValueMatch::Undecided);
        (0..held.len()).find(known).map_or(0, |at| held.len() - at)
    }

    /// Bytes at the beginning of a text that may be the end of one which began before a cut. Of tokens with a shape
    /// nothing tells: what a supervisor keeps of an output is cut when they are out of it.
    pub fn ended_at_start(&self, text: &str) -> usize {
        let ended = self.values.iter().flat_map(|Value { form, .. }| {
            let begins = form.char_indices().map(|(at, _)| at).skip(1);
            begins.filter(|begins| text.starts_with(&form[*begins..])).map(|begins| form.len() - begins)
        });
        ended.max().unwrap_or(0).max(signature::ended_at_start(text))
    }
}

impl Secrets {
    /// How many bytes pass before the next place at which one may begin, at most so many. The last byte alone may be
    /// the beginning of one.
    pub(super) fn plain(&self, bytes: &[u8], most: usize) -> usize {
        let next = bytes.get(..most.saturating_add(1)).unwrap_or(bytes);
        let candidate = next.windows(2).position(|pair| self.begins.pair(pair[0], pair[1]));
        candidate.unwrap_or_else(|| {
            if next.len() > most {
                return most;
            }
            let last = next.last().is_some_and(|last| self.begins.first[usize::from(*last)]);
            next.len() - usize::from(last)
        })
    }

    /// Which known value begins a text. Where a longer one may, that is waited for.
    pub(super) fn known_at(&self, rest: &[u8], ended: bool) -> ValueMatch<'_> {
        let longer = |form: &[u8]| form.len() > rest.len() && form.starts_with(rest);
        let is_signature = rest.get(..signature::BYTES).is_some_and(signature::begins);
        let may_be_signature = rest.len() < signature::BYTES && signature::begins(rest);
        if !ended && (may_be_signature || self.values.iter().any(|value| longer(value.form.as_bytes()))) {
            return ValueMatch::Undecided;
        }
        match self.values.iter().find(|value| rest.starts_with(value.form.as_bytes())) {
            Some(Value { name, form }) => ValueMatch::Value { name, bytes: form.len() },
            None if is_signature => ValueMatch::Value { name: signature::VARIABLE, bytes: signature::BYTES },
            None => ValueMatch::Nothing,
        }
    }
}

impl Beginnings {
    fn new() -> Self {
        Self { first: [false; 256], pairs: Box::new([0; 1024]) }
    }

    fn note(&mut self, form: &[u8]) {
        if let Some(&[first, second]) = form.first_chunk::<2>() {
            self.first[usize::from(first)] = true;
            let pair = usize::from(u16::from_be_bytes([first, second]));
            self.pairs[pair / 64] |= 1 << (pair % 64);
        }
    }

    fn pair(&self, first: u8, second: u8) -> bool {
        let pair = usize::from(u16::from_be_bytes([first, second]));
        self.first[usize::from(first)] && self.pairs[pair / 64] & (1 << (pair % 64)) != 0
    }
}

/// A value as it is, as a terminal prints its ends of lines, and as each stands inside a JSON string where that is
/// something else.
fn forms((name, value): &(String, String)) -> Vec<Value> {
    let printed = value.replace('\n', "\r\n");
    let mut forms = vec![value.clone()];
    for value in [value, &printed] {
        let quoted = serde_json::to_string(value).unwrap_or_default();
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
        for form in [value.clone(), inner] {
            if !form.is_empty() && !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms.into_iter().map(|form| Value { name: name.clone(), form }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Texts;

    fn texts() -> Texts {
        let secrets = Secrets::new([("OPENAI_API_KEY".into(), "sk-canary-123456".into())]);
        Texts::new(secrets, Box::new(|_| Ok(None)))
    }

    #[test]
    fn secrets_never_pass() {
        let taken = texts().take("the key is sk-canary-123456!");
        assert_eq!(taken, holon_facts::Text::Inline("the key is [redacted:OPENAI_API_KEY]!".into()));
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
        assert_eq!((secrets.reach(), Secrets::default().reach()), (shapes::REACH, shapes::REACH));
        assert_eq!(Secrets::default().with_shapes(false).reach(), signature::BYTES);
        let text = "x canary-ß-1 canary-ß-1-more-of-it ababababab y";
        let found: Vec<_> =
            secrets.find(text).into_iter().map(|(range, name)| (&text[range], name)).collect();
        let expected = [("canary-ß-1", "A"), ("canary-ß-1-more-of-it", "A"), ("ababababab", "C")];
        assert_eq!(found, expected.map(|(part, name)| (part, name.to_owned())));
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

    /// Of whichever agent and generation: the form alone tells.
    #[test]
    fn the_signature_of_a_trigger_is_found_also_where_a_cut_goes_through_it() {
        let (secrets, signature) = (Secrets::default(), signature::write(&[0xab; 32]));
        let text = format!("hwt_no and ä{signature}{signature}hwt_");
        let found: Vec<_> =
            secrets.find(&text).into_iter().map(|(range, _)| text[range].to_owned()).collect();
        assert_eq!(found, [signature.clone(), signature.clone()]);
        for cut in 1..signature::BYTES {
            let (head, tail) = signature.split_at(cut);
            let shown =
                (secrets.redact_head(&format!("say {head}")), secrets.redact_tail(&format!("{tail} it")));
            assert!(!shown.0.contains("ab") && !shown.1.contains("ab"), "{shown:?}");
        }
        assert_eq!((secrets.begun_at_end("a big hat"), secrets.ended_at_start("wt and more")), (0, 0));
    }
}
