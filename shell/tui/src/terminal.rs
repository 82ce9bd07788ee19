//! The terminal while the console has it: raw, with whole pastes, and given back however the console ends.

use std::io::{self, stdout};
use std::panic;

use crossterm::cursor::MoveTo;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use crate::screen::Screen;

/// Lines at the bottom that are drawn where rows go to the scrollback.
const INLINE: u16 = 14;

/// How the console has the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// Finished rows go to the scrollback.
    pub(crate) inline: bool,
    /// The wheel scrolls the conversation; the terminal selects no text meanwhile.
    pub(crate) mouse: bool,
}

/// Gives the terminal back when it is dropped.
pub(crate) struct Taken {
    screen: Terminal<Screen>,
    mode: Mode,
    frame: Option<Drawn>,
    /// Of the terminal, when the frame was begun.
    size: Size,
}

/// The frame that stands below the scrollback.
struct Drawn {
    top: u16,
    /// Columns that were written of each of its lines.
    widths: Vec<u16>,
}

impl Taken {
    pub(crate) fn take(mode: Mode) -> io::Result<Self> {
        // A panic is shown on the terminal as it was before.
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back(mode).unwrap_or_default();
            report(info);
        }));
        enable_raw_mode()?;
        let taken = Self::screen(mode);
        if taken.is_err() {
            give_back(mode)?;
        }
        let screen = taken?;
        let size = screen.size()?;
        Ok(Self { screen, mode, frame: None, size })
    }

    fn screen(mode: Mode) -> io::Result<Terminal<Screen>> {
        execute!(stdout(), EnableBracketedPaste)?;
        if mode.mouse {
            execute!(stdout(), EnableMouseCapture)?;
        }
        let viewport = if mode.inline {
            Viewport::Inline(INLINE)
        } else {
            execute!(stdout(), EnterAlternateScreen)?;
            Viewport::Fullscreen
        };
        let screen = Screen::begin(CrosstermBackend::new(stdout()), mode.inline)?;
        Terminal::with_options(screen, TerminalOptions { viewport })
    }

    pub(crate) fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let drawn = self.screen.draw(view)?;
        if self.mode.inline {
            let (area, buffer) = (drawn.buffer.area, drawn.buffer);
            let before = self.frame.take().map(|frame| frame.widths).unwrap_or_default();
            let before = before.into_iter().chain(std::iter::repeat(0));
            let widths = (area.top()..area.bottom()).map(|y| written(buffer, area, y));
            // What was written over with blanks may still count for the terminal.
            let widths = widths.zip(before).map(|(now, before)| now.max(before)).collect();
            self.frame = Some(Drawn { top: area.y, widths });
        }
        Ok(())
    }

    /// Whether the terminal has another size than the frame below the scrollback, which stands elsewhere then: the keyboard
    /// reports that soon, and nothing is drawn until then.
    pub(crate) fn has_moved(&self) -> io::Result<bool> {
        Ok(self.screen.size()? != self.size)
    }

    /// Writes lines above what is drawn, into the scrollback.
    pub(crate) fn insert_before(&mut self, height: u16, write: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.frame = None;
        self.screen.insert_before(height, write)
    }

    /// The terminal has another size. Below the scrollback it has moved what was drawn: lines that are too wide now take
    /// more than one, and the cursor went along. That is taken away, so that no rest of it stays between the rows.
    pub(crate) fn resized(&mut self, size: Size, cursor: Option<Position>) -> io::Result<()> {
        self.size = size;
        let (Some(cursor), Some(frame)) = (cursor, self.frame.take()) else {
            return self.screen.autoresize();
        };
        let columns = self.size.width.max(1);
        let before = self.screen.backend().cursor();
        let lines = frame.widths.iter().take(usize::from(before.y.saturating_sub(frame.top)));
        let above = lines.map(|width| width.div_ceil(columns).max(1)).sum::<u16>() + before.x / columns;
        let top = Position { x: 0, y: cursor.y.saturating_sub(above) };
        execute!(stdout(), MoveTo(top.x, top.y), Clear(ClearType::FromCursorDown))?;
        let screen = Screen::at(CrosstermBackend::new(stdout()), top)?;
        self.screen = Terminal::with_options(screen, TerminalOptions { viewport: Viewport::Inline(INLINE) })?;
        Ok(())
    }

    /// Columns and lines that are drawn.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.screen.size()?;
        Ok((size.width, if self.mode.inline { size.height.min(INLINE) } else { size.height }))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Whoever hung up has no terminal to give back.
        if self.mode.inline {
            self.screen.clear().unwrap_or_default();
        }
        give_back(self.mode).unwrap_or_default();
    }
}

/// Columns of a line up to its last cell that is more than a blank.
fn written(buffer: &Buffer, area: Rect, y: u16) -> u16 {
    let last = (area.left()..area.right()).rev().find(|x| buffer[(*x, y)] != Cell::EMPTY);
    last.map_or(0, |x| x - area.left() + 1)
}

fn give_back(mode: Mode) -> io::Result<()> {
    disable_raw_mode()?;
    if mode.mouse {
        execute!(stdout(), DisableMouseCapture)?;
    }
    if !mode.inline {
        execute!(stdout(), LeaveAlternateScreen)?;
    }
    execute!(stdout(), DisableBracketedPaste, crossterm::cursor::Show)
}
