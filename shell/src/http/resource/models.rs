//! The configured models.

use super::super::App;
use super::super::api::{Availability, Models, Nothing};
use super::super::body::Empty;
use super::super::reply::Answer;
use super::super::route::{Call, Handled};

pub(in super::super) async fn models(app: App, _: Call<Nothing, Empty>) -> Handled<Answer<Models>> {
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
        Ok(Answer(models))
    })
    .await
}
