//! Builds with debug assertions judge themselves: every durable record goes through the laws before the effects
//! of its step, and a broken law ends the runtime. Other builds do nothing here; for them there is
//! `holon ledger verify`.

use holon_core::law::{Laws, Violation};
use holon_core::view::View;
use holon_core::{AgentId, Record};

use crate::ledger::{LedgerError, Records};

/// What the laws remember of each agent in memory, and the first law that was broken.
#[derive(Debug)]
pub(super) struct Judge {
    /// None where nothing is judged.
    laws: Option<Laws>,
    broken: Option<Violation>,
}

impl Judge {
    /// Judges in builds with debug assertions.
    pub(super) fn of_this_build() -> Self {
        Self { laws: cfg!(debug_assertions).then(Laws::new), broken: None }
    }

    /// Takes in what an agent's log says so far, when the agent is brought in: laws look back further than a
    /// snapshot does. It is not judged again. Agents that have left memory are forgotten.
    ///
    /// # Errors
    /// When the log is damaged.
    pub(super) fn brought_in<'a>(
        &mut self,
        agent: &AgentId,
        others: View<'_>,
        log: impl FnOnce() -> Result<Records<'a>, LedgerError>,
    ) -> Result<(), LedgerError> {
        let Some(laws) = &mut self.laws else { return Ok(()) };
        laws.keep(|known| known != agent && others.agent(known).is_some());
        for record in log()? {
            laws.follow(&record?);
        }
        Ok(())
    }

    /// Judges the records of a durable step.
    ///
    /// # Errors
    /// The first broken law; nothing is in order any more afterwards.
    pub(super) fn durable(&mut self, records: &[Record]) -> Result<(), Violation> {
        let Some(laws) = &mut self.laws else { return Ok(()) };
        for record in records {
            if let Err(violation) = laws.step(record) {
                self.broken.get_or_insert(violation);
            }
        }
        self.holds()
    }

    /// Whether every law has held so far.
    ///
    /// # Errors
    /// The first one that has not.
    pub(super) fn holds(&self) -> Result<(), Violation> {
        self.broken.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use holon_core::model::ModelRef;
    use holon_core::{Config, EventSeq, Host, Input, ReplyId, Seed, Wall};
    use holon_text::Secrets;

    use super::super::{Driver, DriverError, Gate, Start};
    use super::*;
    use crate::ledger::Durability;
    use crate::ledger::testing::{Home, created, id};
    use crate::live::LiveSink;
    use crate::perform;
    use crate::perform::model::{Providers, built_in};
    use crate::perform::tool::CommandEnvironment;

    fn log(home: &Home) -> Vec<Record> {
        let reader = home.reader();
        let last = reader.last_event(&id("main")).unwrap();
        reader.records(&id("main"), EventSeq(0), last).unwrap().map(|record| record.unwrap()).collect()
    }

    /// As in a build with debug assertions, whatever this one is.
    fn judging() -> Judge {
        Judge { laws: Some(Laws::new()), broken: None }
    }

    fn config() -> Config {
        Config::new(vec![ModelRef::new("scripted/hello").unwrap()])
    }

    /// One with nobody in memory.
    fn host() -> Host {
        Host::new(config(), Seed(1)).unwrap()
    }

    fn create(agent: &str, reply: ReplyId) -> Input {
        let Input::CreateAgent { agent, spec, .. } = created(agent) else { panic!("another input") };
        Input::CreateAgent { agent, spec, reply }
    }

    async fn driver(home: &Home) -> Driver {
        let folder = home.folder.path().to_owned();
        let start = Start {
            ledger: home.ledger(),
            durability: Durability::Process,
            config: config(),
            secrets: Secrets::default(),
            providers: Providers::new(vec![built_in::scripted()]),
            reserve: None,
            performing: perform::Settings::new(folder, CommandEnvironment::new([])),
            live: LiveSink::nobody(),
            tools_from: Gate::open(),
            observer: Box::new(|_| {}),
        };
        Driver::start(start).await.unwrap()
    }

    #[tokio::test]
    async fn a_broken_law_ends_the_runtime_before_anything_is_done() {
        let home = Home::new();
        let mut driver = driver(&home).await;
        driver.judge = judging();
        driver.ask(|reply| create("another", reply)).await.unwrap();
        // The laws have seen a log of `main` that the host knows nothing of.
        driver.judge.durable(&log(&Home::with_turns(1))).unwrap();
        for _ in 0..2 {
            let error = driver.ask(|reply| create("main", reply)).await.unwrap_err();
            assert!(
                matches!(&error, DriverError::Law(violation) if violation.agent == id("main")),
                "{error}"
            );
            assert!(error.to_string().contains("broken, so the runtime ends: "), "{error}");
            assert!(error.to_string().contains("at main #1: "), "{error}");
        }
        assert!(driver.caught_up(), "nothing more was decided");
        driver.shut_down().await.unwrap_err();
    }

    #[test]
    fn what_is_in_order_passes_and_what_is_not_names_law_agent_and_event() {
        let records = log(&Home::with_turns(2));
        let mut judge = judging();
        judge.durable(&records).unwrap();
        let again = Record { at: Wall(0), ..records[4].clone() };
        let violation = judge.durable(&[again]).unwrap_err();
        let text = violation.to_string();
        assert!(text.contains(&format!("at main #{}", records[4].event_seq)), "{text}");
        assert!(Laws::table().iter().any(|(id, _)| text.starts_with(id)), "{text}");
        // It stays broken, whatever comes.
        assert_eq!(judge.holds(), Err(violation.clone()));
        assert_eq!(judge.durable(&[]), Err(violation));
    }

    #[test]
    fn an_agent_that_is_brought_in_goes_on_where_its_log_ends() {
        let home = Home::with_turns(2);
        let (records, reader, host) = (log(&home), home.reader(), host());
        let (before, after) = records.split_at(records.len() - 5);
        let through = before.last().unwrap().event_seq;
        let mut judge = judging();
        for _ in 0..2 {
            judge
                .brought_in(&id("main"), host.view(), || reader.records(&id("main"), EventSeq(0), through))
                .unwrap();
        }
        judge.durable(after).unwrap();
        let mut ignorant = judging();
        ignorant.durable(after).unwrap_err();
    }

    #[test]
    fn agents_that_left_memory_are_forgotten() {
        let home = Home::with_turns(1);
        let (records, reader, host) = (log(&home), home.reader(), host());
        let mut judge = judging();
        judge.durable(&records).unwrap();
        // `main` is not in the host's memory when another agent comes in.
        judge
            .brought_in(&id("another"), host.view(), || reader.records(&id("main"), EventSeq(0), EventSeq(0)))
            .unwrap();
        judge.durable(&records).unwrap();
    }

    #[test]
    fn where_nothing_is_judged_nothing_is_read() {
        let mut judge = Judge { laws: None, broken: None };
        let records = log(&Home::with_turns(1));
        judge.brought_in(&id("main"), host().view(), || unreachable!("the log is read")).unwrap();
        judge.durable(&records[3..]).unwrap();
    }
}
