//! One durable event as a row of the conversation. What it means comes from the one presentation; a row never
//! interprets an event in its own way.

use holon_api::Envelope;
use holon_facts::event::{BriefFact, InboxFact, TurnFact};
use holon_facts::{Event, EventSeq, Wall};
use holon_present::{Category, DetailLine, Level, Presentation, Visibility};

use crate::text::clean;

/// Whose voice a row has, which decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// What came in.
    Message,
    /// What the agent reports; Markdown.
    Brief,
    /// A report that requires an action of the operator; Markdown.
    Ask,
    /// Something went wrong, or needs a look.
    Alarm,
    /// What the agent does.
    Activity,
    /// What the runtime does.
    Aside,
}

/// What a row shows, or a part of it; nothing in it acts on a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Plain(String),
    Markdown(String),
    /// A line of a call or of its result.
    Detail(DetailLine),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) seq: EventSeq,
    pub(crate) at: Wall,
    pub(crate) kind: String,
    pub(crate) visibility: Visibility,
    pub(crate) voice: Voice,
    pub(crate) parts: Vec<Part>,
    /// Whether the transcript has more of it than the event.
    pub(crate) wants_text: bool,
}

impl Row {
    pub(crate) fn of(event: &Envelope) -> Self {
        let (seq, at, kind) = (event.event_seq, event.ts, event.kind.clone());
        let Ok(record) = event.record() else {
            // A newer runtime has events that this program does not know.
            let (visibility, voice) = (Visibility::Debug, Voice::Aside);
            let parts = vec![Part::Plain(clean(&kind))];
            return Self { seq, at, parts, kind, visibility, voice, wants_text: false };
        };
        let shown = Presentation::of(&record);
        let voice = voice(&shown);
        let part = match (&shown.body, voice) {
            (Some(body), Voice::Message) => Part::Plain(clean(body)),
            (Some(body), Voice::Brief | Voice::Ask) => Part::Markdown(clean(body)),
            (Some(body), _) if shown.category == Category::AssistantProgress => Part::Markdown(clean(body)),
            (_, _) => Part::Plain(clean(&shown.shown())),
        };
        let wants_text = wants_text(&record.event);
        Self { seq, at, kind, visibility: shown.visibility, voice, parts: vec![part], wants_text }
    }

    pub(crate) fn is_shown(&self, level: Level) -> bool {
        level.shows(self.visibility)
    }
}

fn voice(shown: &Presentation) -> Voice {
    match shown.category {
        Category::OperatorNotification => Voice::Alarm,
        Category::Brief if shown.visibility == Visibility::ActionRequired => Voice::Ask,
        Category::Brief if shown.body.is_some() => Voice::Brief,
        Category::Message if shown.body.is_some() => Voice::Message,
        Category::AssistantProgress | Category::Tool | Category::Task | Category::Waiting => Voice::Activity,
        Category::Brief
        | Category::Message
        | Category::Runtime
        | Category::Workspace
        | Category::StateSync
        | Category::Trace => Voice::Aside,
    }
}

fn wants_text(event: &Event) -> bool {
    if let Event::Brief(BriefFact::BriefCreated(fact)) = event {
        return fact.text.content().is_some();
    }
    if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = event {
        return fact.message.body.text.content().is_some();
    }
    let steps = |fact: &TurnFact| match fact {
        TurnFact::AssistantRoundRecorded(fact) => !fact.verdicts.is_empty(),
        TurnFact::ToolExecuted(_) | TurnFact::ToolExecutionFailed(_) => true,
        TurnFact::TurnStarted(_)
        | TurnFact::TurnContextBuilt(_)
        | TurnFact::ToolsCatalogued(_)
        | TurnFact::ProviderAttemptRecorded(_)
        | TurnFact::ProviderRoundCompleted(_)
        | TurnFact::ProvidersAwaited(_)
        | TurnFact::ToolStarted(_)
        | TurnFact::ReminderInjected(_)
        | TurnFact::ContextCompacted(_)
        | TurnFact::RuntimeError(_)
        | TurnFact::BudgetReserved(_)
        | TurnFact::BudgetSettled(_)
        | TurnFact::BudgetExhausted(_)
        | TurnFact::TurnTerminal(_) => false,
    };
    matches!(event, Event::Turn(fact) if steps(fact))
}
