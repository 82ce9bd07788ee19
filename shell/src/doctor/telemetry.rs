//! Where traces and metrics go.

use holon_platform::Environment;

use super::Finding;
use crate::settings::Settings;
use crate::telemetry::{Reporter, Signal, Target, TargetError};

pub(super) fn examine(settings: &Settings, environment: &Environment) -> Finding {
    let check = "telemetry";
    match sent(settings, environment) {
        Ok(text) => Finding::fine(check, text),
        Err(problem) => {
            Finding::problem(check, problem.to_string(), "holon config set telemetry.otlp.endpoint URL")
        }
    }
}

fn sent(settings: &Settings, environment: &Environment) -> Result<String, TargetError> {
    let find = |signal| Target::find(signal, settings.telemetry.otlp_endpoint.as_deref(), environment);
    let texts = if settings.telemetry.include_content { "with" } else { "without" };
    let traces = match find(Signal::Traces)? {
        Some(target) => format!("traces are sent to {}, {texts} texts", target.shown()),
        None => "traces are sent nowhere".to_owned(),
    };
    let metrics = match find(Signal::Metrics)? {
        Some(target) => {
            let shown = target.shown();
            Reporter::new(target, environment)?;
            format!("metrics to {shown}")
        }
        None => "metrics nowhere".to_owned(),
    };
    Ok(format!("{traces}; {metrics}"))
}
