//! Timers of an agent: the list, and what operators do to them.

use holon_api::rows::{CancelTimer, ListTimers, MakeTimer};
use holon_api::{Json, TimerPath, TimerReply, TimerSnapshot, Timers};
use holon_core::{Answer as Answered, Input};
use holon_facts::ids::TimerId;
use holon_facts::timer::{Misfire, TimerSpec};
use holon_facts::{AgentId, Millis, Reject};

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::control::unexpected;
use super::ingress::{key, keyed};
use super::look::{Looked, look};

pub(in super::super) async fn list(app: App, call: Call<ListTimers>) -> Handled<Timers> {
    let wanted = call.query.status;
    let read = move |view: holon_core::view::View<'_>, agent: &AgentId| {
        let known = &view.agent(agent)?.timers;
        let shown = known.armed().chain(known.ended());
        let shown = shown.filter(|timer| wanted.is_none_or(|status| timer.status == status));
        let mut timers: Vec<_> = shown.map(|timer| TimerSnapshot::of(agent, timer)).collect();
        timers.sort_by_key(|timer| std::cmp::Reverse(timer.timer_id));
        Some(timers)
    };
    let Looked { seen: timers, .. } = look(&app, &call.path.agent_id, read).await?;
    Ok(Timers { ok: true, timers })
}

pub(in super::super) async fn create(app: App, call: Call<MakeTimer>) -> Handled<TimerReply> {
    let key = key(&call.from.headers)?;
    let (agent, Json(asked)) = (call.path.agent_id, call.body);
    let key = keyed(key, "timer", &asked)?;
    let timer = TimerSpec {
        duration_ms: Millis(asked.duration_ms),
        interval_ms: asked.interval_ms.map(Millis),
        misfire: asked.misfire.unwrap_or(Misfire::Once),
        summary: asked.summary.map(|summary| app.runtime.texts().redact(&summary)),
    };
    let named = agent.clone();
    let ask = move |reply| Input::CreateTimer { agent: named, timer, key, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    reply(agent, answered)
}

pub(in super::super) async fn cancel(app: App, call: Call<CancelTimer>) -> Handled<TimerReply> {
    let TimerPath { agent_id: agent, timer_id: timer } = call.path;
    let named = agent.clone();
    let ask = move |reply| Input::CancelTimer { agent: named, timer, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    reply(agent, answered)
}

fn reply(agent: AgentId, answered: Answered) -> Handled<TimerReply> {
    if let Answered::Refused { reject: Reject::UnknownTimer { timer } } = answered {
        return Err(unknown(&agent, timer));
    }
    let Answered::Timer { timer, changed } = answered else { return Err(unexpected(answered)) };
    let timer = TimerSnapshot::of(&agent, &timer);
    Ok(TimerReply { ok: true, agent_id: agent, changed, timer })
}

fn unknown(agent: &AgentId, timer: TimerId) -> Box<Failure> {
    let failure: Box<Failure> = Reject::UnknownTimer { timer }.into();
    failure.hint(format!("holon timer list --agent {agent}")).detail("agent_id", agent.as_str())
}
