//! The turn of a prompt, as a fold over durable records: whether it has ended, how, and which of its tasks still run
//! (contract: decisions.md, 31). It reads no text.

use std::collections::BTreeSet;

use holon_core::view::RunVerdict;
use holon_facts::event::{Event, InboxFact, SchedulingFact, TaskFact, TurnFact, WaitFact, WorkFact};
use holon_facts::ids::{MessageId, RunId, TaskId, WaitId};
use holon_facts::wait::WaitKind;
use holon_facts::{EventSeq, Record};

/// What the records after the prompt say so far.
#[derive(Debug)]
pub struct PromptTurn {
    prompt: MessageId,
    /// The run that it was taken into last.
    run: Option<RunId>,
    ended: Option<(EventSeq, RunVerdict)>,
    tasks: BTreeSet<TaskId>,
    /// Waits for the operator that the turn has begun and that nothing has ended.
    questions: BTreeSet<WaitId>,
    /// The turn has put something off: a sleep, a wait, work.
    puts_off: bool,
}

impl PromptTurn {
    pub fn of(prompt: MessageId) -> Self {
        Self {
            prompt,
            run: None,
            ended: None,
            tasks: BTreeSet::new(),
            questions: BTreeSet::new(),
            puts_off: false,
        }
    }

    /// How the turn ended, and at which event; none while the prompt is still to be dealt with.
    pub fn ended(&self) -> Option<(EventSeq, RunVerdict)> {
        self.ended
    }

    /// Tasks that the turn began and that have not ended.
    pub fn tasks(&self) -> &BTreeSet<TaskId> {
        &self.tasks
    }

    /// Whether a task of the turn still runs, or a question of it is not answered.
    pub fn is_open(&self) -> bool {
        !self.tasks.is_empty() || !self.questions.is_empty()
    }

    /// How the prompt stands, its turn having ended so. `agent` is the verdict of its agent, if there is one by now. A
    /// question of the turn comes before whatever else its agent waits for, and what the turn has not put off is not the
    /// prompt's.
    pub fn verdict(&self, ended: RunVerdict, agent: Option<RunVerdict>) -> RunVerdict {
        if ended == RunVerdict::Completed && !self.questions.is_empty() {
            return RunVerdict::WaitingForOperator;
        }
        let others = ended == RunVerdict::Completed && !self.puts_off;
        ended.of_prompt(agent.filter(|_| !others), !self.tasks.is_empty())
    }

    /// Takes the next durable record of the agent.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub fn record(&mut self, record: &Record) {
        let ended = match &record.event {
            Event::Turn(TurnFact::TurnStarted(fact)) if fact.message_id == self.prompt => {
                self.run = Some(fact.run_id);
                None
            }
            Event::Inbox(InboxFact::OperatorInterjectionAdmitted(fact)) if fact.message_id == self.prompt => {
                self.run = Some(fact.run_id);
                None
            }
            Event::Turn(TurnFact::TurnTerminal(fact)) if Some(fact.run_id) == self.run && fact.settles() => {
                Some(RunVerdict::of_turn(fact.kind, fact.reason))
            }
            Event::Inbox(InboxFact::MessageDropped(fact)) if fact.message_id == self.prompt => {
                Some(RunVerdict::Failed)
            }
            Event::Task(TaskFact::TaskCreated(fact)) => {
                if fact.run_id.is_some() && fact.run_id == self.run {
                    self.tasks.insert(fact.task_id);
                }
                None
            }
            Event::Task(TaskFact::TaskStatusUpdated(fact)) => {
                if fact.status.is_terminal() {
                    self.tasks.remove(&fact.task_id);
                }
                None
            }
            Event::Wait(WaitFact::WaitRegistered(fact)) => {
                if Some(fact.run_id) == self.run {
                    self.puts_off = true;
                    if fact.kind == WaitKind::Operator {
                        self.questions.insert(fact.wait_id);
                    }
                }
                None
            }
            Event::Scheduling(SchedulingFact::SleepBegun(fact)) => {
                self.puts_off |= Some(fact.run_id) == self.run;
                None
            }
            Event::Work(WorkFact::WorkItemWritten(fact)) => {
                self.puts_off |= fact.run_id.is_some() && fact.run_id == self.run;
                None
            }
            Event::Wait(WaitFact::WaitResolved(fact)) => {
                self.questions.remove(&fact.wait_id);
                None
            }
            Event::Wait(WaitFact::WaitCancelled(fact)) => {
                self.questions.remove(&fact.wait_id);
                None
            }
            _ => None,
        };
        if self.ended.is_none() {
            self.ended = ended.map(|verdict| (record.event_seq, verdict));
        }
    }
}
