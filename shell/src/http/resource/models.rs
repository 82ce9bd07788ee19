//! The configured models, and which of them an agent asks first.

use holon_api::rows::{ChooseModel, ClearModel, ListModels};
use holon_api::{Availability, Code, Json, ModelReply, Models, SetModel};
use holon_core::{Answer as Answered, Input};
use holon_facts::AgentId;
use holon_facts::model_ref::ModelRef;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::control::unexpected;

pub(in super::super) async fn models(app: App, _: Call<ListModels>) -> Handled<Models> {
    // A check may read a scenario or certificates.
    app.blocking(|app| {
        let mut models =
            Models { ok: true, available_models: Vec::new(), model_availability: Default::default() };
        for model in &app.models {
            let problem = app.providers.check(model).err().map(|error| error.to_string());
            let available = problem.is_none();
            if available {
                models.available_models.push(model.clone());
            }
            models.model_availability.insert(model.to_string(), Availability { available, problem });
        }
        Ok(models)
    })
    .await
}

pub(in super::super) async fn set(app: App, call: Call<ChooseModel>) -> Handled<ModelReply> {
    let Json(SetModel { model }) = call.body;
    check(&app, &model).await?;
    apply(app, call.path.agent_id, Some(model)).await
}

/// Whether an agent may be told to ask this model.
pub(super) async fn check(app: &App, model: &ModelRef) -> Handled<()> {
    let asked = model.clone();
    // A model that can't be asked would fail every turn from now on.
    let check = move |app: &App| Ok(app.providers.check(&asked).map_err(|error| error.to_string()));
    if let Err(problem) = app.blocking(check).await? {
        return Err(Failure::new(Code::InvalidModel, problem)
            .hint("holon config providers list, or holon config doctor")
            .detail("field", "model"));
    }
    let priced = model.clone();
    if let Some(budget) = app.runtime.read(None, move |view| view.needs_price(&priced)).await? {
        let problem = format!("{model} has no price, which budget.{budget} needs");
        return Err(Failure::new(Code::InvalidModel, problem)
            .hint("set model.prices (0 where it costs nothing): holon config prices")
            .detail("field", "model"));
    }
    Ok(())
}

pub(in super::super) async fn clear(app: App, call: Call<ClearModel>) -> Handled<ModelReply> {
    apply(app, call.path.agent_id, None).await
}

async fn apply(app: App, agent: AgentId, model: Option<ModelRef>) -> Handled<ModelReply> {
    let named = agent.clone();
    let ask = move |reply| Input::SetModel { agent: named, model, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    let Answered::ModelSet { state, changed } = answered else { return Err(unexpected(answered)) };
    Ok(ModelReply { ok: true, agent_id: agent, changed, model: state.into() })
}
