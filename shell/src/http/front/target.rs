//! Whom a request is about: it goes to the cell of that agent.

use axum::http::Uri;

/// What a path says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// An agent, by its id or its second name.
    Agent(String),
    /// The agent that is meant when none is named.
    Default,
    /// Whoever has the address that ends in this token.
    Address(String),
    /// No agent, or all of them: every node can answer.
    Any,
}

impl Target {
    pub(super) fn of(uri: &Uri) -> Self {
        let mut segments = uri.path().trim_start_matches('/').split('/');
        let mut next = || segments.next().unwrap_or_default();
        match (next(), next(), next()) {
            ("agents", "list", _) => Self::Any,
            ("agents", agent, _) | ("control", "agents", agent) | ("webhooks", "generic", agent)
                if !agent.is_empty() =>
            {
                Self::Agent(agent.to_owned())
            }
            ("callbacks", _, token) => Self::Address(token.to_owned()),
            ("status" | "state" | "briefs" | "transcript" | "enqueue", "", _) => Self::Default,
            _ => Self::Any,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::table::routes;

    #[test]
    fn every_route_about_an_agent_names_it_where_it_is_looked_for() {
        let (mut named, mut default) = (0, 0);
        for route in routes() {
            let path = route.path.replace("{agent_id}", "ada").replace(['{', '}'], "");
            let target = Target::of(&path.parse().expect("a path"));
            let expected = if route.path.contains("{agent_id}") {
                named += 1;
                Target::Agent("ada".to_owned())
            } else if route.path.contains("{token}") {
                Target::Address("token".to_owned())
            } else if route.of_default {
                default += 1;
                Target::Default
            } else {
                Target::Any
            };
            assert_eq!(target, expected, "{}", route.path);
        }
        assert!(named > 50 && default == 5, "{named} and {default}");
    }
}
