//! Text of one block in several styles, wrapped between words.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::Piece;

/// Pieces of text in their styles; a line end within a piece is a line end.
#[derive(Debug, Clone, Default)]
pub(super) struct Inline {
    pieces: Vec<Piece>,
}

/// What stands between two blanks; it may change its style within.
#[derive(Default)]
struct Word {
    pieces: Vec<Piece>,
    width: usize,
}

impl Inline {
    pub(super) fn push(&mut self, text: &str, style: Style) {
        self.pieces.push((text.to_owned(), style));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.iter().all(|(text, _)| text.trim().is_empty())
    }

    /// The text alone, in one line.
    pub(super) fn plain(&self) -> String {
        let text: String = self.pieces.iter().map(|(text, _)| text.as_str()).collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Lines of at most so many columns, each with its own width; a word that is longer stays whole.
    pub(super) fn lines(&self, columns: usize) -> Vec<(Vec<Piece>, usize)> {
        let (mut lines, mut line, mut used) = (Vec::new(), Vec::new(), 0);
        for word in self.words() {
            let Some(word) = word else {
                lines.push((std::mem::take(&mut line), std::mem::take(&mut used)));
                continue;
            };
            if used > 0 && used + 1 + word.width > columns {
                lines.push((std::mem::take(&mut line), std::mem::take(&mut used)));
            }
            if used > 0 {
                line.push((" ".to_owned(), Style::new()));
                used += 1;
            }
            used += word.width;
            line.extend(word.pieces);
        }
        if used > 0 || lines.is_empty() {
            lines.push((line, used));
        }
        lines
    }

    /// The words in order; none is a line end.
    fn words(&self) -> Vec<Option<Word>> {
        let (mut words, mut word) = (Vec::new(), Word::default());
        let end = |word: &mut Word, words: &mut Vec<Option<Word>>| {
            if !word.pieces.is_empty() {
                words.push(Some(std::mem::take(word)));
            }
        };
        for (text, style) in &self.pieces {
            for (at, line) in text.split('\n').enumerate() {
                if at > 0 {
                    end(&mut word, &mut words);
                    words.push(None);
                }
                for (at, part) in line.split([' ', '\t']).enumerate() {
                    if at > 0 {
                        end(&mut word, &mut words);
                    }
                    word.push(part, *style);
                }
            }
        }
        end(&mut word, &mut words);
        words
    }
}

impl Word {
    fn push(&mut self, part: &str, style: Style) {
        if !part.is_empty() {
            self.pieces.push((part.to_owned(), style));
            self.width += part.width();
        }
    }
}
