//! Snapshots on the disk, as a start finds them: the newest of each agent, each with a checksum. An unusable one gives
//! way to the one before it, and then to the log (contract: ST11, D7).

use std::collections::BTreeMap;

use holon_core::snapshot::{AgentSnapshot, SnapshotError};
use holon_facts::{AgentId, EventSeq};

use crate::choices::hash;

/// Snapshots kept of each agent, as in a real ledger.
const KEPT: usize = 2;

/// Damage to a snapshot on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// One bit of its text is another.
    Flipped { bit: u32 },
    /// Its text is cut after so many bytes, reduced to what it has.
    Cut { bytes: u32 },
    /// It is filed under the event after its own.
    Misfiled,
    /// Another build wrote it, in another format.
    Foreign,
    /// It contains events that the log does not have.
    Ahead { by: u32 },
}

/// How snapshots are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Glance {
    #[default]
    Careful,
    /// Sabotage: trusts every snapshot that can be parsed.
    Trusting,
}

/// A snapshot on the disk.
#[derive(Debug)]
struct Stored {
    snapshot: AgentSnapshot,
    harm: Option<Harm>,
}

/// The result of reading an agent's snapshots.
#[derive(Debug, Default)]
pub struct Read {
    pub snapshot: Option<AgentSnapshot>,
    /// The harm of the snapshot that was read, if it was damaged.
    pub misled: Option<Harm>,
    /// Newer snapshots that can't be used.
    pub unusable: Vec<(EventSeq, SnapshotError)>,
}

/// The snapshots of all agents, the oldest first.
#[derive(Debug, Default)]
pub struct Snapshots {
    agents: BTreeMap<AgentId, Vec<Stored>>,
}

impl Snapshots {
    pub fn keep(&mut self, snapshot: AgentSnapshot) {
        let kept = self.agents.entry(snapshot.agent.id.clone()).or_default();
        kept.retain(|stored| stored.snapshot.agent.event_seq != snapshot.agent.event_seq);
        kept.push(Stored { snapshot, harm: None });
        kept.drain(..kept.len().saturating_sub(KEPT));
    }

    /// The newest undamaged snapshot.
    pub fn newest(&self, agent: &AgentId) -> Option<&AgentSnapshot> {
        let kept = self.agents.get(agent)?.iter().rev();
        kept.filter(|stored| stored.harm.is_none()).map(|stored| &stored.snapshot).next()
    }

    /// Keeps the snapshots of logs that end at these events: each goes with the rows that it was written with.
    pub fn cut(&mut self, ends: &BTreeMap<AgentId, EventSeq>) {
        self.agents.retain(|agent, kept| {
            kept.retain(|stored| {
                ends.get(agent).is_some_and(|&last| stored.snapshot.agent.event_seq <= last)
            });
            !kept.is_empty()
        });
    }

    /// Damages the newest snapshot of an agent; returns whether there was one.
    pub fn suffer(&mut self, agent: &AgentId, harm: Harm) -> bool {
        let newest = self.agents.get_mut(agent).and_then(|kept| kept.last_mut());
        newest.map(|stored| stored.harm = Some(harm)).is_some()
    }

    /// The snapshot that a start uses for an agent whose log ends at an event.
    pub fn read(&self, agent: &AgentId, last: EventSeq, glance: Glance) -> Read {
        let mut read = Read::default();
        for stored in self.agents.get(agent).into_iter().flatten().rev() {
            if let Some(snapshot) = stored.usable(agent, last, glance) {
                read.misled = stored.harm;
                read.snapshot = Some(snapshot);
                break;
            }
            let why = SnapshotError::Damaged(format!("{:?}", stored.harm));
            read.unusable.push((stored.snapshot.agent.event_seq, why));
        }
        read
    }

    /// Drops a rejected snapshot: a log that has grown past it must not find it again.
    pub fn reject(&mut self, agent: &AgentId, event_seq: EventSeq) {
        if let Some(kept) = self.agents.get_mut(agent) {
            kept.retain(|stored| stored.snapshot.agent.event_seq != event_seq);
        }
    }
}

impl Stored {
    fn usable(&self, agent: &AgentId, last: EventSeq, glance: Glance) -> Option<AgentSnapshot> {
        let Some(harm) = self.harm else {
            // An undamaged snapshot reads back as it was written: the end of a run checks that.
            return Some(self.snapshot.clone()).filter(|snapshot| snapshot.agent.event_seq <= last);
        };
        let (text, sum, filed) = self.on_disk(harm, last)?;
        let text = String::from_utf8(text).ok()?;
        let snapshot = AgentSnapshot::decode(&text).ok()?;
        let own = snapshot.agent.id == *agent && snapshot.agent.event_seq == filed;
        let good = hash(text.as_bytes()) == sum && own && filed <= last;
        (good || glance == Glance::Trusting).then_some(snapshot)
    }

    /// Its text, its checksum, and the event under which it is filed.
    fn on_disk(&self, harm: Harm, last: EventSeq) -> Option<(Vec<u8>, u64, EventSeq)> {
        let mut written = self.snapshot.clone();
        match harm {
            Harm::Foreign => written.version = u16::MAX,
            Harm::Ahead { by } => written.agent.event_seq = EventSeq(last.0 + 1 + u64::from(by)),
            Harm::Flipped { .. } | Harm::Cut { .. } | Harm::Misfiled => {}
        }
        let mut text = written.encode().ok()?.into_bytes();
        let (sum, mut filed) = (hash(&text), written.agent.event_seq);
        match harm {
            Harm::Flipped { bit } => {
                let at = (bit as usize / 8) % text.len().max(1);
                text[at] ^= 1 << (bit % 8);
            }
            Harm::Cut { bytes } => text.truncate(bytes as usize % text.len().max(1)),
            Harm::Misfiled => filed = filed.next(),
            Harm::Foreign | Harm::Ahead { .. } => {}
        }
        Some((text, sum, filed))
    }
}

#[cfg(test)]
mod tests {
    use holon_core::host::Host;
    use holon_facts::ids::Seed;
    use holon_facts::{Mono, Now, ReplyId, Wall};

    use super::*;
    use crate::codec::plain;
    use crate::ingress::{Request, agent_id, input};
    use crate::scenario::Action;

    /// Two snapshots of an agent, and where its log ends.
    fn shelf() -> (Snapshots, [EventSeq; 2]) {
        let (mut host, mut shelf) = (Host::new(plain(), Seed(1)).unwrap(), Snapshots::default());
        let mut ends = [EventSeq(0); 2];
        for (end, action) in ends.iter_mut().zip([Action::Create { settings: false }, Action::Stop]) {
            let request = Request { agent: 1, action };
            let now = Now { mono: Mono(0), wall: Wall(0) };
            drop(host.step(now, input(&request, Seed(1), ReplyId(1)).unwrap()));
            let snapshot = host.snapshot(&agent_id(1)).unwrap();
            *end = snapshot.agent.event_seq;
            shelf.keep(snapshot);
        }
        (shelf, ends)
    }

    #[test]
    fn whatever_is_harmed_gives_way_to_the_older_one_and_then_to_the_log() {
        let agent = agent_id(1);
        let bits = (0..4_000).step_by(13).map(|bit| Harm::Flipped { bit });
        let cuts = (0..500).map(|bytes| Harm::Cut { bytes });
        let others = [Harm::Misfiled, Harm::Foreign, Harm::Ahead { by: 0 }, Harm::Ahead { by: 3 }];
        for harm in bits.chain(cuts).chain(others) {
            let (mut shelf, [older, last]) = shelf();
            assert!(older < last && shelf.suffer(&agent, harm));
            let read = shelf.read(&agent, last, Glance::Careful);
            let used = read.snapshot.map(|snapshot| snapshot.agent.event_seq);
            let unusable: Vec<EventSeq> = read.unusable.iter().map(|(at, _)| *at).collect();
            assert_eq!((used, read.misled), (Some(older), None), "{harm:?}");
            assert_eq!(unusable, [last], "{harm:?}");
            // The rejected one is gone; now the next one is damaged.
            shelf.reject(&agent, last);
            assert!(shelf.suffer(&agent, harm));
            let read = shelf.read(&agent, last, Glance::Careful);
            assert!(read.snapshot.is_none() && read.unusable.len() == 1, "{harm:?}");
            shelf.reject(&agent, older);
            assert!(!shelf.suffer(&agent, harm));
        }
    }

    #[test]
    fn a_snapshot_goes_with_the_rows_that_it_was_written_with() {
        let (mut shelf, [older, last]) = shelf();
        let agent = agent_id(1);
        assert_eq!(shelf.newest(&agent).map(|snapshot| snapshot.agent.event_seq), Some(last));
        shelf.cut(&BTreeMap::from([(agent.clone(), older)]));
        assert_eq!(shelf.newest(&agent).map(|snapshot| snapshot.agent.event_seq), Some(older));
        shelf.cut(&BTreeMap::new());
        assert_eq!(shelf.newest(&agent), None);
    }
}
