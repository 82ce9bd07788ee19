//! Wake hints for agents.

use holon_api::rows::WakeAgent;
use holon_api::{Code, Json, Woken};
use holon_core::{Answer as Answered, Input};
use holon_facts::hint::Hint;

use super::super::App;
use super::super::route::{Call, Handled};
use super::control::unexpected;
use super::ingress::check_names;

/// Whose hints are an operator's.
const OPERATOR: &str = "operator";

pub(in super::super) async fn wake(app: App, call: Call<WakeAgent>) -> Handled<Woken> {
    let (agent, Json(wake)) = (call.path.agent_id, call.body);
    let reason = Some(wake.reason.clone());
    check_names(
        Code::InvalidBody,
        &[
            ("reason", &reason),
            ("source", &wake.source),
            ("description", &wake.description),
            ("resource", &wake.resource),
            ("content_type", &wake.content_type),
            ("correlation_id", &wake.correlation_id),
            ("causation_id", &wake.causation_id),
        ],
    )?;
    let texts = app.runtime.texts();
    let plain = |text: Option<String>| text.map(|text| texts.redact(&text));
    let source = plain(wake.source).unwrap_or_else(|| OPERATOR.to_owned());
    let hint = Hint {
        description: plain(wake.description),
        resource: plain(wake.resource),
        wait_id: wake.wait_id,
        body: wake.body.filter(|body| !body.is_empty()).map(|body| texts.take(&body)),
        content_type: plain(wake.content_type),
        correlation_id: plain(wake.correlation_id),
        causation_id: plain(wake.causation_id),
        ..Hint::new(source, texts.redact(&wake.reason))
    };
    let named = agent.clone();
    let ask = move |reply| Input::Wake { agent: named, hint, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    let Answered::Woken { disposition } = answered else { return Err(unexpected(answered)) };
    Ok(Woken { ok: true, agent_id: agent, disposition })
}
