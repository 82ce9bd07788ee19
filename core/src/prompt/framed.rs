//! What stood before the conversation of the last request, which is the same in the whole episode: it is kept as long as
//! nothing that it follows from has changed.

use alloc::boxed::Box;
use alloc::sync::Arc;

use holon_facts::frame::PromptFrame;
use holon_facts::tool::ServerTools;

use super::sections::{self, PromptFacts};
use crate::agent::episode::Head;

/// Nothing before the first request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Framed(Option<Box<Known>>);

#[derive(Debug, Clone)]
struct Known {
    /// With what stands. Who the agent is never changes.
    head: Head,
    found: Option<Arc<ServerTools>>,
    window: u64,
    frame: Arc<PromptFrame>,
    tokens: u64,
}

impl Framed {
    /// What stands before the next one.
    pub(crate) fn next(&mut self, facts: &PromptFacts<'_>) -> Arc<PromptFrame> {
        let known = self.0.take().filter(|known| known.follows_from(facts));
        let known = known.unwrap_or_else(|| Box::new(Known::of(facts)));
        self.0.insert(known).frame.clone()
    }

    /// What that takes, estimated.
    pub(crate) fn tokens(&self) -> u64 {
        self.0.as_ref().map_or(0, |known| known.tokens)
    }
}

impl Known {
    fn of(facts: &PromptFacts<'_>) -> Self {
        let (frame, head, window) = (sections::frame(facts), facts.head.clone(), facts.window);
        Self {
            head,
            found: found(facts).cloned(),
            window,
            tokens: frame.est_tokens(),
            frame: Arc::new(frame),
        }
    }

    fn follows_from(&self, facts: &PromptFacts<'_>) -> bool {
        self.window == facts.window && self.head == *facts.head && self.found.as_ref() == found(facts)
    }
}

fn found<'a>(facts: &PromptFacts<'a>) -> Option<&'a Arc<ServerTools>> {
    facts.found.and(facts.agent.servers.offered.as_ref())
}
