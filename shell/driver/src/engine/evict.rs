//! Agents that leave memory.

use std::collections::BTreeSet;

use holon_facts::AgentId;
use holon_ledger::{AgentRow, LedgerReader, LedgerWriter};

use super::Engine;
use crate::error::EngineError;

impl<W: LedgerWriter, R: LedgerReader<Error = W::Error>, C> Engine<W, R, C> {
    /// Evicts the agents among these that have nothing to do but to wait, and returns them. They come back by
    /// [`Engine::bring_in`], and are wanted when something is due for them.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn evict(&mut self, agents: &[AgentId]) -> Result<BTreeSet<AgentId>, EngineError<W::Error>> {
        let mut left = BTreeSet::new();
        // What is not on the disk yet could not be read back.
        if !self.caught_up() || !self.has_capacity(false) {
            return Ok(left);
        }
        let mut batch = W::Batch::default();
        for agent in agents {
            let deadline = self.host.wall_deadline(agent);
            let Some(snapshot) = self.host.evict(agent) else { continue };
            self.stored.forget(agent);
            if let Some((at, _)) = deadline {
                self.absent.wait(agent.clone(), at);
            }
            self.write_rest(&mut batch, AgentRow::of(&snapshot.agent))?;
            left.insert(agent.clone());
        }
        if !left.is_empty() {
            self.send(batch)?;
        }
        Ok(left)
    }
}
