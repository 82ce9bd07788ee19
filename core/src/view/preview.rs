//! The request of a turn that has not begun.

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::fence::Fence;
use holon_facts::frame::{Part, PromptFrame};
use holon_facts::ids::AgentId;
use holon_facts::message::{Ingress, Message};
use holon_facts::model::Item;
use holon_facts::outcome::LoadedContext;
use holon_facts::reject::Reject;

use super::View;
use crate::agent::episode::{Beginning, Standing};
use crate::agent::model;
use crate::agent::turn::told::Told;
use crate::agent::turn::window::Window;
use crate::prompt::{changes, conversation, incoming, sections, sections::PromptFacts};

/// What a model would be told if a prompt came now.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptPreview {
    pub frame: PromptFrame,
    /// What was said before, in the same episode.
    pub conversation: Vec<Item>,
    /// The prompt itself.
    pub input: Vec<Part>,
    pub tools: Arc<[ToolName]>,
}

impl View<'_> {
    /// The first request of the turn that a prompt of the operator would begin, were it the next message.
    ///
    /// # Errors
    /// What the prompt would be refused for, beyond what the agent is up to.
    pub fn preview(
        &self,
        id: &AgentId,
        context: &LoadedContext,
        ingress: Ingress,
    ) -> Result<PromptPreview, Reject> {
        let agent = self.host.agent(id).ok_or_else(|| Reject::UnknownAgent { agent: id.clone() })?;
        let config = self.host.config();
        let message = Message::admit(agent.next.message, self.host.facts().now, ingress)?;
        let models = model::chain(agent, config);
        let window = Window::of_chain(config, &models);
        let tools: Arc<[ToolName]> =
            window.tools(&agent.spec, config.children.depth).map(ToolName::from).collect();
        let beginning = Beginning::new(agent, (config, self.host.facts().now), &models, &tools, true);
        let standing = Standing::of(agent, context);
        let episodes = agent.episodes.preview(agent, &beginning, standing.clone());
        let told = Told::with((&agent.work, &agent.waits), &agent.tasks, &agent.hints, message.id);
        let head = &episodes.head;
        let standing = head.standing.as_deref().unwrap_or(&standing);
        let mut input = changes::parts(&episodes.changes, Fence::PREVIEW, message.id);
        input.extend(incoming::current_input(&message, &told, Fence::PREVIEW));
        Ok(PromptPreview {
            frame: sections::frame(&PromptFacts { agent, head, standing, window: window.input }),
            conversation: conversation::earlier(&episodes.turns, window.recap()),
            input,
            tools,
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use holon_facts::outcome::Outcome;
    use holon_facts::time::Millis;

    use crate::testing::{World, agent, context, prompt, says};

    /// Without tags: no fence carries one that any turn will have.
    fn untagged(text: &str) -> String {
        let mut pieces = text.split("tag: ");
        let first = pieces.next().unwrap_or_default();
        pieces.fold(first.into(), |all, piece| all + &piece[16..])
    }

    #[test]
    fn it_is_what_the_next_turn_asks_and_changes_nothing() {
        let mut world = World::with_agent("main");
        let main = agent("main");
        for rests in [Millis(0), Millis::minutes(1), Millis::hours(2)] {
            world.pass(rests);
            let Outcome::Context { context: read } = context() else { panic!("a context") };
            let before = world.host.view().agent(&main).cloned();
            let preview = world.host.view().preview(&main, &read, prompt("now")).unwrap();
            assert_eq!(world.host.view().agent(&main).cloned(), before);
            world.admit("main", prompt("now"));
            world.complete("main", context());
            let request = world.requests.last().unwrap();
            let (shown, asked) = (format!("{:?}", preview.frame), format!("{:?}", request.frame));
            assert_eq!(untagged(&shown), untagged(&asked));
            let (last, earlier) = request.conversation.split_last().unwrap();
            assert_eq!((&*preview.conversation, &preview.tools), (earlier, &request.tools));
            let input = format!("{:?}", holon_facts::model::Item::User { parts: preview.input });
            assert_eq!(input, format!("{last:?}"));
            world.complete("main", says("done"));
        }
    }
}
