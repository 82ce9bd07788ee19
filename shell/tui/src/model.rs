//! Everything that the screen is made of.

use holon_facts::ids::{BriefId, TaskId};
use holon_facts::{AgentId, EventSeq, Millis, Wall};
use holon_present::Level;

use crate::composer::Composer;
use crate::conversation::Conversation;
use crate::message::{Prompt, Status};
use crate::overlay::Overlay;

/// What the console is doing about its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nothing was loaded yet.
    Loading,
    /// No runtime answers; it is tried again.
    Missing(String),
    Connected,
    /// The stream broke; it is resumed behind the last event.
    Lost,
}

/// Whom the composer's text goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recipient {
    Agent,
    Ask(AgentId, BriefId),
    Task(TaskId),
}

/// Requests of which one is under way at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flight {
    pub(crate) status: bool,
    /// Something happened since it was asked.
    pub(crate) status_again: bool,
    pub(crate) texts: bool,
    pub(crate) older: bool,
    /// Older rows could not be read: they are asked for again when the operator scrolls, or the stream stands again.
    pub(crate) older_failed: bool,
}

/// What the conversation ends with on the screen, while the operator reads older rows: a row, and how many of its lines
/// are below the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) seq: EventSeq,
    pub(crate) below: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) agent: AgentId,
    pub(crate) level: Level,
    pub(crate) look: Look,
    pub(crate) link: Link,
    pub(crate) status: Status,
    pub(crate) conversation: Conversation,
    /// None follows the newest row.
    pub(crate) anchor: Option<Anchor>,
    /// What the model says at this moment; not durable.
    pub(crate) live: Option<String>,
    /// The last lines of the command in the foreground; not durable, and empty without one.
    pub(crate) printed: String,
    pub(crate) composer: Composer,
    pub(crate) recipient: Recipient,
    /// Prompts without an answer of the runtime yet.
    pub(crate) sending: Vec<Prompt>,
    /// The topmost one last.
    pub(crate) overlays: Vec<Overlay>,
    /// What came of the last command, until the next key.
    pub(crate) notice: Option<String>,
    pub(crate) flight: Flight,
    pub(crate) session: Session,
}

/// How it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) colour: bool,
    /// Finished rows go to the scrollback, and only what is below them is drawn.
    pub(crate) inline: bool,
    pub(crate) now: Wall,
}

/// The console itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    /// What its idempotency keys begin with.
    pub(crate) name: String,
    pub(crate) sent: u64,
    /// The number of the follower whose events are taken.
    pub(crate) follower: u64,
    /// Whose conversation is on the screen, until that of another one is loaded.
    pub(crate) before: Option<AgentId>,
    /// Outputs that were followed.
    pub(crate) followed: u64,
    /// When Ctrl-C was pressed last.
    pub(crate) interrupted: Option<Millis>,
    pub(crate) leaving: bool,
    /// It leaves when no prompt waits any more.
    pub(crate) leaves_when_sent: bool,
    /// What was written when the composer began to write to a task.
    pub(crate) draft: String,
    /// Whether it can start the runtime.
    pub(crate) can_start: bool,
}

impl Model {
    pub(crate) fn new(agent: AgentId, level: Level, look: Look, name: String, can_start: bool) -> Self {
        Self {
            agent,
            level,
            look,
            link: Link::Loading,
            status: Status::default(),
            conversation: Conversation::default(),
            anchor: None,
            live: None,
            printed: String::new(),
            composer: Composer::default(),
            recipient: Recipient::Agent,
            sending: Vec::new(),
            overlays: Vec::new(),
            notice: None,
            flight: Flight::default(),
            session: Session {
                name,
                sent: 0,
                follower: 0,
                before: None,
                followed: 0,
                interrupted: None,
                leaving: false,
                leaves_when_sent: false,
                draft: String::new(),
                can_start,
            },
        }
    }

    /// Whom a prompt that comes back to the composer would go to from there.
    pub(crate) fn recipient_of(&self, prompt: &Prompt) -> Option<Recipient> {
        match prompt.answers {
            Some(brief) => Some(Recipient::Ask(prompt.agent.clone(), brief)),
            None => Some(Recipient::Agent).filter(|_| prompt.agent == self.agent),
        }
    }

    /// The prompt that Up takes back: the newest one that could not be taken, or waits behind such a one.
    pub(crate) fn taken_back(&self) -> Option<(usize, Recipient)> {
        let failed =
            |agent: &AgentId| self.sending.iter().any(|prompt| prompt.agent == *agent && prompt.deferred > 0);
        self.sending.iter().enumerate().rev().find_map(|(at, prompt)| {
            let recipient = self.recipient_of(prompt).filter(|_| failed(&prompt.agent))?;
            Some((at, recipient))
        })
    }

    /// How the operator gets back to what was taken out of the composer.
    pub(crate) fn calls_back(&self) -> &'static str {
        if self.overlays.is_empty() { "Up calls it back" } else { "Esc, then Up calls it back" }
    }

    /// Which task is followed, as the number of its request.
    pub(crate) fn followed(&self) -> Option<u64> {
        self.overlays.iter().find_map(|overlay| Some(overlay.output.as_ref()?.serial))
    }

    /// Whether something on the screen grows older by the second.
    pub(crate) fn ticks(&self) -> bool {
        self.status.run.is_some() && self.link == Link::Connected
    }
}
