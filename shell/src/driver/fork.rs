//! Agents that begin as a copy of another, while the runtime goes on.

use holon_core::recovery::RecoveryReport;
use holon_facts::EventSeq;
use holon_ledger::sqlite::{Fork, ForkError, Forked, Past};
use holon_platform::clock;
use holon_platform::crash_point::{Point, reached};

use super::{Driver, DriverError};
use crate::templates::instructions_of_default;

impl Driver {
    /// Makes the copy durable, and lets it go on from there: what was in flight in it is lost to it. Says which
    /// event was the last that was copied.
    ///
    /// # Errors
    /// When the runtime can't go on; a fork that is refused has changed nothing, but for one that waits.
    pub async fn fork(&mut self, fork: &Fork) -> Result<Result<EventSeq, ForkError>, DriverError> {
        if self.engine.stall().is_some() {
            return Ok(Err(ForkError::DiskFull));
        }
        // What is not on the disk yet can't be copied.
        if !self.catch_up().await? {
            return Ok(Err(ForkError::DiskFull));
        }
        let Forked { batch, steps, through } = match self.copy(fork) {
            Ok(forked) => forked,
            Err(refused) => return Ok(Err(refused)),
        };
        self.engine.stage_copy(clock::now(), steps, batch)?;
        reached(Point::ForkDecided);
        let durable = self.catch_up().await?;
        if durable {
            reached(Point::ForkDurable);
        }
        self.recover(&fork.to, RecoveryReport::default())?;
        Ok(if durable { Ok(through) } else { Err(ForkError::Waits) })
    }

    /// The files first: the copy's first turn reads them, and whoever crashes in between repeats the fork.
    fn copy(&mut self, fork: &Fork) -> Result<Forked, ForkError> {
        let past = Past::read(self.engine.reader(), fork)?;
        let files = self.performers.home().copy_agent(&fork.from, &fork.to, &instructions_of_default());
        files.map_err(|error| ForkError::Home(error.to_string()))?;
        past.copy(self.engine.host_mut(), &self.texts)
    }

    /// Waits until everything that was decided is durable; nothing else is listened to. False when the disk is full:
    /// nobody knows how long that takes.
    async fn catch_up(&mut self) -> Result<bool, DriverError> {
        while !self.caught_up() {
            if self.engine.stall().is_some() {
                return Ok(false);
            }
            self.next_report().await?;
        }
        Ok(true)
    }
}
