//! From text to what the index is given. SQLite splits what is written with spaces, and joins it by stems; what is written
//! without them is split here, into pairs of characters that overlap.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// A stretch of text in one kind of writing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Run<'a> {
    /// Han, kana, Hangul, Bopomofo: words without spaces between them.
    Unspaced(&'a str),
    /// Everything else, spaces and punctuation included.
    Spaced(&'a str),
}

/// Begins the words that no text and no query has: those of scopes. It is for private use, and a letter to SQLite.
pub(crate) const OURS: char = '\u{f8ff}';

/// Compatibility forms as one: full width and half width, ligatures, accents that stand apart.
pub(crate) fn normal(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().map(|c| if c == OURS { ' ' } else { c }).collect())
}

/// What the index is given for a text: its words and pairs, then the parts of its names, where they separate no words that
/// follow each other.
pub(crate) fn indexed(text: &str) -> String {
    let text = normal(text);
    let mut out = String::with_capacity(text.len() * 2);
    let mut parts = String::new();
    for run in runs(&text) {
        match run {
            Run::Unspaced(run) => {
                out.push(' ');
                pairs(run, |pair| {
                    out.push_str(pair);
                    out.push(' ');
                });
                out.extend(run.chars().next_back());
                out.push(' ');
            }
            // SQLite makes capitals small.
            Run::Spaced(run) => {
                out.push_str(run);
                run.split(|c: char| !c.is_alphanumeric()).for_each(|word| name_parts(word, &mut parts));
            }
        }
    }
    out.push(' ');
    out.push_str(&parts);
    out
}

/// Each pair of characters that follow each other; nothing of a single one.
pub(crate) fn pairs(run: &str, mut each: impl FnMut(&str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    for pair in starts.windows(3) {
        each(&run[pair[0]..pair[2]]);
    }
}

/// Stretches in one kind of writing, in order, with nothing left out.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = Run<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let unspaced = is_unspaced(first);
        let end = if rest.is_ascii() { None } else { rest.find(|c: char| is_unspaced(c) != unspaced) };
        let end = end.unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(if unspaced { Run::Unspaced(run) } else { Run::Spaced(run) })
    })
}

/// Whether words are written in it without spaces between them, or with endings that belong to them.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(
        u32::from(c),
        0x1100..=0x11ff // Hangul letters
            | 0x2e80..=0x2fdf // radicals
            | 0x3005..=0x3007
            | 0x3021..=0x3029
            | 0x3031..=0x3035
            | 0x3041..=0x3096 // hiragana
            | 0x309d..=0x309f
            | 0x30a1..=0x30fa // katakana
            | 0x30fc..=0x30ff
            | 0x3105..=0x312f // Bopomofo
            | 0x3131..=0x318e
            | 0x31a0..=0x31bf
            | 0x31f0..=0x31ff
            | 0x3400..=0x4dbf // Han
            | 0x4e00..=0x9fff
            | 0xa960..=0xa97f
            | 0xac00..=0xd7ff // Hangul
            | 0xf900..=0xfaff
            | 0xff66..=0xffdc
            | 0x1_aff0..=0x1_b16f
            | 0x2_0000..=0x3_ffff
    )
}

/// The words that a name like `runBuildDeploy` or `HTTPServer` is made of, where there are several.
fn name_parts(word: &str, out: &mut String) {
    // Most words are none of those, and most are ASCII.
    if word.is_ascii() && !word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()) {
        return;
    }
    let mut from = 0;
    let mut before = ' ';
    let mut letters = word.char_indices().peekable();
    while let Some((at, here)) = letters.next() {
        let next_is_small = letters.peek().is_some_and(|(_, next)| next.is_lowercase());
        let after_capital = before.is_uppercase() && next_is_small;
        if here.is_uppercase() && (before.is_lowercase() || after_capital) {
            out.push_str(&word[from..at]);
            out.push(' ');
            from = at;
        }
        before = here;
    }
    if from > 0 {
        out.push_str(&word[from..]);
        out.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unspaced_writing_becomes_pairs_and_its_last_character() {
        assert_eq!(indexed("连接超时"), " 连接 接超 超时 时  ");
        assert_eq!(indexed("重跑gen后"), " 重跑 跑 gen 后  ");
        assert_eq!(indexed("ﾃｽﾄ"), " テス スト ト  ", "half width is what it stands for");
    }

    #[test]
    fn names_are_followed_by_their_parts_at_the_end() {
        assert_eq!(indexed("call runBuild.now twice"), "call runBuild.now twice run Build ");
        assert_eq!(indexed("HTTPServer"), "HTTPServer HTTP Server ");
        assert_eq!(indexed("ＡＢＣ"), "ABC ");
    }

    #[test]
    fn runs_leave_nothing_out() {
        let text = "步2 重跑gen-itgc后50条 カタカナ、한국어 end";
        let joined: String = runs(text)
            .map(|run| match run {
                Run::Unspaced(run) | Run::Spaced(run) => run,
            })
            .collect();
        assert_eq!(joined, text);
    }
}
