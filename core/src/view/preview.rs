//! The request of a turn that has not begun.

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::fence::Fence;
use holon_facts::ids::AgentId;
use holon_facts::message::{Ingress, Message};
use holon_facts::model::{Item, ModelRequest};
use holon_facts::outcome::LoadedContext;
use holon_facts::reject::Reject;
use holon_facts::time::Wall;

use super::View;
use super::past::{self, Behind, Rendered};
use crate::agent::episode::{Beginning, Standing};
use crate::agent::model;
use crate::agent::turn::notice::Notice;
use crate::agent::turn::window::Window;
use crate::handler::turn::request;
use crate::prompt::{changes, conversation, incoming, sections, sections::PromptFacts};
use crate::tool;

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
    ) -> Result<Rendered, Reject> {
        self.preview_under((self.host.config(), self.host.facts().now), id, context, ingress)
    }

    /// The same under another configuration, and at a time that may be later than that of the newest step.
    ///
    /// # Errors
    /// Likewise.
    pub fn preview_under(
        &self,
        (config, now): (&Config, Wall),
        id: &AgentId,
        context: &LoadedContext,
        ingress: Ingress,
    ) -> Result<Rendered, Reject> {
        let agent = self.host.agent(id).ok_or_else(|| Reject::UnknownAgent { agent: id.clone() })?;
        let message = Message::admit(agent.next.message, now, ingress)?;
        let models = model::chain(agent, config);
        let window = Window::of_chain(config, &models);
        let servers = agent.servers.newest().cloned();
        let tools = window.offers((&agent.spec, &models), config, servers.as_deref(), &agent.tools_offered);
        let beginning = Beginning::new(agent, (config, now), &models, &tools, true);
        let closes = agent.episodes.boundary(&beginning);
        let goes_on = agent.episodes.open.is_some() && closes.is_none();
        let standing = Standing::read(agent, context);
        let episodes = agent.episodes.preview(agent, &beginning, standing.clone());
        let notice = Notice::with((&agent.work, &agent.waits), &agent.tasks, &agent.hints, message.id);
        let head = &episodes.head;
        let shown_for = Window::of_episode(config, &models, head);
        let standing = head.standing.as_deref().unwrap_or(&standing);
        let mut input = changes::parts(&episodes.changes, Fence::PREVIEW, message.id);
        input.extend(incoming::current_input(&message, &notice, Fence::PREVIEW));
        let mut conversation = conversation::earlier(&episodes.turns, shown_for.recap());
        let earlier = conversation.len();
        conversation.push(Item::User { parts: input });
        let found = tool::found(&tools, servers.as_deref());
        let facts = PromptFacts { agent, head, standing, found, window: shown_for.input };
        let request = ModelRequest {
            agent: agent.id.clone(),
            // A configuration has one model at least.
            model: models.into_iter().next().ok_or_else(|| Reject::UnknownAgent { agent: id.clone() })?,
            frame: Arc::new(sections::frame(&facts)),
            conversation: conversation.into(),
            rounds: 0,
            tools,
            server_tools: servers,
            max_output_tokens: window.output,
            timeout: config.turn.model_timeout,
            continues: Vec::new(),
            goes_on_from: None,
            sums_up: false,
        };
        let closed = agent.episodes.count.saturating_sub(u64::from(goes_on));
        let behind = Behind { closed, kept: head.digests.len(), turns: &episodes.turns, hidden: 0 };
        let (omitted, room) = (behind.omitted(&request), past::room(agent, &request, config));
        let record = request::on_record(agent, config, (room.est_tokens, &request));
        Ok(Rendered { request, earlier, closes, omitted, room, record })
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use holon_facts::outcome::Outcome;
    use holon_facts::time::Millis;

    use crate::input::Input;
    use crate::testing::{World, agent, answers, context, prompt};

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
        // More episodes than a request has digests.
        for _ in 0..10 {
            world.admit("main", prompt("before"));
            world.complete("main", context());
            world.complete("main", answers("done"));
            world.ask(|reply| Input::Compact { agent: agent("main"), reply });
        }
        for rests in [Millis(0), Millis::minutes(1), Millis::hours(2)] {
            let Outcome::Context { context: read } = context() else { panic!("a context") };
            let before = world.host.view().agent(&main).cloned();
            let (view, at) = (world.host.view(), world.now.wall.after(rests));
            let preview = view.preview_under((view.config(), at), &main, &read, prompt("now")).unwrap();
            assert_eq!(world.host.view().agent(&main).cloned(), before);
            world.pass(rests);
            world.admit("main", prompt("now"));
            world.complete("main", context());
            let request = world.requests.last().unwrap();
            let (shown, asked) = (&preview.request, request);
            let frames = (format!("{:?}", shown.frame), format!("{:?}", asked.frame));
            assert_eq!(untagged(&frames.0), untagged(&frames.1));
            let (input, earlier) = shown.conversation.split_last().unwrap();
            let (last, before) = asked.conversation.split_last().unwrap();
            assert_eq!((earlier, &shown.tools, earlier.len()), (before, &asked.tools, preview.earlier));
            assert_eq!(format!("{input:?}"), format!("{last:?}"));
            assert_eq!((&shown.model, shown.max_output_tokens), (&asked.model, asked.max_output_tokens));
            assert_eq!(preview.room.est_tokens, crate::prompt::est_tokens(asked));
            world.complete("main", answers("done"));
        }
    }
}
