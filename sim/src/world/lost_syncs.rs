//! Lost syncs: the machine lost its power, and rows are gone that a sync had reported as written (contract: ST7). The
//! rest is an ordinary ledger; nothing in it says that its end is missing. The checks claim nothing about lost rows;
//! a client that repeats a lost request is treated as if it had never sent it before.

use holon_facts::{AgentId, MessageId};

use super::agenda::Happening;
use super::{Outside, World};
use crate::disk::Lost;
use crate::ingress::Request;
use crate::options::Sabotage;
use crate::scenario::Action;

/// How often a client repeats a request that was admitted and lost.
const MAX_REPEATS: u32 = 12;

impl Outside {
    /// Whether the client of a lost request repeats it once more.
    fn repeats(&mut self, request: &Request) -> bool {
        let known = self.repeated.iter().position(|(repeated, _)| repeated == request);
        let at = known.unwrap_or_else(|| {
            self.repeated.push((request.clone(), 0));
            self.repeated.len() - 1
        });
        let Some((_, times)) = self.repeated.get_mut(at) else { return false };
        *times += 1;
        *times <= MAX_REPEATS
    }
}

impl World<'_> {
    /// Ends every process of this machine; clients elsewhere survive, and repeat what they can.
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
        // The ids of lost records are assigned again, to something else.
        self.outside.begun.retain(|(agent, op)| disk.holds_op(agent, *op));
        self.outside.cancelled.retain(|(agent, op)| disk.holds_op(agent, *op));
        let gone = |agent: &AgentId, message: &MessageId| !disk.holds_message(agent, *message);
        // A key that expires soon admits one request as several messages; its client still repeats one.
        let mut lost_requests: Vec<Request> = Vec::new();
        let lost = self.outside.acknowledged.extract_if(.., |(agent, message), _| gone(agent, message));
        for (_, request) in lost {
            if request.repeatable() && !lost_requests.contains(&request) {
                lost_requests.push(request);
            }
        }
        drop(disk);
        self.followers_fall_back(downtime);
        for request in lost_requests {
            if !self.outside.repeats(&request) {
                continue;
            }
            // Two repeats: the message is admitted once.
            for delay in [2_000, 3_000] {
                self.plan(self.at + downtime + delay, request.agent, Happening::Request(request.clone()));
            }
            self.outside.lost_requests.push(request);
        }
    }

    /// A follower whose cursor is behind the end of the log restarts at that end. A client that finds its agent gone
    /// creates it again, except for a child, which only its parent begins.
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

    /// Notes that a client was notified of its message's admission.
    pub(super) fn promised(&mut self, request: Request, agent: AgentId, message: MessageId, duplicate: bool) {
        let known = self.outside.lost_requests.iter().position(|lost| *lost == request);
        if let Some(at) = known {
            self.outside.lost_requests.remove(at);
            if !duplicate {
                self.injector.saw("a lost message is admitted anew");
            }
        }
        self.outside.acknowledged.entry((agent, message)).or_insert(request);
    }
}
