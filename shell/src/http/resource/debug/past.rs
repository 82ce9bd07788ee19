//! A request as it was sent: the agent as it stood right before, rendered by this build from the texts that are stored.

use holon_api::{Code, DebugPrompt, DebugPromptReply, PastRequest, PromptSection, RequestName, Source};
use holon_core::agent::Agent;
use holon_core::view::past::{self, Rendered};
use holon_facts::AgentId;
use holon_facts::config::Config;
use holon_facts::request::RequestRecord;
use holon_facts::workspace::ExecutionBinding;
use holon_ledger::read::{PastRuntime, PastState};
use holon_platform::build;

use super::super::super::App;
use super::super::super::failure::Failure;
use super::super::super::route::Handled;
use super::diff::{Side, diff};
use super::sections::{self, PastTexts};
use super::sent::{self, Sent};

pub(super) fn prompt(app: &App, agent: AgentId, asked: &DebugPrompt) -> Handled<DebugPromptReply> {
    app.last_event(&agent)?;
    let sent = match (asked.request, asked.turn) {
        (Some(op), _) => sent::of_operation(app, &agent, op)?,
        (None, turn) => sent::of_turn(app, &agent, (turn.unwrap_or_default(), asked.round))?,
    };
    let before = if asked.diff { sent::before(app, &agent, sent.opened)? } else { None };
    let texts = PastTexts::of(app.reader.clone());
    let mut warnings = Vec::new();
    // What was before is read on the way.
    let (mut state, mut shown_before) = (None, None);
    if let Some(before) = before {
        let past = app.reader.agent_before(&agent, before.opened)?;
        let (config, _) = configured(app, &agent, &before, &mut Vec::new())?;
        let shown = Shown::of(&texts, (&before, &past.agent), &config)?;
        shown_before = Some((before, shown));
        state = Some(past);
    }
    let past = match state {
        Some(mut past) => {
            app.reader.fold_on(&mut past, sent.opened)?;
            past
        }
        None => app.reader.agent_before(&agent, sent.opened)?,
    };
    let (config, runtime) = configured(app, &agent, &sent, &mut warnings)?;
    let shown = match asked.window {
        Some(_) if sent.sums_up => {
            let text =
                format!("window: {} asks for a summary, which follows from the request before it", sent.op);
            return Err(Failure::new(Code::InvalidBody, text)
                .hint("ask for the turn's own requests: --turn N")
                .detail("field", "window"));
        }
        Some(tokens) => {
            warnings.push(format!("rendered for a window of {tokens} tokens: it was not sent like this"));
            Shown::under(&texts, &past.agent, &past::with_window(&config, tokens))?
        }
        None => Shown::of(&texts, (&sent, &past.agent), &config)?,
    };
    let wire = asked.wire.then(|| super::wire(app, &texts, &shown.rendered.request)).transpose()?;
    if texts.missing() > 0 {
        warnings.push(format!(
            "{} texts are not stored any more: a line in brackets stands for each",
            texts.missing()
        ));
    }
    let diff = shown_before.map(|(before, old)| {
        let name = before.name(old.rendered.request.model.clone());
        diff(name, &old.side(), &shown.side())
    });
    if asked.diff && diff.is_none() {
        warnings.push(format!("{} is the first request of {agent}: there is none before it", sent.op));
    }
    let again = asked.window.is_none().then_some(&shown.rendered.record);
    let request = named(&sent, &past, runtime, again);
    if request.as_recorded == Some(false) {
        warnings.push(
            "its fingerprints are others than on record: it is not shown exactly as it was sent".into(),
        );
    }
    Ok(DebugPromptReply { diff, wire, warnings, request: Some(request), ..shown.reply(&past.agent)? })
}

/// The newest request of an agent.
pub(super) fn newest(app: &App, agent: &AgentId) -> Handled<Option<(RequestName, Shown)>> {
    let Some(sent) = sent::newest(app, agent)? else { return Ok(None) };
    let state = app.reader.agent_before(agent, sent.opened)?;
    let (config, _) = configured(app, agent, &sent, &mut Vec::new())?;
    let shown = Shown::of(&PastTexts::of(app.reader.clone()), (&sent, &state.agent), &config)?;
    Ok(Some((sent.name(shown.rendered.request.model.clone()), shown)))
}

/// A request with its parts.
pub(super) struct Shown {
    pub(super) rendered: Rendered,
    pub(super) sections: Vec<PromptSection>,
}

impl Shown {
    /// As it was sent.
    fn of(texts: &PastTexts, (sent, agent): (&Sent, &Agent), config: &Config) -> Handled<Self> {
        let again = if sent.sums_up { past::rendered_summary } else { past::rendered };
        let rendered = again(agent, config).ok_or_else(|| {
            Failure::internal("the records before this request do not lead to a request in this build")
        })?;
        Self::new(texts, rendered)
    }

    /// As it would have been.
    fn under(texts: &PastTexts, agent: &Agent, config: &Config) -> Handled<Self> {
        let rendered = past::rendered_under(agent, config).map_err(|problem| {
            Failure::new(Code::InvalidBody, format!("window: {problem}")).detail("field", "window")
        })?;
        Self::new(texts, rendered)
    }

    pub(super) fn new(texts: &PastTexts, rendered: Rendered) -> Handled<Self> {
        let mut sections = sections::frame(texts, &rendered.request.frame)?;
        for (at, item) in rendered.request.conversation.iter().enumerate() {
            sections.push(sections::item(texts, sections::label(at, rendered.earlier), item)?);
        }
        Ok(Self { rendered, sections })
    }

    pub(super) fn side(&self) -> Side<'_> {
        Side { sections: &self.sections, tools: &self.rendered.request.tools }
    }

    /// What does not depend on when it was sent.
    pub(super) fn into_reply(
        self,
        (agent_id, agent_home, execution): (AgentId, String, ExecutionBinding),
        loaded_sources: Vec<Source>,
    ) -> DebugPromptReply {
        let Self { rendered: Rendered { request, closes, omitted, room, .. }, sections } = self;
        DebugPromptReply {
            ok: true,
            agent_id,
            agent_home,
            execution,
            loaded_sources,
            est_tokens: sections.iter().map(|section| section.est_tokens).sum(),
            sections,
            tools: request.tools.iter().map(ToString::to_string).collect(),
            prompt_cache_key: request.frame.cache.prompt_cache_key.clone(),
            tool_sizes: super::tool_sizes(&request.tools),
            model: Some(request.model),
            room: Some(room),
            closes_episode: closes,
            omitted,
            request: None,
            diff: None,
            wire: None,
            warnings: Vec::new(),
        }
    }

    /// Of a past request.
    fn reply(self, agent: &Agent) -> Handled<DebugPromptReply> {
        let run = agent.run.as_ref();
        let context = run.and_then(|run| run.environment.context.clone());
        let (Some(run), Some(context)) = (run, context) else {
            return Err(Failure::internal("the records before this request do not have its context"));
        };
        let sources = context.sources.into_iter();
        let sources = sources.map(|source| Source { scope: source.scope, path: source.path });
        Ok(self.into_reply(
            (agent.id.clone(), context.execution.agent_home, run.environment.execution.clone()),
            sources.collect(),
        ))
    }
}

/// The configuration under which a request was sent, and the runtime that sent it.
fn configured(
    app: &App,
    agent: &AgentId,
    sent: &Sent,
    warnings: &mut Vec<String>,
) -> Handled<(Config, Option<PastRuntime>)> {
    match app.reader.runtime_of(agent, sent.opened)? {
        Some(runtime) => {
            if runtime.build != build::id() {
                warnings.push(format!(
                    "the build {} sent it, and this one ({}) renders it: policy, tools and headings are those of this build",
                    runtime.build,
                    build::id()
                ));
            }
            Ok((runtime.config.clone(), Some(runtime)))
        }
        None => {
            warnings.push(
                "the start of the runtime that sent it is not on record: the limits of now are used".into(),
            );
            Ok((app.runtime.config(), None))
        }
    }
}

fn named(
    sent: &Sent,
    past: &PastState,
    runtime: Option<PastRuntime>,
    again: Option<&RequestRecord>,
) -> PastRequest {
    let record = sent.record.as_deref();
    PastRequest {
        request_id: sent.op,
        turn_index: sent.turn,
        run_id: sent.run_id,
        round: sent.round,
        attempt: sent.attempt.as_ref().map(|attempt| attempt.attempt),
        event_seq: sent.opened,
        sent_at: sent.at,
        outcome: sent.outcome(),
        failure_kind: sent.attempt.as_ref().and_then(|attempt| attempt.failure_kind),
        token_usage: sent.usage.or_else(|| sent.attempt.as_ref()?.token_usage),
        build: runtime.map(|runtime| runtime.build),
        as_recorded: record.zip(again).map(|(record, again)| record.layers == again.layers),
        record: record.cloned(),
        delivery: sent.attempt.as_ref().and_then(|attempt| attempt.delivery.clone()),
        records_read: past.records,
    }
}
