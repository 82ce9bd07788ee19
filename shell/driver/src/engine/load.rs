//! Agents that come back from the ledger: those with open work at the start, others when they are asked for, children
//! that have to be told something, and those for whom something is due.

use holon_core::Input;
use holon_core::agent::{Agent, OpenOp};
use holon_core::recovery::RecoveryReport;
use holon_core::replay::Call;
use holon_core::snapshot::SnapshotError;
use holon_facts::outcome::{Certainty, OpFailure};
use holon_facts::{AgentId, Now, OpId, Outcome, Text, Wall};
use holon_ledger::{Batch, LedgerReader, LedgerWriter, Restored, StoreError};

use super::Engine;
use super::absent::{AGAIN, AT_ONCE};
use crate::error::{Damage, DiskFull, EngineError, LoadError};

/// Somebody who is to be brought into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub agent: AgentId,
    why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Why {
    /// It has to be told something by its parent, in this operation.
    Child { parent: AgentId, op: OpId },
    /// Something was due for it by then.
    Due { by: Wall },
    /// The clock has gone back: what it waits for moves, and it leaves again.
    Look { by: Wall },
}

/// The open commands of an agent, whose supervisors are asked what became of them.
pub type Commands<'a> = Vec<(OpId, &'a OpenOp, bool)>;

impl<W: LedgerWriter, R: LedgerReader<Error = W::Error>, C> Engine<W, R, C> {
    /// Whether somebody may be brought in now; on a full disk nobody waits for that.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn may_load(&self) -> Result<bool, DiskFull> {
        let full = self.stall.is_some();
        let may = self.has_capacity(full);
        if full && !may { Err(DiskFull) } else { Ok(may) }
    }

    /// Brings an agent of the ledger into memory; false when there is none of that name. It is recovered next.
    ///
    /// # Errors
    /// When its log is damaged, or the runtime can't go on.
    pub fn bring_in(&mut self, agent: &AgentId) -> Result<bool, LoadError<W::Error>> {
        let restored = match self.reader.load(agent) {
            Ok(restored) => restored,
            Err(error) if error.is_absent() => return Ok(false),
            Err(error) => return Err(damaged(agent, Damage::Unreadable(error))),
        };
        let Restored { snapshot, state_bytes, tail, tail_bytes, unusable } = restored;
        let mut batch = W::Batch::default();
        for (event_seq, error) in unusable {
            match error {
                SnapshotError::Damaged(_) => self.warnings.push(format!(
                    "the stored state of {agent} at event {event_seq} was discarded, its log was read instead: {error}"
                )),
                // After an update: nothing is wrong.
                SnapshotError::Version { .. } | SnapshotError::Build { .. } => {}
            }
            batch.reject_snapshot(agent.clone(), event_seq);
        }
        self.stored.brought_in(agent, state_bytes, tail_bytes);
        let restored = self.host.admit(snapshot, tail);
        restored.map_err(|error| damaged(agent, Damage::Unfit(error)))?;
        self.absent.forget(agent);
        self.arrived.push(agent.clone());
        let through = self.host.view().agent(agent).map(|agent| agent.event_seq).unwrap_or_default();
        self.invariants
            .brought_in(agent, self.host.view(), |each| self.reader.each_record(agent, through, each))
            .map_err(EngineError::from)?;
        let call = self.writer.encode(&Call::Admit { agent: agent.clone(), through });
        self.writer.call(&mut batch, call.map_err(EngineError::from)?);
        // Whoever had much to read is not to read it again the next time.
        if self.stored.takes(agent)
            && let Some(snapshot) = self.host.snapshot(agent)
        {
            batch.snapshot(snapshot);
        }
        self.send(batch)?;
        Ok(true)
    }

    /// The open commands of an agent that was brought in, and whether each is a task.
    pub fn commands(&self, agent: &AgentId) -> Commands<'_> {
        let Some(state) = self.host.view().agent(agent) else { return Vec::new() };
        if is_a_new_copy(state) {
            return Vec::new();
        }
        state.ops.iter().map(|(op, open)| (*op, open, state.task_of(*op).is_some())).collect()
    }

    /// The execution roots that an agent which was brought in occupies.
    pub fn occupied(&self, agent: &AgentId) -> Vec<String> {
        let Some(state) = self.host.view().agent(agent) else { return Vec::new() };
        if is_a_new_copy(state) {
            return Vec::new();
        }
        state.workspaces.occupied().map(|(root, _)| root.to_owned()).collect()
    }

    /// An agent that was brought in goes on from what was found of its commands. Says whether another step is to follow.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn recover(
        &mut self,
        clock: Now,
        agent: &AgentId,
        report: RecoveryReport,
    ) -> Result<bool, EngineError<W::Error>> {
        let now = self.now(clock);
        let call = Call::Recover { now, agent: agent.clone(), report };
        let written = self.writer.encode(&call)?;
        let Call::Recover { report, .. } = call else { return Ok(false) };
        let step = self.host.recover(now, agent, report);
        let more = step.more();
        self.stage(now, written, step)?;
        Ok(more)
    }

    /// Whether a start has to read the clocks by itself, since nobody's recovery does: waits are measured from there.
    pub fn waits_for_the_clock(&self) -> bool {
        self.absent_wait().is_some()
    }

    /// A child has to be told something.
    pub fn wants_child(&mut self, parent: AgentId, op: OpId, child: AgentId) {
        self.to_load.push_back((parent, op, child));
    }

    /// The deadline of somebody who is not in memory has come. It is said once: whoever drives loads when it can.
    pub fn absent_is_due(&mut self) {
        self.absent.notify();
    }

    /// Looks whom something is wanted of: children that have to be told something, and those whose deadline has come
    /// while they were not in memory. A few at a time; [`Engine::next_wanted`] names them.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn look_for_wanted(&mut self, clock: Now) -> Result<(), EngineError<W::Error>> {
        self.absent.rearm();
        if self.absent_wait().is_none() {
            return Ok(());
        }
        self.look_after_step_back(clock.wall)?;
        let by = self.host.facts().now.after(self.now(clock).mono.since(self.stepped_at));
        let due = self.absent.due(by).into_iter();
        self.wanted.extend(due.map(|agent| Wanted { agent, why: Why::Due { by } }));
        Ok(())
    }

    /// After the clock went back those who are absent are brought in, which moves what they wait for, and let go again, so
    /// that few are in memory at a time.
    fn look_after_step_back(&mut self, by: Wall) -> Result<(), EngineError<W::Error>> {
        if !self.absent.looks() || !self.caught_up() {
            return Ok(());
        }
        let looked_at = self.absent.take_looked_at();
        let left = self.evict(&looked_at)?;
        self.arrived.extend(looked_at.into_iter().filter(|agent| !left.contains(agent)));
        for _ in 0..AT_ONCE {
            let Some(agent) = self.absent.next_to_look_at() else { break };
            self.wanted.push_back(Wanted { agent, why: Why::Look { by } });
        }
        Ok(())
    }

    /// Who is to be brought in next, and then [`Engine::loaded`].
    pub fn next_wanted(&mut self) -> Option<Wanted> {
        if let Some((parent, op, agent)) = self.to_load.pop_front() {
            return Some(Wanted { agent, why: Why::Child { parent, op } });
        }
        self.wanted.pop_front()
    }

    /// What became of it. Says which step follows, and none when nobody else is to be brought in for now.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn loaded(
        &mut self,
        wanted: Wanted,
        loaded: Result<bool, LoadError<W::Error>>,
        text: impl FnOnce(&str) -> Text,
    ) -> Result<Loaded, EngineError<W::Error>> {
        let Wanted { agent, why } = wanted;
        let by = match why {
            Why::Child { parent, op } => return self.child_loaded(parent, op, agent, loaded, text),
            Why::Due { by } => by,
            Why::Look { by } => {
                self.arrived.retain(|arrived| *arrived != agent);
                if self.host.view().agent(&agent).is_some() {
                    self.absent.looked_at(agent.clone());
                }
                by
            }
        };
        match loaded {
            Ok(_) => {}
            Err(LoadError::DiskFull(_)) => self.absent.wait(agent, by),
            Err(LoadError::Damaged { damage: Damage::Unreadable(error), .. }) if error.is_temporary() => {
                self.absent.wait(agent, by.after(AGAIN));
            }
            Err(LoadError::Damaged { damage, .. }) => {
                self.absent.forget(&agent);
                self.warnings.push(format!("{agent} has something due and can't be loaded: {damage}"));
            }
            Err(LoadError::Driver(error)) => return Err(error),
        }
        Ok(Loaded::Next)
    }

    /// One that can't be brought in is lost to its parent; a disk that is full, and a ledger that can't be read now, are waited
    /// for.
    fn child_loaded(
        &mut self,
        agent: AgentId,
        op: OpId,
        child: AgentId,
        loaded: Result<bool, LoadError<W::Error>>,
        text: impl FnOnce(&str) -> Text,
    ) -> Result<Loaded, EngineError<W::Error>> {
        let problem = match loaded {
            Ok(true) => return Ok(Loaded::Next),
            Ok(false) => "it is not in the ledger".to_owned(),
            Err(LoadError::DiskFull(_)) => {
                self.to_load.push_front((agent, op, child));
                return Ok(Loaded::Enough);
            }
            Err(LoadError::Damaged { damage: Damage::Unreadable(error), .. }) if error.is_temporary() => {
                // Nothing else may happen until then.
                self.absent.wait(child.clone(), self.host.facts().now.after(AGAIN));
                self.to_load.push_front((agent, op, child));
                return Ok(Loaded::Enough);
            }
            Err(LoadError::Damaged { damage, .. }) => damage.to_string(),
            Err(LoadError::Driver(error)) => return Err(error),
        };
        let message = format!("{child} can't be brought into memory: {problem}");
        let failure = OpFailure { certainty: Certainty::Ambiguous, message: text(&message) };
        self.warnings.push(message);
        Ok(Loaded::Step(Box::new(Input::Completed { agent, op, outcome: Outcome::Failed { failure } })))
    }
}

fn damaged<E: StoreError>(agent: &AgentId, damage: Damage<E>) -> LoadError<E> {
    LoadError::Damaged { agent: agent.clone(), damage }
}

/// What follows once somebody was brought in, or could not be.
#[derive(Debug)]
pub enum Loaded {
    /// The next one.
    Next,
    /// A step with this input, then the next one.
    Step(Box<Input>),
    /// Nobody else for now.
    Enough,
}

/// Commands and folders of a copy are those of whom it was copied from.
fn is_a_new_copy(agent: &Agent) -> bool {
    agent.spec.forked_from.as_ref().is_some_and(|copied| copied.event_seq == agent.event_seq)
}
