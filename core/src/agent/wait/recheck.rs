//! Blockers and waits are looked at again by themselves, less and less often, and at last by an operator (contract:
//! work.md, Work items). The ladder belongs to the owner, a work item or the agent: it survives another blocker and
//! another wait, until something has come of it.

use alloc::string::{String, ToString};

use holon_facts::event::wait::Rechecked;
use holon_facts::ids::{MessageId, WorkItemId};
use holon_facts::message::Message;
use holon_facts::subsystem::RECHECK;
use holon_facts::time::{Millis, Wall};
use holon_facts::work::IN_A_TICK;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::turn::notice::Obstacle;
use crate::agent::wait::{Wait, Waits};
use crate::agent::work::{WorkItem, WorkItems};

/// Until the first recheck, where nothing else is asked for.
pub const DEFAULT: Millis = Millis::hours(1);

/// Doubling ends here.
pub const LADDER: Millis = Millis::hours(24);

/// When an owner is looked at again.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recheck {
    /// Until the first one; each further one in a row waits twice as long.
    pub after_ms: Millis,
    /// None while there is nothing to look at.
    pub recheck_at: Option<Wall>,
    pub recheck_consumed_at: Option<Wall>,
    /// Rechecks in a row that changed nothing.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub count: u32,
    /// The last message that told of it.
    #[schemars(skip)]
    pub tick: Option<MessageId>,
}

impl Recheck {
    fn new() -> Self {
        Self { after_ms: DEFAULT, recheck_at: None, recheck_consumed_at: None, count: 0, tick: None }
    }

    /// How long the next one waits, after so many in a row.
    pub(crate) fn delay(&self, count: u32) -> Millis {
        let doubled = self.after_ms.0.checked_shl(count).filter(|ms| ms >> count == self.after_ms.0);
        Millis(doubled.unwrap_or(u64::MAX).min(LADDER.0.max(self.after_ms.0)))
    }

    /// What is armed for another blocker or wait, by the ladder that its owner has climbed.
    pub(in crate::agent) fn asked(this: &mut Option<Self>, at: Wall, after: Millis) {
        let this = this.get_or_insert_with(Self::new);
        this.after_ms = after;
        let next = at.after(this.delay(this.count));
        this.recheck_at = Some(this.recheck_at.map_or(next, |armed| armed.min(next)));
    }

    /// Something has come of it, or from outside: it begins anew.
    pub(in crate::agent) fn renew(&mut self, at: Wall) {
        self.count = 0;
        self.recheck_at = self.recheck_at.map(|armed| armed.min(at.after(self.after_ms)));
    }

    pub(in crate::agent) fn delivered(&mut self, at: Wall, message: MessageId, fact: &Rechecked) {
        (self.count, self.recheck_at) = (fact.count, Some(fact.next_at));
        (self.recheck_consumed_at, self.tick) = (Some(at), Some(message));
    }

    pub(in crate::agent) fn clock_stepped(&mut self, from: Wall, to: Wall) {
        self.recheck_at = self.recheck_at.map(|at| at.shifted(from, to));
    }

    pub(crate) fn is_due(&self, now: Wall) -> bool {
        self.recheck_at.is_some_and(|at| at <= now)
    }

    /// Whether a message reports it, and it still holds.
    pub(crate) fn is_delivered_by(&self, message: MessageId) -> bool {
        self.recheck_at.is_some() && self.tick == Some(message)
    }
}

/// Arms or disarms what belongs to an owner that is, or is not, to be looked at again.
pub(in crate::agent) fn follow(recheck: &mut Option<Recheck>, needed: bool, at: Wall) {
    match recheck {
        Some(recheck) if !needed => (recheck.recheck_at, recheck.recheck_consumed_at) = (None, None),
        Some(recheck) if recheck.recheck_at.is_none() => {
            recheck.recheck_at = Some(at.after(recheck.delay(recheck.count)));
        }
        Some(_) => {}
        None if needed => Recheck::asked(recheck, at, DEFAULT),
        None => {}
    }
}

/// Whoever is looked at again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) work_item: Option<&'a WorkItem>,
    pub(crate) wait: Option<&'a Wait>,
    pub(crate) recheck: &'a Recheck,
}

impl Owner<'_> {
    pub(crate) fn id(&self) -> Option<WorkItemId> {
        self.work_item.map(|item| item.id)
    }

    /// As a decision and a message name it.
    pub(crate) fn name(&self) -> String {
        match (self.work_item, self.wait) {
            (Some(item), _) => item.id.to_string(),
            (None, Some(wait)) => wait.id.to_string(),
            (None, None) => String::new(),
        }
    }
}

/// Everyone who has a recheck: items in order, then the agent itself.
pub(crate) fn owners(agent: &Agent) -> impl Iterator<Item = Owner<'_>> {
    all_of(&agent.work, &agent.waits)
}

fn all_of<'a>(work: &'a WorkItems, waits: &'a Waits) -> impl Iterator<Item = Owner<'a>> {
    let items = work.open().filter_map(|item| {
        let recheck = item.recheck.as_ref()?;
        Some(Owner { work_item: Some(item), wait: item.wait.as_ref(), recheck })
    });
    let own = waits.recheck.iter();
    items.chain(own.map(|recheck| Owner { work_item: None, wait: waits.own.as_ref(), recheck }))
}

/// When the next recheck is due that is not due yet.
pub(crate) fn next(agent: &Agent, now: Wall) -> Option<Wall> {
    owners(agent).filter_map(|owner| owner.recheck.recheck_at).filter(|at| *at > now).min()
}

/// Whether a message is a recheck of which nothing holds any more.
pub(crate) fn is_stale(agent: &Agent, message: &Message) -> bool {
    let delivered = |owner: Owner<'_>| owner.recheck.is_delivered_by(message.id);
    is_tick(message) && !owners(agent).any(delivered)
}

fn is_tick(message: &Message) -> bool {
    message.origin.is_of(RECHECK)
}

/// What a message tells to look at, the first of it.
pub(in crate::agent) fn delivered_by<'a>(
    work: &'a WorkItems,
    waits: &'a Waits,
    message: MessageId,
) -> impl Iterator<Item = Obstacle> + 'a {
    let delivered = all_of(work, waits).filter(move |owner| owner.recheck.is_delivered_by(message));
    delivered.take(IN_A_TICK).map(|owner| Obstacle {
        work_item_id: owner.id(),
        wait: owner.wait.cloned(),
        blocked_by: owner.work_item.and_then(|item| item.blocked_by.clone()),
    })
}

/// Whether a moment on the clock matters to any of them.
pub(crate) fn waits_for_time(agent: &Agent) -> bool {
    owners(agent).any(|owner| owner.recheck.recheck_at.is_some())
}
