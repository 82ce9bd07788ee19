//! The terminal while the console has it: raw, with whole pastes, and given back however the console ends.

use std::io::{self, stdout};
use std::panic;

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::backend::CrosstermBackend;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::screen::Screen;

/// Lines at the bottom that are drawn where rows go to the scrollback.
const INLINE: u16 = 14;

/// Gives the terminal back when it is dropped.
pub(crate) struct Taken {
    pub(crate) screen: Terminal<Screen>,
    inline: bool,
}

impl Taken {
    pub(crate) fn take(inline: bool) -> io::Result<Self> {
        // A panic is shown on the terminal as it was before.
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back(inline).unwrap_or_default();
            report(info);
        }));
        enable_raw_mode()?;
        let taken = Self::screen(inline);
        if taken.is_err() {
            give_back(inline)?;
        }
        Ok(Self { screen: taken?, inline })
    }

    fn screen(inline: bool) -> io::Result<Terminal<Screen>> {
        execute!(stdout(), EnableBracketedPaste)?;
        let viewport = if inline {
            Viewport::Inline(INLINE)
        } else {
            execute!(stdout(), EnterAlternateScreen)?;
            Viewport::Fullscreen
        };
        let screen = Screen::begin(CrosstermBackend::new(stdout()), inline)?;
        Terminal::with_options(screen, TerminalOptions { viewport })
    }

    /// Columns and lines that are drawn.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.screen.size()?;
        Ok((size.width, if self.inline { size.height.min(INLINE) } else { size.height }))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Whoever hung up has no terminal to give back.
        if self.inline {
            self.screen.clear().unwrap_or_default();
        }
        give_back(self.inline).unwrap_or_default();
    }
}

fn give_back(inline: bool) -> io::Result<()> {
    disable_raw_mode()?;
    if !inline {
        execute!(stdout(), LeaveAlternateScreen)?;
    }
    execute!(stdout(), DisableBracketedPaste, crossterm::cursor::Show)
}
