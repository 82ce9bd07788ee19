//! Requests of the past, rendered again from the state that their records fold to; and how one would be with another
//! window.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::budget::Budgets;
use holon_facts::config::Config;
use holon_facts::episode::EpisodeBoundary;
use holon_facts::event::{EpisodeFact, Event};
use holon_facts::frame::Part;
use holon_facts::ids::Seed;
use holon_facts::model::{Block, Item, ModelRequest};
use holon_facts::request::RequestRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::budget::Others;
use crate::agent::episode::Turn;
use crate::agent::turn::window::Window;
use crate::effect::{Effect, Work};
use crate::grants::Grants;
use crate::handler::episode;
use crate::handler::turn::request;
use crate::names::Names;
use crate::occupancy::Occupied;
use crate::prompt::extended::Extended;
use crate::prompt::{self, conversation};
use crate::scheduler::HostFacts;
use crate::tool::{Exposure, Tool};
use crate::tx::{Alarms, Batch, Env, Tx, Waiting};

/// Why an episode has no digest.
const OLDER: &str = "digests stand for the newest 8 episodes and for those of the item in focus; an episode without a turn has none";
/// Why rounds are not shown.
const RECAP: &str = "they did not fit the window: a recap stands for them";
/// Why there is no request in a small window.
const UNFIT: &str = "the request can't be made short enough for that window: the turn would end";

/// A request, and what is known of it beside what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    pub request: ModelRequest,
    /// Elements of the conversation before the turn's own input.
    pub earlier: usize,
    /// Why the episode closes before it, where it does.
    pub closes: Option<EpisodeBoundary>,
    pub omitted: Vec<Omission>,
    pub room: Room,
    /// What is on record of it where it is sent.
    pub record: RequestRecord,
}

/// What a request may take of the window, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Room {
    /// The window of the model, question and answer together.
    pub window: u64,
    /// What a request may take of it.
    pub input_limit: u64,
    /// What an answer may take of it.
    pub max_output: u64,
    /// What the request takes, its tools included.
    pub est_tokens: u64,
}

/// Something that a request does not show, or not in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Omission {
    /// The part of the request that it is missing from.
    pub label: String,
    pub what: String,
    pub reason: String,
}

/// The request that is sent next, from the state right before the operation that sends it is opened: in a run that is about
/// to ask a model. None elsewhere.
pub fn request(agent: &Agent, config: &Config) -> Option<ModelRequest> {
    request::of(agent, config)
}

/// The request for a summary of the episode that is about to close in the middle of a turn.
pub fn summary(agent: &Agent, config: &Config) -> Option<ModelRequest> {
    episode::to_sum_up(agent, config)
}

/// The same, with what is known of it.
pub fn rendered(agent: &Agent, config: &Config) -> Option<Rendered> {
    of(agent, config, request(agent, config)?)
}

/// The request for a summary, with what is known of it.
pub fn rendered_summary(agent: &Agent, config: &Config) -> Option<Rendered> {
    of(agent, config, summary(agent, config)?)
}

fn of(agent: &Agent, config: &Config, request: ModelRequest) -> Option<Rendered> {
    let room = room(agent, &request, config);
    let record = request::on_record(agent, config, (room.est_tokens, &request));
    let recap = request::shown_for(agent, config)?.recap();
    let earlier = conversation::earlier(agent.episodes.turns(), recap).len();
    let omitted = omitted(agent, &request);
    Some(Rendered { request, earlier, closes: None, omitted, room, record })
}

/// The same request under another configuration, with the tools that it would have offered: where it would take too much, the episode closes first, as it would have.
///
/// # Errors
/// Why there would have been no request.
pub fn rendered_under(agent: &Agent, config: &Config) -> Result<Rendered, String> {
    let (mut agent, mut batch) = (agent.clone(), Batch::default());
    let spec = agent.spec.clone();
    if let Some(run) = &mut agent.run {
        let window = Window::of_chain(config, &run.chain.models);
        let servers = agent.servers.offered.as_deref();
        run.environment.tools =
            window.offers((&spec, &run.chain.models), config, servers, &agent.tools_offered);
        agent.input_limit = Some(window.input);
        if let Some(open) = &mut agent.episodes.open {
            open.head.input_limit = agent.input_limit;
        }
    }
    let host = HostFacts { draining: false, free_slot: true, commands: 0, now: agent.last_at };
    // What it may cost is another question.
    let config = Config { budgets: Budgets::default(), ..config.clone() };
    let (names, occupied) = (Names::default(), Occupied::default());
    let (mut alarms, mut waiting) = (Alarms::default(), Waiting::default());
    let env = Env {
        config: &config,
        names: &names,
        occupied: &occupied,
        seed: Seed(0),
        host,
        others: Others::default(),
        grants: &Grants::default(),
        mono: Default::default(),
        expected: None,
    };
    let mut anew = Extended::default();
    request::request(&mut Tx::new(&mut agent, &mut alarms, &mut waiting, &mut batch, &mut anew, env));
    let sent = batch.effects.into_iter().find_map(|effect| match effect {
        Effect::Perform { work: Work::CallModel { request }, .. } => Some(request),
        Effect::Perform { .. }
        | Effect::Reply { .. }
        | Effect::Cancel { .. }
        | Effect::LoadChild { .. }
        | Effect::ProbePlan { .. }
        | Effect::KeepTree { .. }
        | Effect::Borrow { .. }
        | Effect::ShareTurns { .. }
        | Effect::StopCommand { .. } => None,
    });
    let refused = || String::from(UNFIT);
    let request = sent.ok_or_else(refused)?;
    let recap = request::shown_for(&agent, &config).ok_or_else(refused)?.recap();
    let earlier = conversation::earlier(agent.episodes.turns(), recap).len();
    let (omitted, room) = (omitted(&agent, &request), room(&agent, &request, &config));
    let closes = batch.records.iter().find_map(|record| {
        let Event::Episode(EpisodeFact::EpisodeClosed(fact)) = &record.event else { return None };
        Some(fact.boundary)
    });
    let record = agent.requests.last.as_deref().cloned().ok_or_else(refused)?;
    Ok(Rendered { request, earlier, closes, omitted, room, record })
}

/// What a request takes, and may take.
pub fn room(agent: &Agent, request: &ModelRequest, config: &Config) -> Room {
    let ratio = agent.requests.ratio(&request.model);
    Room {
        window: config.context.window(&request.model),
        input_limit: Window::of(config, &request.model).estimated(ratio).input,
        max_output: request.max_output_tokens,
        est_tokens: prompt::est_tokens(request),
    }
}

/// The configuration with another window for every model.
#[must_use]
pub fn with_window(config: &Config, tokens: u64) -> Config {
    let mut config = config.clone();
    config.context.window_tokens = tokens;
    config.context.windows.iter_mut().for_each(|window| window.tokens = tokens);
    config.context.known.iter_mut().for_each(|known| known.tokens = tokens);
    config.context.of_providers.values_mut().for_each(|window| *window = tokens);
    config
}

/// What a request may leave out of what was before it.
pub(super) struct Behind<'a> {
    /// Episodes that are over.
    pub(super) closed: u64,
    /// Digests of them that are there.
    pub(super) kept: usize,
    /// Turns of the open episode.
    pub(super) turns: &'a [Arc<Turn>],
    /// Rounds of the turn in progress for which a recap stands.
    pub(super) hidden: u32,
}

fn omitted(agent: &Agent, request: &ModelRequest) -> Vec<Omission> {
    let open = agent.episodes.open.as_deref();
    let behind = Behind {
        closed: agent.episodes.count.saturating_sub(u64::from(open.is_some())),
        kept: open.map_or(0, |open| open.head.digests.len()),
        turns: agent.episodes.turns(),
        hidden: agent.run.as_ref().map_or(0, |run| run.conversation.recap.rounds),
    };
    behind.omitted(request)
}

impl Behind<'_> {
    pub(super) fn omitted(&self, request: &ModelRequest) -> Vec<Omission> {
        let mut found = Vec::new();
        let mut add = |count: u64, label: &str, what: String, reason: &str| {
            if count > 0 {
                found.push(Omission { label: label.into(), what, reason: reason.into() });
            }
        };
        let kept = self.kept as u64;
        let (older, unfit) = (self.closed.saturating_sub(kept), kept.saturating_sub(digests(request)));
        add(older, "earlier_episodes", format!("{older} episodes"), OLDER);
        add(
            unfit,
            "earlier_episodes",
            format!("{unfit} digests"),
            "digests take a tenth of the window at most",
        );
        for turn in self.turns {
            let hidden = turn.conversation.recap.rounds;
            add(hidden.into(), "conversation", format!("{hidden} rounds of turn {}", turn.index), RECAP);
        }
        let hidden = self.hidden;
        add(hidden.into(), "this_turn", format!("the first {hidden} rounds of this turn"), RECAP);
        let (texts, bytes) = excerpts(request);
        let reason = "recaps, digests and results of tasks show the beginning and the end";
        add(texts, "excerpts", format!("{bytes} bytes of {texts} long texts"), reason);
        let thoughts = others_thoughts(request);
        let reason = "another model had them, and it alone can read them";
        add(thoughts, "conversation", format!("{thoughts} thoughts"), reason);
        let expected = Tool::ALL.iter().filter(|tool| tool.exposure() != Exposure::WithManyOfServers);
        let absent = expected.map(|tool| tool.name()).filter(|name| !offered(request, name));
        let absent: Vec<&str> = absent.collect();
        let reason = "the window is small, the run is temporary, the model reads no images, or the agent may begin no others";
        add(absent.len() as u64, "tools", absent.join(", "), reason);
        found
    }
}

fn offered(request: &ModelRequest, name: &str) -> bool {
    request.tools.iter().any(|tool| tool.as_str() == name)
}

/// Digests of earlier episodes that are shown.
fn digests(request: &ModelRequest) -> u64 {
    let blocks = request.frame.turn().filter(|block| block.label == "earlier_episodes");
    blocks.flat_map(|block| &block.parts).filter(|part| matches!(part, Part::Quoted { .. })).count() as u64
}

/// Texts of which only the beginning and the end are shown, and the bytes that are not.
fn excerpts(request: &ModelRequest) -> (u64, u64) {
    fn one(part: &Part, sum: &mut (u64, u64)) {
        match part {
            Part::Rendered(_) | Part::Given(_) | Part::Image(_) => {}
            Part::Excerpt { text, chars } => {
                let hidden = text.bytes().saturating_sub(u64::from(*chars));
                *sum = (sum.0 + u64::from(hidden > 0), sum.1 + hidden);
            }
            Part::Quoted { parts, .. } => parts.iter().for_each(|part| one(part, sum)),
        }
    }
    let mut sum = (0, 0);
    let frame = request.frame.system().chain(request.frame.turn()).flat_map(|block| &block.parts);
    let parts = request.conversation.iter().flat_map(|item| match item {
        Item::User { parts } => parts.as_slice(),
        Item::Assistant { .. } | Item::ToolResults { .. } => &[],
    });
    frame.chain(parts).for_each(|part| one(part, &mut sum));
    sum
}

fn others_thoughts(request: &ModelRequest) -> u64 {
    let blocks = request.conversation.iter().flat_map(|item| match item {
        Item::Assistant { blocks } => &blocks[..],
        Item::User { .. } | Item::ToolResults { .. } => &[],
    });
    let other = |block: &&Block| matches!(block, Block::Reasoning { model, .. } if *model != request.model);
    blocks.filter(other).count() as u64
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use holon_facts::event::OperationFact;
    use holon_facts::event::operation::OpKind;

    use super::*;
    use crate::testing::{World, answers, calls, config, context, long, prompt, tool_gives};

    /// The state right before the last request, and that request.
    fn last(world: &World) -> (Agent, ModelRequest) {
        let opened = |event: &Event| matches!(event, Event::Operation(OperationFact::OperationOpened(fact)) if fact.kind == OpKind::CallModel);
        let at = world.log.iter().rposition(|record| opened(&record.event)).unwrap();
        let mut agent = Agent::created(&world.log[0]).unwrap();
        world.log[1..at].iter().for_each(|record| agent.fold(record).unwrap());
        (agent, world.requests.last().unwrap().clone())
    }

    fn rounds(world: &mut World, count: u64) {
        world.admit("main", prompt("go"));
        world.complete("main", context());
        for round in 0..count {
            let id = format!("c{round}");
            world.complete("main", calls(&[(&id, "ApplyPatch", r#"{"patch":"x"}"#)]));
            world.complete("main", tool_gives(long(round, 1_500)));
        }
    }

    #[test]
    fn a_past_request_is_rendered_as_it_was_sent() {
        let config = || Config { images: config().models, ..config() };
        let mut world = World::with_config("main", config());
        rounds(&mut world, 4);
        let (agent, sent) = last(&world);
        let again = rendered(&agent, &config()).unwrap();
        assert_eq!((&again.request, again.earlier), (&sent, 0));
        assert_eq!(again.omitted, []);
        assert_eq!(rendered_under(&agent, &config()).as_ref(), Ok(&again));
        world.complete("main", answers("done"));
        rounds(&mut world, 0);
        let (agent, sent) = last(&world);
        let again = rendered(&agent, &config()).unwrap();
        assert_eq!((&again.request, again.earlier), (&sent, sent.conversation.len() - 1));
        assert!(request(world.agent("main"), &config()).is_none_or(|next| next == sent));
    }

    #[test]
    fn another_window_shows_what_would_have_been_left_out() {
        let mut world = World::with_agent("main");
        rounds(&mut world, 8);
        let (agent, sent) = last(&world);
        let small = rendered_under(&agent, &with_window(&config(), 17_000)).unwrap();
        assert!(
            small.room.est_tokens < prompt::est_tokens(&sent) && small.room.window == 17_000,
            "{:?}",
            small.room
        );
        let labels: Vec<&str> = small.omitted.iter().map(|omission| omission.label.as_str()).collect();
        assert!(labels.contains(&"this_turn") && labels.contains(&"excerpts"), "{:?}", small.omitted);
        assert_eq!(small.closes, Some(EpisodeBoundary::Size));
        let refused = rendered_under(&agent, &with_window(&config(), 2_000)).unwrap_err();
        assert!(refused.contains("that window"), "{refused}");
        assert_eq!(world.agent("main").id.to_string(), "main");
    }
}
