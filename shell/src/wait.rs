//! Waiting for the end of what an agent does by itself (contract: agent.md, Idle), or of one turn, and showing it
//! meanwhile: the same for the command line and for whoever waits over HTTP.

use std::time::Duration;

use holon_api::{
    AgentWhy, ClientError, Control, Events, Follow, Followed, LiveAttempt, LiveText, PageQuery,
    PromptOutcome, WaitUntil,
};
use holon_core::view::{ExplainedDeadline, Explanation, RunVerdict};
use holon_facts::decision::DeadlineReason;
use holon_facts::event::{Event, SchedulingFact};
use holon_facts::ids::{MessageId, TaskId};
use holon_facts::lifecycle::Status;
use holon_facts::{AgentId, EventSeq, Millis, Record, Text};
use holon_platform::clock;

use crate::answer::AnswerBrief;
use crate::exit::Exit;
use crate::live::{Live, LiveSink};
use crate::prompt_turn::PromptTurn;

/// Without any event the agent is looked at so often.
const LOOK: Duration = Duration::from_secs(5);
/// After these an agent may have nothing more to do.
const LAST: [&str; 6] = [
    "scheduler_decision",
    "turn_terminal",
    "hold_set",
    "control_applied",
    "message_dropped",
    "task_status_updated",
];

/// How what was waited for ended.
#[derive(Debug)]
pub struct End {
    pub verdict: RunVerdict,
    /// What happens later by itself.
    pub due: Vec<ExplainedDeadline>,
    /// Whether the turn that was waited for has ended. A prompt that is held back has not had its turn.
    pub turn_ended: bool,
    /// Tasks of the prompt's turn that still run.
    pub tasks: Vec<TaskId>,
    pub why: AgentWhy,
}

impl End {
    /// From how things stand with the agent, and how the turn that is waited for ended; without one it is the agent
    /// itself that was waited for.
    ///
    /// # Errors
    /// A runtime whose verdict this build does not know.
    pub fn of(why: AgentWhy, turn: Option<&PromptTurn>) -> Result<Self, ClientError> {
        let waited_for = turn.is_some();
        let turn = turn.and_then(|turn| Some((turn.ended()?.1, turn)));
        let turn_ended = !waited_for || turn.is_some();
        let tasks = turn.map(|(_, turn)| turn.tasks().iter().copied().collect()).unwrap_or_default();
        let verdict = match turn {
            Some((ended, turn)) => turn.verdict(ended, why.explanation.verdict),
            None => why.explanation.verdict.ok_or_else(|| ClientError::Odd {
                problem: "it gives no verdict, though nothing is in progress".to_owned(),
            })?,
        };
        let due = why.explanation.due.clone().into_iter().collect();
        Ok(Self { verdict, due, turn_ended, tasks, why })
    }

    /// What keeps a turn that has not ended.
    pub fn kept_by(&self) -> String {
        let Explanation { status, hold, .. } = &self.why.explanation;
        if *status == Status::Stopped {
            return "the agent is stopped".to_owned();
        }
        if let Some(hold) = hold {
            let budget = hold.budget.map(|it| format!(" ({})", it.budget)).unwrap_or_default();
            let until = hold.until.map(|until| format!(" until {until}")).unwrap_or_default();
            return format!("held by {}{budget}{until}", hold.cause);
        }
        match self.due.first() {
            Some(due) => format!("its turn has not ended: {} is due at {}", due.reason, due.at),
            None => "its turn has not ended".to_owned(),
        }
    }

    /// What whoever waited for a prompt is shown, in every surface.
    pub fn outcome(&self, final_text: Option<String>) -> PromptOutcome {
        PromptOutcome {
            verdict: self.verdict,
            exit_code: Exit::from(self.verdict).code(),
            final_text,
            due: self.due.clone(),
            active_tasks: self.tasks.clone(),
        }
    }
}

/// Where what happens to an agent comes from, one after the other.
pub trait Source {
    /// What comes next. Dropping the future loses nothing.
    fn next(&mut self) -> impl Future<Output = Result<Seen, ClientError>> + Send;

    /// The last event that was handed over, or before the first one that will be.
    fn cursor(&self) -> Option<EventSeq>;
}

/// What happened.
#[derive(Debug)]
pub enum Seen {
    Record(Box<Record>),
    /// An event of this kind, which this build can't read.
    Unknown(String),
    /// A piece of what a model says.
    Piece(Live),
    /// Something that whoever waits has no use for.
    Other,
}

/// Events of a runtime, wherever that is.
pub struct Following<E>(E);

impl<E: Events + Send> Source for Following<E> {
    async fn next(&mut self) -> Result<Seen, ClientError> {
        Ok(match self.0.next().await? {
            Followed::Event(event) => match event.record() {
                Ok(record) => Seen::Record(Box::new(record)),
                Err(_) => Seen::Unknown(event.kind.clone()),
            },
            Followed::Live { kind, data } => piece(&kind, data).map_or(Seen::Other, Seen::Piece),
        })
    }

    fn cursor(&self) -> Option<EventSeq> {
        self.0.cursor()
    }
}

impl<E> Following<E> {
    /// The events of an agent after one.
    pub fn new<C: Control + Follow<Events = E>>(runtime: &C, agent: &AgentId, after: EventSeq) -> Self {
        Self(runtime.follow(agent, Some(after), false))
    }
}

/// An agent that is waited for.
pub struct Wait<C: Control, S = Following<<C as Follow>::Events>> {
    runtime: C,
    agent: AgentId,
    source: S,
    /// What is due later is not waited for.
    idle_limit: Millis,
    for_tasks: bool,
    turn: Option<PromptTurn>,
    live: Option<LiveSink>,
    /// Nothing may happen any more.
    look_first: bool,
}

impl<C: Control + Clone> Wait<C> {
    /// `after` is the last event before what is waited for.
    pub fn new(runtime: &C, agent: &AgentId, after: EventSeq, idle_limit: Millis) -> Self {
        Self::over(runtime, agent, Following::new(runtime, agent, after), idle_limit)
    }

    /// Shows pieces of what models say, too.
    #[must_use]
    pub fn with_live(self, live: LiveSink) -> Self {
        let source = Following(self.runtime.follow(&self.agent, self.source.cursor(), true));
        Self { source, live: Some(live), ..self }
    }
}

impl<C: Control + Clone, S: Source> Wait<C, S> {
    /// The same with what happens from elsewhere.
    pub fn over(runtime: &C, agent: &AgentId, source: S, idle_limit: Millis) -> Self {
        let (runtime, agent) = (runtime.clone(), agent.clone());
        Self {
            runtime,
            agent,
            source,
            idle_limit,
            for_tasks: false,
            turn: None,
            live: None,
            look_first: false,
        }
    }

    /// Whether background tasks are waited for as well, and what their results bring.
    #[must_use]
    pub fn for_tasks(self, for_tasks: bool) -> Self {
        Self { for_tasks, ..self }
    }

    /// Looks at the agent before it waits for an event: what is waited for may be over.
    #[must_use]
    pub fn looking_first(self) -> Self {
        Self { look_first: true, ..self }
    }

    /// Whether the end of this prompt's turn is enough.
    #[must_use]
    pub fn for_prompt(self, prompt: MessageId, until: WaitUntil) -> Self {
        match until {
            WaitUntil::Turn => Self { turn: Some(PromptTurn::of(prompt)), ..self },
            WaitUntil::Settled => self.for_tasks(true),
        }
    }

    /// Shows what happens, and returns how it ended. Events of a newer build are not shown.
    ///
    /// # Errors
    /// An agent that can't be followed, or a runtime that stays away.
    pub async fn until_end(mut self, see: &mut impl FnMut(&Record)) -> Result<End, ClientError> {
        loop {
            let last = std::mem::take(&mut self.look_first) || self.follow_up(see).await?;
            if !last {
                continue;
            }
            match self.runtime.why(&self.agent).await {
                Ok(why) if self.has_ended(&why) => {
                    self.catch_up(&why, see).await?;
                    return End::of(why.into_reply(), self.turn.as_ref());
                }
                Ok(_) => {}
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Shows what comes next; says whether it may be the last one for now.
    async fn follow_up(&mut self, see: &mut impl FnMut(&Record)) -> Result<bool, ClientError> {
        let Ok(seen) = tokio::time::timeout(LOOK, self.source.next()).await else {
            // The runtime may have nothing to tell, or be away.
            return Ok(true);
        };
        Ok(self.show(seen?, see))
    }

    /// Whether the turn has, and its agent has decided what follows; or nothing more happens by itself soon.
    fn has_ended(&self, why: &AgentWhy) -> bool {
        let turn = self.turn.as_ref().and_then(PromptTurn::ended);
        let after = |(ended, _): (EventSeq, RunVerdict)| why.explanation.event_seq >= ended;
        turn.is_some_and(after)
            || (settled(&why.explanation, self.idle_limit) && !(self.for_tasks && has_tasks(why)))
    }

    /// What was durable when the end was seen is shown, too.
    async fn catch_up(&mut self, why: &AgentWhy, see: &mut impl FnMut(&Record)) -> Result<(), ClientError> {
        let end = why.explanation.event_seq;
        while self.source.cursor().is_some_and(|seq| seq < end) {
            let seen = self.source.next().await?;
            self.show(seen, see);
        }
        Ok(())
    }

    /// Says whether it may be the last one for now.
    fn show(&mut self, seen: Seen, see: &mut impl FnMut(&Record)) -> bool {
        match seen {
            Seen::Record(record) => {
                self.turn.iter_mut().for_each(|turn| turn.record(&record));
                see(&record);
                LAST.contains(&record.event.kind()) && !begins_turn(&record.event)
            }
            Seen::Unknown(kind) => LAST.contains(&kind.as_str()),
            Seen::Piece(piece) => {
                self.live.iter().for_each(|live| live.send(piece.clone()));
                false
            }
            Seen::Other => false,
        }
    }
}

/// The whole text of an answer; of a longer one its events have the beginning.
///
/// # Errors
/// A runtime that stays away, or has no such brief.
pub async fn whole_text(
    runtime: &impl Control,
    agent: &AgentId,
    told: &AnswerBrief,
) -> Result<String, ClientError> {
    if let Text::Inline(text) = &told.text {
        return Ok(text.clone());
    }
    let after = EventSeq(told.event_seq.0.saturating_sub(1));
    let query = PageQuery { before: None, after: Some(after), limit: Some(1) };
    let page = runtime.briefs(agent, query).await?.into_reply();
    let brief = page.briefs.into_iter().find(|brief| brief.id == told.id);
    let missing = || ClientError::Odd { problem: "it has no brief".to_owned() };
    Ok(brief.ok_or_else(missing)?.text)
}

/// A piece of what a model says; no other live event, and none of a newer build's.
fn piece(kind: &str, data: serde_json::Value) -> Option<Live> {
    match kind {
        "live_attempt" => {
            let LiveAttempt { agent_id: agent, op } = serde_json::from_value(data).ok()?;
            Some(Live::Attempt { agent, op })
        }
        "live_text" => {
            let LiveText { agent_id: agent, op, text: piece } = serde_json::from_value(data).ok()?;
            Some(Live::Text { agent, op, piece })
        }
        // Other ones are not for those who wait: the output of a command is shown with its outcome.
        _ => None,
    }
}

/// Whether its agent has decided to ask a model, so that more will happen.
fn begins_turn(event: &Event) -> bool {
    matches!(event, Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) if decision.model_reentry)
}

/// Whether commands go on whose results its agent will be told.
fn has_tasks(why: &AgentWhy) -> bool {
    why.explanation.status != Status::Stopped && !why.active_tasks.is_empty()
}

/// Whether nothing more happens by itself soon.
fn settled(why: &Explanation, idle_limit: Millis) -> bool {
    let runs = why.run.is_some();
    let soon = why.due.as_ref().is_some_and(|due| clock::now().wall.until(due.at) <= idle_limit);
    // Some holds end only by somebody else.
    let for_good = !runs && why.hold.as_ref().is_some_and(|hold| hold.until.is_none());
    let held = for_good || why.due.as_ref().is_some_and(|due| due.reason == DeadlineReason::Hold);
    if why.status == Status::Stopped { !runs } else { (why.quiet || held) && !soon }
}

#[cfg(test)]
mod tests {
    use holon_facts::Wall;
    use serde_json::{Value, json};

    use super::*;

    /// As the runtime answers about an agent, with these facts.
    fn why(facts: Value) -> Explanation {
        let decision = json!({
            "kind": "sleep", "reason": "nothing_pending", "row": 19, "boundary": "run_loop_idle",
            "model_reentry": false, "liveness_only": false, "evidence": [],
        });
        let nothing = json!({ "tokens": 0 });
        let mut why = json!({
            "agent_id": "main", "since": "2026-01-01T00:00:00Z", "scheduling_posture": "idle",
            "decision": decision,
            "closure": { "outcome": "completed", "runtime_posture": "sleeping", "row": 1, "evidence": [] },
            "deadlines": [], "woken_by": [], "queue": { "entries": 0, "bytes": 0, "queued": [] },
            "token_usage": { "input_tokens": 0, "output_tokens": 0, "total_tokens": 0 },
            "spending": { "total": nothing, "today": nothing }, "event_seq": 1,
        });
        why.as_object_mut().unwrap().extend(facts.as_object().cloned().unwrap());
        serde_json::from_value(why).unwrap()
    }

    fn run() -> Value {
        json!({
            "run_id": "run_1", "turn_index": 1, "message_id": "msg_1", "started_at": "2026-01-01T00:00:00Z",
            "phase": { "phase": "loading" }, "since": "2026-01-01T00:00:00Z", "rounds": 0,
        })
    }

    #[test]
    fn the_end_is_known_from_facts() {
        let settled = |facts: Value| settled(&why(facts), Millis::seconds(60));
        assert!(settled(json!({ "status": "asleep", "quiet": true })));
        assert!(!settled(json!({ "status": "awake_running", "quiet": false, "run": run() })));
        assert!(settled(json!({ "status": "stopped", "quiet": false })));
        assert!(!settled(json!({ "status": "stopped", "quiet": false, "run": run() })));
        let held = json!({
            "cause": "budget", "since": "2026-01-01T00:00:00Z", "step": 0,
            "budget": { "budget": "agent_cost", "limit": 1 },
        });
        assert!(settled(json!({ "status": "asleep", "quiet": false, "hold": held })));
        assert!(!settled(json!({ "status": "awake_running", "quiet": false, "hold": held, "run": run() })));
    }

    #[test]
    fn what_is_due_within_the_limit_is_waited_for() {
        let due = |seconds: i64, limit: u64| {
            let at = Wall(clock::now().wall.0 + seconds * 1_000_000);
            let facts = json!({ "status": "asleep", "quiet": false, "due": { "at": at, "reason": "hold" } });
            settled(&why(facts), Millis::seconds(limit))
        };
        assert!(due(3_600, 60) && !due(1_800, 3_600) && due(1_800, 0));
        let at = Wall(clock::now().wall.0 + 30 * 1_000_000);
        let timer = json!({ "status": "asleep", "quiet": true, "due": { "at": at, "reason": "timer" } });
        let timer = why(timer);
        assert!(!settled(&timer, Millis::seconds(60)) && settled(&timer, Millis::seconds(10)));
    }
}
