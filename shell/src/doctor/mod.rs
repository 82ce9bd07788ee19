//! What a run needs, looked at one by one, each finding with what to do about it. Changes nothing and sends
//! nothing; a part that is broken does not keep the others from being looked at.

mod configuration;
mod home;
mod machine;
mod memory;
mod models;
mod moved;
mod skills;
mod telemetry;
mod templates;

use std::fmt;

use holon_platform::Environment;
use holon_text::Secrets;
use serde::Serialize;

use crate::home::Home;
use crate::settings::{Origin, Problem};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Fine,
    /// Works, and is probably not what was meant.
    Warning,
    /// Something will be refused.
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub what: String,
    /// The next command to try.
    #[serde(rename = "try", skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Looks at everything, in the order in which a run needs it.
pub fn examine(home: &Home, origin: &Origin, environment: &Environment) -> Vec<Finding> {
    let mut findings = home::examine(home, origin, environment);
    let (settings, credentials, found) = configuration::examine(home, environment);
    findings.extend(found);
    let (found, secrets) = models::examine(settings.as_ref(), environment, &credentials);
    findings.extend(found);
    findings.extend(machine::examine(home, settings.as_ref(), environment));
    findings.extend(moved::examine(home));
    findings.extend(settings.iter().flat_map(|settings| skills::examine(home, settings, environment)));
    findings.extend(templates::examine(home, environment));
    findings.extend(memory::examine(home));
    findings.extend(settings.iter().map(|settings| telemetry::examine(settings, environment)));
    let secrets = Secrets::new(secrets);
    for finding in &mut findings {
        finding.what = secrets.redact(&finding.what);
    }
    findings
}

impl Finding {
    fn fine(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Fine, what: what.into(), remedy: None }
    }

    fn warning(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Warning, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn problem(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Problem, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn of(check: &'static str, problem: &Problem) -> Self {
        Self::problem(check, problem.to_string(), problem.remedy.clone())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fine => "fine",
            Self::Warning => "warning",
            Self::Problem => "problem",
        })
    }
}
