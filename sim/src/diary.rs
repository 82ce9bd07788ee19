//! The timeline of a run, for a reader: messages, decisions with their reasons, and the model's actions.

#![expect(clippy::wildcard_enum_match_arm, reason = "a timeline shows what a person looks for")]

use std::fmt::Write;

use holon_core::replay::Call;
use holon_facts::content::clip;
use holon_facts::decision::SchedulerDecision;
use holon_facts::event::brief::BriefVisibility;
use holon_facts::event::task::TaskOrigin;
use holon_facts::event::work::WorkChange;
use holon_facts::event::{
    BriefFact, InboxFact, LifecycleFact, SchedulingFact, TaskFact, TimerFact, TurnFact, WaitFact, WakeFact,
    WorkFact,
};
use holon_facts::message::{Message, Origin};
use holon_facts::model::Block;
use holon_facts::{AgentId, Event, Wall};

use crate::disk::Row;

/// Most characters of a quoted text.
const MAX_QUOTE: usize = 240;
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// The timeline of a ledger, day by day.
pub fn diary(rows: &[Row]) -> String {
    let mut timeline = Timeline::default();
    for row in rows {
        match &row.call {
            Call::RuntimeStarted { .. } => timeline.starts += 1,
            Call::Recover { now, .. } => timeline.started(now.wall),
            Call::Admit { .. }
            | Call::Step { .. }
            | Call::Park { .. }
            | Call::Copy { .. }
            | Call::AgentsLeft { .. } => {}
        }
        for record in &row.records {
            if let Some(line) = line(&record.event) {
                let of = timeline.of(&record.agent);
                timeline.line(record.at, &format!("{of}{line}"));
            }
        }
    }
    timeline.close();
    timeline.text
}

#[derive(Default)]
struct Timeline {
    text: String,
    whose: Option<AgentId>,
    day: Option<i64>,
    at: String,
    /// Starts of the process, and those that the timeline shows.
    starts: u32,
    shown: u32,
}

impl Timeline {
    fn line(&mut self, at: Wall, line: &str) {
        self.started(at);
        if self.day != Some(at.day()) {
            self.close();
            let _ = write!(self.text, "\n## {}\n\n```text\n", weekday(at));
            (self.day, self.at) = (Some(at.day()), String::new());
        }
        let time = time(at);
        let shown = if time == self.at { String::new() } else { time.clone() };
        let _ = writeln!(self.text, "{shown:8}  {}", line.trim_end());
        self.at = time;
    }

    /// The prefix of a line about an agent; none for the first agent.
    fn of(&mut self, agent: &AgentId) -> String {
        let whose = self.whose.get_or_insert_with(|| agent.clone());
        if whose == agent { String::new() } else { format!("{agent}: ") }
    }

    /// Shows a start that was not shown yet.
    fn started(&mut self, at: Wall) {
        if self.starts > self.shown {
            let which = if self.shown == 0 { "the runtime starts" } else { "the runtime starts again" };
            self.shown = self.starts;
            self.line(at, which);
        }
    }

    fn close(&mut self) {
        if self.day.is_some() {
            self.text.push_str("```\n");
        }
    }
}

/// The line of an event; none if another line covers it.
fn line(event: &Event) -> Option<String> {
    match event {
        Event::Lifecycle(fact) => lifecycle(fact),
        Event::Inbox(fact) => inbox(fact),
        Event::Scheduling(fact) => scheduling(fact),
        Event::Turn(fact) => turn(fact),
        Event::Task(fact) => task(fact),
        Event::Timer(TimerFact::TimerFired(fact)) => Some(format!("{} fires", fact.timer_id)),
        Event::Work(fact) => work(fact),
        Event::Wait(fact) => wait(fact),
        Event::Wake(WakeFact::WakeHintRecorded(fact)) => Some(format!("← hint of {}", fact.hint.source)),
        Event::Wake(WakeFact::WakeTickQueued(fact)) => {
            Some(format!("    {} delivers {} hints", fact.message_id, fact.hints))
        }
        Event::Brief(BriefFact::BriefCreated(fact)) if fact.visibility == BriefVisibility::ActionRequired => {
            Some(format!("→ the operator is asked: {}", first_line(fact.text.preview())))
        }
        _ => None,
    }
}

fn lifecycle(fact: &LifecycleFact) -> Option<String> {
    match fact {
        LifecycleFact::AgentCreated(_) => Some("the agent is created".to_owned()),
        LifecycleFact::ControlApplied(fact) => Some(format!("← the operator: {}", fact.action)),
        LifecycleFact::RuntimeRecovered(fact) => {
            fact.interrupted_run_id.map(|run| format!("{run} was interrupted"))
        }
        _ => None,
    }
}

fn inbox(fact: &InboxFact) -> Option<String> {
    match fact {
        InboxFact::MessageAdmitted(fact) => Some(came(&fact.message)),
        InboxFact::MessageRequeued(fact) => {
            Some(format!("    {} goes back into the queue ({})", fact.message_id, fact.cause))
        }
        InboxFact::MessageDropped(fact) => Some(format!("    {} is dropped", fact.message_id)),
        _ => None,
    }
}

/// Messages of the runtime show their subsystem only: the decision for them shows the rest.
fn came(message: &Message) -> String {
    match &message.origin {
        Origin::System { subsystem } => format!("← {} {}, of {subsystem}", message.id, message.kind),
        Origin::Operator { .. }
        | Origin::Channel { .. }
        | Origin::Webhook { .. }
        | Origin::Callback { .. }
        | Origin::Timer { .. }
        | Origin::Task { .. } => {
            format!("← {} {}: {}", message.id, message.kind, first_line(message.body.text.preview()))
        }
    }
}

fn scheduling(fact: &SchedulingFact) -> Option<String> {
    match fact {
        SchedulingFact::SchedulerDecision(fact) => Some(decided(fact)),
        SchedulingFact::HoldSet(fact) => {
            let until = fact.until.map(|until| format!(" until {}", moment(until))).unwrap_or_default();
            let budget = fact.budget.map(|budget| format!(" {}", budget.budget)).unwrap_or_default();
            Some(format!("    held for {}{budget}{until}, wait {}", fact.cause, fact.step + 1))
        }
        SchedulingFact::HoldEnded(fact) => Some(format!("    the hold is over: {}", fact.reason)),
        _ => None,
    }
}

fn decided(decision: &SchedulerDecision) -> String {
    let next = decision.next_deadline.filter(|_| decision.rests());
    let next = next.map(|at| format!(", looks again {}", moment(at))).unwrap_or_default();
    let about = decision.message_id.map(|id| format!(" for {id}"));
    let about = about.or_else(|| decision.wait_id.map(|id| format!(" for {id}")));
    let about = about.or_else(|| decision.work_item_id.map(|id| format!(" about {id}"))).unwrap_or_default();
    format!("▸ {}{about} (row {}, {}){next}", decision.kind, decision.row, decision.reason)
}

fn turn(fact: &TurnFact) -> Option<String> {
    match fact {
        TurnFact::TurnStarted(fact) if fact.carried_rounds > 0 => {
            Some(format!("    goes on after {} rounds", fact.carried_rounds))
        }
        TurnFact::ProviderAttemptRecorded(fact) => {
            fact.attempt.failure_kind.map(|kind| format!("    the provider fails: {kind}"))
        }
        TurnFact::AssistantRoundRecorded(fact) => {
            let blocks: Vec<String> = fact.blocks.iter().map(block).collect();
            Some(format!("    {}", blocks.join("; ")))
        }
        TurnFact::ToolExecutionFailed(fact) => {
            let kind = fact.receipt.error.as_ref().map(|error| error.kind.to_string()).unwrap_or_default();
            Some(format!("    {} fails: {kind}", fact.tool_name))
        }
        TurnFact::ToolExecuted(fact) => {
            let exit = fact.receipt.facts.exit_status.filter(|exit| *exit != 0);
            exit.map(|exit| format!("    {} ends with {exit}", fact.tool_name))
        }
        TurnFact::BudgetExhausted(fact) => {
            let number = |number| fact.budget.format(number);
            let (used, wanted, limit) = (number(fact.used), number(fact.wanted), number(fact.limit));
            Some(format!("    {}: {used} used, {wanted} wanted, of {limit}", fact.budget))
        }
        TurnFact::TurnTerminal(fact) => Some(format!("    {}, after {} rounds", fact.kind, fact.rounds)),
        _ => None,
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } => format!("“{}”", first_line(text.preview())),
        Block::Reasoning { .. } => "thinks".into(),
        Block::ToolCall { tool_name, arguments, .. } => {
            let number = serde_json::from_str::<serde_json::Value>(arguments.preview()).unwrap_or_default();
            let what = [
                "cmd",
                "waiting_for",
                "reason",
                "objective",
                "blocked_by",
                "message",
                "initial_message",
                "input",
            ];
            let what = what.iter().find_map(|name| number.get(name)?.as_str());
            what.map_or_else(|| tool_name.clone(), |what| format!("{tool_name} {}", clip(what, 80)))
        }
    }
}

fn task(fact: &TaskFact) -> Option<String> {
    match fact {
        TaskFact::TaskCreated(fact) if fact.cause == TaskOrigin::Spawned => {
            Some(format!("    {} is a child: {}", fact.task_id, fact.summary))
        }
        TaskFact::ChildNeedNoted(fact) => Some(format!(
            "the child of {} needs its parent: {}, {}",
            fact.task_id, fact.need.kind, fact.need.about
        )),
        TaskFact::TaskCreated(fact) => {
            Some(format!("    {} continues in the background: {}", fact.task_id, fact.summary))
        }
        TaskFact::TaskStatusUpdated(fact) if fact.status.is_terminal() => {
            let exit = fact.exit_status.map(|exit| format!(", it ended with {exit}")).unwrap_or_default();
            Some(format!("{} is {}{exit}", fact.task_id, fact.status))
        }
        _ => None,
    }
}

fn work(fact: &WorkFact) -> Option<String> {
    match fact {
        WorkFact::WorkItemWritten(fact) => match &fact.change {
            WorkChange::Created { objective, .. } => {
                Some(format!("    {} is made: {objective}", fact.work_item_id))
            }
            WorkChange::Completed { .. } => Some(format!("    {} is completed", fact.work_item_id)),
            WorkChange::Updated { blocked_by, .. } => blocked_by.as_ref().map(|by| match by.as_str() {
                "" => format!("    {} is blocked no more", fact.work_item_id),
                by => format!("    {} is blocked: {by}", fact.work_item_id),
            }),
        },
        WorkFact::WorkItemStalled(fact) => {
            Some(format!("    {} is stalled: {}", fact.work_item_id, fact.reason))
        }
        WorkFact::WorkDeferred(fact) => {
            Some(format!("    the next turn of {} waits until {}", fact.work_item_id, moment(fact.until)))
        }
        WorkFact::WorkPlanSeen(fact) => {
            fact.edited.then(|| format!("    the plan of {} has changed", fact.work_item_id))
        }
        _ => None,
    }
}

fn wait(fact: &WaitFact) -> Option<String> {
    match fact {
        WaitFact::WaitRegistered(fact) => {
            Some(format!("    {} begins ({}): {}", fact.wait_id, fact.kind, fact.waiting_for))
        }
        WaitFact::WaitResolved(fact) => Some(format!("    {} is over", fact.wait_id)),
        WaitFact::WorkItemRecheckDue(fact) => {
            let next = fact.due.iter().map(|due| moment(due.next_at)).collect::<Vec<_>>().join(", ");
            Some(format!("    if nothing changes, next {next}"))
        }
        WaitFact::RecheckGivenUp(_) => Some("    looks no more: an operator has to".to_owned()),
        WaitFact::WaitCancelled(_) => None,
    }
}

/// The first line, cut if it is long.
fn first_line(text: &str) -> String {
    clip(text.lines().next().unwrap_or_default(), MAX_QUOTE)
}

/// The day and the time.
fn moment(at: Wall) -> String {
    format!("{} {}", weekday(at), time(at))
}

fn weekday(at: Wall) -> &'static str {
    DAYS[usize::try_from(at.day().rem_euclid(7)).unwrap_or(0)]
}

/// Hours, minutes and seconds.
fn time(at: Wall) -> String {
    at.to_string().get(11..19).unwrap_or_default().to_owned()
}
