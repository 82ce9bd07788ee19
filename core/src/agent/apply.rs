//! What each record does to its agent: nothing else writes durable state.

use alloc::vec::Vec;

use holon_facts::event::inbox::MessageRequeued;
use holon_facts::event::operation::{OpKind, OperationFact, OperationOpened};
use holon_facts::event::scheduling::{HoldEnd, SleepElapsed};
use holon_facts::event::task::TaskResultQueued;
use holon_facts::event::turn::TurnTerminal;
use holon_facts::event::work::WorkAuthor;
use holon_facts::event::{
    BriefFact, EpisodeFact, Event, InboxFact, LifecycleFact, OutboxFact, SchedulingFact, TaskFact, TimerFact,
    TurnFact, WorkFact, WorkspaceFact,
};
use holon_facts::ids::{MessageId, TaskId};
use holon_facts::lifecycle::{ControlAction, Status};
use holon_facts::made::Made;
use holon_facts::outbox::Letter;
use holon_facts::price::Amount;
use holon_facts::record::Record;
use holon_facts::task::{Fingerprint, TaskStatus};
use holon_facts::terminal::TurnKind;
use holon_facts::time::Wall;

use crate::agent::episode::{self, Shown, Standing};
use crate::agent::hold::Hold;
use crate::agent::inbox::Left;
use crate::agent::sleep::Sleep;
use crate::agent::task::Task;
use crate::agent::turn::notice::Notice;
use crate::agent::turn::{Environment, Run};
use crate::agent::unattended::Exhausted;
use crate::agent::{Agent, OpenOp, outside};

impl Agent {
    /// The only writer of durable state: the live path and a restart both come through here.
    pub(crate) fn apply(&mut self, record: &Record) {
        self.event_seq = record.event_seq;
        self.last_at = record.at;
        match &record.event {
            Event::Lifecycle(fact) => self.apply_lifecycle(record.at, fact),
            Event::Inbox(fact) => self.apply_inbox(record.at, fact),
            Event::Scheduling(fact) => self.apply_scheduling(record.at, fact),
            Event::Turn(fact) => self.apply_turn(record.at, fact),
            Event::Operation(fact) => self.apply_operation(record.at, fact),
            Event::Task(fact) => self.apply_task(record.at, fact),
            Event::Timer(fact) => self.apply_timer(record.at, fact),
            Event::Work(fact) => self.apply_work(record.at, fact),
            Event::Wait(fact) => self.apply_wait(record.at, fact),
            Event::Wake(fact) => self.apply_wake(record.at, fact),
            Event::Outbox(fact) => self.apply_outbox(fact),
            Event::Workspace(fact) => self.apply_workspace(fact),
            Event::Brief(BriefFact::AskClosed(fact)) => self.asks.closed(fact.brief_id),
            Event::Skill(fact) => self.skills.apply(fact),
            Event::Episode(EpisodeFact::CompactionRequested(_)) => self.episodes.compaction_requested(),
            Event::Episode(EpisodeFact::EpisodeSummarized(fact)) => self.episodes.summarized(fact),
            Event::Episode(EpisodeFact::MemoryUpdated(fact)) => self.memory.updated(fact),
            Event::Episode(EpisodeFact::EpisodeClosed(fact)) => {
                let now = self.as_it_stands();
                self.episodes.closed((record.event_seq, record.at), fact, self.run.as_mut(), now);
            }
            Event::Brief(BriefFact::BriefCreated(fact)) => {
                self.next.brief = fact.id.next();
                self.history.last_brief = Some((fact.id, record.at));
                self.asks.asked(record.at, record.event_seq, fact);
                if self.spec.supervisor.is_some() {
                    self.childhood.brief_created(fact);
                }
            }
        }
    }

    /// What an episode that begins now says of work and tasks.
    fn as_it_stands(&self) -> episode::Now {
        episode::Now::of(self)
    }

    /// The only writer of the status.
    fn set_status(&mut self, at: Wall, status: Status) {
        if self.status != status {
            self.status = status;
            self.status_since = at;
        }
    }

    fn apply_workspace(&mut self, fact: &WorkspaceFact) {
        self.workspaces.apply(fact);
        if let WorkspaceFact::WorkspaceAttached(fact) = fact
            && self.run.as_ref().is_some_and(Run::goes_elsewhere)
        {
            self.workspaces.chosen(&fact.workspace_id);
        }
        if let WorkspaceFact::WorktreeRetained(fact) = fact {
            self.next.worktree = self.next.worktree.max(fact.plan.worktree_id.next());
        }
        if let (WorkspaceFact::WorkspaceUsed(fact), Some(run)) = (fact, &mut self.run)
            && fact.run_id == Some(run.id)
        {
            run.environment.execution = fact.execution.clone();
        }
    }

    fn apply_lifecycle(&mut self, at: Wall, fact: &LifecycleFact) {
        match fact {
            LifecycleFact::AgentCreated(_)
            | LifecycleFact::ControlRequestAdmitted(_)
            | LifecycleFact::CurrentRunAborted(_) => {}
            LifecycleFact::RuntimeRecovered(_) => self.skills.recovered(),
            LifecycleFact::ControlApplied(fact) => match fact.action {
                ControlAction::Stop => {
                    self.tasks.withdrawn(&fact.aborted_messages);
                    self.work.stopped();
                    self.hints.stopped(&fact.lost_hints);
                    self.sleep = None;
                }
                ControlAction::Start => {
                    self.external_activity(at);
                    self.sleep = None;
                }
                ControlAction::Abort => {}
            },
            LifecycleFact::SchedulerPostureDecision(fact) => self.set_status(at, fact.next),
            LifecycleFact::ClockStepped(fact) => {
                let (from, to) = (fact.expected(), fact.to);
                if let Some(hold) = &mut self.hold {
                    hold.clock_stepped(from, to);
                }
                self.inbox.clock_stepped(from, to);
                self.timers.clock_stepped(from, to);
                self.work.clock_stepped(from, to);
                self.waits.clock_stepped(from, to);
                self.unattended.clock_stepped(from, to);
                self.account.clock_stepped(to);
                if let Some(sleep) = &mut self.sleep {
                    sleep.clock_stepped(from, to);
                }
            }
            LifecycleFact::AgentRetired(fact) => {
                self.childhood.retired = Some(fact.status);
                self.sleep = None;
            }
            LifecycleFact::AgentArchived(_) => self.childhood.archived = true,
            LifecycleFact::ModelOverrideChanged(fact) => self.model_override.clone_from(&fact.model),
            LifecycleFact::AgentLabelled(fact) => self.label.clone_from(&fact.label),
            LifecycleFact::RequestKeyed(fact) => {
                self.made.forget(fact.expired_keys);
                self.made.remember(at, &fact.idempotency, fact.made);
            }
        }
    }

    fn apply_inbox(&mut self, at: Wall, fact: &InboxFact) {
        let mut left = Default::default();
        match fact {
            InboxFact::MessageAdmitted(fact) => {
                self.outside.admitted(at, &fact.message);
                self.next.message = fact.message.id.next();
                if let Some(hold) = &mut self.hold {
                    hold.admitted(&fact.message);
                }
                if fact.message.is_by_operator() {
                    if self.asks.are_questions() {
                        self.memory.decided(&fact.message);
                    }
                    self.asks.answered();
                    self.operator_activity(at);
                } else if fact.message.kind.is_from_outside() {
                    self.external_activity(at);
                }
            }
            InboxFact::OperatorInterjectionAdmitted(fact) => {
                let entry = self.inbox.queued_entry(fact.message_id);
                let waits = self.waits.ended_by(fact.message_id).cloned().collect();
                if let Some(run) = &mut self.run {
                    run.apply_interjection(fact, entry.map(|entry| &entry.message), waits);
                }
            }
            InboxFact::MessageRequeued(fact) => left = self.take_rounds(fact),
            InboxFact::MessageProcessed(fact) => self.settled(fact.message_id),
            InboxFact::MessageAborted(fact) => {
                if let Some(hold) = &mut self.hold {
                    hold.aborted(fact.message_id);
                }
                self.settled(fact.message_id);
            }
            InboxFact::MessageDropped(fact) => self.settled(fact.message_id),
            InboxFact::MessageDuplicate(_) | InboxFact::MessageDequeued(_) => {}
        }
        self.inbox.apply(at, fact, left);
    }

    fn settled(&mut self, message: MessageId) {
        self.history.messages_settled = self.history.messages_settled.saturating_add(1);
        self.hints.settled(message);
        self.tasks.settled(message);
        let mut queued = self.inbox.queued().map(|entry| &entry.message);
        if let Some(hold) = self.hold.as_mut().filter(|hold| hold.trial == Some(message)) {
            hold.trial = queued.find(|message| message.is_by_operator()).map(|message| message.id);
        }
    }

    /// What a requeued message takes along from the run that was for it.
    fn take_rounds(&mut self, fact: &MessageRequeued) -> Left {
        match &mut self.run {
            Some(run) if run.message == fact.message_id => {
                let mut notes = core::mem::take(&mut run.conversation.notes);
                notes.truncate(fact.carried_notes as usize);
                Left {
                    rounds: core::mem::take(&mut run.conversation.rounds),
                    notes,
                    recap: core::mem::take(&mut run.conversation.recap),
                    notices: core::mem::take(&mut run.about.notices),
                    changes: core::mem::take(&mut run.about.changes),
                    goes_on: self.episodes.run_left(run),
                }
            }
            Some(_) | None => Left::default(),
        }
    }

    fn sleep_elapsed(&mut self, fact: &SleepElapsed) {
        let Some(sleep) = &mut self.sleep else { return };
        sleep.elapsed(fact);
        if sleep.is_deliberate() {
            self.inbox.set_own(fact.message_id, false);
        }
    }

    fn apply_scheduling(&mut self, at: Wall, fact: &SchedulingFact) {
        match fact {
            SchedulingFact::SchedulerDecision(fact) => self.last_decision = Some((**fact).clone()),
            SchedulingFact::ContinuationResolved(_) | SchedulingFact::ClosureDecided(_) => {}
            SchedulingFact::HoldSet(fact) => self.hold = Some(Hold::new(fact)),
            SchedulingFact::HoldEnded(fact) => {
                self.hold = None;
                if fact.reason == HoldEnd::BudgetRaised {
                    self.external_activity(at);
                }
            }
            SchedulingFact::SelfTurnCounted(fact) => self.unattended.counted(fact),
            SchedulingFact::SleepBegun(fact) => self.sleep = Some(Sleep::begun(at, fact)),
            SchedulingFact::SleepElapsed(fact) => self.sleep_elapsed(fact),
            SchedulingFact::UnattendedTurnsExhausted(fact) => {
                self.unattended.exhausted = Some(Exhausted { turns: fact.turns, until: fact.until });
            }
            SchedulingFact::UnattendedTurnsRaised(_) => self.unattended.exhausted = None,
        }
    }

    fn apply_turn(&mut self, at: Wall, fact: &TurnFact) {
        self.apply_asked(fact);
        if let TurnFact::TurnStarted(fact) = fact {
            self.hints.turn_begins();
            let taken = |id: &MessageId| self.inbox.claimed(*id).map(|entry| entry.message.clone());
            let also: Vec<_> = fact.also.iter().filter_map(taken).collect();
            let mut all = core::iter::once(&fact.message_id).chain(&fact.also);
            let own = all.all(|id| self.inbox.claimed(*id).is_some_and(|entry| entry.own));
            self.input_limit = fact.input_limit.or(self.input_limit);
            self.tools_offered = fact.tools_offered.as_ref().unwrap_or(&self.tools_offered).clone();
            self.servers.run_began();
            let environment = Environment {
                execution: self.workspaces.active().clone(),
                tools: self.tools_offered.clone(),
                context: None,
                shown_before: Shown::default(),
                goes_on: false,
            };
            let from_outside = self.inbox.claimed(fact.message_id).is_some_and(outside::causes);
            let entry = self.inbox.claimed_mut(fact.message_id);
            let goes_on = entry.as_ref().is_some_and(|entry| entry.goes_on);
            self.run = entry.map(|entry| Run::new(at, fact, entry, also, environment));
            let now = self.as_it_stands();
            if let Some(run) = &mut self.run {
                let known = core::mem::take(&mut run.about.notices);
                let notice = core::iter::once(&fact.message_id).chain(&fact.also).map(|message| {
                    let known = known.iter().find(|notice| notice.message == *message).cloned();
                    known.unwrap_or_else(|| {
                        Notice::with((&self.work, &self.waits), &self.tasks, &self.hints, *message)
                    })
                });
                run.about.notices = notice.collect();
                run.about.own = own && fact.interjected.is_empty();
                // Whatever it is for ends a sleep; the one for its end keeps it until that is told.
                self.sleep = self.sleep.take().filter(|sleep| sleep.tick == Some(fact.message_id));
                self.episodes.run_began((self.event_seq, at), run, now, goes_on);
                if !run.about.incoming.is_by_operator() {
                    self.unattended.started(at, from_outside);
                }
                run.course.progress = core::iter::once(&fact.message_id)
                    .chain(&fact.also)
                    .flat_map(|message| self.tasks.delivered_by(*message))
                    // What a run has shown is no news to the next one of its message.
                    .any(|task| task.end.as_ref().is_some_and(|end| end.news && !end.shown));
            }
            self.next.run = fact.run_id.next();
            self.next.turn = fact.turn_index.next();
            self.set_status(at, Status::AwakeRunning);
        }
        self.apply_catalogued(fact);
        if let TurnFact::TurnContextBuilt(fact) = fact {
            self.history.loaded(&fact.context);
            let standing = Standing::of(self, &fact.context);
            if let Some(run) = &mut self.run {
                self.episodes.loaded(run, standing);
            }
        }
        if let Some(run) = &mut self.run {
            run.apply(at, fact);
            if let TurnFact::AssistantRoundRecorded(_) = fact {
                self.episodes.answered(run);
            }
        }
        self.apply_spent(fact);
        self.apply_shown(fact);
        self.apply_called(fact);
        if let TurnFact::TurnTerminal(fact) = fact {
            self.turn_ended(at, fact);
        }
    }

    fn apply_asked(&mut self, fact: &TurnFact) {
        if let TurnFact::ProviderRoundCompleted(fact) = fact {
            self.requests.answered(fact);
        }
        if let TurnFact::ProviderAttemptRecorded(fact) = fact {
            self.attempted(fact);
        }
    }

    fn apply_catalogued(&mut self, fact: &TurnFact) {
        let TurnFact::ToolsCatalogued(fact) = fact else { return };
        self.servers.catalogued(fact);
        if let Some(tools) = &fact.tools_offered {
            self.tools_offered = tools.clone();
            self.episodes.offers(tools);
        }
    }

    /// Whether the last record is one that was copied: what was spent before a copy was made, the agent that was copied
    /// has spent.
    fn is_copied(&self) -> bool {
        self.spec.forked_from.as_ref().is_some_and(|from| self.event_seq <= from.event_seq)
    }

    fn apply_spent(&mut self, fact: &TurnFact) {
        if let TurnFact::BudgetReserved(fact) = fact {
            let summary = self.ops.get(&fact.op).is_some_and(|open| open.kind == OpKind::Summarize);
            self.account.reserve(fact, summary);
        }
        if let TurnFact::BudgetSettled(fact) = fact {
            let amount = if self.is_copied() { Amount::default() } else { fact.amount };
            self.account.settle(fact.op, fact.day, amount);
        }
    }

    /// What a turn has shown of a task is not told again.
    fn apply_shown(&mut self, fact: &TurnFact) {
        let TurnFact::ToolExecuted(fact) = fact else { return };
        let shown = fact.receipt.facts.shown_task;
        let message = shown.and_then(|task| self.tasks.shown(task));
        // Whoever waits for it is woken by it.
        if let Some(message) = message.filter(|message| !self.awaits_task_of(*message)) {
            self.inbox.needs_no_model(message);
        }
    }

    /// A patch that was applied, or a command that ended otherwise than the last time, brings a turn on.
    fn apply_called(&mut self, fact: &TurnFact) {
        let TurnFact::ToolExecuted(fact) = fact else { return };
        let Some(run) = &mut self.run else { return };
        let facts = &fact.receipt.facts;
        let ended =
            run.course.command.take().is_some_and(|command| self.novelty.ends(command, facts.exit_status));
        run.course.progress |= ended || !facts.changed_files.is_empty();
    }

    /// Last record of a run: everything that the run was about has been settled before it.
    fn turn_ended(&mut self, at: Wall, fact: &TurnTerminal) {
        let run = self.run.take();
        if fact.kind == TurnKind::Completed {
            self.asks.succeeded();
        }
        if fact.progress {
            self.unattended.clear();
            self.waits.renew(at);
            let recheck = run.as_ref().and_then(|run| self.work.recheck_mut(run.about.work_item?));
            if let Some(recheck) = recheck {
                recheck.renew(at);
            }
        }
        let notice =
            |sleep: &Sleep| sleep.tick == Some(fact.message_id) && !self.inbox.is_live(fact.message_id);
        if self.sleep.as_ref().is_some_and(notice) {
            self.sleep = None;
        }
        self.history.turn_ended(fact);
        // What was put back comes again with all that was said.
        if let Some(run) = run.filter(|_| !self.inbox.is_live(fact.message_id)) {
            self.skills.turn_ended(fact.kind == TurnKind::Completed);
            self.episodes.turn_ended(at, fact, run);
        }
        self.set_status(at, Status::AwakeIdle);
    }

    fn apply_task(&mut self, at: Wall, fact: &TaskFact) {
        let copied = self.is_copied();
        let news = match fact {
            TaskFact::TaskStatusUpdated(fact) if fact.status.is_terminal() => {
                let task = self.tasks.get(fact.task_id).filter(|task| !task.status.is_terminal());
                let ended = task.map(|task| {
                    // A child says in a word how it ended.
                    let status = task.child().map(|_| i32::from(fact.status != TaskStatus::Completed));
                    (task.job.fingerprint(), fact.exit_status.or(status))
                });
                if let Some(child) = task.and_then(Task::child) {
                    self.outbox.forget(&child.child_agent_id);
                    if !copied {
                        self.account.family = self.account.family.plus(fact.spent);
                    }
                }
                ended.is_some_and(|(job, status)| self.novelty.ends(job, status))
            }
            TaskFact::TaskCreated(fact) => {
                if let Some(child) = fact.job.child() {
                    self.child_begun(fact.task_id, child.purpose);
                    if let Some(plan) = &child.worktree {
                        self.workspaces.worktrees.begun_by(plan.worktree_id, fact.task_id);
                    }
                }
                false
            }
            TaskFact::TaskStatusUpdated(_)
            | TaskFact::TaskResultQueued(_)
            | TaskFact::ChildNeedNoted(_)
            | TaskFact::ChildNeedTold(_)
            | TaskFact::ChildEnded(_)
            | TaskFact::TaskInputDelivered(_) => false,
        };
        self.tasks.apply(at, fact, news);
        if let TaskFact::TaskResultQueued(fact) = fact {
            self.result_queued(at, fact);
        }
    }

    /// Another child for the same is no progress.
    fn child_begun(&mut self, task: TaskId, purpose: Fingerprint) {
        let new = self.novelty.begins(purpose);
        if let Some(run) = &mut self.run {
            run.course.progress |= new;
        }
        self.next.task = self.next.task.max(task.next());
    }

    fn apply_outbox(&mut self, fact: &OutboxFact) {
        if let OutboxFact::LetterPosted(fact) = fact {
            self.next.letter = fact.letter_id.next();
            match &fact.letter {
                Letter::Needs { need } => self.childhood.delivered_need = Some(need.clone()),
                Letter::Result { .. } => self.childhood.reported = true,
                Letter::Spawn { .. } | Letter::FollowUp { .. } | Letter::Stop { .. } => {}
            }
        }
        self.outbox.apply(fact);
    }

    /// The end of a command that was progress when it began comes from outside.
    fn result_queued(&mut self, at: Wall, fact: &TaskResultQueued) {
        let repeated = self.tasks.get(fact.task_id).is_some_and(|task| task.repeated);
        self.inbox.delivers_result(fact.message_id, repeated);
        if fact.known {
            self.inbox.needs_no_model(fact.message_id);
        } else if !repeated {
            self.external_activity(at);
        }
    }

    fn apply_timer(&mut self, at: Wall, fact: &TimerFact) {
        if let TimerFact::TimerCreated(fact) = fact {
            self.next.timer = fact.timer_id.next();
        }
        if let TimerFact::TimerTickQueued(fact) = fact
            && let Some(timer) = self.timers.get(fact.timer_id)
        {
            let forgotten = timer.wait_id.is_some_and(|id| !self.active_waits().any(|wait| wait.id == id));
            self.inbox.set_own(fact.message_id, timer.is_own());
            if forgotten {
                self.inbox.needs_no_model(fact.message_id);
            }
        }
        self.timers.apply(at, fact);
    }

    fn apply_work(&mut self, at: Wall, fact: &WorkFact) {
        if let WorkFact::WorkItemWritten(fact) = fact {
            self.next.work_item = self.next.work_item.max(fact.work_item_id.next());
            if fact.by == WorkAuthor::Operator {
                self.external_activity(at);
            }
            if let Some(run) = &mut self.run {
                run.course.progress = true;
                run.course.unchanged.rounds = 0;
                if fact.run_id == Some(run.id)
                    && fact.change.needs_input()
                    && !run.course.asks.contains(&fact.work_item_id)
                {
                    run.course.asks.push(fact.work_item_id);
                }
            }
        }
        if let WorkFact::WorkPlanSeen(fact) = fact
            && fact.edited
        {
            self.unattended.clear();
        }
        self.work.apply(at, fact, self.workspaces.active());
    }

    fn apply_operation(&mut self, at: Wall, fact: &OperationFact) {
        match fact {
            OperationFact::OperationOpened(fact) => {
                self.next.op = fact.op.next();
                if let (Some(request), OpKind::CallModel) = (&fact.request, fact.kind) {
                    self.requests.sent(request);
                }
                if let (Some(request), OpKind::Summarize, Some(run)) = (&fact.request, fact.kind, &self.run) {
                    self.episodes.summary_requested(fact.op, run.id, &request.model);
                }
                let OperationOpened { op, kind, run_id, task_id, ref supervisor, ref command, .. } = **fact;
                let (supervisor, command) = (supervisor.clone(), command.clone());
                let mut repeated = false;
                if let Some(command) = command.as_ref().map(Fingerprint::of) {
                    let new = self.novelty.begins(command);
                    repeated = !new && run_id.is_some();
                    if let Some(run) = self.run.as_mut().filter(|run| Some(run.id) == run_id) {
                        (run.course.progress, run.course.command) =
                            (run.course.progress | new, Some(command));
                    }
                }
                if let Some(task) = task_id {
                    self.next.task = self.next.task.max(task.next());
                }
                let execution_root = fact.execution_root.clone();
                if let Some(plan) = &fact.worktree {
                    self.next.worktree = self.next.worktree.max(plan.worktree_id.next());
                    self.workspaces.worktrees.planned(plan);
                }
                let worktree = fact.worktree.as_ref().map(|plan| plan.worktree_id);
                let open = OpenOp {
                    kind,
                    run_id,
                    task_id,
                    opened_at: at,
                    supervisor,
                    command,
                    execution_root,
                    worktree,
                    template: fact.template.clone(),
                    repeated,
                };
                self.ops.insert(op, open);
                if let (Some(run), OpKind::CallModel) = (&mut self.run, kind) {
                    run.backed_off();
                }
            }
            OperationFact::OperationSettled(fact) => {
                let op = self.ops.remove(&fact.op);
                if let Some(task) = op.and_then(|op| op.unbegun(fact.settlement)) {
                    self.made.release(Made::Task(task));
                }
                self.episodes.summary_settled(fact.op);
            }
        }
    }
}
