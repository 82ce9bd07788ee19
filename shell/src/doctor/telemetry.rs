//! Where traces go.

use holon_platform::Environment;

use super::Finding;
use crate::settings::Settings;
use crate::telemetry::Target;

pub(super) fn examine(settings: &Settings, environment: &Environment) -> Finding {
    let check = "telemetry";
    match Target::find(settings.telemetry.otlp_endpoint.as_deref(), environment) {
        Ok(None) => Finding::fine(check, "traces are sent nowhere"),
        Ok(Some(target)) => {
            let texts = if settings.telemetry.include_content { "with" } else { "without" };
            Finding::fine(check, format!("traces are sent to {}, {texts} texts", target.shown()))
        }
        Err(problem) => {
            Finding::problem(check, problem.to_string(), "holon config set telemetry.otlp.endpoint URL")
        }
    }
}
