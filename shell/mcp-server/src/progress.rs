//! What happens while a call waits, for clients that want to know.

use std::pin::pin;

use holon_api::{Control, Events, Followed};
use holon_facts::AgentId;
use holon_present::{Level, Presentation};
use serde_json::json;

use crate::server::Asked;

/// Does something, and notifies the client meanwhile of what happens to an agent.
pub(crate) async fn watching<C: Control, T>(
    asked: &Asked<'_, C>,
    agent: &AgentId,
    work: impl Future<Output = T> + Send,
) -> T {
    let token = &asked.params["_meta"]["progressToken"];
    if token.is_null() {
        return work.await;
    }
    let mut work = pin!(work);
    let mut events = asked.runtime.follow(agent, None, false);
    let mut steps = 0_u64;
    loop {
        let followed = tokio::select! {
            biased;
            done = &mut work => return done,
            followed = events.next() => followed,
        };
        match followed {
            Ok(Followed::Event(event)) => {
                let Some(message) = event.record().ok().and_then(|record| shown(&Presentation::of(&record)))
                else {
                    continue;
                };
                steps += 1;
                let params = json!({ "progressToken": token, "progress": steps, "message": message });
                // A client that is gone needs no notice.
                drop(asked.peer.notify("notifications/progress", &params).await);
            }
            Ok(Followed::Live { .. }) => {}
            // What is waited for says better what is wrong.
            Err(_) => return work.await,
        }
    }
}

/// What people see of an event, in a line.
fn shown(presentation: &Presentation) -> Option<String> {
    Level::Verbose.shows(presentation.visibility).then(|| presentation.summary.clone())
}
