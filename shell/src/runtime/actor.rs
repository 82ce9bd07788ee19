//! The task that owns the driver: requests, outcomes, deadlines and reports of the disk come together here.

use std::time::Duration;

use holon_driver::Damage;
use holon_facts::{AgentId, Millis};
use holon_ledger::error::LedgerError;
use tokio::time::Instant;

use super::Unavailable;
use super::agent_cache::AgentCache;
use super::mailbox::{Asker, Mailbox, Make, Request, Urgency};
use crate::driver::{Driver, DriverError, LoadError, NoAnswer};

/// Until those who may leave are looked at again, while something is on its way to the disk.
const SOON: Duration = Duration::from_millis(100);
/// An agent with something due within this time stays in memory.
const STAYS_FOR: Millis = Millis::seconds(60);

pub(super) struct RuntimeActor {
    driver: Driver,
    mailbox: Mailbox,
    cache: AgentCache,
    warn: Box<dyn FnMut(String) + Send>,
}

/// What the actor woke up for.
enum Woken {
    Asked(Option<Request>),
    Idle,
    Pumped(Result<(), DriverError>),
}

impl RuntimeActor {
    pub(super) fn new(driver: Driver, mailbox: Mailbox, warn: Box<dyn FnMut(String) + Send>) -> Self {
        let mut cache = AgentCache::default();
        let now = Instant::now();
        driver.view().agent_ids().for_each(|agent| cache.touch(agent, now));
        Self { driver, mailbox, cache, warn }
    }

    /// Runs the driver until the runtime leaves, then shuts it down.
    pub(super) async fn run(mut self) -> Result<(), DriverError> {
        loop {
            self.driver.take_warnings().into_iter().for_each(&mut self.warn);
            let woken = self.next().await;
            match woken {
                Woken::Asked(None | Some(Request::Leave)) => break,
                Woken::Asked(Some(request)) => self.serve(request).await?,
                Woken::Idle => self.evict_idle()?,
                Woken::Pumped(pumped) => pumped?,
            }
            self.driver.load_wanted().await?;
            for agent in self.driver.take_arrived() {
                self.touch(Some(&agent));
            }
        }
        let Self { driver, mailbox, mut warn, .. } = self;
        // Pending requests fail at once.
        drop(mailbox);
        let ended = driver.shut_down().await;
        if let Err(error) = &ended {
            warn(format!("the runtime did not leave in good order: {error}"));
        }
        ended
    }

    /// Waits for what comes next, in no fixed order: neither requests nor outcomes can keep the other out.
    async fn next(&mut self) -> Woken {
        let idle = self.cache.next();
        // On a full disk no request waits in line: what takes space is refused at once.
        let has_capacity = self.driver.has_capacity() || self.is_full();
        tokio::select! {
            request = self.mailbox.urgent.recv() => Woken::Asked(request),
            request = self.mailbox.normal.recv(), if has_capacity => Woken::Asked(request),
            () = tokio::time::sleep_until(idle.unwrap_or_else(Instant::now)), if idle.is_some() => Woken::Idle,
            pumped = self.driver.pump() => Woken::Pumped(pumped),
        }
    }

    async fn serve(&mut self, request: Request) -> Result<(), DriverError> {
        match request {
            Request::Ask { agent, urgency, make, asker } => {
                match self.bring_in(agent.as_ref(), urgency).await? {
                    Err(unavailable) => asker.answer(Err(unavailable)),
                    Ok(()) => {
                        self.ask(make, asker).await?;
                        // One that was just created has come to stay.
                        self.touch(agent.as_ref());
                    }
                }
            }
            Request::Read { agent, read } => match self.bring_in(agent.as_ref(), Urgency::Normal).await? {
                Err(unavailable) => read(Err(unavailable)),
                Ok(()) => read(Ok(self.driver.view())),
            },
            Request::Fork { order, forked } => {
                let to = order.fork.to.clone();
                let done = self.driver.fork(*order).await?;
                self.touch(Some(&to));
                // Whoever asked and went away finds the agent in the list.
                drop(forked.send(done));
            }
            Request::Leave => {}
        }
        Ok(())
    }

    async fn ask(&mut self, make: Make, asker: Asker) -> Result<(), DriverError> {
        let answers = asker.taken_in();
        let answered = move |answer: Result<_, NoAnswer>| {
            if let Some(answers) = answers {
                drop(answers.send(answer.map_err(Unavailable::from)));
            }
        };
        self.driver.submit(make, Box::new(answered)).await
    }

    fn is_full(&self) -> bool {
        self.driver.disk_state().is_full()
    }

    /// Makes sure that an agent is in memory, if there is one of that name. Damage of its log concerns no other
    /// agent: the runtime continues.
    async fn bring_in(
        &mut self,
        agent: Option<&AgentId>,
        urgency: Urgency,
    ) -> Result<Result<(), Unavailable>, DriverError> {
        let Some(agent) = agent else { return Ok(Ok(())) };
        let there = self.driver.view().agent(agent).is_some();
        // Loading an agent is recorded, and the space in reserve belongs to stops.
        if !there && urgency == Urgency::Normal && self.is_full() {
            return Ok(Err(Unavailable::DiskFull));
        }
        match self.driver.load(agent).await {
            Ok(_) => {
                self.touch(Some(agent));
                Ok(Ok(()))
            }
            Err(LoadError::Driver(error)) => Err(error),
            Err(LoadError::DiskFull(_)) => Ok(Err(Unavailable::DiskFull)),
            // Nothing is wrong with the agent.
            Err(LoadError::Damaged {
                damage: Damage::Unreadable(LedgerError::Away { problem, .. }), ..
            }) => Ok(Err(Unavailable::DatabaseAway { problem })),
            Err(LoadError::Damaged { damage: Damage::Unreadable(LedgerError::Locked { by }), .. }) => {
                Ok(Err(Unavailable::LedgerLocked { by: by.to_string() }))
            }
            Err(LoadError::Damaged { agent, damage }) => {
                let unavailable = Unavailable::Damaged { agent, problem: damage.to_string() };
                (self.warn)(unavailable.to_string());
                Ok(Err(unavailable))
            }
        }
    }

    fn touch(&mut self, agent: Option<&AgentId>) {
        if let Some(agent) = agent.filter(|agent| self.driver.view().agent(agent).is_some()) {
            self.cache.touch(agent, Instant::now());
        }
    }

    /// Evicts agents that have nothing to do now or soon.
    fn evict_idle(&mut self) -> Result<(), DriverError> {
        let now = Instant::now();
        if !self.driver.caught_up() || !self.driver.has_capacity() {
            self.cache.postpone(now + SOON);
            return Ok(());
        }
        let due = self.cache.due(now);
        let soon = |agent: &AgentId| self.driver.idles_for(agent).is_some_and(|wait| wait < STAYS_FOR);
        let idle: Vec<AgentId> = due.into_iter().filter(|agent| !soon(agent)).collect();
        self.driver.evict(&idle)?.iter().for_each(|agent| self.cache.forget(agent));
        Ok(())
    }
}
