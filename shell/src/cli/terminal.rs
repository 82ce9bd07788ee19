//! Asking a person on a terminal.

use std::io::{self, BufRead, Read};

use anyhow::anyhow;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::exit::Exit;
use super::output::{self, Failure};

/// Most characters that are taken.
const TYPED: usize = 64 << 10;

/// Puts the terminal back as it was, however the question ends.
struct Restore(Termios);

impl Drop for Restore {
    fn drop(&mut self) {
        // Where the terminal is gone there is nothing to put back.
        tcsetattr(io::stdin(), OptionalActions::Flush, &self.0).ok();
    }
}

/// Asks for a secret, which is not shown while it is typed.
///
/// Keys are read one by one, so that an interrupt is seen here and never leaves a terminal without echo.
pub(super) fn secret(question: &str) -> Result<String, Failure> {
    let before = tcgetattr(io::stdin()).map_err(io::Error::from)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    silent.special_codes[SpecialCodeIndex::VMIN] = 1;
    silent.special_codes[SpecialCodeIndex::VTIME] = 0;
    let restore = Restore(before);
    tcsetattr(io::stdin(), OptionalActions::Flush, &silent).map_err(io::Error::from)?;
    output::ask(question);
    let typed = typed(io::stdin().lock().bytes());
    drop(restore);
    output::note("");
    String::from_utf8(typed?).map_err(|_| Failure::usage(anyhow!("what was typed is not UTF-8")))
}

/// Asks for a line, as any program does.
pub(super) fn line(question: &str) -> Result<String, Failure> {
    output::ask(question);
    let mut typed = String::new();
    let bytes = io::stdin().lock().take(TYPED as u64).read_line(&mut typed)?;
    if bytes == 0 {
        return Err(Failure::new(Exit::Interrupted, anyhow!("no answer: nothing was changed")));
    }
    Ok(typed.trim().to_owned())
}

fn typed(keys: impl Iterator<Item = io::Result<u8>>) -> Result<Vec<u8>, Failure> {
    let mut typed = Vec::new();
    for key in keys {
        match key? {
            b'\r' | b'\n' | 0x04 => break,
            0x03 | 0x1c => {
                return Err(Failure::new(Exit::Interrupted, anyhow!("interrupted: nothing was changed")));
            }
            0x7f | 0x08 => drop(typed.pop()),
            // Control-U begins again, as on any other line.
            0x15 => typed.clear(),
            key if typed.len() < TYPED => typed.push(key),
            _ => return Err(Failure::usage(anyhow!("what was typed is too long"))),
        }
    }
    Ok(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_and_ended() {
        let line = |keys: &[u8]| typed(keys.iter().copied().map(Ok)).map_err(|failure| failure.exit);
        assert_eq!(line(b"abc\x7fd\nrest").unwrap(), b"abd");
        assert_eq!(line(b"abc\x15x\x04").unwrap(), b"x");
        assert_eq!(line(b"abc\x03"), Err(Exit::Interrupted));
        assert_eq!(line(b"\x7f").unwrap(), b"");
    }
}
