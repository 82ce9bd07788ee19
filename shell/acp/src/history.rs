//! What was said in a session before it was loaded.

use std::path::Path;

use holon_api::{Control, PageQuery, TranscriptEntry};
use holon_facts::{AgentId, EventSeq};
use holon_rpc::{Error, Peer};

use crate::server::failed;
use crate::update::{Told, Updates, chunk, notify};

/// Entries that are shown: the newest.
const MOST: usize = 2_000;
const PAGE: u32 = 500;

/// Shows what was said up to an event, the oldest first.
pub(crate) async fn show(
    runtime: &impl Control,
    peer: &Peer,
    (agent, root): (&AgentId, &Path),
    last: EventSeq,
) -> Result<(), Error> {
    let mut entries: Vec<TranscriptEntry> = Vec::new();
    let mut before = Some(EventSeq(last.0 + 1));
    let mut more = true;
    while more && entries.len() < MOST {
        let query = PageQuery { before, after: None, limit: Some(PAGE) };
        let page = runtime.transcript(agent, query).await.map_err(|error| failed(&error, "sessionId"))?;
        let page = page.into_reply();
        entries.extend(page.entries.into_iter().rev());
        (more, before) = (page.more && page.next.is_some(), page.next);
    }
    let gone = || Error::failed("the editor is gone");
    if more {
        let text = format!("[what was said before is not shown: holon transcript {agent}]\n\n");
        notify(peer, agent, &chunk("agent_message_chunk", &text)).await.ok_or_else(gone)?;
    }
    let mut updates = Updates::new(&root.display().to_string());
    for entry in entries.iter().rev() {
        for told in updates.of(entry, None) {
            let update = match told {
                Told::Text(text) => chunk("agent_message_chunk", &text),
                Told::Update(update) => update,
                Told::Failed(_, _, text) => chunk("agent_thought_chunk", &format!("[{text}]\n\n")),
            };
            notify(peer, agent, &update).await.ok_or_else(gone)?;
        }
    }
    Ok(())
}
