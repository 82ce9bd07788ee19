//! The simulated disk as the driver reads it: synced rows only.

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use holon_core::accounts::Accounts;
use holon_facts::{AgentId, EventSeq, Record, StepSeq, Wall};
use holon_ledger::{AgentRow, LedgerReader, Restored};

use super::group::DiskError;
use super::{Disk, last_step};

/// The disk of a world: the driver reads it, the world writes and damages it.
#[derive(Debug, Clone, Default)]
pub struct SharedDisk(Rc<RefCell<Disk>>);

impl SharedDisk {
    pub fn get(&self) -> Ref<'_, Disk> {
        self.0.borrow()
    }

    pub fn get_mut(&self) -> RefMut<'_, Disk> {
        self.0.borrow_mut()
    }

    /// Takes the disk out, once nobody reads it any more.
    pub fn take(&self) -> Disk {
        self.0.take()
    }
}

impl LedgerReader for SharedDisk {
    type Error = DiskError;

    fn last_step(&self) -> Result<StepSeq, DiskError> {
        Ok(last_step(self.get().synced()))
    }

    fn newest_record(&self) -> Result<Option<Wall>, DiskError> {
        Ok(self.get().newest())
    }

    fn accounts(&self) -> Result<Accounts, DiskError> {
        let mut accounts = Accounts::default();
        self.get().known().for_each(|(_, account)| accounts.add_absent(account));
        Ok(accounts)
    }

    fn each_agent(&self, each: impl FnMut(AgentRow)) -> Result<(), DiskError> {
        self.get().known().map(|(row, _)| row.clone()).for_each(each);
        Ok(())
    }

    fn load(&self, agent: &AgentId) -> Result<Restored, DiskError> {
        self.get().load(agent)
    }

    fn each_record(
        &self,
        agent: &AgentId,
        through: EventSeq,
        each: impl FnMut(Record),
    ) -> Result<(), DiskError> {
        let log = self.get().log_through(agent, through)?;
        log.into_iter().for_each(each);
        Ok(())
    }
}
