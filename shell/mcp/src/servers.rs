//! All servers of a runtime: each is started when it is first needed, shared by whoever uses it, ended when nobody has for a
//! while, and started again after a failure, later each time.

mod slot;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use boon::{Compiler, SchemaIndex, Schemas, UrlLoader};
use holon_facts::Millis;
use holon_platform::spawn;
use holon_text::Secrets;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::catalogue::Catalogue;
use crate::connection::{CallError, CallResult, Tool};
use crate::definition::Definition;
use crate::listing::Listing;
use crate::log::Log;
use slot::Slot;

/// A turn that begins waits so long for servers that have never listed their tools; one that is later is offered later.
const OFFER_WAIT: Duration = Duration::from_secs(10);

/// Where servers are started.
#[derive(Clone)]
pub struct Host {
    /// This binary, which has the helper that ends programs with what they have started.
    pub helper: PathBuf,
    /// Where logs and lists of tools are kept.
    pub folder: PathBuf,
    /// What is written to no log.
    pub secrets: Arc<Secrets>,
}

/// The servers of a runtime. Cheap to clone.
#[derive(Clone)]
pub struct Servers {
    slots: Arc<BTreeMap<String, Arc<Slot>>>,
    folder: PathBuf,
}

/// What a server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub revision: String,
    /// Name and version, as it gives them.
    pub server: Option<String>,
    pub tools: Vec<Tool>,
}

/// A server that can't be used now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{server}: {problem}")]
pub struct Unavailable {
    pub server: String,
    pub problem: String,
}

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerState {
    pub name: String,
    /// `configured`, `starting`, `ready` or `failed`.
    pub state: &'static str,
    pub problem: Option<String>,
    pub starts: u64,
    pub calls: u64,
    pub failed_calls: u64,
}

impl Servers {
    pub fn new(definitions: Vec<Definition>, host: &Host) -> Self {
        let slots = definitions.into_iter().map(|definition| {
            let name = definition.name.clone();
            (name, Slot::new(definition, host.clone()))
        });
        Self { slots: Arc::new(slots.collect()), folder: host.folder.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.keys().map(String::as_str)
    }

    pub fn definition(&self, server: &str) -> Option<&Definition> {
        self.slots.get(server).map(|slot| &slot.definition)
    }

    /// How each of them stands.
    pub fn states(&self) -> Vec<ServerState> {
        self.slots.values().map(|slot| slot.state()).collect()
    }

    /// What a server has written to its standard error.
    pub fn log(&self, server: &str) -> Log {
        Log::of(&self.folder, server)
    }

    /// Takes away what is kept of a server.
    ///
    /// # Errors
    /// A file that can't be removed.
    pub fn forget(host: &Host, server: &str) -> std::io::Result<()> {
        Log::of(&host.folder, server).remove()?;
        Listing::remove(&host.folder, server)
    }

    /// The tools that a server has now: it is started for that.
    ///
    /// # Errors
    /// It can't be started, or lists nothing.
    pub async fn list(&self, server: &str) -> Result<Listed, Unavailable> {
        self.slot(server)?.list().await
    }

    /// What these servers offer. Those whose tools are known are not started for it; the others are, all at once, and are
    /// waited for a little. Beside it why servers offer nothing.
    pub async fn offer(&self, servers: &[String]) -> (Catalogue, Vec<Unavailable>) {
        let (mut listed, mut problems, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for server in servers {
            match self.slot(server) {
                Ok(slot) => {
                    let slot = slot.clone();
                    // It goes on although nobody waits any more.
                    asked.push((server, spawn::task(async move { slot.known_or_list().await })));
                }
                Err(problem) => problems.push(problem),
            }
        }
        for (server, answer) in asked {
            match tokio::time::timeout(OFFER_WAIT, answer).await {
                Ok(Ok(Ok(tools))) => listed.push((server.as_str(), tools)),
                Ok(Ok(Err(problem))) => problems.push(problem),
                Ok(Err(interrupted)) => problems.push(unavailable(server, &interrupted.to_string())),
                Err(_) => problems
                    .push(unavailable(server, "it is still starting: its tools are offered once it has")),
            }
        }
        let catalogue =
            Catalogue::of(listed.iter().map(|(server, listed)| (*server, listed.tools.as_slice())));
        (catalogue, problems)
    }

    /// Calls a tool once. Arguments that its schema refuses are not sent. Dropping the future cancels the call.
    ///
    /// # Errors
    /// What became of it instead, and whether it may have had effects.
    pub async fn call(&self, server: &str, tool: &str, arguments: &str) -> Result<CallResult, CallError> {
        let arguments: Map<String, Value> = match serde_json::from_str(arguments) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => return Err(CallError::Arguments("they are no JSON object".to_owned())),
            Err(problem) => return Err(CallError::Arguments(format!("they are no JSON: {problem}"))),
        };
        let slot = self.slot(server).map_err(|problem| CallError::NotSent(problem.to_string()))?;
        slot.call(tool, arguments).await
    }

    /// Ends all of them.
    pub async fn close(&self) {
        for slot in self.slots.values() {
            slot.close().await;
        }
    }

    fn slot(&self, server: &str) -> Result<&Arc<Slot>, Unavailable> {
        self.slots.get(server).ok_or_else(|| unavailable(server, "there is no such server any more"))
    }
}

/// Most of a problem that is shown.
fn unavailable(server: &str, problem: &str) -> Unavailable {
    Unavailable { server: server.to_owned(), problem: problem.chars().take(1_000).collect() }
}

/// How long is waited before a server is started again that has failed so many times in a row.
fn backoff(failures: u32) -> Millis {
    Millis(1_000 << failures.saturating_sub(1).min(6)).min(Millis::seconds(60))
}

/// Whether arguments are what a schema asks for. References lead nowhere: nothing is read or fetched for them.
fn check(schema: &Value, arguments: &Map<String, Value>) -> Result<(), CallError> {
    const PLACE: &str = "holon:///arguments";
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(NoLoader));
    let compiled: Result<SchemaIndex, _> =
        compiler.add_resource(PLACE, schema.clone()).and_then(|()| compiler.compile(PLACE, &mut schemas));
    // Its own server can read it, or will say so.
    let Ok(index) = compiled else { return Ok(()) };
    let arguments = Value::Object(arguments.clone());
    schemas.validate(&arguments, index).map_err(|error| CallError::Arguments(format!("{error:#}")))
}

struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url} is not looked at").into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_that_fails_is_left_alone_for_longer_each_time() {
        let waits: Vec<u64> = (1..9).map(|failures| backoff(failures).0 / 1_000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn arguments_are_checked_without_looking_anywhere() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        assert_eq!(check(&schema, &object(json!({"n": 1}))), Ok(()));
        let wrong = check(&schema, &object(json!({"n": "1"}))).unwrap_err();
        assert!(matches!(&wrong, CallError::Arguments(why) if why.contains("/n")), "{wrong:?}");
        for unreadable in [json!({"$ref": "file:///etc/passwd"}), json!({"$ref": "http://127.0.0.1:1/x"})] {
            assert_eq!(check(&unreadable, &object(json!({}))), Ok(()));
        }
    }
}
