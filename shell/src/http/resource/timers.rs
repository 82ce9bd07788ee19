//! Timers of an agent: the list, and what operators do to them.

use holon_api::{CreateTimer, Nothing, TimerReply, TimerSnapshot, Timers, TimersQuery};
use holon_core::agent::timer::{Misfire, TimerSpec};
use holon_core::ids::TimerId;
use holon_core::{AgentId, Answer as Answered, Input, Millis, Reject};

use super::super::App;
use super::super::body::{Empty, Json};
use super::super::failure::Failure;
use super::super::reply::{Answer, Made};
use super::super::route::{Call, Handled};
use super::control::unexpected;
use super::look::{Looked, look};

const BODY_BYTES: usize = 16 << 10;

pub(in super::super) async fn list(app: App, call: Call<TimersQuery, Empty>) -> Handled<Answer<Timers>> {
    let wanted = call.query.status;
    let read = move |view: holon_core::view::View<'_>, agent: &AgentId| {
        let known = &view.agent(agent)?.timers;
        let shown = known.armed().chain(known.ended());
        let shown = shown.filter(|timer| wanted.is_none_or(|status| timer.status == status));
        let mut timers: Vec<_> = shown.map(|timer| TimerSnapshot::of(agent, timer)).collect();
        timers.sort_by_key(|timer| std::cmp::Reverse(timer.timer_id));
        Some(timers)
    };
    let Looked { seen: timers, .. } = look(&app, &call.agent, read).await?;
    Ok(Answer(Timers { ok: true, timers }))
}

pub(in super::super) async fn create(
    app: App,
    call: Call<Nothing, Json<CreateTimer, BODY_BYTES>>,
) -> Handled<Made<TimerReply>> {
    let (agent, Json(asked)) = (call.agent, call.body);
    let timer = TimerSpec {
        duration_ms: Millis(asked.duration_ms),
        interval_ms: asked.interval_ms.map(Millis),
        misfire: asked.misfire.unwrap_or(Misfire::Once),
        summary: asked.summary.map(|summary| app.runtime.texts().redact(&summary)),
    };
    let named = agent.clone();
    let ask = move |reply| Input::CreateTimer { agent: named, timer, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    reply(agent, answered).map(Made)
}

pub(in super::super) async fn cancel(app: App, call: Call<Nothing, Empty>) -> Handled<Answer<TimerReply>> {
    let timer = call.timer.ok_or_else(|| Failure::internal("the path of the route names no timer"))?;
    let (agent, named) = (call.agent.clone(), call.agent);
    let ask = move |reply| Input::CancelTimer { agent: named, timer, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    reply(agent, answered).map(Answer)
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
