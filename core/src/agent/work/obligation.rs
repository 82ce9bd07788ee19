//! Obligations of open items (contract: scheduler.md, Debts): a turn for the one in focus, a mention of the others. Each
//! item that can be worked on has exactly one, which follows from the state of the item; here is when it is due.

use holon_facts::event::work::WorkTick;
use holon_facts::ids::MessageId;
use holon_facts::message::{Message, Origin};
use holon_facts::time::Wall;
use serde::{Deserialize, Serialize};

/// Most bytes that a tick takes.
pub(crate) const TICK_BYTES: u64 = holon_facts::content::INLINE_BYTES as u64;

/// When the obligation of an item is due, as long as the item can be worked on.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obligation {
    /// Turns without progress, or mentions that left the item where it was, in a row.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub turns: u32,
    /// Not due before; none: at once.
    pub until: Option<Wall>,
    /// The last message that delivered it: while that is pending, no other is due.
    pub tick: Option<MessageId>,
}

impl Obligation {
    /// Due at once and counted anew; a tick that waits goes on to stand for it.
    pub(super) fn renew(&mut self) {
        *self = Self { tick: self.tick, ..Self::default() };
    }

    /// The end of its deferral, while there is one.
    pub fn deferred(&self, now: Wall) -> Option<Wall> {
        self.until.filter(|until| *until > now)
    }
}

/// What a message of the runtime reports debts.
pub(crate) fn tick(message: &Message) -> Option<WorkTick> {
    let Origin::System { subsystem } = &message.origin else { return None };
    WorkTick::ALL.iter().copied().find(|tick| tick.name() == subsystem)
}
