//! What the model says, shown while it says it: finished blocks of its Markdown as they are, a paragraph in progress line
//! by line. What was shown is remembered, so that an answer is not printed twice.

use holon_present::markdown;

/// A block that is longer is shown when it is finished, in bytes: each piece renders it anew.
const IN_PROGRESS: usize = 16 << 10;
/// What is longer is not shown on its way, in bytes.
const LONGEST: usize = 1 << 20;

/// The text of an attempt at a round.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    text: String,
    /// Bytes of blocks that are shown.
    done: usize,
    /// Lines of the block in progress that are shown.
    lines: usize,
    /// The text of the last round that was shown to its end.
    last: Option<String>,
}

impl Spoken {
    /// Another attempt begins. Whether something was shown that is void now.
    pub(super) fn begin(&mut self) -> bool {
        let void = self.done > 0 || self.lines > 0;
        (self.text, self.done, self.lines) = (String::new(), 0, 0);
        void
    }

    /// Takes more of the text; gives what can be shown of it.
    pub(super) fn push(&mut self, piece: &str, columns: usize, colour: bool) -> Option<String> {
        self.text.push_str(piece);
        if self.text.len() > LONGEST {
            return None;
        }
        let mut shown = String::new();
        let ended = blocks(&self.text[self.done..]);
        if ended > 0 {
            let (from, to) = (self.done, self.done + ended);
            shown += &self.rest(&self.text[from..to], columns, colour);
            (self.done, self.lines) = (to, 0);
            shown.push('\n');
        }
        let block = &self.text[self.done..];
        if block.len() <= IN_PROGRESS && is_stable(block) {
            let rendered = markdown::render(block, columns, colour);
            // The last line may still grow.
            let whole = rendered.lines().count().saturating_sub(1);
            for line in rendered.lines().take(whole).skip(self.lines) {
                shown.push_str(line);
                shown.push('\n');
            }
            self.lines = self.lines.max(whole);
        }
        Some(shown).filter(|shown| !shown.is_empty())
    }

    /// The round is over; gives what of it was not shown yet.
    pub(super) fn end(&mut self, columns: usize, colour: bool) -> Option<String> {
        if self.text.trim().is_empty() || self.text.len() > LONGEST {
            self.begin();
            return None;
        }
        let rest = self.rest(&self.text[self.done..], columns, colour);
        self.last = Some(std::mem::take(&mut self.text));
        self.begin();
        Some(rest)
    }

    /// What of the text in progress is not shown.
    pub(super) fn pending(&self) -> &str {
        if self.lines > 0 { "" } else { &self.text[self.done..] }
    }

    /// Whether these were the last words that were shown.
    pub(super) fn was(&self, answer: &str) -> bool {
        self.last.as_deref().is_some_and(|last| last.trim() == answer.trim())
    }

    fn rest(&self, block: &str, columns: usize, colour: bool) -> String {
        let rendered = markdown::render(block, columns, colour);
        rendered.lines().skip(self.lines).map(|line| format!("{line}\n")).collect()
    }
}

/// Bytes of the text up to the last block that can't change any more: a blank line ends it, outside of code, and what
/// follows does not belong to it by an indent.
fn blocks(text: &str) -> usize {
    let (mut fence, mut blank, mut end, mut at) = (None, false, 0, 0);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        if blank && fence.is_none() && bare.len() == line.len() && !bare.is_empty() {
            end = at;
        }
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) | (Some(_), Some(_) | None) => {}
        }
        blank = bare.trim_end().is_empty();
        at += line.len();
    }
    end
}

/// Whether lines of a block in progress stay as they are: it is a paragraph, and nothing in it is open.
fn is_stable(block: &str) -> bool {
    let even = |mark: &str| block.matches(mark).count().is_multiple_of(2);
    let links = block.matches('[').count() == block.matches("](").count()
        && block.matches("](").count() == block.matches(')').count();
    block.chars().next().is_some_and(char::is_alphabetic)
        && ["*", "_", "`", "~"].into_iter().all(even)
        && (links || !block.contains('['))
        && !block.contains(['|', '<'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of a text that comes in pieces, and what at its end.
    fn shown(pieces: &[&str], columns: usize) -> (Vec<String>, String) {
        let mut spoken = Spoken::default();
        let shown = pieces.iter().filter_map(|piece| spoken.push(piece, columns, false)).collect();
        let end = spoken.end(columns, false).unwrap_or_default();
        assert!(spoken.was(&pieces.concat()));
        (shown, end)
    }

    #[test]
    fn lines_of_a_paragraph_come_as_they_fill() {
        let (on_the_way, end) = shown(&["one two ", "three four ", "five six seven"], 16);
        assert_eq!(on_the_way, ["one two three\n", "four five six\n"]);
        assert_eq!(end, "seven\n");
    }

    #[test]
    fn other_blocks_come_when_they_are_finished() {
        let (on_the_way, end) = shown(&["- a\n- b\n", "\nAfter", " it.\n\n```\nx\n\ny\n", "```\n\nEnd"], 40);
        assert_eq!(on_the_way, ["• a\n• b\n\n", "After it.\n\n", "    x\n\n    y\n\n"]);
        assert_eq!(end, "End\n");
    }

    /// However it is cut, it is the whole text as it is rendered at once.
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice() {
        let text = "Some *words* here that go on and on.\nMore **of it** `x`.\n\n# Head\n\n1. one\n2. two\n\n   more\n\n\
                    | a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\nplain end of the text, which is long enough";
        for size in [1, 3, 7, 50, 1_000] {
            let mut spoken = Spoken::default();
            let characters: Vec<char> = text.chars().collect();
            let mut all = String::new();
            for piece in characters.chunks(size) {
                let piece: String = piece.iter().collect();
                all += &spoken.push(&piece, 30, false).unwrap_or_default();
            }
            all += &spoken.end(30, false).unwrap_or_default();
            assert_eq!(all, markdown::render(text, 30, false), "in pieces of {size}");
        }
    }

    #[test]
    fn another_attempt_begins_anew() {
        let mut spoken = Spoken::default();
        assert!(!spoken.begin());
        spoken.push("one\n\ntwo", 40, false);
        assert!(spoken.begin(), "a block was shown");
        assert_eq!(spoken.push("x\n\ny", 40, false).as_deref(), Some("x\n\n"));
        assert_eq!(spoken.pending(), "y");
    }
}
