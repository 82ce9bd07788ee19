//! The terminal as it is drawn on. Where the cursor stands is remembered and not asked for: whoever asks reads the answer
//! from the keyboard, which another thread has.

use std::io::{self, Stdout};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use unicode_width::UnicodeWidthStr;

/// Makes the character before it a picture, two columns wide.
const SELECTOR: char = '\u{fe0f}';

pub(crate) struct Screen {
    terminal: CrosstermBackend<Stdout>,
    cursor: Position,
}

/// A cell and its place.
type Placed<'a> = (u16, u16, &'a Cell);

/// Cells in the order in which they are written. What a wide character covers is no cell of its own. A character that a
/// selector makes wide is narrow on some terminals: what it covers is written before it, so that nothing old stays there
/// and the cursor is set anew behind it.
fn ordered<'a>(content: impl Iterator<Item = Placed<'a>>) -> Vec<Placed<'a>> {
    let (mut cells, mut covered) = (Vec::new(), None);
    for (x, y, cell) in content {
        if covered.take() != Some((x, y)) {
            covered = (cell.symbol().width() > 1).then(|| (x.saturating_add(1), y));
            cells.push((x, y, cell));
        } else if let Some(wide) = cells.pop_if(|(_, _, wide)| wide.symbol().contains(SELECTOR)) {
            cells.extend([(x, y, cell), wide]);
        }
    }
    cells
}

impl Screen {
    /// Asks for the cursor once, before keys are read.
    pub(crate) fn begin(mut terminal: CrosstermBackend<Stdout>, inline: bool) -> io::Result<Self> {
        let cursor = if inline { terminal.get_cursor_position()? } else { Position::ORIGIN };
        Ok(Self { terminal, cursor })
    }

    /// With the cursor there.
    pub(crate) fn at(mut terminal: CrosstermBackend<Stdout>, cursor: Position) -> io::Result<Self> {
        terminal.set_cursor_position(cursor)?;
        Ok(Self { terminal, cursor })
    }

    /// Where the cursor was put last.
    pub(crate) fn cursor(&self) -> Position {
        self.cursor
    }
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.terminal.draw(ordered(content).into_iter())
    }

    fn append_lines(&mut self, n: u16) -> io::Result<()> {
        self.cursor = Position { x: 0, y: self.cursor.y.saturating_add(n) };
        self.terminal.append_lines(n)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.terminal.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.terminal.show_cursor()
    }

    /// A terminal that became smaller has moved it along.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        let size = self.terminal.size()?;
        let Position { x, y } = self.cursor;
        self.cursor =
            Position { x: x.min(size.width.saturating_sub(1)), y: y.min(size.height.saturating_sub(1)) };
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        self.terminal.set_cursor_position(self.cursor)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.terminal.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.terminal.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.terminal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_picture_covers_is_cleared_before_it_and_other_covered_cells_are_left_out() {
        let (warning, wide, plain) = (Cell::new("\u{26a0}\u{fe0f}"), Cell::new("漢"), Cell::new("a"));
        let blank = Cell::new(" ");
        let cells = [(0, 0, &plain), (1, 0, &warning), (2, 0, &blank), (3, 0, &wide), (4, 0, &blank)];
        let written: Vec<(u16, &str)> =
            ordered(cells.into_iter()).into_iter().map(|(x, _, cell)| (x, cell.symbol())).collect();
        assert_eq!(written, [(0, "a"), (2, " "), (1, "\u{26a0}\u{fe0f}"), (3, "漢")]);
        // A line ends with it, and the next one begins.
        let cells = [(79, 0, &warning), (0, 1, &plain)];
        assert_eq!(ordered(cells.into_iter()).len(), 2);
    }
}
