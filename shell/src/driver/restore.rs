//! Agents that come back from the ledger: those with open work at the start, others when they are asked for.

use holon_core::Input;
use holon_core::recovery::{Found, FoundCommand, RecoveryReport};
use holon_driver::Loaded;
use holon_facts::AgentId;
use holon_platform::clock;
use holon_platform::crash_point::{Point, reached};
use tokio::task::JoinSet;

use super::{Driver, DriverError, LoadError};

impl Driver {
    /// Brings back every agent that has something to do, then recovers one after the other.
    pub(super) async fn recover_all(&mut self, open: Vec<AgentId>) -> Result<(), DriverError> {
        for agent in &open {
            self.wait_for_capacity().await?;
            self.engine.bring_in(agent)?;
            reached(Point::AgentBroughtIn);
        }
        let occupied = |agent: &AgentId| {
            let roots = self.engine.occupied(agent).into_iter();
            roots.map(|root| (root, agent.clone())).collect::<Vec<_>>()
        };
        self.performers.begin_with_roots(open.iter().flat_map(occupied));
        let reports = self.probe(&open).reports().await;
        reached(Point::CommandsProbed);
        for (agent, report) in open.iter().zip(reports) {
            self.wait_for_capacity().await?;
            self.recover(agent, report)?;
            reached(Point::AgentRecovered);
        }
        if open.is_empty() && self.engine.waits_for_the_clock() {
            // Nobody's recovery has read the clocks, from which waits are measured.
            self.step(Input::Tick)?;
        }
        self.performers.sweep().await;
        reached(Point::AllRecovered);
        Ok(())
    }

    /// Asks the supervisors of open commands, all at once.
    fn probe(&self, agents: &[AgentId]) -> Probes {
        let mut asked = JoinSet::new();
        for (number, agent) in agents.iter().enumerate() {
            for (op, open, is_task) in self.engine.commands(agent) {
                let Some(supervisor) = open.supervisor.clone() else { continue };
                let (performers, agent, command) =
                    (self.performers.clone(), agent.clone(), open.command.clone());
                let task = open.task_id.filter(|_| !is_task);
                asked.spawn(async move {
                    let found = performers.probe(&agent, op, &supervisor, command.as_ref(), is_task).await;
                    let goes_on = task.filter(|_| found == Found::Running);
                    let tty = command.is_some_and(|command| command.tty);
                    let shown = goes_on.map(|task| Box::new(performers.written_so_far(&agent, task, tty)));
                    (number, FoundCommand { op, found, shown })
                });
            }
        }
        Probes { asked, agents: agents.len() }
    }

    /// Makes sure that an agent of the ledger is in memory; false when there is none of that name.
    ///
    /// # Errors
    /// When its log is damaged, the disk has no room for it, or the runtime can't go on.
    pub async fn load(&mut self, agent: &AgentId) -> Result<bool, LoadError> {
        if self.view().agent(agent).is_some() {
            return Ok(true);
        }
        while !self.engine.may_load()? {
            self.next_report().await?;
        }
        if !self.engine.bring_in(agent)? {
            return Ok(false);
        }
        let report = self.probe(std::slice::from_ref(agent)).reports().await.pop().unwrap_or_default();
        self.recover(agent, report)?;
        Ok(true)
    }

    /// Loads whom something is wanted of, a few at a time.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub async fn load_wanted(&mut self) -> Result<(), DriverError> {
        self.engine.look_for_wanted(clock::now())?;
        while let Some(wanted) = self.engine.next_wanted() {
            let loaded = self.load(&wanted.agent).await;
            let texts = self.texts.clone();
            match self.engine.loaded(wanted, loaded, |text| texts.take(text))? {
                Loaded::Next => {}
                Loaded::Step(input) => self.step(*input)?,
                Loaded::Enough => break,
            }
        }
        Ok(())
    }

    pub(super) fn recover(&mut self, agent: &AgentId, report: RecoveryReport) -> Result<(), DriverError> {
        let more = self.engine.recover(clock::now(), agent, report)?;
        self.follow_up(more)
    }
}

/// Supervisors that were asked what became of their commands.
struct Probes {
    asked: JoinSet<(usize, FoundCommand)>,
    agents: usize,
}

impl Probes {
    /// What they say, by agent. Whoever still has time is waited for.
    async fn reports(mut self) -> Vec<RecoveryReport> {
        let mut reports = vec![RecoveryReport::default(); self.agents];
        while let Some(probed) = self.asked.join_next().await {
            // A probe that broke down found nothing: its command counts as lost.
            if let Ok((number, command)) = probed {
                reports[number].commands.push(command);
            }
        }
        reports
    }
}
