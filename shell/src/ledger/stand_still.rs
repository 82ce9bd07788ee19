//! Where a test decides how fast time passes, it stands still while something is on its way to the disk. The
//! disk takes real time, and how much of it must not decide what a test sees.

use std::sync::mpsc::{Sender, channel};

use holon_platform::spawn;
use tokio::runtime::Handle;

/// Holds the clock of the runtime that it was begun in, as long as something is under way.
#[derive(Debug, Default)]
pub(super) struct StandStill(Option<Sender<()>>);

impl StandStill {
    pub(super) fn during(&mut self, under_way: bool) {
        if !under_way {
            self.0 = None;
        } else if self.0.is_none() && Handle::try_current().is_ok() {
            let (held, released) = channel();
            // A paused clock waits for work that blocks, and this is such work.
            drop(spawn::blocking(move || released.recv().is_ok()));
            self.0 = Some(held);
        }
    }
}
