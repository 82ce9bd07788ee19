//! The task that owns the driver: requests, outcomes, deadlines and reports of the disk come together here.

use std::time::Duration;

use holon_facts::{AgentId, Millis};
use tokio::time::Instant;

use super::Unavailable;
use super::mailbox::{Answered, Mailbox, Make, Request, Urgency};
use super::residents::Residents;
use crate::driver::{Driver, DriverError, LoadError, NoAnswer};

/// Until those who may leave are looked at again, while something is on its way to the disk.
const SOON: Duration = Duration::from_millis(100);
/// Whoever has something due within so long is not worth a way out and back.
const STAYS_FOR: Millis = Millis::seconds(60);

pub(super) struct Keeper {
    driver: Driver,
    mailbox: Mailbox,
    residents: Residents,
    warn: Box<dyn FnMut(String) + Send>,
}

/// What the keeper woke up for.
enum Woken {
    Asked(Option<Request>),
    Idle,
    Pumped(Result<(), DriverError>),
}

impl Keeper {
    pub(super) fn new(driver: Driver, mailbox: Mailbox, warn: Box<dyn FnMut(String) + Send>) -> Self {
        let mut residents = Residents::default();
        let now = Instant::now();
        driver.view().agent_ids().for_each(|agent| residents.touch(agent, now));
        Self { driver, mailbox, residents, warn }
    }

    /// Keeps the driver going until it is to leave, then shuts it down.
    pub(super) async fn keep(mut self) -> Result<(), DriverError> {
        loop {
            self.driver.take_warnings().into_iter().for_each(&mut self.warn);
            let woken = self.next().await;
            match woken {
                Woken::Asked(None | Some(Request::Leave)) => break,
                Woken::Asked(Some(request)) => self.serve(request).await?,
                Woken::Idle => self.park_idle()?,
                Woken::Pumped(pumped) => pumped?,
            }
            self.driver.load_wanted().await?;
            for agent in self.driver.take_arrived() {
                self.touch(Some(&agent));
            }
        }
        let Self { driver, mailbox, mut warn, .. } = self;
        // Whoever still asks is told at once.
        drop(mailbox);
        let ended = driver.shut_down().await;
        if let Err(error) = &ended {
            warn(format!("the runtime did not leave in good order: {error}"));
        }
        ended
    }

    /// Waits for what comes next, in no fixed order: neither requests nor outcomes can keep the other out.
    async fn next(&mut self) -> Woken {
        let idle = self.residents.next();
        // On a full disk nobody waits in line: whatever takes room is refused at once.
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
            Request::Ask { agent, urgency, make, answered } => {
                match self.bring_in(agent.as_ref(), urgency).await? {
                    Err(unavailable) => drop(answered.send(Err(unavailable))),
                    Ok(()) => {
                        self.ask(make, answered).await?;
                        // One that was just created has come to stay.
                        self.touch(agent.as_ref());
                    }
                }
            }
            Request::Read { agent, read } => match self.bring_in(agent.as_ref(), Urgency::Normal).await? {
                Err(unavailable) => read(Err(unavailable)),
                Ok(()) => read(Ok(self.driver.view())),
            },
            Request::Fork { fork, forked } => {
                let done = self.driver.fork(&fork).await?;
                self.touch(Some(&fork.to));
                // Whoever asked and went away finds the agent in the list.
                drop(forked.send(done));
            }
            Request::Leave => {}
        }
        Ok(())
    }

    async fn ask(&mut self, make: Make, answered: Answered) -> Result<(), DriverError> {
        let told = move |told: Result<_, NoAnswer>| drop(answered.send(told.map_err(Unavailable::from)));
        self.driver.post(make, Box::new(told)).await
    }

    fn is_full(&self) -> bool {
        self.driver.room_on_disk().is_full()
    }

    /// Makes sure that an agent is in memory, if there is one of that name. Damage of its log concerns nobody
    /// else: the runtime goes on.
    async fn bring_in(
        &mut self,
        agent: Option<&AgentId>,
        urgency: Urgency,
    ) -> Result<Result<(), Unavailable>, DriverError> {
        let Some(agent) = agent else { return Ok(Ok(())) };
        let there = self.driver.view().agent(agent).is_some();
        // Coming in is recorded, and what room there is belongs to stops.
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
            Err(LoadError::Damaged(error)) => {
                let unavailable = Unavailable::Damaged { agent: agent.clone(), problem: damage(&error) };
                (self.warn)(unavailable.to_string());
                Ok(Err(unavailable))
            }
        }
    }

    fn touch(&mut self, agent: Option<&AgentId>) {
        if let Some(agent) = agent.filter(|agent| self.driver.view().agent(agent).is_some()) {
            self.residents.touch(agent, Instant::now());
        }
    }

    /// Lets those leave memory who have nothing to do; whoever has soon stays.
    fn park_idle(&mut self) -> Result<(), DriverError> {
        let now = Instant::now();
        if !self.driver.caught_up() || !self.driver.has_capacity() {
            self.residents.postpone(now + SOON);
            return Ok(());
        }
        let due = self.residents.due(now);
        let soon = |agent: &AgentId| self.driver.idles_for(agent).is_some_and(|wait| wait < STAYS_FOR);
        let idle: Vec<AgentId> = due.into_iter().filter(|agent| !soon(agent)).collect();
        self.driver.evict(&idle)?.iter().for_each(|agent| self.residents.forget(agent));
        Ok(())
    }
}

/// What is wrong with one agent, in words that do not end the runtime.
fn damage(error: &DriverError) -> String {
    match error {
        DriverError::Ledger(error) => error.to_string(),
        DriverError::Restore { source, .. } => source.to_string(),
        DriverError::DiskFull(_) | DriverError::Law(_) => error.to_string(),
    }
}
