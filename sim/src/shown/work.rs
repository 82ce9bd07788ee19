//! M4: work items and waits of one agent as its records leave them, and the text that a request has to show for them.

use std::collections::BTreeMap;
use std::fmt::Write;

use holon_facts::content::clip;
use holon_facts::event::wait::WaitRegistered;
use holon_facts::event::work::{StallReason, WorkAuthor, WorkChange, WorkItemWritten};
use holon_facts::event::{InboxFact, WaitFact, WorkFact};
use holon_facts::ids::{WaitId, WorkItemId};
use holon_facts::wait::WaitKind;
use holon_facts::work::{PlanStatus, Todo, TodoState};
use holon_facts::{Event, Record};

/// The text for nothing open.
pub(super) const NOTHING: &str = "Nothing is open, and you wait for nothing.\n";
/// Limits of what is shown: steps, other open items, bytes of a line and of the objective in focus.
const STEPS: usize = 20;
const OTHERS: usize = 10;
const LINE: usize = 100;
const OBJECTIVE: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    open: BTreeMap<WorkItemId, Item>,
    focus: Option<WorkItemId>,
    /// The agent's own wait.
    own: Option<Wait>,
}

#[derive(Debug, Clone)]
struct Item {
    objective: String,
    plan: PlanStatus,
    steps: Vec<Todo>,
    blocked_by: Option<String>,
    wait: Option<Wait>,
    stalled: Option<StallReason>,
}

#[derive(Debug, Clone)]
struct Wait {
    id: WaitId,
    kind: WaitKind,
    words: String,
    /// Rechecks were in vain: an operator has to act.
    given_up: bool,
}

impl Work {
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn follow(&mut self, record: &Record) {
        match &record.event {
            Event::Work(fact) => self.work(fact),
            Event::Wait(fact) => self.wait(fact),
            Event::Inbox(InboxFact::MessageAdmitted(fact)) if fact.message.is_by_operator() => {
                self.waits().for_each(|wait| wait.given_up = false);
            }
            _ => {}
        }
    }

    fn waits(&mut self) -> impl Iterator<Item = &mut Wait> {
        self.open.values_mut().filter_map(|item| item.wait.as_mut()).chain(&mut self.own)
    }

    fn work(&mut self, fact: &WorkFact) {
        match fact {
            WorkFact::WorkItemWritten(fact) => self.written(fact),
            WorkFact::WorkItemPicked(fact) => {
                self.focus = Some(fact.work_item_id);
                let Some(item) = self.open.get_mut(&fact.work_item_id) else { return };
                item.stalled = None;
                item.blocked_by = item.blocked_by.take().filter(|_| !fact.unblocked);
            }
            WorkFact::WorkOwed(fact) => self.stalls(fact.work_item_id, |_| None),
            WorkFact::WorkItemStalled(fact) => self.stalls(fact.work_item_id, |_| Some(fact.reason)),
            WorkFact::WorkPlanSeen(fact) if fact.edited => self.stalls(fact.work_item_id, by_agent),
            WorkFact::WorkPlanSeen(_)
            | WorkFact::DeliverySummaryRecorded(_)
            | WorkFact::WorkTickQueued(_)
            | WorkFact::WorkDeferred(_) => {}
        }
    }

    fn stalls(&mut self, id: WorkItemId, now: impl FnOnce(Option<StallReason>) -> Option<StallReason>) {
        if let Some(item) = self.open.get_mut(&id) {
            item.stalled = now(item.stalled);
        }
    }

    fn written(&mut self, fact: &WorkItemWritten) {
        let id = fact.work_item_id;
        match &fact.change {
            WorkChange::Created { objective, plan_status, todo_list, .. } => {
                let (objective, steps) = (objective.clone(), todo_list.clone());
                let plan = *plan_status;
                self.open
                    .insert(id, Item { objective, plan, steps, blocked_by: None, wait: None, stalled: None });
            }
            WorkChange::Updated { objective, plan_status, todo_list, blocked_by, .. } => {
                let Some(item) = self.open.get_mut(&id) else { return };
                objective.iter().for_each(|objective| item.objective.clone_from(objective));
                item.plan = plan_status.unwrap_or(item.plan);
                todo_list.iter().for_each(|steps| item.steps.clone_from(steps));
                if let Some(blocked_by) = blocked_by {
                    item.blocked_by = (!blocked_by.is_empty()).then(|| blocked_by.clone());
                }
                item.stalled = match fact.by {
                    WorkAuthor::Agent => by_agent(item.stalled),
                    WorkAuthor::Operator => None,
                };
            }
            WorkChange::Completed { .. } => {
                self.open.remove(&id);
                self.focus = self.focus.filter(|focus| *focus != id);
            }
        }
    }

    fn wait(&mut self, fact: &WaitFact) {
        match fact {
            WaitFact::WaitRegistered(fact) => {
                let wait = Some(Wait::of(fact));
                match fact.work_item_id {
                    None => self.own = wait,
                    Some(id) => {
                        self.open.get_mut(&id).into_iter().for_each(|item| item.wait.clone_from(&wait))
                    }
                }
            }
            WaitFact::WaitResolved(fact) => self.over(fact.wait_id),
            WaitFact::WaitCancelled(fact) => self.over(fact.wait_id),
            WaitFact::RecheckGivenUp(fact) => match fact.work_item_id {
                None => self.own.iter_mut().for_each(|wait| wait.given_up = true),
                Some(id) => {
                    let Some(item) = self.open.get_mut(&id) else { return };
                    if item.blocked_by.is_some() {
                        item.plan = PlanStatus::NeedsInput;
                    }
                    item.wait.iter_mut().for_each(|wait| wait.given_up = true);
                }
            },
            WaitFact::WorkItemRecheckDue(_) => {}
        }
    }

    fn over(&mut self, id: WaitId) {
        self.own.take_if(|wait| wait.id == id);
        for item in self.open.values_mut() {
            item.wait.take_if(|wait| wait.id == id);
        }
    }

    /// The text of a request; empty if nothing is open and nothing is awaited.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        if let Some((id, item)) = self.focus.and_then(|id| self.open.get_key_value(&id)) {
            item.words(*id, &mut words);
        } else if !self.open.is_empty() {
            words += "No work item is in focus: PickWorkItem turns to one.\n";
        }
        let others = self.open.iter().filter(|(id, _)| self.focus != Some(**id));
        let (mut named, mut more) = (0, 0);
        for (id, item) in others {
            if named == OTHERS {
                more += 1;
                continue;
            }
            named += 1;
            let _ = writeln!(words, "Open: {id} ({}): {}", item.state(), clip(&item.objective, LINE));
        }
        if more > 0 {
            let _ = writeln!(words, "{more} more are open: ListWorkItems names them.");
        }
        self.own.iter().for_each(|wait| wait.words(&mut words));
        words
    }
}

/// A change by the agent ends a stall, unless an operator caused it.
fn by_agent(stalled: Option<StallReason>) -> Option<StallReason> {
    stalled.filter(|reason| *reason == StallReason::Aborted)
}

impl Item {
    fn state(&self) -> &'static str {
        let waits = self.wait.as_ref().map(|wait| if wait.given_up { WaitKind::Operator } else { wait.kind });
        match (self.plan, waits, &self.blocked_by, self.stalled) {
            (PlanStatus::NeedsInput, ..) | (_, Some(WaitKind::Operator), ..) => "waiting_operator",
            (_, Some(WaitKind::Task), ..) => "waiting_task",
            (_, Some(WaitKind::External), ..) => "waiting_external",
            (_, Some(WaitKind::Timer), ..) => "waiting_timer",
            (_, None, Some(_), _) | (_, None, _, Some(StallReason::ContextLength)) => "blocked",
            (_, None, None, Some(_)) => "stalled",
            (_, None, None, None) => "runnable",
        }
    }

    /// Writes the item in focus.
    fn words(&self, id: WorkItemId, words: &mut String) {
        let state = self.state();
        let _ = writeln!(words, "In focus: {id} (plan {}, {state})", self.plan);
        let _ = writeln!(words, "Objective: {}", clip(&self.objective, OBJECTIVE));
        let _ = writeln!(words, "Plan: work-items/{id}/plan.md in your agent home");
        self.wait.iter().for_each(|wait| wait.words(words));
        if let (Some(by), "blocked") = (&self.blocked_by, state) {
            let _ = writeln!(words, "Blocked by: {}", clip(by, LINE));
        }
        if self.stalled == Some(StallReason::ContextLength) {
            words.push_str(
                "Blocked by the runtime: the last turn about it was longer than your context window. Make its next step \
                 smaller: it goes on with any progress, or once it is changed or picked.\n",
            );
        }
        for step in self.steps.iter().take(STEPS) {
            let mark = match step.state {
                TodoState::Pending => ' ',
                TodoState::InProgress => '>',
                TodoState::Completed => 'x',
            };
            let _ = writeln!(words, "[{mark}] {}", clip(&step.text, LINE));
        }
        let more = self.steps.len().saturating_sub(STEPS);
        if more > 0 {
            let _ = writeln!(words, "{more} more steps: GetWorkItem shows them.");
        }
    }
}

impl Wait {
    fn of(fact: &WaitRegistered) -> Self {
        Self { id: fact.wait_id, kind: fact.kind, words: fact.waiting_for.clone(), given_up: false }
    }

    fn words(&self, words: &mut String) {
        let _ = writeln!(words, "Waits ({}, {}): {}", self.id, self.kind, clip(&self.words, LINE));
    }
}
