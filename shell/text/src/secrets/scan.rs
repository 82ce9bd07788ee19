//! One pass over a text that finds its secrets: known values, signatures of triggers, and tokens by their shape. The
//! text may come in pieces of bytes: what may be the beginning of a secret is held back until it is known not to be
//! one, so that no piece shows a part of one, and the pieces together are what the whole would be.

use std::sync::Arc;

use super::shapes::{self, BEFORE, More, Rest, TokenMatch};
use super::{Secrets, ValueMatch};

/// Where in a text a scan is. Positions count from the beginning of the bytes that are scanned next.
#[derive(Default)]
pub(super) struct State {
    /// The last bytes before.
    before: Vec<u8>,
    /// How much belongs to secrets that are named already.
    covered: usize,
    /// A token that may go on.
    rest: Option<Rest>,
    /// How far that is known.
    judged: usize,
}

/// What a scan passes on.
pub(super) enum Piece<'a> {
    Plain(&'a [u8]),
    /// A secret begins here, of this name.
    Secret(&'a str),
    /// So many bytes of it.
    Hidden(usize),
}

/// Which secrets are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    All,
    /// ValueMatch values alone, no shapes.
    ValueMatch,
}

impl State {
    /// Follows a token as far as it goes.
    fn follow(&mut self, bytes: &[u8], ended: bool) {
        let Some(rest) = self.rest.as_mut().filter(|_| self.judged < bytes.len()) else { return };
        match rest.more(&bytes[self.judged..], ended) {
            More::All => self.judged = bytes.len(),
            More::Undecided(more) => self.judged += more,
            More::Ends(more) => {
                self.judged += more;
                self.rest = None;
            }
        }
        self.covered = self.covered.max(self.judged);
    }

    /// Whether the byte at this place may still belong to a token.
    fn open_at(&self, at: usize) -> bool {
        self.rest.is_some() && at >= self.judged
    }

    /// The last bytes before a place.
    fn before(&self, bytes: &[u8], at: usize) -> Vec<u8> {
        let near = &bytes[at.saturating_sub(BEFORE)..at];
        let earlier = self.before.len().min(BEFORE - near.len());
        [&self.before[self.before.len() - earlier..], near].concat()
    }

    /// Everything before this place has been passed on.
    fn advance(&mut self, bytes: &[u8], at: usize) {
        self.before = self.before(bytes, at);
        self.covered = self.covered.saturating_sub(at);
        self.judged = self.judged.saturating_sub(at);
    }
}

impl Secrets {
    /// Passes on what can be judged; gives how many bytes that is. All of them when the text has `ended`.
    pub(super) fn scan(
        &self,
        state: &mut State,
        bytes: &[u8],
        look: Look,
        ended: bool,
        mut pass: impl FnMut(Piece<'_>),
    ) -> usize {
        let mut at = 0;
        loop {
            state.follow(bytes, ended);
            if at == bytes.len() || state.open_at(at) {
                break;
            }
            let hidden = state.covered > at;
            let until = if hidden { state.covered.min(bytes.len()) } else { bytes.len() };
            let plain = self.plain(&bytes[at..], until - at);
            if plain > 0 {
                pass(if hidden { Piece::Hidden(plain) } else { Piece::Plain(&bytes[at..at + plain]) });
                at += plain;
                continue;
            }
            let known = self.known_at(&bytes[at..], ended);
            if matches!(known, ValueMatch::Undecided) {
                break;
            }
            let seen = match look {
                Look::All if !hidden && self.shapes() => {
                    shapes::at(&bytes[at..], &state.before(bytes, at), ended)
                }
                Look::All | Look::ValueMatch => TokenMatch::Nothing,
            };
            let (name, ends) = match (known, seen) {
                (_, TokenMatch::Undecided) => break,
                (ValueMatch::Value { name, bytes: value }, TokenMatch::Token { bytes: token, rest, .. }) => {
                    (state.rest, state.judged) = (Some(rest), at + token);
                    (Some(name), at + value.max(token))
                }
                (ValueMatch::Value { name, bytes: value }, TokenMatch::Nothing) => (Some(name), at + value),
                (_, TokenMatch::Token { name, bytes: token, rest }) => {
                    (state.rest, state.judged) = (Some(rest), at + token);
                    (Some(name), at + token)
                }
                (ValueMatch::Nothing | ValueMatch::Undecided, TokenMatch::Nothing) => (None, 0),
            };
            if let Some(name) = name.filter(|_| !hidden) {
                pass(Piece::Secret(name));
            }
            state.covered = state.covered.max(ends);
            let one = &bytes[at..=at];
            pass(if state.covered > at { Piece::Hidden(1) } else { Piece::Plain(one) });
            at += 1;
        }
        state.advance(bytes, at);
        at
    }
}

/// Redacts bytes while they come.
pub struct Redactor {
    secrets: Arc<Secrets>,
    state: State,
    held: Vec<u8>,
}

impl Redactor {
    pub fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, state: State::default(), held: Vec::new() }
    }

    /// More of the bytes; what of them may be shown.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.scan(piece, false)
    }

    /// What was held back, now that nothing follows.
    pub fn finish(&mut self) -> Vec<u8> {
        self.scan(&[], true)
    }

    fn scan(&mut self, piece: &[u8], ended: bool) -> Vec<u8> {
        let Self { secrets, state, held } = self;
        let mut shown = Vec::with_capacity(held.len() + piece.len());
        let pass = |piece: Piece<'_>| show(&mut shown, piece);
        if held.is_empty() {
            let taken = secrets.scan(state, piece, Look::All, ended, pass);
            held.extend_from_slice(&piece[taken..]);
        } else {
            held.extend_from_slice(piece);
            let taken = secrets.scan(state, held, Look::All, ended, pass);
            held.drain(..taken);
        }
        shown
    }
}

/// Adds a piece to what is shown.
pub(super) fn show(shown: &mut Vec<u8>, piece: Piece<'_>) {
    match piece {
        Piece::Plain(bytes) => shown.extend_from_slice(bytes),
        Piece::Secret(name) => shown.extend_from_slice(format!("[redacted:{name}]").as_bytes()),
        Piece::Hidden(_) => {}
    }
}

/// Redacts a text while it comes.
pub struct Pieces(Redactor);

impl Pieces {
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self(Redactor::new(secrets))
    }

    /// More of the text; what of it may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        text(self.0.push(piece.as_bytes()))
    }

    /// What was held back, now that nothing follows.
    pub fn finish(&mut self) -> String {
        text(self.0.finish())
    }
}

/// What was a text stays one: no secret begins or ends inside a character.
pub(super) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned())
}
