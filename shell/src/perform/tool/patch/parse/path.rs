//! Paths as patches write them: quoted, prefixed, followed by a time.

use super::{Refusal, SHAPE, rejected};

/// The path of a `---` or `+++` line; none for `/dev/null`.
pub(super) fn read(text: &str) -> Result<Option<String>, Refusal> {
    // A quoted path has no tab of its own: it is written as \t.
    let text = text.split('\t').next().unwrap_or_default().trim_end();
    match text {
        "/dev/null" => Ok(None),
        _ => name(text).map(Some),
    }
}

/// One path, quoted or not.
pub(super) fn name(text: &str) -> Result<String, Refusal> {
    let name = match quoted(text) {
        Some((name, "")) => name,
        Some(_) => None,
        None => Some(text.to_owned()),
    };
    match name {
        Some(name) if !name.is_empty() && !name.contains(char::is_control) => Ok(name),
        Some(_) | None => Err(rejected(format!("{text:?} is not a path")).hint(SHAPE)),
    }
}

/// The two paths after `diff --git`, as far as they can be told apart.
pub(super) fn pair(text: &str) -> Option<(String, String)> {
    if let Some((old, rest)) = quoted(text) {
        let new = rest.trim_start();
        return Some((old?, name(new).ok()?));
    }
    if let Some((old, new)) = text.split_once(" \"") {
        return Some((old.to_owned(), name(&format!("\"{new}")).ok()?));
    }
    // Both are the same but for their prefixes, so the second one begins in the middle.
    let (old, new) = text.split_at_checked(text.len() / 2)?;
    let (old, new) = (old.to_owned(), new.strip_prefix(' ')?.to_owned());
    let halves = without_prefixes(Some(old.clone()), Some(new.clone()), true);
    (halves.0 == halves.1).then_some((old, new))
}

/// Undoes git's quoting: the text inside, none where it is malformed, and what follows the closing quote.
fn quoted(text: &str) -> Option<(Option<String>, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inner.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    Some(match end {
        Some(end) => (unescape(&inner[..end]), &inner[end + 1..]),
        None => (None, ""),
    })
}

fn unescape(inner: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| byte - b'0');
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'a' => 0x07,
            b'b' => 0x08,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 0x0B,
            b'f' => 0x0C,
            b'r' => b'\r',
            same @ (b'"' | b'\\') => same,
            high @ b'0'..=b'3' => (high - b'0') * 64 + digit(rest.next()?)? * 8 + digit(rest.next()?)?,
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok()
}

pub(super) type Sides = (Option<String>, Option<String>);

/// Takes `a/` and `b/` away where they are prefixes rather than folders: both sides (or the only one) have
/// theirs, or one has and the other is the same path without; git has other pairs of letters as well.
pub(super) fn without_prefixes(old: Option<String>, new: Option<String>, git: bool) -> Sides {
    let cut = |name: &Option<String>, prefix: &str| match name {
        None => Some(None),
        Some(name) => name.strip_prefix(prefix).map(|rest| Some(rest.to_owned())),
    };
    match (cut(&old, "a/"), cut(&new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        (Some(plain), None) if plain == new => (plain, new),
        (None, Some(plain)) if plain == old => (old, plain),
        (_, _) if git => other_letters(old, new),
        (_, _) => (old, new),
    }
}

/// `diff.mnemonicPrefix`: commit, index, work tree, object; both paths are the same but for the letter.
fn other_letters(old: Option<String>, new: Option<String>) -> Sides {
    let letter =
        |name: &str| name.strip_prefix(['a', 'b', 'c', 'i', 'o', 'w'])?.strip_prefix('/').map(str::to_owned);
    let (cut_old, cut_new) = (old.as_deref().map(letter), new.as_deref().map(letter));
    match (cut_old, cut_new) {
        (Some(Some(one)), Some(Some(other))) if one == other && old != new => (Some(one), Some(other)),
        (Some(Some(one)), None) => (Some(one), None),
        (None, Some(Some(other))) => (None, Some(other)),
        (_, _) => (old, new),
    }
}
