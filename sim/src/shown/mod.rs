//! What a request must show, and what a call must execute, by the records alone (laws M1 to M4, M8 to M10): a second
//! conversation beside the core's, built from admitted messages, answers and executed calls. It shares no rendering
//! with the core; requests to the provider are compared with it.

mod calls;
mod compare;
mod digests;
mod fences;
mod images;
mod skills;
mod standing;
mod talk;
mod work;

use std::collections::BTreeMap;

use compare::Before;
use holon_core::replay::Call;
use holon_facts::event::OperationFact;
use holon_facts::event::operation::OpKind;
use holon_facts::model::ModelRequest;
use holon_facts::{AgentId, Event, OpId, Record};
use talk::{Expected, Talk};

use crate::failure::Failure;

pub(crate) use calls::Called;

/// All conversations, and the requests and calls that have not left yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    agents: BTreeMap<AgentId, Talk>,
    /// Requests that have not left, by their operations.
    requests: BTreeMap<(AgentId, OpId), Expected>,
    /// Requests for summaries that have not left, with the number of closed episodes before.
    summaries: BTreeMap<(AgentId, OpId), u64>,
    /// Calls that have not left.
    calls: BTreeMap<(AgentId, OpId), Called>,
    /// The last request of each agent's turn in progress.
    before: BTreeMap<AgentId, Before>,
    /// How often each law was checked.
    checked: BTreeMap<&'static str, u64>,
}

impl Shown {
    /// Follows a call and its records.
    ///
    /// # Errors
    /// When a round is not the answer, a result is not the outcome, or a turn begins without anything to show.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(crate) fn step(&mut self, call: &Call, records: &[Record]) -> Result<(), Failure> {
        calls::check_outcomes(call, records, &mut self.checked)?;
        for record in records {
            let talk = self.agents.entry(record.agent.clone()).or_default();
            if let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event {
                let key = (record.agent.clone(), fact.op);
                match fact.kind {
                    OpKind::CallModel => {
                        talk.asks(&record.agent, &mut self.checked)?;
                        self.requests.extend(talk.expected().map(|expected| (key, expected)));
                    }
                    OpKind::Summarize => {
                        self.summaries.insert(key, talk.closes());
                    }
                    OpKind::CallTool | OpKind::PrepareCommand | OpKind::FindWorkspace
                        if fact.run_id.is_some() =>
                    {
                        self.calls.extend(talk.called().map(|called| (key, called)));
                    }
                    _ => {}
                }
            }
            talk.follow(record, &mut self.checked)?;
        }
        Ok(())
    }

    /// A process has begun: nothing of the old one leaves any more.
    pub(crate) fn started(&mut self) {
        self.requests.clear();
        self.summaries.clear();
        self.calls.clear();
        self.before.values_mut().for_each(Before::restarted);
    }

    /// Checks a request that leaves.
    pub(crate) fn request(&mut self, op: OpId, request: &ModelRequest) -> Result<(), Failure> {
        let Some(expected) = self.requests.remove(&(request.agent.clone(), op)) else {
            return Err(crate::failure::safety(
                "M4",
                format!("{op} of {} asks for nothing on record", request.agent),
            ));
        };
        compare::request(request, &expected, &mut self.checked)?;
        let before = self.before.remove(&request.agent);
        let now = Before::of(request, &expected);
        if let Some(before) = before {
            before.goes_on(&now, &request.agent, &mut self.checked)?;
        }
        self.before.insert(request.agent.clone(), now);
        Ok(())
    }

    /// M3: checks a request for a summary that leaves: it shows the last request of the episode from its beginning, and
    /// then asks.
    pub(crate) fn summary(&mut self, op: OpId, request: &ModelRequest) -> Result<(), Failure> {
        let Some(closes) = self.summaries.remove(&(request.agent.clone(), op)) else {
            return Err(crate::failure::safety(
                "M3",
                format!("{op} of {} asks for a summary of nothing on record", request.agent),
            ));
        };
        if let Some(before) = self.before.get(&request.agent) {
            before.sums_up(request, closes, &mut self.checked)?;
        }
        Ok(())
    }

    /// The call of an operation; none if the operation has no call.
    pub(crate) fn called(&mut self, agent: &AgentId, op: OpId) -> Option<Called> {
        self.calls.remove(&(agent.clone(), op))
    }

    /// How often each law was checked, since the last time.
    pub(crate) fn take_checked(&mut self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.checked)
    }
}
