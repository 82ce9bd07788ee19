//! A sync that lied, and a machine that lost its power: rows are gone that a sync had spoken of (contract: ST7).
//! What is left is a ledger like any other, its end is missing, and nothing in it says so. So nothing is claimed
//! about what is gone, and everything about what follows: whoever was notified of it and asks again is treated as if
//! it had never been.

use holon_facts::{AgentId, MessageId};

use super::agenda::Happening;
use super::{Outside, World};
use crate::disk::Lost;
use crate::ingress::Request;
use crate::options::Sabotage;
use crate::scenario::Action;

/// A client asks again for what was admitted and lost so many times.
const PATIENCE: u32 = 12;

impl Outside {
    /// Whether the client of a lost request still has patience.
    fn repeats(&mut self, request: &Request) -> bool {
        let known = self.repeated.iter().position(|(repeated, _)| repeated == request);
        let at = known.unwrap_or_else(|| {
            self.repeated.push((request.clone(), 0));
            self.repeated.len() - 1
        });
        let Some((_, times)) = self.repeated.get_mut(at) else { return false };
        *times += 1;
        *times <= PATIENCE
    }
}

impl World<'_> {
    /// Nobody on this machine survives the loss; clients elsewhere do, and repeat what they can.
    pub(super) fn power_failed(&mut self, lost: Lost, downtime: u64) {
        self.trace.note(self.at, &format!("{} rows are gone that a sync had spoken of", lost.rows));
        self.agenda.performers_die();
        self.outside.supervised.clear();
        if self.options.sabotage == Some(Sabotage::BelieveLies) {
            return;
        }
        if lost.effects_left {
            self.injector.saw("a lying sync loses acknowledged rows");
        }
        self.disk.get_mut().forget_lost();
        let disk = self.disk.get();
        // The ids of what is gone are given again, to something else.
        self.outside.begun.retain(|(agent, op)| disk.holds_op(agent, *op));
        self.outside.cancelled.retain(|(agent, op)| disk.holds_op(agent, *op));
        let gone = |agent: &AgentId, message: &MessageId| !disk.holds_message(agent, *message);
        // A key that is forgotten soon admits one request as several messages; its client still asks for one.
        let mut bereaved: Vec<Request> = Vec::new();
        let lost = self.outside.acknowledged.extract_if(.., |(agent, message), _| gone(agent, message));
        for (_, request) in lost {
            if request.repeatable() && !bereaved.contains(&request) {
                bereaved.push(request);
            }
        }
        drop(disk);
        self.followers_fall_back(downtime);
        for request in bereaved {
            if !self.outside.repeats(&request) {
                continue;
            }
            // Twice: it is admitted anew, once.
            for patience in [2_000, 3_000] {
                self.plan(self.at + downtime + patience, request.agent, Happening::Request(request.clone()));
            }
            self.outside.bereaved.push(request);
        }
    }

    /// A follower whose place is behind the end of the log begins again there. Who finds that an agent is gone
    /// altogether creates it again, but for a child, which only its parent begins.
    fn followers_fall_back(&mut self, downtime: u64) {
        let ends = self.disk.get().agents();
        for (agent, shown) in std::mem::take(&mut self.outside.observed) {
            let last = ends.get(&agent).copied().unwrap_or_default();
            if shown > last {
                self.injector.saw("a follower is ahead of the log");
            }
            if ends.contains_key(&agent) {
                self.outside.observed.insert(agent, shown.min(last));
            } else if !agent.is_reserved() {
                let request =
                    Request { agent: self.number(&agent), action: Action::Create { settings: false } };
                self.plan(self.at + downtime + 1_000, request.agent, Happening::Request(request));
            }
        }
    }

    /// A client was told that its message is admitted.
    pub(super) fn promised(&mut self, request: Request, agent: AgentId, message: MessageId, duplicate: bool) {
        let known = self.outside.bereaved.iter().position(|lost| *lost == request);
        if let Some(at) = known {
            self.outside.bereaved.remove(at);
            if !duplicate {
                self.injector.saw("a lost message is admitted anew");
            }
        }
        self.outside.acknowledged.entry((agent, message)).or_insert(request);
    }
}
