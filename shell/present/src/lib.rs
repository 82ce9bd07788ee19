//! What durable events mean to operators: one [`Presentation`] for each kind, from which every surface that shows
//! what happens takes its words (contract: surface.md, Events). The matches name every fact, so that a new one can't
//! be forgotten. Surfaces decide what they show by [`Level`], and how by [`Category`]; neither says how bad
//! something is or where it is to be delivered. The facts themselves are read as events.

mod brief;
mod call;
mod category;
mod detail;
mod episode;
mod harmless;
mod inbox;
mod level;
mod lifecycle;
mod line;
pub mod markdown;
mod operation;
mod outbox;
mod scheduling;
mod skill;
mod task;
mod terminal;
#[cfg(test)]
mod tests;
mod timer;
mod turn;
mod wait;
mod wake;
mod work;
mod workspace;

use holon_facts::Record;
use holon_facts::event::Event;
use holon_text::moment;
use serde::Serialize;

pub use call::call;
pub use category::Category;
pub use detail::{DetailLine, Extent, Look, call_lines, diff, error_line, message_lines, result_lines};
pub use episode::in_mind;
pub use harmless::{harmless, within};
pub use level::{Level, Visibility};
pub use line::{files, one_line, one_line_from_end, whole_line};
pub use task::bytes;
pub use terminal::{last_lines, terminal_line};

/// A durable event for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Presentation {
    pub visibility: Visibility,
    pub category: Category,
    /// A short label: what it is about, or who says it.
    pub title: String,
    /// What was said, where that may have more than one line: as much of it as the record itself holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Everything in one line of at most about 100 characters; makes sense without the title.
    pub summary: String,
    pub source_event_kind: &'static str,
}

impl Presentation {
    pub fn of(record: &Record) -> Self {
        Self::of_event(&record.event)
    }

    fn of_event(event: &Event) -> Self {
        let told = match event {
            Event::Lifecycle(fact) => lifecycle::render(fact),
            Event::Inbox(fact) => inbox::render(fact),
            Event::Scheduling(fact) => scheduling::render(fact),
            Event::Turn(fact) => turn::render(fact),
            Event::Operation(fact) => operation::render(fact),
            Event::Task(fact) => task::render(fact),
            Event::Timer(fact) => timer::render(fact),
            Event::Work(fact) => work::render(fact),
            Event::Wait(fact) => wait::render(fact),
            Event::Wake(fact) => wake::render(fact),
            Event::Outbox(fact) => outbox::render(fact),
            Event::Workspace(fact) => workspace::render(fact),
            Event::Brief(fact) => brief::render(fact),
            Event::Episode(fact) => episode::render(fact),
            Event::Skill(fact) => skill::render(fact),
        };
        let Rendered { visibility, category, title, body, summary } = told;
        Self { visibility, category, title, body, summary, source_event_kind: event.kind() }
    }

    /// The same for people at a terminal: moments that the runtime names are local. What others have said stays as it is.
    pub fn shown(&self) -> String {
        match self.category {
            Category::Brief | Category::Message | Category::AssistantProgress | Category::Tool => self.text(),
            Category::OperatorNotification
            | Category::Waiting
            | Category::Runtime
            | Category::Task
            | Category::Workspace
            | Category::StateSync
            | Category::Trace => moment::localized(&self.text()),
        }
    }

    /// For surfaces that are made of lines: the body as a whole where there is one, otherwise the summary.
    pub fn text(&self) -> String {
        let mark = self.category.mark();
        match &self.body {
            // Who speaks is plain among the calls and outcomes around it.
            Some(body) if self.category == Category::AssistantProgress => format!("{mark}{body}"),
            Some(body) => format!("{mark}{}: {body}", self.title),
            None => format!("{mark}{}", self.summary),
        }
    }
}

/// One fact as its family renders it.
struct Rendered {
    visibility: Visibility,
    category: Category,
    title: String,
    body: Option<String>,
    summary: String,
}

impl Rendered {
    fn new(visibility: Visibility, category: Category, title: &str, summary: &str) -> Self {
        Self { visibility, category, title: one_line(title), body: None, summary: one_line(summary) }
    }

    /// What somebody said.
    fn said(visibility: Visibility, category: Category, who: &str, text: &str) -> Self {
        let told = Self::new(visibility, category, who, &format!("{who}: {text}"));
        Self { body: Some(text.to_owned()), ..told }
    }
}
