//! T6 with the limits of the configuration: the rounds, calls and time of a run.

use std::collections::BTreeMap;

use holon_core::Input;
use holon_core::agent::Agent;
use holon_core::replay::Call;
use holon_facts::event::{InboxFact, TurnFact};
use holon_facts::model::StopReason;
use holon_facts::receipt::Verdict;
use holon_facts::terminal::TurnReason;
use holon_facts::{AgentId, Config, Event, MessageId, Record};

use crate::failure::{Failure, ensure};
use crate::options::Sabotage;

/// The bounds in force, and how far each agent's run has come.
#[derive(Debug, Clone)]
pub struct Bounds {
    config: Config,
    /// How many turns may be in progress.
    turns: u64,
    rounds: BTreeMap<AgentId, u32>,
    /// The message of each agent's run, and the rounds that messages carry to their next run.
    runs: BTreeMap<AgentId, MessageId>,
    carried: BTreeMap<(AgentId, MessageId), u32>,
    /// Consecutive rounds that were cut off, of each agent's run or of a message's last run.
    cut_off: BTreeMap<AgentId, u32>,
    carried_cut_off: BTreeMap<(AgentId, MessageId), u32>,
    /// How often the law was checked.
    pub checked: u64,
}

/// How many turns may be in progress at first.
fn turns(config: &Config) -> u64 {
    config.lent_turns.unwrap_or(config.limits.concurrent_turns)
}

impl Bounds {
    pub fn new(config: Config) -> Self {
        Self {
            turns: turns(&config),
            config,
            rounds: BTreeMap::new(),
            runs: BTreeMap::new(),
            carried: BTreeMap::new(),
            cut_off: BTreeMap::new(),
            carried_cut_off: BTreeMap::new(),
            checked: 0,
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// A start of the runtime may bring other bounds; runs in progress go on under them.
    pub fn call(&mut self, call: &Call) {
        if let Call::RuntimeStarted { config, .. } = call {
            self.config = config.clone();
            self.turns = turns(config);
        }
        if let Call::Step { input: Input::TurnsLent { turns }, .. } = call {
            self.turns = *turns;
        }
    }

    /// Checks a record; `after` is its agent with the record folded in.
    pub fn record(
        &mut self,
        record: &Record,
        after: Option<&Agent>,
        sabotage: Option<Sabotage>,
    ) -> Result<(), Failure> {
        self.continued(record, sabotage)?;
        let bounds = &self.config.turn;
        let most = if sabotage == Some(Sabotage::SmallBounds) { 0 } else { bounds.rounds };
        let agent = &record.agent;
        if let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event {
            let right = self.carried.remove(&(agent.clone(), fact.message_id)).unwrap_or(0);
            let carried = fact.carried_rounds;
            ensure!(carried == right, "T6", "{agent} goes on after {carried} rounds, {right} were made");
            self.rounds.insert(agent.clone(), carried);
            self.runs.insert(agent.clone(), fact.message_id);
        }
        if let Event::Inbox(InboxFact::MessageRequeued(fact)) = &record.event
            && self.runs.get(agent) == Some(&fact.message_id)
        {
            let made = self.rounds.get(agent).copied().unwrap_or(0);
            self.carried.insert((agent.clone(), fact.message_id), made);
        }
        if let Event::Turn(TurnFact::AssistantRoundRecorded(fact)) = &record.event {
            let rounds = self.rounds.entry(agent.clone()).or_default();
            self.checked += 1;
            ensure!(*rounds < most, "T6", "{agent} is given round {rounds}, the bound is {most}");
            *rounds += 1;
            let accepted = fact.verdicts.iter().filter(|it| matches!(it, Verdict::Accepted(_))).count();
            let calls = bounds.calls_per_round;
            ensure!(accepted <= calls as usize, "T6", "{accepted} of at most {calls} calls are accepted");
        }
        if let Event::Turn(TurnFact::TurnTerminal(fact)) = &record.event {
            let rounds = self.rounds.get(agent).copied().unwrap_or(0);
            let all = fact.reason != Some(TurnReason::Rounds) || rounds >= most;
            ensure!(all, "T6", "{agent} ends after {rounds} rounds, the bound is {most}");
        }
        let repeats = after.and_then(|agent| agent.run.as_ref()).map_or(0, |run| run.course.repeats.count);
        let calls = bounds.repeats_end.saturating_add(bounds.calls_per_round);
        ensure!(repeats <= calls, "T6", "{agent} makes the same call {repeats} times");
        Ok(())
    }

    /// An answer that was cut off is continued as often as the configuration says, neither less nor more.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    fn continued(&mut self, record: &Record, sabotage: Option<Sabotage>) -> Result<(), Failure> {
        let agent = &record.agent;
        let most = if sabotage == Some(Sabotage::SmallBounds) { 0 } else { self.config.turn.continuations };
        match &record.event {
            Event::Turn(TurnFact::TurnStarted(fact)) => {
                let carried = self.carried_cut_off.remove(&(agent.clone(), fact.message_id));
                self.cut_off.insert(agent.clone(), carried.unwrap_or(0));
            }
            Event::Inbox(InboxFact::MessageRequeued(fact))
                if self.runs.get(agent) == Some(&fact.message_id) =>
            {
                let cut_off = self.cut_off.get(agent).copied().unwrap_or(0);
                self.carried_cut_off.insert((agent.clone(), fact.message_id), cut_off);
            }
            Event::Inbox(InboxFact::OperatorInterjectionAdmitted(_)) => {
                self.cut_off.insert(agent.clone(), 0);
            }
            Event::Turn(TurnFact::AssistantRoundRecorded(fact)) => {
                let goes_on = matches!(fact.stop_reason, StopReason::MaxOutput | StopReason::Pause);
                let before = self.cut_off.get(agent).copied().unwrap_or(0);
                ensure!(before <= most, "T6", "{agent} continues an answer for the {before}th time");
                let cut_off = if goes_on && fact.verdicts.is_empty() { before + 1 } else { 0 };
                self.cut_off.insert(agent.clone(), cut_off);
                let named = fact.end.is_some() == fact.verdicts.is_empty();
                ensure!(named, "T12", "{agent} records {:?} of {} calls", fact.end, fact.verdicts.len());
            }
            Event::Turn(TurnFact::TurnTerminal(fact)) => {
                let cut_off = self.cut_off.get(agent).copied().unwrap_or(0);
                let gives_up = matches!(fact.reason, Some(TurnReason::OutputLimit | TurnReason::Pause));
                let enough = !gives_up || cut_off > most;
                ensure!(enough, "T6", "{agent} gives up an answer after {cut_off} parts");
            }
            _ => {}
        }
        Ok(())
    }
}
