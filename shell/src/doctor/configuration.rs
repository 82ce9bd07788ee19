//! The files of the configuration, and variables that look like it.

use holon_platform::Environment;
use holon_text::nearest::nearest;

use super::Finding;
use crate::daemon::TOKEN_VARIABLE;
use crate::home::Home;
use crate::settings::credentials::Credentials;
use crate::settings::{KEYS, Settings, SettingsError};

/// Variables that mean something and belong to no key.
const VARIABLES: [&str; 9] = [
    "HOLON_COMPLETE",
    "HOLON_HOME",
    "HOLON_LOG",
    TOKEN_VARIABLE,
    "HOLON_LOCAL_BASE_URL",
    "HOLON_RUNTIME",
    "HOLON_AGENT_ID",
    "HOLON_AGENT_HOME",
    "HOLON_EXTERNAL_TRIGGER_URL",
];

/// The settings and keys as far as they are usable, and what there is to say of them.
pub(super) fn examine(
    home: &Home,
    environment: &Environment,
) -> (Option<Settings>, Credentials, Vec<Finding>) {
    let mut findings = Vec::new();
    let settings = match Settings::survey(&home.config(), environment) {
        Ok((settings, problems)) => {
            findings.extend(problems.iter().map(|problem| Finding::of("config.toml", problem)));
            if problems.is_empty() {
                findings.push(Finding::fine("config.toml", exists(&home.config())));
            }
            Some(settings)
        }
        Err(error) => {
            let remedy = format!("edit {}", home.config().display());
            findings.push(Finding::problem("config.toml", error.to_string(), remedy));
            None
        }
    };
    let credentials = match Credentials::survey(&home.credentials()) {
        Ok((credentials, problems)) => {
            findings.extend(problems.iter().map(|problem| Finding::of("credentials.toml", problem)));
            if problems.is_empty() {
                findings.push(Finding::fine("credentials.toml", exists(&home.credentials())));
            }
            credentials
        }
        Err(error) => {
            let hint = match &error {
                SettingsError::OpenToOthers { .. } => error.hint(),
                SettingsError::Source(_) | SettingsError::Invalid { .. } | SettingsError::NoModel { .. } => {
                    format!("edit {}", home.credentials().display())
                }
            };
            findings.push(Finding::problem("credentials.toml", error.to_string(), hint));
            Credentials::default()
        }
    };
    findings.extend(variables(environment));
    (settings, credentials, findings)
}

fn exists(path: &std::path::Path) -> String {
    let is = if path.exists() { "is in order" } else { "is not there; defaults apply" };
    format!("{} {is}", path.display())
}

/// Variables that nobody reads, and that look like one that somebody does.
fn variables(environment: &Environment) -> impl Iterator<Item = Finding> {
    let known: Vec<&str> = KEYS.iter().filter_map(|key| key.variable).chain(VARIABLES).collect();
    let unknown = environment.names().filter(|name| name.starts_with("HOLON_"));
    let unknown: Vec<&str> = unknown.filter(|name| !known.contains(name)).collect();
    unknown
        .into_iter()
        .filter_map(move |name| {
            let near = nearest(name, known.iter().copied())?;
            let what = format!("{name} means nothing; did you mean {near}?");
            Some(Finding::warning("environment", what, format!("unset {name}")))
        })
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_almost_one_is_named() {
        let told = |name: &str| {
            let environment = Environment::new([(name.to_owned(), "x".to_owned())]);
            variables(&environment).map(|finding| finding.what).collect::<Vec<_>>()
        };
        for (wrong, right) in [("HOLON_LOGS", "HOLON_LOG"), ("HOLON_CONTROL_TOKENS", TOKEN_VARIABLE)] {
            assert_eq!(told(wrong), [format!("{wrong} means nothing; did you mean {right}?")]);
            assert!(told(right).is_empty(), "{right}");
        }
    }
}
