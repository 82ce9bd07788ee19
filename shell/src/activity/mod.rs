//! What a run shows while it happens: each step as a line once its outcome is known, and what is being waited
//! for below. Fed by durable records; live text only decorates it.

mod attempts;
mod repeats;
mod spoken;
mod steps;
mod waiting;

use std::sync::{Arc, Mutex, PoisonError};

use attempts::Attempts;
use holon_facts::event::{Event, InboxFact, LifecycleFact, TurnFact};
use holon_facts::{Now, Record};
use holon_platform::clock;
use repeats::Repeats;
use spoken::Spoken;
pub use steps::TextSource;
use steps::{StepKind, Steps};
use waiting::{Partial, Waiting};

use crate::live::{Live, LiveSink};
use crate::screen::{Look, Screen, harmless};
use holon_present::{Category, Level, Presentation};

/// Turns records into lines on a screen.
pub struct Activity {
    screen: Screen,
    began: Now,
    steps: Steps,
    repeats: Repeats,
    attempts: Attempts,
    partial: Arc<Mutex<Partial>>,
    spoken: Arc<Mutex<Spoken>>,
}

impl Activity {
    pub fn new(screen: Screen, texts: TextSource) -> Self {
        let began = clock::now();
        let (steps, repeats, attempts) = (Steps::reading(texts), Repeats::default(), Attempts::default());
        Self { screen, began, steps, repeats, attempts, partial: Arc::default(), spoken: Arc::default() }
    }

    /// Where pieces of the model's text go, to be seen below while the model speaks.
    pub fn live(&self) -> LiveSink {
        let (partial, spoken, screen) = (self.partial.clone(), self.spoken.clone(), self.screen.clone());
        LiveSink::new(move |live| {
            // Before anything is locked: whoever has the screen may wait for what is partial.
            let (columns, colour) = (screen.speaks(), screen.colour());
            let mut spoken = spoken.lock().unwrap_or_else(PoisonError::into_inner);
            let mut said = None;
            let mut partial_now = partial.lock().unwrap_or_else(PoisonError::into_inner);
            match live {
                Live::Attempt { .. } => {
                    partial_now.clear();
                    if spoken.begin() {
                        said = Some("… the model begins its answer anew\n".to_owned());
                    }
                }
                Live::Text { piece, .. } => {
                    partial_now.push(&piece);
                    if let Some(columns) = columns {
                        said = spoken.push(&harmless(&piece), columns, colour);
                    }
                    if said.is_some() {
                        partial_now.clear();
                        partial_now.push(spoken.pending());
                    }
                }
                // What a command printed is shown with its outcome.
                Live::Output { .. } => {}
            }
            // The line below looks at what is partial.
            drop(partial_now);
            if let Some(said) = said {
                screen.say(&said);
            }
        })
    }

    /// Takes the next durable record of the agent.
    pub fn see(&mut self, record: &Record) {
        if let Event::Turn(fact) = &record.event {
            let spoke = matches!(fact, TurnFact::AssistantRoundRecorded(_)) && self.end_of_speech();
            let failed = self.attempts.see(fact);
            self.failed(failed);
            // What was shown while it was said stands above.
            let steps =
                self.steps.see(fact).into_iter().filter(|step| !(spoke && step.kind == StepKind::Said));
            for step in steps {
                for (look, line) in self.repeats.pass(step) {
                    self.screen.line(look, &line);
                }
            }
        }
        if !told_elsewhere(&record.event) {
            self.aside(&Presentation::of(record));
        }
        if let Some(waiting) = Waiting::from(record, &self.steps, clock::now()) {
            self.wait_for(waiting);
        }
    }

    /// Tells what was held back; no more records come.
    pub fn finish(&mut self) {
        self.flush();
        let failed = self.attempts.held();
        self.failed(failed);
        self.screen.finish();
    }

    /// Whether it has shown why a model failed, in these words.
    pub fn told(&self, failure: &str) -> bool {
        self.screen.shows() && self.attempts.told(failure)
    }

    /// Whether this answer was shown while it was made.
    pub fn answered(&self, answer: &str) -> bool {
        self.spoken.lock().unwrap_or_else(PoisonError::into_inner).was(&harmless(answer))
    }

    /// Shows the rest of what the model says in a round that is over; whether it said anything.
    fn end_of_speech(&self) -> bool {
        let Some(columns) = self.screen.speaks() else { return false };
        let colour = self.screen.colour();
        let rest = self.spoken.lock().unwrap_or_else(PoisonError::into_inner).end(columns, colour);
        if let Some(rest) = &rest {
            self.partial.lock().unwrap_or_else(PoisonError::into_inner).clear();
            self.screen.say(rest);
        }
        rest.is_some()
    }

    fn failed(&mut self, attempt: Option<String>) {
        if let Some(attempt) = attempt {
            self.flush();
            self.screen.prose(Look::Bad, &attempt);
        }
    }

    fn flush(&mut self) {
        for (look, line) in self.repeats.flush() {
            self.screen.line(look, &line);
        }
    }

    fn aside(&mut self, told: &Presentation) {
        if !Level::Verbose.shows(told.visibility) {
            return;
        }
        self.flush();
        let bad = told.category == Category::OperatorNotification;
        self.screen.line(if bad { Look::Bad } else { Look::Aside }, &told.shown());
    }

    fn wait_for(&self, waiting: Waiting) {
        let (began, partial) = (self.began, self.partial.clone());
        if !waiting.is_model() {
            partial.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.screen.below(Some(Box::new(move || {
            let partial = partial.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.line(clock::now(), began, &partial)
        })));
    }
}

/// Whether a run shows it in another way: what was asked, the steps, and the outcome at the end.
fn told_elsewhere(event: &Event) -> bool {
    if let Event::Turn(fact) = event {
        return shown_as_step(fact);
    }
    matches!(
        event,
        Event::Inbox(InboxFact::MessageAdmitted(_))
            | Event::Lifecycle(
                LifecycleFact::AgentCreated(_)
                    | LifecycleFact::ControlApplied(_)
                    | LifecycleFact::CurrentRunAborted(_),
            )
            | Event::Outbox(_)
            | Event::Workspace(_)
            | Event::Brief(_)
    )
}

/// Whether [`Steps`] tells it, or the outcome does.
fn shown_as_step(fact: &TurnFact) -> bool {
    matches!(
        fact,
        TurnFact::AssistantRoundRecorded(_)
            | TurnFact::ProviderAttemptRecorded(_)
            | TurnFact::ToolExecuted(_)
            | TurnFact::ToolExecutionFailed(_)
            | TurnFact::TurnTerminal(_)
    )
}
