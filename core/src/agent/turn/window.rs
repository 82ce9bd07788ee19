//! The part of a model's window that each part of a request may take (contract: context.md, Conversation and episodes).

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::config::Config;
use holon_facts::identity::AgentSpec;
use holon_facts::model_ref::ModelRef;
use holon_facts::request::{Ratio, RequestSize};
use holon_facts::tool::ServerTools;

use crate::agent::episode::Head;
use crate::tool::{Exposure, Tool};

/// Rounds at the end that are always shown whole.
pub(crate) const TAIL: usize = 2;

/// Estimated tokens of a request below which no agent is offered to begin others, to work elsewhere, or what it can do
/// without: the smallest windows have work enough with one thing.
const ROOM_FOR_ALL: u64 = 9_000;

/// Most tools of other programs that requests have by their names, and the part of a request that these may take.
const MOST_OF_SERVERS: usize = 24;
const OF_SERVERS: u64 = 10;

/// Estimated tokens that a request may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Window {
    /// Digests of earlier episodes may take one in so many of its tokens.
    pub(crate) const DIGESTS: u64 = 10;

    /// What fits one model: 95 % of its window, an answer included.
    pub(crate) fn of(config: &Config, model: &ModelRef) -> Self {
        let tokens = config.context.window(model);
        let most = config.context.output(model).unwrap_or(u64::MAX);
        let output = config.turn.max_output_tokens.min(most).min(tokens / 4).max(1);
        Self { input: (tokens / 100).saturating_mul(95).saturating_sub(output), output }
    }

    /// The same in estimated tokens, for a model whose provider counts so much more.
    pub(crate) fn estimated(self, ratio: Ratio) -> Self {
        let estimated = |tokens| RequestSize::MARGIN.divides(ratio.divides(tokens));
        Self { input: estimated(self.input), output: self.output }
    }

    /// What fits every model of the chain, so that a fallback changes nothing of what was said.
    pub(crate) fn of_chain(config: &Config, models: &[ModelRef]) -> Self {
        let all = models.iter().map(|model| Self::of(config, model));
        all.min_by_key(|window| window.input).unwrap_or(Self { input: 0, output: 1 })
    }

    /// What requests of an episode are rendered for: what it began with, whatever fits by now, so that nothing of what was
    /// shown changes.
    pub(crate) fn of_episode(config: &Config, models: &[ModelRef], head: &Head) -> Self {
        let now = Self::of_chain(config, models);
        Self { input: head.input_limit.unwrap_or(now.input), ..now }
    }

    /// The tools of a request: a temporary run is offered what is of use before its only task is done; an agent begins
    /// others where it may; that, and what smaller models do without, is offered where there is room.
    pub(crate) fn tools(
        self,
        (spec, models): (&AgentSpec, &[ModelRef]),
        config: &Config,
    ) -> impl Iterator<Item = Tool> + Clone + use<> {
        let (lasts, room, parent) =
            (!spec.is_temporary(), self.input >= ROOM_FOR_ALL, spec.depth < config.children.depth);
        let images = models.first().is_some_and(|model| config.takes_images(model));
        let offered = move |tool: &Tool| match tool.exposure() {
            Exposure::Always => true,
            Exposure::WithImages => images,
            Exposure::Lasting => lasts,
            Exposure::LastingWithRoom => lasts && room,
            Exposure::LastingWithRoomToParents => lasts && room && parent,
            Exposure::WithManyOfServers => false,
        };
        Tool::ALL.iter().copied().filter(offered)
    }

    /// Whether requests have no tools of other programs by their names: there are many of them, or they take much.
    fn finds(self, servers: &ServerTools) -> bool {
        let tokens: u64 = servers.tools.iter().map(|tool| tool.est_tokens).fold(0, u64::saturating_add);
        servers.tools.len() > MOST_OF_SERVERS || tokens > self.input / OF_SERVERS
    }

    /// The same with tools of other programs behind them. Where that would be too many, what finds and calls them stands there
    /// instead, so that what requests offer does not change with what was found. Mostly they are what they were before.
    pub(crate) fn offers(
        self,
        whose: (&AgentSpec, &[ModelRef]),
        config: &Config,
        servers: Option<&ServerTools>,
        before: &Arc<[ToolName]>,
    ) -> Arc<[ToolName]> {
        let finds = servers.is_some_and(|servers| self.finds(servers));
        let finders = finds.then_some([Tool::ToolSearch, Tool::ToolCall]).into_iter().flatten();
        let names = servers.filter(|_| !finds).into_iter().flat_map(|servers| &servers.tools);
        let own = self.tools(whose, config).chain(finders);
        let listed = names.clone().map(|tool| tool.name.as_str());
        let all = own.clone().map(|tool| -> &str { tool.name() }).chain(listed);
        if all.eq(before.iter().map(ToolName::as_str)) {
            return before.clone();
        }
        let mut offered = Vec::with_capacity(Tool::ALL.len() + names.clone().count());
        offered.extend(own.map(ToolName::from).chain(names.map(|tool| tool.name.clone())));
        offered.into()
    }

    /// What results that come together may take.
    pub(crate) fn recent(self) -> u64 {
        self.input / 4
    }

    /// What the recap itself may take.
    pub(crate) fn recap(self) -> u64 {
        self.input / 8
    }

    /// What all results of one round may take together beside a fixed part of so many tokens, so that the
    /// rounds that are shown whole fit: a fifth is left to what the model says and asks for itself.
    pub(crate) fn results(self, fixed: u64) -> u64 {
        self.input.saturating_sub(fixed).saturating_sub(self.recap()) / TAIL as u64 / 5 * 4
    }
}
