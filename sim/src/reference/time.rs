//! Recorded time, by the readings of both clocks: it goes back by itself where the wall clock does so by more than an
//! hour, and goes on at half speed while that is behind by less.

use holon_facts::{Mono, Now, Record, Wall};

use crate::failure::{Failure, ensure};

/// A step back by more than this is followed.
const FOLLOWED: i64 = 3_600_000_000;

#[derive(Debug, Clone)]
pub(super) struct Time {
    wall: Wall,
    /// None before the first reading of a process.
    mono: Option<Mono>,
    /// The time of the newest record of all agents.
    newest: Wall,
}

impl Default for Time {
    fn default() -> Self {
        Self { wall: Wall(i64::MIN), mono: None, newest: Wall(i64::MIN) }
    }
}

impl Time {
    /// A process starts: it knows the ledger alone.
    pub(super) fn started(&mut self) {
        (self.wall, self.mono) = (self.newest, None);
    }

    pub(super) fn read(&mut self, now: Now) {
        let passed = self.mono.map_or(0, |before| now.mono.0.saturating_sub(before.0));
        self.mono = self.mono.max(Some(now.mono));
        let expected = Wall(self.wall.0.saturating_add_unsigned(passed));
        let follows = expected.0.saturating_sub(now.wall.0) > FOLLOWED || now.wall >= self.wall;
        self.wall = if follows { now.wall } else { Wall(self.wall.0.saturating_add_unsigned(passed / 2)) };
    }

    pub(super) fn now(&self) -> Wall {
        self.wall
    }

    /// W7: a record has the time of its step.
    pub(super) fn stamps(&mut self, record: &Record) -> Result<(), Failure> {
        self.newest = record.at;
        ensure!(record.at == self.wall, "W7", "{record:?} is recorded at {}", self.wall);
        Ok(())
    }
}
