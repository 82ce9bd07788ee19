//! Credentials that are known by how they are written: the tokens of well-known services, JSON web tokens and private
//! keys. Nothing else is looked for: digests, UUIDs and base64 stay as they are.
//!
//! Everything here is decided from left to right within a bounded distance, so that a text that comes in pieces is
//! judged as the whole of it would be.

/// How far a token is looked at before it counts as none.
const DECIDES: usize = 256;
/// Bytes of the header of a JSON web token, at most.
const JWT_HEADER: usize = 2 << 10;
/// Bytes between the first line of a private key and its first bytes, at most.
const PEM_GAP: usize = 64;
/// Bytes of a private key, at most: what has no last line hides no more than this.
const PEM: u32 = 16 << 10;
/// Bytes that whoever looks at a part of a text must look at before it, to see the tokens that go through its border.
pub(super) const REACH: usize = 8 << 10;
/// Bytes before a token that are looked at to see whether it stands by itself.
pub(super) const BEFORE: usize = 12;

/// One way to write a token: a beginning that nothing else has, and what follows it.
struct Shape {
    name: &'static str,
    begins: &'static str,
    letters: Alphabet,
    /// Alphabet behind the beginning: at least so many.
    least: usize,
    /// No more than that many either.
    exactly: bool,
    /// Words could stand there as well: the letters have to be mixed as only chance mixes them.
    random: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// `A-Z a-z 0-9`
    Plain,
    /// The same with `_` and `-`.
    Word,
    /// `A-Z 0-9`
    Upper,
}

const fn shape(name: &'static str, begins: &'static str, letters: Alphabet, least: usize) -> Shape {
    Shape { name, begins, letters, least, exactly: false, random: false }
}

const fn exact(name: &'static str, begins: &'static str, letters: Alphabet, least: usize) -> Shape {
    Shape { exactly: true, ..shape(name, begins, letters, least) }
}

const fn random(name: &'static str, begins: &'static str, least: usize) -> Shape {
    Shape { random: true, ..shape(name, begins, Alphabet::Word, least) }
}

/// The first one that begins a text is meant.
const SHAPES: &[Shape] = &[
    random("anthropic-key", "sk-ant-", 20),
    random("api-key", "sk-", 20),
    shape("github-token", "ghp_", Alphabet::Plain, 36),
    shape("github-token", "gho_", Alphabet::Plain, 36),
    shape("github-token", "ghs_", Alphabet::Plain, 36),
    shape("github-token", "ghu_", Alphabet::Plain, 36),
    shape("github-token", "ghr_", Alphabet::Plain, 36),
    shape("github-token", "github_pat_", Alphabet::Word, 22),
    shape("gitlab-token", "glpat-", Alphabet::Word, 20),
    exact("aws-access-key", "AKIA", Alphabet::Upper, 16),
    exact("aws-access-key", "ASIA", Alphabet::Upper, 16),
    random("slack-token", "xoxa-", 20),
    random("slack-token", "xoxb-", 20),
    random("slack-token", "xoxp-", 20),
    random("slack-token", "xoxr-", 20),
    random("slack-token", "xoxs-", 20),
    exact("google-key", "AIza", Alphabet::Word, 35),
    exact("npm-token", "npm_", Alphabet::Plain, 36),
    shape("stripe-key", "sk_live_", Alphabet::Plain, 16),
    shape("stripe-key", "rk_live_", Alphabet::Plain, 16),
];

const JWT: &str = "eyJ";
const JWT_NAME: &str = "jwt";
const PEM_BEGINS: &str = "-----BEGIN ";
const PEM_NAME: &str = "private-key";
const FENCE: &[u8] = b"-----";

/// What stands at one place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenMatch {
    Nothing,
    /// That depends on what follows.
    Undecided,
    /// A token; `bytes` of it are there, and more may follow.
    Token {
        name: &'static str,
        bytes: usize,
        rest: Rest,
    },
}

/// How a token goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Alphabet(AlphabetOf),
    Jwt,
    Pem(Pem),
}

/// Which bytes belong to a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AlphabetOf(Alphabet);

/// Where in a private key a text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pem {
    bytes: u32,
    /// Dashes just before.
    dashes: u8,
    /// Rows of five dashes since its first line: its last line has two.
    fences: u8,
}

/// How much of what follows belongs to a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    /// All of it, and perhaps what comes then.
    All,
    /// So many bytes, then it has ended.
    Ends(usize),
    /// So many bytes; the next one can't be judged by itself.
    Undecided(usize),
}

/// The two bytes that each shape begins with.
pub(super) fn beginnings() -> impl Iterator<Item = [u8; 2]> {
    let begins = SHAPES.iter().map(|shape| shape.begins).chain([JWT, PEM_BEGINS]);
    begins.filter_map(|begins| begins.as_bytes().first_chunk::<2>().copied())
}

/// Whether a text is no more than the beginning that a shape has: nothing of it is secret yet.
pub(super) fn only_begins(text: &[u8]) -> bool {
    let mut begins = SHAPES.iter().map(|shape| shape.begins).chain([JWT, PEM_BEGINS]);
    begins.any(|begins| begins.as_bytes().starts_with(text))
}

/// What stands at the beginning of `rest`. `before` are the last bytes before it; `ended` says that nothing follows.
pub(super) fn at(rest: &[u8], before: &[u8], ended: bool) -> TokenMatch {
    if rest.first() == Some(&b'-') {
        return private_key(rest, ended);
    }
    if !stands_alone(before) {
        return TokenMatch::Nothing;
    }
    if rest.first() == Some(&b'e') {
        return jwt(rest, ended);
    }
    for shape in SHAPES {
        match begins(rest, shape.begins.as_bytes()) {
            Begins::Yes => return shape.at(rest, ended),
            Begins::Perhaps if !ended => return TokenMatch::Undecided,
            Begins::Perhaps | Begins::No => {}
        }
    }
    TokenMatch::Nothing
}

enum Begins {
    Yes,
    No,
    /// As far as it goes.
    Perhaps,
}

fn begins(text: &[u8], with: &[u8]) -> Begins {
    if text.len() < with.len() {
        return if with.starts_with(text) { Begins::Perhaps } else { Begins::No };
    }
    if text.starts_with(with) { Begins::Yes } else { Begins::No }
}

impl Shape {
    fn at(&self, rest: &[u8], ended: bool) -> TokenMatch {
        let letters = &rest[self.begins.len()..];
        let run = letters.iter().take(DECIDES).take_while(|byte| self.letters.has(**byte)).count();
        let run = &letters[..run];
        let open = run.len() == letters.len() && !ended;
        let ends_there = !letters.get(run.len()).copied().is_some_and(is_word);
        let long_enough =
            if self.exactly { run.len() == self.least && ends_there } else { run.len() >= self.least };
        let mixed = !self.random || is_random(run);
        if long_enough && mixed && !(self.exactly && open) {
            let bytes = self.begins.len() + run.len();
            return TokenMatch::Token {
                name: self.name,
                bytes,
                rest: Rest::Alphabet(AlphabetOf(self.letters)),
            };
        }
        let may_become = if self.exactly { run.len() <= self.least } else { run.len() < DECIDES };
        if open && may_become { TokenMatch::Undecided } else { TokenMatch::Nothing }
    }
}

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Word => is_word(byte),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Whether letters and digits are mixed within one stretch as in no name: what is so already stays so with more.
fn is_random(run: &[u8]) -> bool {
    run.split(|byte| !byte.is_ascii_alphanumeric()).any(|stretch| {
        let has = |is: fn(&u8) -> bool| stretch.iter().any(is);
        let (digit, upper, lower) =
            (has(u8::is_ascii_digit), has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase));
        digit && ((stretch.len() >= 10 && upper && lower) || (stretch.len() >= 16 && (upper || lower)))
    })
}

/// Whether a token that begins here is no part of a longer word. What escapes and colours end with is no part of one.
fn stands_alone(before: &[u8]) -> bool {
    let Some((last, earlier)) = before.split_last() else { return true };
    if !is_word(*last) {
        return true;
    }
    match earlier {
        [.., b'\\'] => matches!(last, b'n' | b'r' | b't'),
        [.., b'%', first] if first.is_ascii_hexdigit() && last.is_ascii_hexdigit() => true,
        _ => {
            let digits = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
            let parameters = earlier.iter().rev().take_while(digits).count();
            matches!(last, b'm' | b'K') && earlier[..earlier.len() - parameters].ends_with(b"[")
        }
    }
}

/// A header and the beginning of what it is about, both JSON: the signature follows.
fn jwt(rest: &[u8], ended: bool) -> TokenMatch {
    let undecided = if ended { TokenMatch::Nothing } else { TokenMatch::Undecided };
    match begins(rest, JWT.as_bytes()) {
        Begins::Yes => {}
        Begins::Perhaps => return undecided,
        Begins::No => return TokenMatch::Nothing,
    }
    let header = rest.iter().take(JWT_HEADER).take_while(|byte| is_word(**byte)).count();
    if header == rest.len() {
        return undecided;
    }
    if header < 12 || rest[header] != b'.' {
        return TokenMatch::Nothing;
    }
    match begins(&rest[header + 1..], JWT.as_bytes()) {
        Begins::Yes => TokenMatch::Token { name: JWT_NAME, bytes: header + 1 + JWT.len(), rest: Rest::Jwt },
        Begins::Perhaps => undecided,
        Begins::No => TokenMatch::Nothing,
    }
}

/// The first line of a private key, with the beginning of what follows: a line that only speaks of keys is none.
fn private_key(rest: &[u8], ended: bool) -> TokenMatch {
    let undecided = if ended { TokenMatch::Nothing } else { TokenMatch::Undecided };
    match begins(rest, PEM_BEGINS.as_bytes()) {
        Begins::Yes => {}
        Begins::Perhaps => return undecided,
        Begins::No => return TokenMatch::Nothing,
    }
    let label = &rest[PEM_BEGINS.len()..];
    let is_label = |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ';
    let length = label.iter().take(64).take_while(is_label).count();
    if length == label.len() {
        return undecided;
    }
    let (label, behind) = label.split_at(length);
    if !(label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK")) {
        return TokenMatch::Nothing;
    }
    let behind = match begins(behind, FENCE) {
        Begins::Yes => &behind[FENCE.len()..],
        Begins::Perhaps => return undecided,
        Begins::No => return TokenMatch::Nothing,
    };
    let gap = behind.iter().take(PEM_GAP).take_while(|byte| is_gap(**byte)).count();
    // An escaped line feed is a gap and a letter.
    let run = behind[gap..].iter().take(16).take_while(|byte| is_key(**byte) || **byte == b'-').count();
    if run >= 12 || behind.get(gap + run) == Some(&b':') {
        let bytes = rest.len() - behind.len();
        return TokenMatch::Token { name: PEM_NAME, bytes, rest: Rest::Pem(Pem::default()) };
    }
    if gap + run == behind.len() && gap < PEM_GAP { undecided } else { TokenMatch::Nothing }
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// What stands between the lines of a key, also where it is a text in a program or has numbers before its lines.
fn is_gap(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'\\' | b':' | b'-' | b'>' | b'|' | b',' | b'"' | b'\'')
}

impl Rest {
    /// How much of these bytes belongs to it.
    pub(super) fn more(&mut self, bytes: &[u8], ended: bool) -> More {
        match self {
            Self::Alphabet(AlphabetOf(letters)) => {
                bytes.iter().position(|byte| !letters.has(*byte)).map_or(More::All, More::Ends)
            }
            Self::Jwt => more_of_jwt(bytes, ended),
            Self::Pem(pem) => bytes.iter().position(|byte| !pem.takes(*byte)).map_or(More::All, More::Ends),
        }
    }
}

/// A point belongs to it where letters follow.
fn more_of_jwt(bytes: &[u8], ended: bool) -> More {
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'.', Some(next)) if is_word(*next) => {}
            (b'.', None) if !ended => return More::Undecided(at),
            (byte, _) if is_word(byte) => {}
            _ => return More::Ends(at),
        }
        at += 1;
    }
    More::All
}

impl Pem {
    fn takes(&mut self, byte: u8) -> bool {
        let over = self.fences == 2 || self.bytes >= PEM;
        if over || !(is_key(byte) || is_gap(byte)) {
            return false;
        }
        self.bytes += 1;
        self.dashes = if byte == b'-' { self.dashes + 1 } else { 0 };
        if usize::from(self.dashes) == FENCE.len() {
            (self.dashes, self.fences) = (0, self.fences + 1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holon_facts::Millis;
    use proptest::prelude::*;

    use super::super::{Redactor, Secrets};
    use holon_platform::clock;

    /// Put together here, so that no file of this project holds what a scanner would report.
    fn tokens() -> Vec<(&'static str, String)> {
        let mixed = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF3gJ5";
        let hex = "0123456789abcdef0123456789abcdef";
        vec![
            ("api-key", format!("sk-{mixed}")),
            ("api-key", format!("sk-{hex}")),
            ("api-key", format!("sk-proj-{mixed}_{mixed}-{mixed}")),
            ("anthropic-key", format!("sk-ant-api03-{mixed}-{mixed}AA")),
            ("github-token", format!("ghp_{mixed}")),
            ("github-token", format!("gho_{mixed}")),
            ("github-token", format!("ghs_{mixed}")),
            ("github-token", format!("github_pat_{}_{mixed}", &mixed[..22])),
            ("gitlab-token", format!("glpat-{}", &mixed[..20])),
            ("aws-access-key", format!("AKIA{}", "2345ABCDEFGH67IJ")),
            ("slack-token", format!("xoxb-123456789012-1234567890123-{}", &mixed[..24])),
            ("google-key", format!("AIza{}", &mixed[..35])),
            ("npm-token", format!("npm_{mixed}")),
            ("stripe-key", format!("sk_live_{}", &mixed[..24])),
            ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{mixed}_-{mixed}")),
            ("private-key", pem("RSA PRIVATE KEY", "\n")),
            ("private-key", pem("PRIVATE KEY", "\r\n")),
            ("private-key", pem("OPENSSH PRIVATE KEY", "\\n")),
            ("private-key", pem("ENCRYPTED PRIVATE KEY", "\n    ")),
            (
                "private-key",
                pem("RSA PRIVATE KEY", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n"),
            ),
        ]
    }

    fn pem(label: &str, line_end: &str) -> String {
        let line = "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC7VJTUt9Us8cKj";
        let lines = [
            &format!("-----BEGIN {label}-----"),
            line,
            line,
            "MIIEvgIB==",
            &format!("-----END {label}-----"),
        ];
        lines.join(line_end)
    }

    fn in_pieces(text: &str, size: usize) -> String {
        let mut redactor = Redactor::new(Arc::new(Secrets::default()));
        let mut shown = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            shown.extend(redactor.push(piece));
        }
        shown.extend(redactor.finish());
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn tokens_are_marked_wherever_they_stand_and_however_they_come() {
        for (name, token) in tokens() {
            for (before, after) in [
                ("", ""),
                ("the key is ", ", keep it."),
                ("KEY=", "\n"),
                ("{\"key\": \"", "\"}"),
                ("Authorization: Bearer ", "\r\nHost: h\r\n"),
                ("first\\n", "\\nlast"),
                ("https://h/?a=1%20", "&b=2"),
                ("\u{1b}[32m", "\u{1b}[0m"),
                ("\u{1b}[01;31m\u{1b}[K", "\u{1b}[m\u{1b}[K"),
                ("ä", "ß"),
            ] {
                let text = format!("{before}{token}{after}");
                let expected = format!("{before}[redacted:{name}]{after}");
                if name == "private-key" && after.starts_with('\\') {
                    continue;
                }
                assert_eq!(Secrets::default().redact(&text), expected, "{text}");
                for size in [1, 2, 3, 7, 31, 64] {
                    assert_eq!(in_pieces(&text, size), expected, "{text} in pieces of {size}");
                }
            }
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let base64 = "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24sIGJ1dCBieSB0aGlz";
        for text in [
            "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
            "d670460b4b4aece5915caf5c68d12f560a9fe3e4",
            "123e4567-e89b-12d3-a456-426614174000",
            base64,
            &base64.repeat(200),
            "data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0",
            "eyJ.eyJ and eyJhbGciOiJIUzI1NiJ9 alone",
            "task-aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF3gJ5",
            "sk-loading-spinner-container-large-and-longer",
            "sk-2024-01-02-release-notes-of-the-project",
            "sk-short1A",
            "npm_config_registry_and_a_longer_name_of_one1",
            "AKIA and AKIAabc, AIza",
            "ghp_short github_pat_ glpat- xoxb-",
            "-----BEGIN PRIVATE KEY----- is how a key begins",
            "-----BEGIN CERTIFICATE-----\nMIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgw\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nMIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgw\n-----END PUBLIC KEY-----",
            "---------------------------- a line",
        ] {
            assert_eq!(Secrets::default().redact(text), text);
            assert_eq!(in_pieces(text, 5), text);
        }
    }

    #[test]
    fn a_key_without_an_end_hides_no_more_than_it_may() {
        let key = pem("PRIVATE KEY", "\n");
        let cut = &key[..key.len() - 40];
        assert_eq!(
            Secrets::default().redact(&format!("{cut}. And more")),
            "[redacted:private-key]. And more"
        );
        let endless = format!("{cut}{}", "A".repeat(100_000));
        let shown = Secrets::default().redact(&endless);
        assert!(shown.len() > 80_000 && !shown.contains("MII"), "{}", shown.len());
    }

    #[test]
    fn shapes_can_be_switched_off_and_known_values_come_first() {
        for (_, token) in tokens() {
            assert_eq!(Secrets::default().with_shapes(false).redact(&token), token);
            assert_eq!(Secrets::default().redact_known(&token), token);
            let known = Secrets::new([("MINE".to_owned(), token.clone())]);
            assert_eq!(known.redact(&format!("<{token}>")), "<[redacted:MINE]>");
        }
    }

    /// What takes long by its beginnings alone.
    #[test]
    fn time_is_proportional_to_the_text() {
        for pattern in ["sk-", "eyJ", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "a/eyJ.", "/sk-ant-a1"] {
            let text = pattern.repeat((2 << 20) / pattern.len());
            let began = clock::now();
            let shown = Secrets::default().redact(&text);
            assert!(shown.len() <= text.len() + 64);
            let took = clock::since(began);
            assert!(took < Millis::seconds(20), "{pattern}: {took:?}");
        }
    }

    proptest! {
        /// Pieces together are what the whole is, wherever they are cut.
        #[test]
        fn pieces_are_what_the_whole_is(
            parts in prop::collection::vec((0_usize..20, "[a-z \\n.=-]{0,6}"), 0..6),
            size in 1_usize..90,
        ) {
            let tokens = tokens();
            let text: String = parts.iter().map(|(at, between)| format!("{}{between}", tokens[*at].1)).collect();
            prop_assert_eq!(in_pieces(&text, size), Secrets::default().redact(&text));
        }
    }
}
