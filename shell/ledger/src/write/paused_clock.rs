//! Keeps the paused clock of a test from advancing while something is on its way to the disk. The disk takes real time, and
//! how much of it must not decide what a test sees.

use std::sync::mpsc::{Sender, channel};

use holon_platform::spawn;
use tokio::runtime::Handle;

use crate::load::Load;

/// Holds the clock of the runtime that it was begun in, as long as something is under way.
#[derive(Debug)]
pub(super) struct PausedClock {
    under_way: Load,
    held: Option<Sender<()>>,
}

impl Default for PausedClock {
    fn default() -> Self {
        Self { under_way: Load::NONE, held: None }
    }
}

impl PausedClock {
    pub(super) fn begun(&mut self, load: Load) {
        self.under_way = self.under_way.plus(load);
        if self.held.is_none() && Handle::try_current().is_ok() {
            let (held, released) = channel();
            // A paused clock waits for work that blocks, and this is such work.
            drop(spawn::blocking(move || released.recv().is_ok()));
            self.held = Some(held);
        }
    }

    pub(super) fn done(&mut self, load: Load) {
        self.under_way = self.under_way.minus(load);
        if self.under_way.calls == 0 {
            self.held = None;
        }
    }
}
