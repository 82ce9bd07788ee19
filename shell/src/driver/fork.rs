//! Agents that begin as a copy of another, while the runtime goes on.

use holon_api::GivenAnswer;
use holon_core::Input;
use holon_core::recovery::RecoveryReport;
use holon_facts::EventSeq;
use holon_facts::model_ref::ModelRef;
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange};
use holon_ledger::write::{Fork, ForkError, Forked, Past};
use holon_platform::clock;
use holon_platform::crash_point::{Point, reached};

use super::{Driver, DriverError};
use crate::templates::instructions_of_default;

/// What is to be copied, and what is to be another thing in the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkOrder {
    pub fork: Fork,
    /// Asked first, instead of whom the other one asks.
    pub model: Option<ModelRef>,
    /// The first answer; no model is asked for it.
    pub answer: Option<GivenAnswer>,
    /// Where it works, instead of where the other one does.
    pub execution: Option<ExecutionBinding>,
}

impl ForkOrder {
    pub fn new(fork: Fork) -> Self {
        Self { fork, model: None, answer: None, execution: None }
    }
}

impl Driver {
    /// Makes the copy durable, and lets it go on from there: what was in flight in it is lost to it. Says which
    /// event was the last that was copied.
    ///
    /// # Errors
    /// When the runtime can't go on; a fork that is refused has changed nothing, but for one that waits.
    pub async fn fork(&mut self, order: ForkOrder) -> Result<Result<EventSeq, ForkError>, DriverError> {
        if self.engine.stall().is_some() {
            return Ok(Err(ForkError::DiskFull));
        }
        // What is not on the disk yet can't be copied.
        if !self.catch_up().await? {
            return Ok(Err(ForkError::DiskFull));
        }
        let Forked { batch, steps, through } = match self.copy(&order) {
            Ok(forked) => forked,
            Err(refused) => return Ok(Err(refused)),
        };
        self.engine.stage_copy(clock::now(), steps, batch)?;
        reached(Point::ForkDecided);
        let durable = self.catch_up().await?;
        if durable {
            reached(Point::ForkDurable);
        }
        let to = order.fork.to.clone();
        self.differ(order).await?;
        self.recover(&to, RecoveryReport::default())?;
        Ok(if durable { Ok(through) } else { Err(ForkError::Waits) })
    }

    /// The files first: the copy's first turn reads them, and whoever crashes in between repeats the fork.
    fn copy(&mut self, order: &ForkOrder) -> Result<Forked, ForkError> {
        let fork = &order.fork;
        if let Some(reject) = self.engine.host().may_not_begin(&fork.to) {
            return Err(ForkError::Refused(reject));
        }
        let past = Past::read(self.engine.reader(), fork)?;
        let at = self.view().agent(&fork.from).map(|agent| agent.workspaces.active().clone());
        let readable = at.map(|at| self.performers.readable(&fork.from, &at)).unwrap_or_default();
        let from = (&fork.from, &readable);
        let files = self.performers.home().copy_agent(from, &fork.to, &instructions_of_default());
        files.map_err(|error| ForkError::Home(error.to_string()))?;
        let given = self.performers.give_answer(&fork.to, order.answer.as_ref());
        given.map_err(|error| ForkError::Home(format!("the answer can't be kept: {error}")))?;
        past.copy(self.engine.host_mut(), &self.texts)
    }

    /// What the copy has of its own, before it does anything.
    async fn differ(&mut self, order: ForkOrder) -> Result<(), DriverError> {
        let ForkOrder { fork, model, execution, answer: _ } = order;
        if model.is_some() {
            let agent = fork.to.clone();
            self.submit(move |reply| Input::SetModel { agent, model, reply }, Box::new(|_| {})).await?;
        }
        if let Some(execution) = execution {
            let change = WorkspaceChange::Use { execution };
            let ask = move |reply| Input::ChangeWorkspace { agent: fork.to, change, reply };
            self.submit(ask, Box::new(|_| {})).await?;
        }
        Ok(())
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
