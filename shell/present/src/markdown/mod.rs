//! Markdown of models, rendered plainly for a terminal: headings, lists, code, emphasis, quotes, and tables by the width
//! that there is. What it does not know stands as it was written. Control characters are the caller's to remove.

mod inline;
mod table;
#[cfg(test)]
mod tests;

use anstyle::{AnsiColor, Style};
use inline::Inline;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use table::Table;
use unicode_width::UnicodeWidthStr;

use super::detail::{Look, diff};

/// What stands before code.
const CODE: &str = "    ";
/// Text is never wrapped to less.
const NARROWEST: usize = 10;

/// A part of a line, and its style.
pub type Piece = (String, Style);

/// Renders a text for so many columns, with a line end after each line.
pub fn render(text: &str, columns: usize, colour: bool) -> String {
    let piece = |(text, style): &Piece| {
        if colour && !style.is_plain() { format!("{style}{text}{style:#}") } else { text.clone() }
    };
    lines(text, columns, colour)
        .iter()
        .map(|line| line.iter().map(piece).collect::<String>() + "\n")
        .collect()
}

/// Renders a text as lines in styles, for so many columns; code that is longer, and words that are, stay whole. Without
/// `colour`, code among words is marked by backticks.
pub fn lines(text: &str, columns: usize, colour: bool) -> Vec<Vec<Piece>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page { columns, colour, ..Page::default() };
    for event in Parser::new_ext(text, options) {
        page.take(event);
    }
    page.flush();
    page.lines
}

#[derive(Default)]
struct Page {
    columns: usize,
    colour: bool,
    lines: Vec<Vec<Piece>>,
    /// The text of the block so far.
    inline: Inline,
    styles: Vec<Style>,
    /// What stands before each line, for each list item and quote around.
    indents: Vec<String>,
    /// What stands before the next line instead of the last indent.
    marker: Option<String>,
    /// Whether that is the marker of an item after the first one.
    later: bool,
    /// The number of the next item of each list around; none has bullets.
    lists: Vec<(Option<u64>, bool)>,
    /// The address of each link around.
    links: Vec<String>,
    code: Option<String>,
    /// Whether the code is a patch.
    patch: bool,
    table: Option<Table>,
}

impl Page {
    #[expect(clippy::wildcard_enum_match_arm, reason = "what is not asked for never comes")]
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(code) if self.colour => self.styled(&code, colour(AnsiColor::Cyan)),
            Event::Code(code) => self.text(&format!("`{code}`")),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.separate();
                self.line(vec![("─".repeat(self.room().min(40)), Style::new())]);
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "others have no look of their own")]
    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.separate(),
            Tag::Heading { level, .. } => {
                self.separate();
                let underlined = level == HeadingLevel::H1;
                self.push(if underlined { Style::new().bold().underline() } else { Style::new().bold() });
            }
            Tag::CodeBlock(kind) => {
                self.separate();
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => language.split_whitespace().next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                self.patch = matches!(language, "diff" | "patch");
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.separate()
                } else {
                    self.flush()
                }
                self.lists.push((first, false));
            }
            Tag::Item => self.item(),
            Tag::BlockQuote(_) => {
                self.separate();
                self.indents.push("│ ".to_owned());
            }
            Tag::Table(_) => {
                self.separate();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
                if matches!(tag, Tag::TableHead) {
                    self.push(Style::new().bold());
                }
            }
            Tag::Emphasis => self.push(Style::new().italic()),
            Tag::Strong => self.push(Style::new().bold()),
            Tag::Strikethrough => self.push(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } => self.links.push(dest_url.to_string()),
            Tag::Image { dest_url, .. } => {
                self.text("image: ");
                self.links.push(dest_url.to_string());
            }
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "others have no look of their own")]
    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Item | TagEnd::BlockQuote(_) => {
                self.flush();
                self.marker = None;
                self.indents.pop();
            }
            TagEnd::Table => {
                let lines = self.table.take().map(|table| table.lines(self.room()));
                lines.into_iter().flatten().for_each(|line| self.line(line));
            }
            TagEnd::TableHead => drop(self.styles.pop()),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn item(&mut self) {
        self.flush();
        let marker = match self.lists.last_mut() {
            Some((Some(number), _)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some((None, _)) | None => "• ".to_owned(),
        };
        self.later = self.lists.last_mut().is_some_and(|(_, begun)| std::mem::replace(begun, true));
        self.indents.push(" ".repeat(marker.width()));
        self.marker = Some(marker);
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let lines: Vec<(Style, String)> = if self.patch {
            diff(&code, usize::MAX).into_iter().map(|(look, line)| (of_patch(look), line)).collect()
        } else {
            code.lines().map(|line| (colour(AnsiColor::Cyan), line.to_owned())).collect()
        };
        for (style, line) in lines {
            self.line(vec![(CODE.to_owned(), Style::new()), (line, style)]);
        }
    }

    /// The address behind the words that stand for it, unless it is these words.
    fn end_link(&mut self) {
        let Some(address) = self.links.pop() else { return };
        if !self.inline.plain().ends_with(&address) && !address.is_empty() {
            self.text(&format!(" ({address})"));
        }
    }

    fn push(&mut self, style: Style) {
        let outer = self.styles.last().copied().unwrap_or_default();
        self.styles.push(outer.effects(outer.get_effects() | style.get_effects()));
    }

    fn text(&mut self, text: &str) {
        self.inline.push(text, self.styles.last().copied().unwrap_or_default());
    }

    fn styled(&mut self, text: &str, style: Style) {
        self.inline.push(text, style);
    }

    /// Ends the block before, with a blank line after it.
    fn separate(&mut self) {
        self.flush();
        let blank = |(text, _): &Piece| text.trim_end_matches(['│', ' ']).is_empty();
        let empty = self.lines.last().is_none_or(|line| line.iter().all(blank));
        // Items that are paragraphs are as far apart as those.
        if (self.marker.is_none() || self.later) && !empty {
            let around = self.indents.len() - usize::from(self.marker.is_some());
            let before = self.indents[..around].concat();
            self.lines.push(vec![(before.trim_end().to_owned(), Style::new())]);
        }
    }

    /// Writes the text of the block so far.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        if inline.is_empty() {
            return;
        }
        for (line, _) in inline.lines(self.room()) {
            self.line(line);
        }
    }

    fn line(&mut self, mut line: Vec<Piece>) {
        let before = match (self.marker.take(), self.indents.split_last()) {
            (Some(marker), Some((_, outer))) => outer.concat() + &marker,
            (Some(_) | None, _) => self.indents.concat(),
        };
        line.insert(0, (before, Style::new()));
        while let Some((text, _)) = line.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            line.pop();
        }
        self.lines.push(line);
    }

    /// Columns for text behind the indents.
    fn room(&self) -> usize {
        let taken: usize = self.indents.iter().map(|indent| indent.width()).sum();
        self.columns.saturating_sub(taken).max(NARROWEST)
    }
}

fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(colour.into()))
}

/// A line of a patch.
pub fn of_patch(look: Look) -> Style {
    match look {
        Look::Plain => Style::new(),
        Look::Good => colour(AnsiColor::Green),
        Look::Bad => colour(AnsiColor::Red),
        Look::Aside => Style::new().dimmed(),
    }
}
