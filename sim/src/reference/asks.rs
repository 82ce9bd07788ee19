//! What an agent has asked of its operator and nobody has answered, and what a request to close an ask must be answered.

use holon_facts::event::brief::{BriefKind, BriefVisibility};
use holon_facts::event::{BriefFact, InboxFact, TurnFact};
use holon_facts::ids::BriefId;
use holon_facts::terminal::TurnKind;
use holon_facts::{AgentId, Event, Record};

use super::{Before, Reply};
use crate::failure::{Failure, ensure};

/// Open asks that are kept: the newest.
const KEPT: usize = 16;

#[derive(Debug, Clone, Default)]
pub(super) struct Asks {
    /// Open asks, the newest last, and whether each is about a failure.
    open: Vec<(BriefId, bool)>,
}

impl Asks {
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn apply(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::Brief(BriefFact::BriefCreated(fact))
                if fact.visibility == BriefVisibility::ActionRequired =>
            {
                self.open.push((fact.id, fact.kind == BriefKind::Failure));
                self.open.drain(..self.open.len().saturating_sub(KEPT));
            }
            Event::Brief(BriefFact::AskClosed(fact)) => {
                ensure!(self.is_open(fact.brief_id), "G5", "{} is closed, and is not open", fact.brief_id);
                self.open.retain(|(brief, _)| *brief != fact.brief_id);
            }
            // Any word of its operator answers.
            Event::Inbox(InboxFact::MessageAdmitted(fact)) if fact.message.is_by_operator() => {
                self.open.clear();
            }
            Event::Turn(TurnFact::TurnTerminal(fact)) if fact.kind == TurnKind::Completed => {
                self.open.retain(|(_, failed)| !failed);
            }
            _ => {}
        }
        Ok(())
    }

    fn is_open(&self, brief: BriefId) -> bool {
        self.open.iter().any(|(open, _)| *open == brief)
    }
}

/// An ask is closed if it is open, and recorded as closed.
pub(super) fn is_closed(before: &Before, brief: BriefId, agent: &AgentId, records: &[Record]) -> Vec<Reply> {
    let Some(was) = &before.agent else { return vec![Reply::Refused("unknown_agent")] };
    // What the step has begun with may have brought it.
    let closes = |record: &Record| {
        let Event::Brief(BriefFact::AskClosed(fact)) = &record.event else { return false };
        record.agent == *agent && fact.brief_id == brief
    };
    if was.asks.is_open(brief) || records.iter().any(closes) {
        vec![Reply::AskClosed]
    } else {
        vec![Reply::Refused("unknown_ask")]
    }
}
