//! How a start treats the snapshots on the disk. It rejects a damaged one and uses an older one instead, or the whole
//! log.

use holon_facts::AgentId;

use super::World;
use crate::disk::snapshots::Harm;
use crate::failure::{Failure, ensure};

impl World<'_> {
    /// Checks which stored state of an agent the start used.
    pub(super) fn found(&mut self, agent: &AgentId, harmed: bool) -> Result<(), Failure> {
        let misled = self.disk.get().misled.take();
        if harmed {
            self.checks.say("D7");
        }
        ensure!(misled.is_none(), "D7", "{agent} is restored from a snapshot with {misled:?}");
        let Some(engine) = &mut self.life.engine else { return Ok(()) };
        let rejected = engine.writer().sent.iter().any(|group| !group.rejected.is_empty());
        if rejected {
            let last = self.checks.agents().get(agent).map(|agent| agent.event_seq).unwrap_or_default();
            let disk = self.disk.get();
            let older = disk.snapshots.read(agent, last, disk.glance).snapshot.is_some();
            self.injector.saw(if older {
                "an older snapshot is used"
            } else {
                "the log stands in for a snapshot"
            });
        }
        Ok(())
    }

    /// Damages the newest snapshot of an agent now and then; returns whether it did.
    pub(super) fn harm(&mut self, agent: &AgentId) -> bool {
        let newest = self.disk.get().snapshots.newest(agent).map(|newest| newest.agent.event_seq);
        let Some(newest) = newest else { return false };
        let site = self.site("snapshot", self.number(agent), "");
        let (faults, quiet) = (&self.scenario.faults, self.quiet);
        let often = faults.snapshot_damaged;
        if quiet || !self.injector.strikes(faults, &mut *self.choices, site, "damaged", often) {
            return false;
        }
        let mut draw = |kind, n| self.choices.below(site.about(kind), n);
        let harm = match draw("how", 5) {
            0 => Harm::Flipped { bit: draw("bit", 1 << 20) },
            1 => Harm::Cut { bytes: draw("bytes", 1 << 20) },
            2 => Harm::Misfiled,
            3 => Harm::Foreign,
            _ => Harm::Ahead { by: draw("by", 40) },
        };
        self.trace.remark(self.at, &format!("the snapshot of {agent} at {newest} suffers {harm:?}"));
        self.disk.get_mut().snapshots.suffer(agent, harm)
    }
}
