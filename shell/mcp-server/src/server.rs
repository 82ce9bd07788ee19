//! Which method is answered how.

use std::sync::{Arc, OnceLock};

use holon_api::Control;
use holon_platform::entropy;
use holon_rpc::{Call, Error, Peer, Service};
use serde_json::{Value, json};

use crate::protocol::{self, Revision};
use crate::subscriptions::{self, Subscriptions};
use crate::tools::{self, Tool};
use crate::{progress, resources};

/// One client, or all those that come over HTTP. Cheap to clone.
pub struct Server<C>(Arc<Parts<C>>);

struct Parts<C> {
    runtime: C,
    read_only: bool,
    /// Whether one client is there, that may follow resources; not where each request comes alone.
    subscribes: bool,
    /// What the client calls itself.
    client: OnceLock<String>,
    subscriptions: Subscriptions,
}

/// A request on its way.
pub(crate) struct Asked<'a, C> {
    pub(crate) runtime: &'a C,
    pub(crate) id: &'a Value,
    pub(crate) peer: &'a Peer,
    pub(crate) params: &'a Value,
    /// What the client calls itself.
    pub(crate) client: &'a str,
}

impl<C> Clone for Server<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C> Server<C> {
    /// For one client. `read_only` leaves out all tools that change something.
    pub fn for_one(runtime: C, read_only: bool) -> Self {
        Self::new(runtime, read_only, true)
    }

    /// For requests that come alone, each with everything that it needs.
    pub fn for_all(runtime: C) -> Self {
        Self::new(runtime, false, false)
    }

    fn new(runtime: C, read_only: bool, subscribes: bool) -> Self {
        let (client, subscriptions) = (OnceLock::new(), Subscriptions::default());
        Self(Arc::new(Parts { runtime, read_only, subscribes, client, subscriptions }))
    }
}

impl<C: Control + Clone + Send + Sync + 'static> Server<C> {
    async fn answered(&self, call: Call) -> Result<Value, Error> {
        let Call { id, method, params, peer } = call;
        let revision = Revision::of(&params)?;
        let known = protocol::client(&params).or_else(|| self.0.client.get().cloned());
        let asked = Asked {
            runtime: &self.0.runtime,
            id: &id,
            peer: &peer,
            params: &params,
            client: known.as_deref().unwrap_or("client"),
        };
        let subscribes = self.0.subscribes;
        match method.as_str() {
            "initialize" => {
                if let Some(client) = params["clientInfo"]["name"].as_str() {
                    // A client that introduces itself twice stays who it was.
                    drop(self.0.client.set(client.to_owned()));
                }
                Ok(protocol::initialized(&params, subscribes))
            }
            "server/discover" => Ok(protocol::discovered()),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(revision.cacheable(json!({ "tools": Tool::list(self.0.read_only) }))),
            "tools/call" => tools::call(&asked, self.0.read_only).await.map(|result| revision.whole(result)),
            "resources/list" => resources::list(&asked).await.map(|list| revision.cacheable(list)),
            "resources/templates/list" => Ok(revision.cacheable(resources::templates())),
            "resources/read" => resources::read(&asked).await.map(|read| revision.cacheable(read)),
            "resources/subscribe" if subscribes => {
                self.0.subscriptions.begin(&asked).await?;
                Ok(json!({}))
            }
            "resources/unsubscribe" if subscribes => {
                self.0.subscriptions.end(&params)?;
                Ok(json!({}))
            }
            "subscriptions/listen" => subscriptions::listen(&asked).await,
            other => Err(Error::unknown_method(other)),
        }
    }
}

impl<C: Control + Clone + Send + Sync + 'static> Service for Server<C> {
    fn call(&self, call: Call) -> impl Future<Output = Result<Value, Error>> + Send + 'static {
        let server = self.clone();
        async move { server.answered(call).await }
    }

    fn notified(&self, method: &str, params: Value) -> Option<Value> {
        (method == "notifications/cancelled").then(|| params["requestId"].clone())
    }
}

impl<C: Control> Asked<'_, C> {
    /// The idempotency key of a change: the one that was given, or a new one. The id of the request is none: ids of different
    /// clients are equal, a client may use one again, and it may be any text.
    pub(crate) fn key(&self, given: Option<String>) -> std::io::Result<String> {
        match given {
            Some(given) => Ok(given),
            None => Ok(format!("mcp-{}{}", entropy::name()?, entropy::name()?)),
        }
    }

    /// Does something, and shows the client meanwhile what happens to an agent, if it wants to know.
    pub(crate) async fn watching<T>(
        &self,
        agent: &holon_facts::AgentId,
        work: impl Future<Output = T> + Send,
    ) -> T {
        progress::watching(self, agent, work).await
    }
}
