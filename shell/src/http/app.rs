//! What every handler can reach.

use std::ops::Deref;
use std::sync::Arc;

use holon_core::agent::identity::AgentKind;
use holon_core::event::LifecycleFact;
use holon_core::model::ModelRef;
use holon_core::{AgentId, Event, EventSeq, Wall};

use super::auth::Policy;
use super::failure::Failure;
use super::metrics::Metrics;
use super::route::Handled;
use super::shutdown::Shutdown;
use super::signature::Signatures;
use crate::events::Hub;
use crate::home::Home;
use crate::ledger::Reader;
use crate::perform::model::Providers;
use crate::runtime::Runtime;
use crate::settings::Access;
use crate::spawn;
use crate::trigger_address::TriggerAddresses;

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
pub struct Parts {
    pub runtime: Runtime,
    pub hub: Hub,
    /// Reads the ledger for requests: a long read is in nobody else's way.
    pub reader: Arc<Reader>,
    pub home: Home,
    pub about: About,
    pub policy: Policy,
    /// Of webhooks.
    pub signatures: Signatures,
    pub triggers: TriggerAddresses,
    pub metrics: Metrics,
    /// Asked for by a request, or by whoever started the server.
    pub shutdown: Shutdown,
    /// The configured chain of models.
    pub models: Vec<ModelRef>,
    pub providers: Providers,
}

/// What the runtime tells of itself.
#[derive(Debug, Clone)]
pub struct About {
    pub default_agent: AgentId,
    pub socket_path: String,
    /// The address on TCP; none where only the socket is served.
    pub listen: Option<String>,
    pub advertise_url: Option<String>,
    pub access: Access,
    /// Of the configuration that is in effect.
    pub config_fingerprint: Option<String>,
    pub started_at: Wall,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Work that blocks on the disk.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Handled<T> + Send + 'static,
    ) -> Handled<T> {
        let app = self.clone();
        spawn::blocking(move || work(&app)).await.map_err(Failure::internal)?
    }

    /// The last event of an agent that surfaces show.
    ///
    /// # Errors
    /// When there is none of that name. A private child is seen through its parent alone.
    pub(super) fn last_event(&self, agent: &AgentId) -> Handled<EventSeq> {
        let last = self.reader.last_event(agent)?;
        let created = self.reader.record(agent, EventSeq(1))?;
        let child = created.is_some_and(|record| match record.event {
            Event::Lifecycle(LifecycleFact::AgentCreated(fact)) => fact.spec.kind == AgentKind::Child,
            Event::Lifecycle(_)
            | Event::Inbox(_)
            | Event::Scheduling(_)
            | Event::Turn(_)
            | Event::Operation(_)
            | Event::Task(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wait(_)
            | Event::Wake(_)
            | Event::Brief(_) => false,
        });
        if child { Err(Failure::unknown_agent(agent)) } else { Ok(last) }
    }
}
