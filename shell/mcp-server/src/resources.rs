//! What clients read of agents: `holon://agents/<id>/…`.

use holon_api::{AgentPath, ClientError, Control, ListQuery, PageQuery};
use holon_facts::AgentId;
use holon_rpc::Error;
use serde_json::{Value, json};

use crate::answer::{ToolError, value};
use crate::bounded::bounded;
use crate::server::Asked;

/// Agents of one page.
const AGENTS: u32 = 100;
/// Entries of a resource: the newest.
const ENTRIES: u32 = 50;
const SCHEME: &str = "holon://agents/";
/// There is no such resource, for revisions with a handshake; the one without takes it as well.
const NOT_FOUND: i64 = -32_002;

/// What of an agent is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    State,
    Transcript,
    Briefs,
}

impl Part {
    const ALL: [Self; 3] = [Self::State, Self::Transcript, Self::Briefs];

    fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Transcript => "transcript",
            Self::Briefs => "briefs",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::State => "How the agent stands: its state, run, queue, tasks and workspace",
            Self::Transcript => "What was said and done in its newest turns",
            Self::Briefs => "Its newest reports to the operator",
        }
    }
}

/// A resource by its address.
///
/// # Errors
/// An address of something else.
pub(crate) fn named(params: &Value) -> Result<(String, AgentId, Part), Error> {
    let uri = params["uri"].as_str().ok_or_else(|| Error::invalid_params("uri: expected an address"))?;
    of(uri).map(|(agent, part)| (uri.to_owned(), agent, part))
}

/// The same of an address alone.
///
/// # Errors
/// An address of something else.
pub(crate) fn of(uri: &str) -> Result<(AgentId, Part), Error> {
    let none = || {
        let text = format!("there is no resource {uri}: holon://agents/ID/state, …/transcript and …/briefs");
        Error::new(NOT_FOUND, text).with(json!({ "uri": uri }))
    };
    let (agent, part) = uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')).ok_or_else(none)?;
    let part = Part::ALL.into_iter().find(|known| known.name() == part).ok_or_else(none)?;
    Ok((AgentId::new(agent).map_err(|_| none())?, part))
}

/// The resources of public agents, page by page: a page goes on behind the name that its cursor is.
pub(crate) async fn list<C: Control>(asked: &Asked<'_, C>) -> Result<Value, Error> {
    let after = match asked.params["cursor"].as_str() {
        Some(cursor) => Some(AgentId::new(cursor).map_err(|error| Error::invalid_params(error.to_string()))?),
        None => None,
    };
    let query = ListQuery { after, limit: Some(AGENTS), all: false };
    let page = asked.runtime.agents(query).await.map_err(|error| failed(error, ""))?;
    let of_agent = |agent: &AgentId| {
        Part::ALL.map(|part| {
            json!({
                "uri": format!("{SCHEME}{agent}/{}", part.name()),
                "name": format!("{agent}/{}", part.name()),
                "description": part.about(),
                "mimeType": "application/json",
            })
        })
    };
    let resources: Vec<Value> = page.agents.iter().flat_map(|agent| of_agent(agent.agent_id())).collect();
    let mut list = json!({ "resources": resources });
    if let Some(next) = &page.next {
        list["nextCursor"] = json!(next);
    }
    Ok(list)
}

pub(crate) fn templates() -> Value {
    let templates = Part::ALL.map(|part| {
        json!({
            "uriTemplate": format!("{SCHEME}{{agent_id}}/{}", part.name()),
            "name": part.name(),
            "description": part.about(),
            "mimeType": "application/json",
        })
    });
    json!({ "resourceTemplates": templates })
}

pub(crate) async fn read<C: Control>(asked: &Asked<'_, C>) -> Result<Value, Error> {
    let (uri, agent_id, part) = named(asked.params)?;
    let runtime = asked.runtime;
    let path = AgentPath { agent_id };
    let page = PageQuery { before: None, after: None, limit: Some(ENTRIES) };
    let read = match part {
        Part::State => runtime.status(path).await.map(|reply| value(&reply)),
        Part::Transcript => runtime.transcript(path, page).await.map(|reply| value(&reply)),
        Part::Briefs => runtime.briefs(path, page).await.map(|reply| value(&reply)),
    };
    let read = read.map_err(|error| failed(error, &uri))?;
    let text =
        bounded(read.map_err(|ToolError { .. }| Error::failed("the reply can't be written"))?).to_string();
    Ok(json!({ "contents": [{ "uri": uri, "mimeType": "application/json", "text": text }] }))
}

/// Why a resource can't be read.
pub(crate) fn failed(error: ClientError, uri: &str) -> Error {
    let code = error.code().unwrap_or("runtime_unreachable").to_owned();
    let data = json!({ "code": code, "uri": uri, "hint": error.hint() });
    if code == "unknown_agent" {
        return Error::new(NOT_FOUND, error.to_string()).with(data);
    }
    Error::failed(error.to_string()).with(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_part_of_an_agent() {
        let (agent, part) = of("holon://agents/main/transcript").unwrap();
        assert_eq!((agent.as_str(), part), ("main", Part::Transcript));
        for uri in
            ["holon://agents/main", "holon://agents/main/events", "file:///x", "holon://agents/a b/state"]
        {
            assert_eq!(of(uri).unwrap_err().code, NOT_FOUND, "{uri}");
        }
    }
}
