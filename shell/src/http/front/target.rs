//! Whom a request is about: it goes to the cell of that agent.

use axum::http::{HeaderMap, Method, Uri};
use holon_ledger::postgres::node::{CellId, Routes};

use super::super::route::IDEMPOTENCY_KEY;

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
            ("agents", "list", "") => Self::Any,
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

/// Who sends what is kept where nobody owns its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// Whoever the policy lets in.
    Known,
    /// Whoever signs, or is let in.
    Signed,
    /// Whoever has the address.
    Address,
}

/// The sender of a request that is kept; none for others, whose senders ask again.
pub(super) fn sender(method: &Method, uri: &Uri) -> Option<Sender> {
    let mut segments = uri.path().trim_start_matches('/').split('/');
    let mut next = || segments.next().unwrap_or_default();
    let sender = match (next(), next(), next()) {
        ("enqueue", "", _) | ("agents", _, "enqueue") => Sender::Known,
        ("webhooks", "generic", _) => Sender::Signed,
        ("callbacks", _, _) => Sender::Address,
        _ => return None,
    };
    (*method == Method::POST).then_some(sender)
}

/// Whether a request counts once, however often it is sent: nothing is changed by it, or it has a key and goes where keys count.
pub(super) fn is_repeatable(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    *method == Method::GET || (headers.contains_key(IDEMPOTENCY_KEY) && takes_key(uri.path()))
}

fn takes_key(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    matches!(last, "prompt" | "enqueue" | "tasks" | "work-items" | "timers")
        || path.starts_with("/webhooks/generic/")
}

/// The cell that a request goes to which is about no agent, where this node serves none: one that its owner serves, if there is
/// one.
pub(super) fn any_owned(routes: &Routes) -> Option<CellId> {
    let others = || routes.owners.iter().filter(|(_, (node, _))| Some(*node) != routes.own);
    let mut cells = others().map(|(cell, _)| *cell);
    cells.find(|cell| !routes.named.contains(cell)).or_else(|| routes.owners.keys().next().copied())
}

#[cfg(test)]
mod tests {
    use holon_api::RouteAccess;
    use holon_ledger::postgres::node::NodeId;

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

    #[test]
    fn an_agent_may_be_named_as_the_list_of_agents_is() {
        let of = |path: &'static str| Target::of(&Uri::from_static(path));
        assert_eq!(of("/agents/list"), Target::Any);
        assert_eq!(of("/agents/list?limit=2"), Target::Any);
        assert_eq!(of("/agents/list/status"), Target::Agent("list".to_owned()));
    }

    #[test]
    fn what_is_kept_is_what_comes_from_outside() {
        let mut kept = Vec::new();
        for route in routes() {
            let row = &route.described.row;
            let path = route.path.replace("{agent_id}", "ada").replace(['{', '}'], "");
            let uri = path.parse().expect("a path");
            if let Some(sender) = sender(&row.method, &uri) {
                let access = match sender {
                    Sender::Known => RouteAccess::Control,
                    Sender::Signed => RouteAccess::Signed,
                    Sender::Address => RouteAccess::Token,
                };
                assert_eq!(row.access, access, "{path}");
                kept.push(path);
            }
        }
        assert_eq!(kept.len(), 5, "{kept:?}");
    }

    #[test]
    fn a_request_about_no_agent_avoids_cells_that_are_stopped() {
        let owner = |node| (NodeId(node), String::new());
        let owners = [(CellId(1), owner(1)), (CellId(2), owner(2)), (CellId(3), owner(3))].into();
        let mut routes = Routes { own: Some(NodeId(2)), owners, ..Routes::default() };
        assert_eq!(any_owned(&routes), Some(CellId(1)));
        routes.named.insert(CellId(1));
        assert_eq!(any_owned(&routes), Some(CellId(3)), "this node does not serve the one that it owns");
        routes.named.insert(CellId(3));
        assert_eq!(any_owned(&routes), Some(CellId(1)), "it waits where all are stopped");
        assert_eq!(any_owned(&Routes::default()), None);
    }

    #[test]
    fn a_key_counts_where_its_route_takes_one() {
        let mut taken = 0;
        for route in routes() {
            let row = &route.described.row;
            if row.method != Method::POST {
                continue;
            }
            let names_one = row.headers.iter().any(|header| header.name == "Idempotency-Key");
            let path = route.path.replace("{agent_id}", "ada");
            assert_eq!(takes_key(&path), names_one, "{path}");
            taken += usize::from(names_one);
        }
        assert!(taken > 4, "{taken}");
    }
}
