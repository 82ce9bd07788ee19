//! What an agent waited for, in the one long trace of its life: for its turn in the queue, for what it registered, in its
//! sleep, for providers and budgets. Each is linked to the turn that it belongs to.

use std::collections::BTreeMap;

use holon_facts::event::{SchedulingFact, TurnFact, WaitFact};
use holon_facts::ids::WaitId;
use holon_facts::{Event, EventSeq, Record, Wall};

use super::attribute::{Attribute, text};
use super::{Ids, Link, Span, Trace};

/// Waits that are kept until they end.
const OPEN: usize = 10_000;

/// What has not ended.
#[derive(Debug)]
struct Open {
    since: Wall,
    event: EventSeq,
    link: Option<Link>,
    attributes: Vec<(&'static str, Attribute)>,
}

/// The waits of one agent that have not ended.
#[derive(Debug, Default)]
pub(super) struct Waits {
    waits: BTreeMap<WaitId, Open>,
    hold: Option<Open>,
    sleep: Option<Open>,
}

/// A message that was in the queue since then, until its turn began.
pub(super) fn queued(ids: &Ids, (since, event): (Wall, EventSeq), until: Wall, turn: Link) -> Trace {
    let open = Open { since, event, link: Some(turn), attributes: Vec::new() };
    open.ended(ids, "queue_wait", until, None)
}

impl Open {
    fn of(record: &Record, link: Option<Link>, attributes: Vec<(&'static str, Attribute)>) -> Self {
        Self { since: record.at, event: record.event_seq, link, attributes }
    }

    fn ended(self, ids: &Ids, name: &str, end: Wall, how: Option<&str>) -> Trace {
        let mut attributes = vec![("gen_ai.agent.id", text(&ids.agent))];
        attributes.extend(self.attributes);
        attributes.extend(how.map(|how| ("holon.wait.end", text(how))));
        let span = Span {
            id: ids.span(self.event),
            parent: None,
            name: name.to_owned(),
            client: false,
            begin: self.since,
            end,
            attributes,
            links: self.link.into_iter().collect(),
            error: None,
        };
        Trace { id: ids.long(), spans: vec![span] }
    }
}

impl Waits {
    /// The waits that the record ends. `turn` is the one in progress.
    pub(super) fn next(&mut self, ids: &Ids, record: &Record, turn: Option<Link>) -> Vec<Trace> {
        match &record.event {
            Event::Wait(fact) => self.waits(ids, record, fact, turn),
            Event::Scheduling(fact) => self.scheduled(ids, record, fact, turn),
            // Whatever begins a turn ends the sleep.
            Event::Turn(TurnFact::TurnStarted(_)) => self.woken(ids, record, "turn"),
            Event::Lifecycle(_)
            | Event::Inbox(_)
            | Event::Turn(_)
            | Event::Operation(_)
            | Event::Task(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wake(_)
            | Event::Outbox(_)
            | Event::Workspace(_)
            | Event::Brief(_)
            | Event::Episode(_)
            | Event::Skill(_) => Vec::new(),
        }
    }

    fn waits(&mut self, ids: &Ids, record: &Record, fact: &WaitFact, turn: Option<Link>) -> Vec<Trace> {
        let ended = match fact {
            WaitFact::WaitRegistered(fact) => {
                let mut attributes = vec![("holon.wait.kind", text(fact.kind))];
                attributes.extend(fact.work_item_id.map(|item| ("holon.work_item.id", text(item))));
                attributes.extend(fact.task_id.map(|task| ("holon.task.id", text(task))));
                if self.waits.len() < OPEN {
                    self.waits.insert(fact.wait_id, Open::of(record, turn, attributes));
                }
                None
            }
            WaitFact::WaitResolved(fact) => self.waits.remove(&fact.wait_id).zip(Some("resolved")),
            WaitFact::WaitCancelled(fact) => self.waits.remove(&fact.wait_id).zip(Some(fact.reason.name())),
            WaitFact::WorkItemRecheckDue(_) | WaitFact::RecheckGivenUp(_) => None,
        };
        ended.into_iter().map(|(open, how)| open.ended(ids, "wait", record.at, Some(how))).collect()
    }

    fn scheduled(
        &mut self,
        ids: &Ids,
        record: &Record,
        fact: &SchedulingFact,
        turn: Option<Link>,
    ) -> Vec<Trace> {
        match fact {
            // One that goes on is the same.
            SchedulingFact::HoldSet(fact) => {
                let cause = vec![("holon.hold.cause", text(fact.cause))];
                self.hold.get_or_insert_with(|| Open::of(record, turn, cause));
                Vec::new()
            }
            SchedulingFact::HoldEnded(fact) => {
                let hold = self.hold.take();
                hold.into_iter()
                    .map(|it| it.ended(ids, "hold", record.at, Some(fact.reason.name())))
                    .collect()
            }
            SchedulingFact::SleepBegun(_) => {
                self.sleep = Some(Open::of(record, turn, Vec::new()));
                Vec::new()
            }
            SchedulingFact::SleepElapsed(_) => self.woken(ids, record, "elapsed"),
            SchedulingFact::SchedulerDecision(_)
            | SchedulingFact::ContinuationResolved(_)
            | SchedulingFact::ClosureDecided(_)
            | SchedulingFact::SelfTurnCounted(_)
            | SchedulingFact::UnattendedTurnsExhausted(_)
            | SchedulingFact::UnattendedTurnsRaised(_) => Vec::new(),
        }
    }

    fn woken(&mut self, ids: &Ids, record: &Record, how: &str) -> Vec<Trace> {
        let sleep = self.sleep.take();
        sleep.into_iter().map(|it| it.ended(ids, "sleep", record.at, Some(how))).collect()
    }
}
