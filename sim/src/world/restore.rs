//! What a start makes of the snapshots that it finds. One that is damaged is rejected, and what was there before it
//! is used instead: an older one, or the whole log.

use holon_core::snapshot::AgentSnapshot;
use holon_facts::{AgentId, EventSeq};

use super::{Sabotage, World};
use crate::choices::Site;
use crate::disk::shelf::{Glance, Harm};
use crate::failure::{Failure, ensure};

impl World<'_> {
    /// The snapshot that an agent is restored from, if any is good.
    pub(super) fn snapshot_of(
        &mut self,
        agent: &AgentId,
        last: EventSeq,
    ) -> Result<Option<AgentSnapshot>, Failure> {
        let harmed = self.harm(agent);
        let glance = match self.options.sabotage {
            Some(Sabotage::TrustingGlance) => Glance::Trusting,
            Some(_) | None => Glance::Careful,
        };
        let read = self.disk.snapshots.read(agent, last, glance);
        if harmed {
            self.checks.say("D7");
        }
        ensure!(read.misled.is_none(), "D7", "{agent} is restored from a snapshot with {:?}", read.misled);
        if read.rejected > 0 {
            let older = read.snapshot.is_some();
            self.injector.saw(if older {
                "an older snapshot is used"
            } else {
                "the log stands in for a snapshot"
            });
        }
        Ok(read.snapshot)
    }

    /// The newest snapshot of an agent may have been damaged; says whether it was.
    fn harm(&mut self, agent: &AgentId) -> bool {
        let Some(newest) = self.disk.snapshots.newest(agent) else { return false };
        let newest = newest.agent.event_seq;
        let site = Site::new("snapshot", self.number(agent), self.life.number, "");
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
        self.disk.snapshots.suffer(agent, harm)
    }
}
