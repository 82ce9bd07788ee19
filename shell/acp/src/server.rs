//! Which method is answered how.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holon_api::{
    Action, AgentStatus, ClientError, Control, ControlAgent, CreateAgent, ListQuery, Listed, SetModel,
};
use holon_facts::label::Description;
use holon_facts::{AgentId, EventSeq};
use holon_platform::entropy;
use holon_rpc::{Call, Error, Peer, Service};
use serde_json::{Value, json};

use crate::history;
use crate::prompt::{self, Pending};
use crate::session::Sessions;

/// The version of the protocol.
const VERSION: u32 = 1;
/// The option of a session that has its model.
const MODEL: &str = "model";
/// Sessions of one page.
const PAGE: u32 = 50;
/// A runtime that is away is tried again for so long.
pub(crate) const AWAY: Duration = Duration::from_mins(1);
/// Between two tries.
pub(crate) const PAUSE: Duration = Duration::from_millis(500);

/// One editor. Cheap to clone.
pub struct Server<C>(Arc<Connection<C>>);

/// What is known of the editor, as long as it is there.
pub(crate) struct Connection<C> {
    pub(crate) runtime: C,
    /// Names this connection, and begins the keys of its prompts.
    pub(crate) name: String,
    /// The agent of every new session; without one each has its own.
    agent: Option<AgentId>,
    pub(crate) sessions: Sessions,
}

impl<C> Clone for Server<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C> Server<C> {
    /// For one editor. New sessions are with `agent`, or with an agent of their own.
    ///
    /// # Errors
    /// When there are no random numbers.
    pub fn new(runtime: C, agent: Option<AgentId>) -> std::io::Result<Self> {
        let name = entropy::name()?;
        Ok(Self(Arc::new(Connection { runtime, name, agent, sessions: Sessions::default() })))
    }
}

impl<C: Control + Clone + Send + Sync + 'static> Server<C> {
    async fn answered(&self, call: Call, pending: Option<Pending>) -> Result<Value, Error> {
        let Call { method, params, peer, .. } = call;
        match method.as_str() {
            "initialize" => Ok(initialized()),
            // Whoever may start this program is let in by the runtime.
            "authenticate" => Ok(json!({})),
            "session/new" => self.create(&params, &peer).await,
            "session/load" => self.open(&params, &peer, true).await,
            "session/resume" => self.open(&params, &peer, false).await,
            "session/list" => self.list(&params).await,
            "session/close" => {
                self.0.sessions.close(&session(&params)?);
                Ok(json!({}))
            }
            "session/delete" => self.delete(&params).await,
            "session/set_config_option" => self.choose(&params).await,
            "session/prompt" => match pending {
                Some(pending) => prompt::answer(&self.0, (&params, &peer), pending).await,
                None => Err(unknown_session(&params)),
            },
            other => Err(Error::unknown_method(other)),
        }
    }

    async fn create(&self, params: &Value, peer: &Peer) -> Result<Value, Error> {
        let cwd = cwd(params)?;
        if let Some(agent) = &self.0.agent {
            return self.enter(agent, params, peer).await;
        }
        let name = entropy::name().map_err(|error| Error::failed(error.to_string()))?;
        let agent = AgentId::new(&format!("acp-{name}")).map_err(|error| Error::failed(error.to_string()))?;
        // An agent that has no place would be left behind: nobody knows its name.
        self.0.sessions.reserve(&agent)?;
        let made = self.make(&agent, cwd).await;
        let entered = match made {
            Ok(()) => self.enter(&agent, params, peer).await,
            Err(error) => Err(error),
        };
        if entered.is_err() {
            self.0.sessions.close(&agent);
            // Where this fails, too, there is nothing more to do.
            drop(self.0.runtime.control(&agent, ControlAgent { action: Action::Archive }).await);
        }
        entered
    }

    /// Makes the agent of a session.
    async fn make(&self, agent: &AgentId, cwd: &str) -> Result<(), Error> {
        let wanted = CreateAgent {
            workspace_root: Some(cwd.to_owned()),
            description: Description::new("a session of an editor").ok(),
            ..CreateAgent::default()
        };
        let made = self.0.runtime.create_agent(agent, wanted).await;
        made.map(drop).map_err(|error| failed(&error, "cwd"))
    }

    /// Begins a new session with an agent.
    async fn enter(&self, agent: &AgentId, params: &Value, peer: &Peer) -> Result<Value, Error> {
        let status = self.status(agent).await?;
        let after = status.summary.event_seq;
        self.begin(agent, &status, after, peer)?;
        let options = self.options(&status).await?;
        Ok(opened(params, json!({ "sessionId": agent, "configOptions": options })))
    }

    /// Goes on with a session; `shows` what was said in it before.
    async fn open(&self, params: &Value, peer: &Peer, shows: bool) -> Result<Value, Error> {
        cwd(params)?;
        let agent = session(params)?;
        // One after the other: what is shown is shown by one of them, and prompts wait for that.
        let _turn = self.0.sessions.turn().await;
        let known = self.status(&agent).await?;
        if !shows && self.0.sessions.is_open(&agent) {
            let options = self.options(&known).await?;
            return Ok(opened(params, json!({ "configOptions": options })));
        }
        // What is followed already would come between.
        self.0.sessions.pause(&agent);
        let status = self.status(&agent).await.unwrap_or(known);
        let after = status.summary.event_seq;
        let shown = if shows {
            let root = status.summary.workspace.execution.execution_root.clone();
            history::show(&self.0.runtime, peer, (&agent, root.as_ref()), after).await
        } else {
            Ok(())
        };
        self.begin(&agent, &status, after, peer)?;
        shown?;
        let options = self.options(&status).await?;
        Ok(opened(params, json!({ "configOptions": options })))
    }

    fn begin(
        &self,
        agent: &AgentId,
        status: &AgentStatus,
        after: EventSeq,
        peer: &Peer,
    ) -> Result<(), Error> {
        let root = status.summary.workspace.execution.execution_root.clone();
        let own = format!("acp-{}-", self.0.name);
        self.0.sessions.open(self.0.runtime.clone(), peer.clone(), (agent, root, own), after)
    }

    /// Stops the agent of a session, and takes it out of lists; nothing of it is removed from the ledger.
    async fn delete(&self, params: &Value) -> Result<Value, Error> {
        let agent = session(params)?;
        let archived = self.0.runtime.control(&agent, ControlAgent { action: Action::Archive }).await;
        archived.map_err(|error| failed(&error, "sessionId"))?;
        self.0.sessions.close(&agent);
        Ok(json!({}))
    }

    /// Chooses the model that the agent asks first, from its next turn on.
    async fn choose(&self, params: &Value) -> Result<Value, Error> {
        let agent = session(params)?;
        if params["configId"] != MODEL {
            return Err(invalid("configId", &format!("expected {MODEL:?}, the one option of a session")));
        }
        let named = params["value"].as_str().unwrap_or_default();
        let model = named.parse().map_err(|_| invalid("value", "expected a model as provider/model"))?;
        let chosen = self.0.runtime.set_model(&agent, SetModel { model }).await;
        chosen.map_err(|error| failed(&error, "value"))?;
        let status = self.status(&agent).await?;
        Ok(json!({ "configOptions": self.options(&status).await? }))
    }

    /// What can be chosen of a session: its model, among those that could be asked now.
    async fn options(&self, status: &AgentStatus) -> Result<Value, Error> {
        let Some(current) = &status.summary.model.effective_model else { return Ok(json!([])) };
        let models = self.0.runtime.models().await.map_err(|error| failed(&error, "sessionId"))?;
        let mut models = models.into_reply().available_models;
        if !models.contains(current) {
            models.insert(0, current.clone());
        }
        let options = models.iter().map(|model| json!({ "value": model, "name": model }));
        Ok(json!([{
            "id": MODEL,
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": current,
            "options": options.collect::<Vec<_>>(),
        }]))
    }

    async fn status(&self, agent: &AgentId) -> Result<AgentStatus, Error> {
        let status = self.0.runtime.status(agent).await.map_err(|error| failed(&error, "sessionId"))?;
        Ok(status.into_reply())
    }

    async fn list(&self, params: &Value) -> Result<Value, Error> {
        let after = match params["cursor"].as_str() {
            Some(cursor) => {
                Some(AgentId::new(cursor).map_err(|error| invalid("cursor", &error.to_string()))?)
            }
            None => None,
        };
        let query = ListQuery { after, limit: Some(PAGE), all: false };
        let page = self.0.runtime.agents(query).await.map_err(|error| failed(&error, "cursor"))?;
        let here = params["cwd"].as_str().map(really);
        let sessions = page.agents.iter().filter_map(|listed| entry(listed, here.as_deref()));
        let mut list = json!({ "sessions": sessions.collect::<Vec<_>>() });
        if let Some(next) = &page.next {
            list["nextCursor"] = json!(next);
        }
        Ok(list)
    }
}

impl<C: Control + Clone + Send + Sync + 'static> Service for Server<C> {
    fn call(&self, call: Call) -> impl Future<Output = Result<Value, Error>> + Send + 'static {
        let server = self.clone();
        // A prompt is known before whatever cancels it is looked at.
        let pending = (call.method == "session/prompt")
            .then(|| session(&call.params).ok())
            .flatten()
            .and_then(|agent| self.0.sessions.prompted(&agent, &call.id));
        async move { server.answered(call, pending).await }
    }

    fn notified(&self, method: &str, params: Value) -> Option<Value> {
        if method == "session/cancel"
            && let Ok(agent) = session(&params)
        {
            self.0.sessions.cancel(&agent);
        }
        None
    }
}

fn initialized() -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": false, "sse": false },
            "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} },
        },
        "agentInfo": { "name": "holon", "title": "Holon", "version": env!("CARGO_PKG_VERSION") },
        "authMethods": [],
    })
}

/// A session in a list.
fn entry(listed: &Listed, here: Option<&Path>) -> Option<Value> {
    let Listed::Agent(entry) = listed else { return None };
    let cwd = entry.execution.cwd.as_str();
    if here.is_some_and(|here| here != Path::new(cwd)) {
        return None;
    }
    let label = listed.standing().map(|standing| &standing.label);
    let title = label.and_then(|label| label.description.as_ref().map(ToString::to_string));
    Some(json!({ "sessionId": entry.agent_id, "cwd": cwd, "title": title }))
}

/// A folder as agents have it: without links and a slash at its end. One that is gone is known by its name.
fn really(folder: &str) -> PathBuf {
    Path::new(folder).canonicalize().unwrap_or_else(|_| PathBuf::from(folder))
}

/// What is left aside is said: agents have the servers of the runtime's own settings.
fn opened(params: &Value, mut reply: Value) -> Value {
    if params["mcpServers"].as_array().is_some_and(|servers| !servers.is_empty()) {
        let notice = "mcpServers are not used: `holon mcp add` gives servers of tools to agents";
        reply["_meta"] = json!({ "holon": { "notice": notice } });
    }
    reply
}

/// The agent that a session is.
pub(crate) fn session(params: &Value) -> Result<AgentId, Error> {
    let id =
        params["sessionId"].as_str().ok_or_else(|| invalid("sessionId", "expected the id of a session"))?;
    AgentId::new(id).map_err(|error| invalid("sessionId", &error.to_string()))
}

fn unknown_session(params: &Value) -> Error {
    let id = &params["sessionId"];
    invalid("sessionId", &format!("{id} is not open here: session/load or session/resume opens it"))
}

fn cwd(params: &Value) -> Result<&str, Error> {
    let cwd = params["cwd"].as_str().filter(|cwd| Path::new(cwd).is_absolute());
    cwd.ok_or_else(|| invalid("cwd", "expected an absolute path"))
}

pub(crate) fn invalid(field: &str, problem: &str) -> Error {
    Error::invalid_params(format!("{field}: {problem}")).with(json!({ "field": field }))
}

/// Why the runtime did not do it.
pub(crate) fn failed(error: &ClientError, field: &str) -> Error {
    let code = error.code().unwrap_or("runtime_unreachable");
    let mut data = json!({ "code": code, "hint": error.hint() });
    match code {
        "unknown_agent" | "invalid_workspace" | "agent_damaged" | "invalid_model" | "invalid_body" => {
            data["field"] = field.into();
            invalid(field, &error.to_string()).with(data)
        }
        _ => Error::failed(error.to_string()).with(data),
    }
}

#[cfg(test)]
mod tests {
    use holon_api::ErrorBody;

    use super::*;

    #[test]
    fn what_a_runtime_does_not_take_has_its_field_and_its_code() {
        let refused = |code: &str| {
            let body = ErrorBody {
                ok: false,
                error: "no".to_owned(),
                code: code.to_owned(),
                hint: Some("try".to_owned()),
                details: None,
            };
            failed(&ClientError::Refused { status: 409, body: Box::new(body) }, "cwd")
        };
        let invalid = refused("invalid_workspace");
        let data = json!({ "field": "cwd", "code": "invalid_workspace", "hint": "try" });
        assert_eq!((invalid.code, invalid.data), (-32_602, Some(data)));
        let other = refused("queue_full");
        assert_eq!((other.code, other.data), (-32_603, Some(json!({ "code": "queue_full", "hint": "try" }))));
    }

    #[test]
    fn a_folder_is_what_it_really_is() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/../src/");
        let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").canonicalize().unwrap();
        assert_eq!(really(folder).as_os_str(), real.as_os_str());
        assert_eq!(really("/no/such/folder/"), Path::new("/no/such/folder"));
    }
}
