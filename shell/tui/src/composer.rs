//! What the operator types: text of many lines with a cursor, and what was sent before.

use crate::text::{drawn, fitting, width};

/// Most bytes of a prompt: what the runtime takes.
const TEXT_BYTES: usize = 1 << 20;
/// Prompts that can be called back.
const HISTORY: usize = 100;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Composer {
    text: String,
    /// In bytes, between two characters.
    cursor: usize,
    history: Vec<String>,
    /// Which prompt of the history is shown, and what was typed before.
    recalled: Option<(usize, String)>,
}

impl Composer {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Types at the cursor; what is beyond the limit of a prompt is left out.
    pub(crate) fn insert(&mut self, typed: &str) {
        let typed = typed.replace("\r\n", "\n").replace('\r', "\n");
        let typed = typed.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}");
        let capacity = TEXT_BYTES.saturating_sub(self.text.len());
        let fits = typed.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= capacity);
        let typed = &typed[..fits.last().unwrap_or_default()];
        self.text.insert_str(self.cursor, typed);
        self.cursor += typed.len();
        self.recalled = None;
    }

    pub(crate) fn replace(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// A text of the history comes back, with what was sent before it above.
    pub(crate) fn take_back(&mut self, text: &str) {
        self.replace(text);
        let at = self.history.iter().rposition(|sent| sent == text);
        self.recalled = at.map(|at| (at, String::new()));
    }

    pub(crate) fn clear(&mut self) {
        self.replace("");
    }

    /// Hands the text over, and remembers it.
    pub(crate) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        (self.cursor, self.recalled) = (0, None);
        if self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
        text
    }

    pub(crate) fn backspace(&mut self) {
        let end = self.cursor;
        self.left();
        self.text.replace_range(self.cursor..end, "");
    }

    pub(crate) fn delete(&mut self) {
        let begin = self.cursor;
        self.right();
        self.text.replace_range(begin..self.cursor, "");
        self.cursor = begin;
    }

    pub(crate) fn delete_word(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let begin = before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        self.text.replace_range(begin..self.cursor, "");
        self.cursor = begin;
    }

    pub(crate) fn delete_to_begin(&mut self) {
        let begin = self.line_begin();
        self.text.replace_range(begin..self.cursor, "");
        self.cursor = begin;
    }

    pub(crate) fn delete_to_end(&mut self) {
        let end = self.line_end();
        self.text.replace_range(self.cursor..end, "");
    }

    pub(crate) fn left(&mut self) {
        self.cursor = self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at);
    }

    pub(crate) fn right(&mut self) {
        self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
    }

    pub(crate) fn home(&mut self) {
        self.cursor = self.line_begin();
    }

    pub(crate) fn end(&mut self) {
        self.cursor = self.line_end();
    }

    /// One line up, or to the prompt before.
    pub(crate) fn up(&mut self) {
        let begin = self.line_begin();
        if begin > 0 {
            let column = width(&self.text[begin..self.cursor]);
            self.cursor = begin - 1;
            self.move_to_column(column);
            return;
        }
        let (next, typed) = match self.recalled.take() {
            Some((0, typed)) => (0, typed),
            Some((shown, typed)) => (shown - 1, typed),
            None if self.history.is_empty() => return,
            None => (self.history.len() - 1, self.text.clone()),
        };
        let recalled = self.history[next].clone();
        self.replace(&recalled);
        self.recalled = Some((next, typed));
    }

    /// One line down, or to the prompt after.
    pub(crate) fn down(&mut self) {
        let end = self.line_end();
        if end < self.text.len() {
            let column = width(&self.text[self.line_begin()..self.cursor]);
            self.cursor = end + 1;
            self.move_to_column(column);
            return;
        }
        let Some((shown, typed)) = self.recalled.take() else { return };
        if let Some(later) = self.history.get(shown + 1).cloned() {
            self.replace(&later);
            self.recalled = Some((shown + 1, typed));
        } else {
            self.replace(&typed);
        }
    }

    fn move_to_column(&mut self, column: usize) {
        let begin = self.line_begin();
        let line = &self.text[begin..self.line_end()];
        self.cursor = begin + if column == 0 { 0 } else { fitting(line, column) };
    }

    fn line_begin(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Its lines of at most so many columns as they are drawn, and the line and the column of the cursor.
    pub(crate) fn laid_out(&self, columns: usize) -> (Vec<String>, (usize, usize)) {
        let columns = columns.max(2);
        let (text, cursor) = (drawn(&self.text), drawn(&self.text[..self.cursor]).len());
        let (mut lines, mut place, mut begin) = (Vec::new(), (0, 0), 0);
        for line in text.split('\n') {
            let mut rest = line;
            loop {
                let end = fitting(rest, columns);
                let last = end == rest.len();
                let here = cursor.checked_sub(begin).filter(|at| *at < end || (last && *at == end));
                if let Some(at) = here {
                    place = (lines.len(), width(&rest[..at]));
                }
                lines.push(rest[..end].to_owned());
                (rest, begin) = (&rest[end..], begin + end);
                if last {
                    break;
                }
            }
            begin += 1;
        }
        (lines, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_can_be_called_back() {
        let mut composer = Composer::default();
        for text in ["one", "two"] {
            composer.insert(text);
            composer.take();
        }
        composer.insert("draft");
        composer.up();
        composer.up();
        composer.up();
        assert_eq!(composer.text(), "one");
        composer.down();
        composer.down();
        assert_eq!(composer.text(), "draft");
    }

    /// What is sent is what was pasted, but for line ends and what would act; what is drawn acts on nothing.
    #[test]
    fn pasted_text_is_kept_and_drawn_without_harm() {
        let mut composer = Composer::default();
        composer.insert("a\r\nb\rc\t\u{200f}d\u{1b}");
        assert_eq!(composer.text(), "a\nb\nc\t\u{200f}d\u{fffd}");
        let lines = ["a", "b", "c    \u{fffd}d\u{fffd}"].map(String::from);
        assert_eq!(composer.laid_out(20), (lines.into(), (2, 8)));
    }

    #[test]
    fn the_cursor_stands_behind_wide_characters() {
        let mut composer = Composer::default();
        composer.insert("漢字ab\ncd");
        assert_eq!(composer.laid_out(4), (vec!["漢字".into(), "ab".into(), "cd".into()], (2, 2)));
        composer.up();
        composer.end();
        assert_eq!(composer.laid_out(4).1, (1, 2));
        composer.delete_word();
        assert_eq!(composer.text(), "\ncd");
    }
}
