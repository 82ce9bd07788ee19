//! E2: an outbox message is taken once, also where the receiver's log has it and the sender's log lacks its delivery:
//! logs of agents are lost independently. This check makes such pairs from the ledger of a run and recovers them.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::host::Host;
use holon_core::recovery::RecoveryReport;
use holon_facts::event::OutboxFact;
use holon_facts::ids::{LetterId, Seed};
use holon_facts::outbox::Letter;
use holon_facts::{AgentId, Event, EventSeq, Record, StepSeq};

use super::World;
use crate::failure::{Failure, ensure, safety};
use crate::options::Sabotage;

/// A message that was received, and the position of its receipt and its delivery in the two logs.
struct Taken {
    from: AgentId,
    to: AgentId,
    message: LetterId,
    step: StepSeq,
    delivered: EventSeq,
}

impl World<'_> {
    /// Recovers a sender whose log lacks the delivery of one of its messages, together with the receiver.
    pub(super) fn messages_are_taken_once(&mut self) -> Result<(), Failure> {
        let logs = self.disk.get().logs();
        let all = taken(&logs);
        let site = self.site("outbox", 0, "which");
        let drawn = self.choices.below(site, u32::try_from(all.len()).unwrap_or(u32::MAX).max(1));
        let Some(one) = all.get(drawn as usize) else { return Ok(()) };
        let config = self.scenario.config_of(self.life.number).clone();
        let mut host = Host::new(config, Seed(self.scenario.seed))
            .map_err(|error| safety("scenario", error.to_string()))?;
        host.resume_after(self.disk.get().last_step());
        host.resume_accounts(self.checks.accounts());
        let log = |agent: &AgentId| logs.get(agent).into_iter().flatten().cloned();
        let forgets = self.options.sabotage == Some(Sabotage::TakeAgain);
        let known = |step: StepSeq| step < one.step || (step == one.step && !forgets);
        let sender: Vec<Record> =
            log(&one.from).take_while(|record| record.event_seq < one.delivered).collect();
        let receiver: Vec<Record> = log(&one.to).take_while(|record| known(record.step)).collect();
        for records in [sender, receiver] {
            host.admit(None, records).map_err(|error| safety("E2", error.to_string()))?;
        }
        let mut records = Vec::new();
        for agent in [&one.from, &one.to] {
            let step = host.recover(self.now(), agent, RecoveryReport::default());
            records.extend(step.records().to_vec());
        }
        self.checks.say("E2");
        let again = records.iter().find(|record| one.is_taken_by(record));
        ensure!(
            again.is_none(),
            "E2",
            "{} of {} is taken again by {}: {again:?}",
            one.message,
            one.from,
            one.to
        );
        let delivered = records.iter().filter(|record| one.is_delivered_by(record)).count();
        ensure!(
            delivered == 1,
            "E2",
            "{} of {} was taken, and {delivered} times delivered",
            one.message,
            one.from
        );
        Ok(())
    }
}

impl Taken {
    fn is_taken_by(&self, record: &Record) -> bool {
        let Event::Outbox(OutboxFact::LetterReceived(fact)) = &record.event else { return false };
        record.agent == self.to && fact.from == self.from && fact.letter_id == self.message
    }

    fn is_delivered_by(&self, record: &Record) -> bool {
        let Event::Outbox(OutboxFact::LetterDelivered(fact)) = &record.event else { return false };
        record.agent == self.from && fact.letter_id == self.message
    }
}

/// Messages after which both agents go on. Others are left out: the first message of a child begins it, its last one
/// ends what its parent records of it.
fn taken(logs: &BTreeMap<AgentId, Vec<Record>>) -> Vec<Taken> {
    let mut delivered = BTreeMap::new();
    let mut goes_on = BTreeSet::new();
    for record in logs.values().flatten() {
        match &record.event {
            Event::Outbox(OutboxFact::LetterPosted(fact)) => match &fact.letter {
                Letter::FollowUp { .. } | Letter::Stop { .. } | Letter::Needs { .. } => {
                    goes_on.insert((&record.agent, fact.letter_id));
                }
                Letter::Spawn { .. } | Letter::Result { .. } => {}
            },
            Event::Outbox(OutboxFact::LetterDelivered(fact)) => {
                delivered.insert((&record.agent, fact.letter_id), record.event_seq);
            }
            Event::Outbox(_)
            | Event::Lifecycle(_)
            | Event::Inbox(_)
            | Event::Scheduling(_)
            | Event::Turn(_)
            | Event::Operation(_)
            | Event::Task(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wait(_)
            | Event::Wake(_)
            | Event::Workspace(_)
            | Event::Brief(_)
            | Event::Episode(_)
            | Event::Skill(_) => {}
        }
    }
    let received = logs.values().flatten().filter_map(|record| {
        let Event::Outbox(OutboxFact::LetterReceived(fact)) = &record.event else { return None };
        let message = (&fact.from, fact.letter_id);
        let delivered = *delivered.get(&message).filter(|_| goes_on.contains(&message))?;
        let (from, to) = (fact.from.clone(), record.agent.clone());
        Some(Taken { from, to, message: fact.letter_id, step: record.step, delivered })
    });
    received.collect()
}
