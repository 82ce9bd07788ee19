//! Clients that want to know when a resource has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_api::{Control, Events, Followed};
use holon_facts::AgentId;
use holon_platform::spawn;
use holon_rpc::{Error, Peer};
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use crate::resources::{self, Part, failed, named};
use crate::server::Asked;

/// Resources that one client follows at once.
const MOST: usize = 64;
/// Changes within this time are one.
const TOGETHER: Duration = Duration::from_millis(250);
/// A notification names its subscription here, where there are several.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// What is followed, by its address. It ends with the client.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<BTreeMap<String, AbortHandle>>);

impl Subscriptions {
    /// Follows a resource; one that is followed already goes on.
    pub(crate) async fn begin<C: Control + Clone + Send + Sync + 'static>(
        &self,
        asked: &Asked<'_, C>,
    ) -> Result<(), Error> {
        let (uri, agent, part) = named(asked.params)?;
        asked.runtime.status(&agent).await.map_err(|error| failed(error, &uri))?;
        let mut known = self.lock();
        known.retain(|_, following| !following.is_finished());
        if known.contains_key(&uri) {
            return Ok(());
        }
        if known.len() >= MOST {
            return Err(Error::invalid_params(format!("uri: {MOST} resources are followed already")));
        }
        let (runtime, peer) = (asked.runtime.clone(), asked.peer.clone());
        let followed = uri.clone();
        let following =
            spawn::task(
                async move { follow(&runtime, &peer, (&agent, part), &json!({ "uri": followed })).await },
            );
        known.insert(uri, following.abort_handle());
        Ok(())
    }

    /// Follows it no more.
    pub(crate) fn end(&self, params: &Value) -> Result<(), Error> {
        let (uri, ..) = named(params)?;
        if let Some(following) = self.lock().remove(&uri) {
            following.abort();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.lock().values().for_each(AbortHandle::abort);
    }
}

/// Follows what one request names, until it is cancelled.
pub(crate) async fn listen<C: Control + Clone + Send + Sync + 'static>(
    asked: &Asked<'_, C>,
) -> Result<Value, Error> {
    let known = wanted(asked.params);
    let uris: Vec<&str> = known.iter().map(|(uri, ..)| *uri).collect();
    let meta = json!({ SUBSCRIPTION: asked.id });
    let accepted = json!({ "notifications": { "resourceSubscriptions": uris }, "_meta": meta });
    let method = "notifications/subscriptions/acknowledged";
    asked.peer.notify(method, &accepted).await.map_err(|gone| Error::failed(gone.to_string()))?;
    // They end with the request, also with one that is given up.
    let own = Subscriptions::default();
    let mut following = Vec::new();
    for (uri, agent, part) in known {
        let (runtime, peer) = (asked.runtime.clone(), asked.peer.clone());
        let params = json!({ "uri": uri, "_meta": meta });
        let task = spawn::task(async move { follow(&runtime, &peer, (&agent, part), &params).await });
        own.lock().insert(uri.to_owned(), task.abort_handle());
        following.push(task);
    }
    for task in following {
        // One that broke down is one that has ended.
        drop(task.await);
    }
    Ok(json!({ "resultType": "complete", "_meta": meta }))
}

/// The resources that are wanted, each once; what is none is left out.
fn wanted(params: &Value) -> Vec<(&str, AgentId, Part)> {
    let wanted = params["notifications"]["resourceSubscriptions"].as_array();
    let mut named = BTreeSet::new();
    let each = wanted.into_iter().flatten().filter_map(Value::as_str).filter(|uri| named.insert(*uri));
    let known = each.take(MOST).filter_map(|uri| Some((uri, resources::of(uri).ok()?)));
    known.map(|(uri, (agent, part))| (uri, agent, part)).collect()
}

/// Notifies of each change, until the agent can't be followed or the client is gone.
async fn follow(runtime: &impl Control, peer: &Peer, (agent, part): (&AgentId, Part), params: &Value) {
    let mut events = runtime.follow(agent, None, false);
    while let Ok(followed) = events.next().await {
        if !changes(part, &followed) {
            continue;
        }
        let end = Instant::now() + TOGETHER;
        while let Ok(next) = timeout_at(end, events.next()).await {
            if next.is_err() {
                break;
            }
        }
        if peer.notify("notifications/resources/updated", params).await.is_err() {
            return;
        }
    }
}

fn changes(part: Part, followed: &Followed) -> bool {
    let Followed::Event(event) = followed else { return false };
    match part {
        Part::State => true,
        Part::Briefs => event.kind.starts_with("brief_") || event.kind.starts_with("ask_"),
        Part::Transcript => {
            let said =
                ["message_admitted", "assistant_round_recorded", "tool_executed", "tool_execution_failed"];
            said.contains(&event.kind.as_str())
                || event.kind == "brief_created"
                || event.kind == "turn_terminal"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_that_is_named_twice_is_followed_once() {
        let (main, other) = ("holon://agents/main/state", "holon://agents/other/state");
        let params =
            json!({ "notifications": { "resourceSubscriptions": [main, other, main, "holon://x", 7] } });
        let uris: Vec<&str> = wanted(&params).into_iter().map(|(uri, ..)| uri).collect();
        assert_eq!(uris, [main, other]);
        assert!(wanted(&json!({})).is_empty());
    }
}
