//! Hears of every child that ends, also of those that came up because nobody else was their parent any more: until it is
//! looked for, each of them keeps its number.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::SigId;
use signal_hook::consts::SIGCHLD;
use signal_hook::low_level::{pipe, unregister};

pub(super) struct Ends {
    heard: UnixStream,
    handler: SigId,
}

impl Ends {
    /// Listens from now on; whoever has ended before is found by looking.
    ///
    /// # Errors
    /// No more files can be open.
    pub(super) fn listen() -> io::Result<Self> {
        let (heard, told) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        Ok(Self { heard, handler: pipe::register(SIGCHLD, told)? })
    }

    /// Whoever has ended until now is about to be looked for.
    pub(super) fn clear(&mut self) {
        let mut told = [0; 64];
        while matches!(self.heard.read(&mut told), Ok(1..)) {}
    }
}

impl AsFd for Ends {
    /// Readable once somebody has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.heard.as_fd()
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        unregister(self.handler);
    }
}
