//! Whether an agent is quiet, what it waits for, and how things stand with it (contract: agent.md, Idle).

use holon_facts::closure::WaitingReason;
use holon_facts::decision::DeadlineReason;
use holon_facts::event::scheduling::HoldCause;
use holon_facts::ids::AgentId;
use holon_facts::lifecycle::Status;
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::{Millis, Wall};
use holon_facts::wait::WaitKind;

use crate::agent::Agent;
use crate::agent::hold::Hold;
use crate::agent::task::Task;
use crate::agent::wait::Wait;
use crate::summary::children::{ChildObservability, ChildPhase};
use crate::view::{ExplainedDeadline, RunVerdict, View};

impl<'a> View<'a> {
    /// Whether nothing runs, no task goes on that is waited for, and nothing is queued but what has to wait.
    pub fn quiet(&self, id: &AgentId) -> bool {
        let now = self.host.facts().now;
        self.host.agent(id).is_some_and(|agent| {
            let waits = agent.inbox.queued().all(|entry| agent.defers(entry, now));
            // Whoever waits for a child that waits for somebody waits for that one, too.
            let goes_on = |wait: &Wait| {
                let task = wait.task_id.and_then(|task| agent.tasks.get(task));
                wait.kind == WaitKind::Task && !task.is_some_and(|task| self.rests(task))
            };
            let awaited = agent.active_waits().any(goes_on);
            let children = || agent.tasks.children().all(|(task, _)| self.rests(task));
            agent.run.is_none() && agent.inbox.claimed_entries() == 0 && waits && !awaited && children()
        })
    }

    fn living_children(&self, id: &AgentId) -> impl Iterator<Item = &'a AgentId> + use<'a> {
        let tasks = self.host.agent(id).into_iter().flat_map(|agent| agent.tasks.children());
        tasks.map(|(_, child)| &child.child_agent_id)
    }

    /// Whether the child of a task is alive and waits for somebody. One that is not in memory does, unless it has come to
    /// its end: then that is still to be told, or its worktree looked at.
    fn rests(&self, task: &Task) -> bool {
        let ended = task.child_end.is_some() || task.end.is_some();
        let Some(child) = task.child().filter(|_| !ended) else { return false };
        let lives = |agent: &Agent| agent.childhood.retired.is_none();
        let child = &child.child_agent_id;
        self.host.agent(child).is_none_or(|agent| lives(agent) && self.quiet(child))
    }

    /// What the children wait for that keep an agent from being done.
    fn children_wait_for(&self, id: &AgentId) -> Option<RunVerdict> {
        let waits = |child: &AgentId| {
            let ChildObservability { phase, waiting_reason, .. } = self.observed(child)?;
            match waiting_reason {
                _ if phase == ChildPhase::Blocked => Some(RunVerdict::WaitingForOperator),
                Some(WaitingReason::AwaitingTaskResult) => self.children_wait_for(child),
                Some(WaitingReason::AwaitingExternalChange) => Some(RunVerdict::WaitingForExternal),
                Some(WaitingReason::AwaitingTimer) => Some(RunVerdict::WaitingForTimer),
                Some(WaitingReason::AwaitingOperatorInput) | None => Some(RunVerdict::WaitingForOperator),
            }
        };
        self.living_children(id).find_map(waits)
    }

    /// Whether nothing happens by itself within `idle`: the end of a client that waits for the end (contract:
    /// agent.md, Idle).
    pub fn settled(&self, id: &AgentId, idle: Millis) -> bool {
        let Some(agent) = self.host.agent(id) else { return false };
        match agent.status {
            Status::Stopped => agent.run.is_none(),
            Status::Booting | Status::AwakeIdle | Status::AwakeRunning | Status::Asleep => {
                let held = self.held(id).is_some();
                let soon = self.due(id).is_some_and(|due| self.host.facts().now.until(due.at) <= idle);
                (self.quiet(id) || held) && !soon
            }
        }
    }

    /// What an agent without a run waits for: the end of a hold that keeps messages in its queue, a timer, or that
    /// work which brought nothing is turned to again. A timer that
    /// repeats is nothing to wait for: there is always a next time.
    pub fn due(&self, id: &AgentId) -> Option<ExplainedDeadline> {
        let agent = self.host.agent(id).filter(|agent| agent.run.is_none())?;
        let once = agent.timers.armed().filter(|timer| !timer.repeats());
        let timer = once.filter_map(|timer| timer.next_fire_at).min();
        let timer = timer.filter(|_| agent.status != Status::Stopped);
        let timer = timer.map(|at| ExplainedDeadline { at, reason: DeadlineReason::Timer });
        let pending = agent.inbox.queued_entries() > 0 || agent.work.signal().is_some();
        let later = agent.deadlines(self.host.facts().now).filter(|(_, reason)| match reason {
            DeadlineReason::Work
            | DeadlineReason::SelfDeferral
            | DeadlineReason::Sleep
            | DeadlineReason::Recheck => true,
            DeadlineReason::UnattendedTurns => pending,
            DeadlineReason::Hold
            | DeadlineReason::Timer
            | DeadlineReason::OperationTimeout
            | DeadlineReason::Backoff
            | DeadlineReason::TurnLimit
            | DeadlineReason::StopTask => false,
        });
        let later = later.map(|(at, reason)| ExplainedDeadline { at, reason });
        let held = self.held(id).and_then(|hold| hold.until);
        let held = held.map(|at| ExplainedDeadline { at, reason: DeadlineReason::Hold });
        let children = self.living_children(id).filter_map(|child| self.due(child));
        held.into_iter().chain(timer).chain(later).chain(children).min_by_key(|due| due.at)
    }

    /// A hold that keeps messages in the queue.
    fn held(&self, id: &AgentId) -> Option<&'a Hold> {
        let agent = self.host.agent(id).filter(|agent| agent.run.is_none())?;
        let waits = agent.status != Status::Stopped && agent.inbox.queued_entries() > 0;
        agent.held(self.host.facts().now).filter(|_| waits)
    }

    /// How things stand with an agent, from facts alone; none while something is pending that is not waited
    /// for: then the last turn is history.
    pub fn verdict(&self, id: &AgentId) -> Option<RunVerdict> {
        let agent = self.host.agent(id)?;
        let own = agent.own_verdict(self.host.facts().now);
        if agent.status == Status::Stopped || self.held(id).is_some() {
            return Some(own);
        }
        if !self.quiet(id) {
            return None;
        }
        let waits = || self.children_wait_for(id).filter(|_| own == RunVerdict::Completed);
        Some(waits().unwrap_or(own))
    }

    /// How things stood when the last turn had ended.
    pub fn last_verdict(&self, id: &AgentId) -> Option<RunVerdict> {
        Some(self.host.agent(id)?.last_verdict())
    }
}

impl Agent {
    /// How things stand when nothing is in progress, children aside.
    pub(crate) fn own_verdict(&self, now: Wall) -> RunVerdict {
        if self.status == Status::Stopped {
            return RunVerdict::Stopped;
        }
        let held = self.held(now).filter(|_| self.run.is_none() && self.inbox.queued_entries() > 0);
        if let Some(hold) = held {
            return match hold.cause {
                HoldCause::Budget => RunVerdict::BudgetExhausted,
                HoldCause::Credentials => RunVerdict::WaitingForOperator,
                HoldCause::Outage | HoldCause::Quota => RunVerdict::WaitingForTimer,
            };
        }
        let last = self.last_verdict();
        if last != RunVerdict::Completed {
            return last;
        }
        let later =
            self.sleeps(now).is_some() || self.work.signal().is_some() || self.inbox.queued_entries() > 0;
        // Work that is turned to again later, or by nobody but an operator, is not completed.
        if self.unattended.self_hold {
            RunVerdict::WaitingForOperator
        } else if later {
            RunVerdict::WaitingForTimer
        } else if self.waits_for(WaitKind::Operator) {
            RunVerdict::WaitingForOperator
        } else if self.waits_for(WaitKind::External) {
            RunVerdict::WaitingForExternal
        } else if self.waits_for(WaitKind::Timer) || self.work.is_blocked() {
            RunVerdict::WaitingForTimer
        } else {
            RunVerdict::Completed
        }
    }

    fn last_verdict(&self) -> RunVerdict {
        let last = self.history.last_turn.as_ref();
        last.map_or(RunVerdict::Completed, |turn| RunVerdict::of_turn(turn.kind, turn.reason))
    }
}

impl RunVerdict {
    /// Of a turn that ended so.
    pub fn of_turn(kind: TurnKind, reason: Option<TurnReason>) -> Self {
        match (kind, reason) {
            (TurnKind::Completed, _) => Self::Completed,
            (TurnKind::Aborted, _) => Self::Aborted,
            (TurnKind::Failed | TurnKind::ContextLengthExceeded, _) => Self::Failed,
            (TurnKind::BudgetExhausted, _) => Self::BudgetExhausted,
            (TurnKind::LimitReached, _) => Self::MaxTurnsExceeded,
            (TurnKind::Interrupted, Some(TurnReason::Outage | TurnReason::Quota)) => Self::WaitingForTimer,
            (TurnKind::Interrupted, Some(TurnReason::Credentials)) => Self::WaitingForOperator,
            (TurnKind::Interrupted, _) => Self::Interrupted,
        }
    }

    /// Of a prompt whose turn came to `self`. `agent` is the verdict of its agent, if there is one by now; `tasks`
    /// says whether a task of the turn still runs. What completed is not completed while its agent waits for something,
    /// or its task runs; how later turns end is not the prompt's end.
    #[must_use]
    pub fn of_prompt(self, agent: Option<Self>, tasks: bool) -> Self {
        match (self, agent) {
            (
                Self::Completed,
                Some(waits @ (Self::WaitingForOperator | Self::WaitingForExternal | Self::WaitingForTimer)),
            ) => waits,
            (Self::Completed, _) if tasks => Self::WaitingForExternal,
            (Self::Aborted, Some(Self::Stopped)) => Self::Stopped,
            (
                Self::Completed
                | Self::WaitingForOperator
                | Self::WaitingForExternal
                | Self::WaitingForTimer
                | Self::Failed
                | Self::BudgetExhausted
                | Self::MaxTurnsExceeded
                | Self::Aborted
                | Self::Stopped
                | Self::Interrupted,
                _,
            ) => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, agent};

    #[test]
    fn a_near_deadline_is_waited_for_and_a_far_one_is_told() {
        let world = World::held("main");
        let (view, main) = (world.host.view(), agent("main"));
        let due = view.due(&main).unwrap();
        assert_eq!(due.reason, DeadlineReason::Hold);
        let wait = world.host.facts().now.until(due.at);
        assert!(wait > Millis::seconds(20), "the first step of the ladder is 30 s");
        assert!(!view.quiet(&main));
        assert!(!view.settled(&main, wait));
        assert!(view.settled(&main, Millis(wait.0 - 1)));
        assert_eq!(view.verdict(&main), Some(RunVerdict::WaitingForTimer));
    }

    #[test]
    fn a_timer_that_fires_soon_is_waited_for_unless_it_repeats() {
        let main = agent("main");
        for (repeats, waits) in [(false, true), (true, false)] {
            let mut world = World::with_agent("main");
            let duration_ms = Millis::seconds(30);
            let interval_ms = repeats.then_some(duration_ms);
            let misfire = holon_facts::timer::Misfire::Once;
            let timer = holon_facts::timer::TimerSpec { duration_ms, interval_ms, misfire, summary: None };
            world.ask(|reply| crate::Input::CreateTimer { agent: agent("main"), timer, key: None, reply });
            let view = world.host.view();
            assert!(view.quiet(&main) && view.settled(&main, Millis::seconds(29)));
            assert_eq!(view.settled(&main, Millis::seconds(30)), !waits);
            assert_eq!(view.verdict(&main), Some(RunVerdict::Completed), "nothing is held back");
        }
    }

    #[test]
    fn a_prompt_is_completed_when_its_turn_and_its_tasks_are() {
        use RunVerdict::{Aborted, Completed, Failed, WaitingForExternal, WaitingForOperator};
        assert_eq!(Completed.of_prompt(Some(Completed), false), Completed);
        assert_eq!(Completed.of_prompt(None, false), Completed, "its agent is at work for others");
        assert_eq!(Completed.of_prompt(Some(Failed), false), Completed, "a later turn failed");
        assert_eq!(Completed.of_prompt(Some(Completed), true), WaitingForExternal);
        assert_eq!(Completed.of_prompt(None, true), WaitingForExternal);
        assert_eq!(Completed.of_prompt(Some(WaitingForOperator), true), WaitingForOperator);
        assert_eq!(Failed.of_prompt(Some(WaitingForOperator), true), Failed);
        assert_eq!(Aborted.of_prompt(Some(Completed), false), Aborted);
        assert_eq!(Aborted.of_prompt(Some(RunVerdict::Stopped), false), RunVerdict::Stopped);
    }

    #[test]
    fn what_works_or_was_stopped() {
        let mut world = World::with_agent("main");
        let main = agent("main");
        assert!(world.host.view().settled(&main, Millis::hours(1)), "nothing was asked of it");
        world.admit("main", crate::testing::prompt("go"));
        assert!(!world.host.view().settled(&main, Millis(0)));
        assert_eq!(world.host.view().verdict(&main), None, "it is at work");
        world.control("main", crate::input::ControlRequest::Stop);
        assert!(world.host.view().settled(&main, Millis(0)));
        assert_eq!(world.host.view().verdict(&main), Some(RunVerdict::Stopped));
    }
}
