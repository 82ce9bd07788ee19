//! What the agent has asked of its operator and the operator has not answered (contract: agent.md, Briefs). Any message of
//! the operator answers: which of several questions it is about, the model reads from its text.

use alloc::collections::VecDeque;

use holon_facts::event::brief::{BriefCreated, BriefKind, BriefVisibility};
use holon_facts::ids::{BriefId, EventSeq};
use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Open asks that are kept: the newest. Older ones are counted.
pub const KEPT: usize = 16;

/// Briefs that require an action, since the operator wrote last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asks {
    /// The newest last.
    pub open: VecDeque<Ask>,
    /// Open ones that are not kept.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub older: u64,
}

/// A brief that requires an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ask {
    pub brief_id: BriefId,
    pub kind: BriefKind,
    pub event_seq: EventSeq,
    pub at: Wall,
}

impl Asks {
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether the agent has asked something, beyond what failed.
    pub(super) fn are_questions(&self) -> bool {
        self.open.iter().any(|ask| ask.kind != BriefKind::Failure)
    }

    pub(super) fn asked(&mut self, at: Wall, event_seq: EventSeq, brief: &BriefCreated) {
        if brief.visibility != BriefVisibility::ActionRequired {
            return;
        }
        if self.open.len() == KEPT {
            self.open.pop_front();
            self.older = self.older.saturating_add(1);
        }
        self.open.push_back(Ask { brief_id: brief.id, kind: brief.kind, event_seq, at });
    }

    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// Without an answer.
    pub(super) fn closed(&mut self, brief: BriefId) {
        self.open.retain(|ask| ask.brief_id != brief);
        if self.open.is_empty() {
            self.older = 0;
        }
    }

    /// A turn has succeeded: what failed before it is over, and what was asked is still to be answered.
    pub(super) fn succeeded(&mut self) {
        self.open.retain(|ask| ask.kind != BriefKind::Failure);
        if self.open.is_empty() {
            self.older = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use holon_facts::content::Text;

    use super::*;

    fn brief(id: u64, kind: BriefKind, visibility: BriefVisibility) -> BriefCreated {
        BriefCreated {
            id: BriefId(id),
            kind,
            visibility,
            text: Text::short("?"),
            work_item_id: None,
            run_id: None,
            related_message_id: None,
            interjected_message_ids: alloc::vec::Vec::new(),
        }
    }

    #[test]
    fn asks_stay_open_until_the_operator_writes_and_failures_until_a_turn_succeeds() {
        let mut asks = Asks::default();
        let ask = |asks: &mut Asks, id, kind, visibility| {
            asks.asked(Wall(1), EventSeq(id), &brief(id, kind, visibility));
        };
        ask(&mut asks, 1, BriefKind::Result, BriefVisibility::TurnResult);
        assert!(asks.is_empty());
        ask(&mut asks, 2, BriefKind::Ack, BriefVisibility::ActionRequired);
        ask(&mut asks, 3, BriefKind::Failure, BriefVisibility::ActionRequired);
        asks.succeeded();
        assert_eq!(asks.open.iter().map(|ask| ask.brief_id).collect::<alloc::vec::Vec<_>>(), [BriefId(2)]);
        for id in 4..4 + KEPT as u64 {
            ask(&mut asks, id, BriefKind::Ack, BriefVisibility::ActionRequired);
        }
        assert_eq!((asks.open.len(), asks.older), (KEPT, 1));
        asks.answered();
        assert_eq!(asks, Asks::default());
    }
}
