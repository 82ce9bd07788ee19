//! Builds with debug assertions check themselves: every durable record goes through the laws before the effects
//! of its step, and a broken law ends the runtime. Other builds do nothing here; `holon ledger verify` checks
//! their ledgers.

use holon_core::view::View;
use holon_facts::{AgentId, Record};
use holon_law::{Laws, Violation};

/// What the laws remember of each agent in memory, and the first law that was broken.
#[derive(Debug)]
pub struct InvariantCheck {
    /// None where nothing is checked.
    laws: Option<Laws>,
    broken: Option<Violation>,
}

impl InvariantCheck {
    /// Enabled in builds with debug assertions.
    pub fn of_this_build() -> Self {
        if cfg!(debug_assertions) { Self::enabled() } else { Self::disabled() }
    }

    pub fn enabled() -> Self {
        Self { laws: Some(Laws::new()), broken: None }
    }

    /// For a runtime whose records are checked from outside.
    pub fn disabled() -> Self {
        Self { laws: None, broken: None }
    }

    /// Follows the log of an agent that is loaded: laws look back further than a snapshot does. These records are
    /// not checked again. Agents that have left memory are forgotten.
    ///
    /// # Errors
    /// When the log is damaged.
    pub fn brought_in<E>(
        &mut self,
        agent: &AgentId,
        others: View<'_>,
        log: impl FnOnce(&mut dyn FnMut(Record)) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(laws) = &mut self.laws else { return Ok(()) };
        laws.keep(|known| known != agent && others.agent(known).is_some());
        log(&mut |record| laws.follow(&record))
    }

    /// Checks the records of a durable step.
    ///
    /// # Errors
    /// The first broken law; nothing is in order any more afterwards.
    pub fn check(&mut self, records: &[Record]) -> Result<(), Violation> {
        let Some(laws) = &mut self.laws else { return Ok(()) };
        for record in records {
            if let Err(violation) = laws.step(record) {
                self.broken.get_or_insert(violation);
            }
        }
        self.holds()
    }

    /// Whether every law has held so far.
    ///
    /// # Errors
    /// The first one that has not.
    pub fn holds(&self) -> Result<(), Violation> {
        self.broken.clone().map_or(Ok(()), Err)
    }
}
