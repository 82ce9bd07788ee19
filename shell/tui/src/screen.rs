//! The terminal as it is drawn on. Where the cursor stands is remembered and not asked for: whoever asks reads the answer
//! from the keyboard, which another thread has.

use std::io::{self, Stdout};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use unicode_width::UnicodeWidthStr;

pub(crate) struct Screen {
    terminal: CrosstermBackend<Stdout>,
    cursor: Position,
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
        // What a wide character covers is no cell of its own.
        let mut covered = None;
        let own = content.filter(move |(x, y, cell)| {
            let own = covered != Some((*x, *y));
            covered = (own && cell.symbol().width() > 1).then(|| (x.saturating_add(1), *y));
            own
        });
        self.terminal.draw(own)
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
