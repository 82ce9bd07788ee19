//! Follows the agent of a session, and shows its editor what happens.

use holon_api::{ClientError, Control, Envelope, Events, LiveAttempt, LiveText, PageQuery, WorkItemsQuery};
use holon_facts::event::{Event, TurnFact};
use holon_facts::{AgentId, EventSeq, OpId};
use holon_rpc::Peer;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::server::PAUSE;
use crate::session::{Failure, Failures};
use crate::update::{Told, Updates, chunk, notify, plan};

/// What is followed, and for whom.
pub(crate) struct Followed<C> {
    pub(crate) runtime: C,
    pub(crate) peer: Peer,
    pub(crate) agent: AgentId,
    /// Where paths begin that are no absolute ones.
    pub(crate) root: String,
    /// Begins the names of prompts of this editor: it knows what they say.
    pub(crate) own: String,
    pub(crate) shown: watch::Sender<EventSeq>,
    pub(crate) failures: Failures,
}

/// The text of a round on its way.
#[derive(Default)]
struct Stream {
    /// What asks the model, if its attempt was followed from its beginning: of anything else no piece is shown, since the
    /// record has its text as a whole.
    op: Option<OpId>,
    text: String,
}

/// Shows what happens, until nobody wants to see it any more. A runtime that is away comes back, or its editor is told by
/// its next request.
pub(crate) async fn follow<C: Control>(followed: Followed<C>, after: EventSeq) {
    let mut updates = Updates::new(&followed.root);
    let mut stream = Stream::default();
    loop {
        let cursor = *followed.shown.borrow();
        let mut events = followed.runtime.follow(&followed.agent, Some(cursor.max(after)), true);
        let mut connected = events.connected();
        while let Ok(next) = events.next().await {
            if connected.has_changed().is_ok_and(|changed| changed) {
                connected.mark_unchanged();
                // Pieces of an attempt that was under way may have been missed.
                stream.op = None;
            }
            let sent = match next {
                holon_api::Followed::Live { kind, data } => followed.live(&mut stream, &kind, data).await,
                holon_api::Followed::Event(event) => {
                    let sent = followed.event(&mut updates, &mut stream, &event).await;
                    followed.shown.send_replace(event.event_seq);
                    sent
                }
            };
            if sent.is_none() {
                return;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl Stream {
    /// An attempt begins. Gives what was shown of one that has broken off.
    fn begins(&mut self, op: OpId) -> String {
        self.op = Some(op);
        std::mem::take(&mut self.text)
    }

    /// Whether a piece is shown.
    fn shows(&mut self, op: OpId, piece: &str) -> bool {
        let shows = self.op == Some(op);
        if shows {
            self.text.push_str(piece);
        }
        shows
    }

    /// What of a round's text was not shown while it came.
    fn rest(&mut self, text: &str) -> Option<String> {
        let shown = std::mem::take(&mut self.text);
        self.op = None;
        match text.strip_prefix(shown.as_str()) {
            Some("") => None,
            Some(rest) => Some(rest.to_owned()),
            // A piece was missed.
            None => Some(format!("\n\n{text}")),
        }
    }
}

impl<C: Control> Followed<C> {
    async fn live(&self, stream: &mut Stream, kind: &str, data: Value) -> Option<()> {
        match kind {
            "live_attempt" => {
                let LiveAttempt { op, .. } = serde_json::from_value(data).ok()?;
                if !stream.begins(op).is_empty() {
                    // What was shown of an answer that broke off is no part of the next one.
                    self.update(&chunk("agent_message_chunk", "\n\n")).await?;
                }
            }
            "live_text" => {
                let LiveText { op, text, .. } = serde_json::from_value(data).ok()?;
                if stream.shows(op, &text) {
                    self.update(&chunk("agent_message_chunk", &text)).await?;
                }
            }
            // The outcome of a command comes with its result.
            _ => {}
        }
        Some(())
    }

    /// None once the editor is gone.
    async fn event(&self, updates: &mut Updates, stream: &mut Stream, event: &Envelope) -> Option<()> {
        if event.kind.starts_with("work_item") {
            return self.plan().await;
        }
        let record = event.record().ok().map(|record| record.event);
        if let Some(Event::Turn(TurnFact::ToolStarted(fact))) = &record {
            let id = updates.call_of(fact.run_id, fact.round, fact.index);
            let started =
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress" });
            return self.update(&started).await;
        }
        let said = [
            "message_admitted",
            "assistant_round_recorded",
            "tool_executed",
            "tool_execution_failed",
            "runtime_error",
        ];
        if !said.contains(&event.kind.as_str()) {
            return Some(());
        }
        let named = event.provenance.get("correlation_id").and_then(Value::as_str);
        if event.kind == "message_admitted" && named.is_some_and(|named| named.starts_with(&self.own)) {
            return Some(());
        }
        // Events have the beginning of a long text; the transcript has all of it.
        let after = Some(EventSeq(event.event_seq.0.saturating_sub(1)));
        let page = PageQuery { before: None, after, limit: Some(1) };
        let Some(page) = read(|| self.runtime.transcript(&self.agent, page.clone())).await else {
            return Some(());
        };
        let index = record.as_ref().and_then(index_of);
        for entry in page.entries.iter().filter(|entry| entry.event_seq == event.event_seq) {
            for told in updates.of(entry, index) {
                match told {
                    Told::Text(text) => {
                        if let Some(rest) = stream.rest(&text) {
                            self.update(&chunk("agent_message_chunk", &rest)).await?;
                        }
                    }
                    Told::Update(update) => self.update(&update).await?,
                    Told::Failed(message, kind, text) => self.failures.add(message, Failure { kind, text }),
                }
            }
        }
        Some(())
    }

    async fn plan(&self) -> Option<()> {
        let Some(items) = read(|| self.runtime.work_items(&self.agent, WorkItemsQuery::default())).await
        else {
            return Some(());
        };
        let Some(focus) = items.work_items.iter().find(|item| item.in_focus) else { return Some(()) };
        let path = || self.runtime.work_item((&self.agent, focus.work_item_id));
        let Some(shown) = read(path).await else { return Some(()) };
        match shown.work_item.todo_list.as_deref() {
            Some(todos) if !todos.is_empty() => self.update(&plan(todos)).await,
            Some(_) | None => Some(()),
        }
    }

    async fn update(&self, update: &Value) -> Option<()> {
        notify(&self.peer, &self.agent, update).await
    }
}

/// Asks until the runtime answers: the event that it is asked about counts as shown afterwards. None where it refuses.
async fn read<T, F>(ask: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<T, ClientError>>,
{
    loop {
        match ask().await {
            Err(error) if error.may_pass() => tokio::time::sleep(PAUSE).await,
            answer => return answer.ok(),
        }
    }
}

/// Where the call of a result stands among those of its round.
fn index_of(event: &Event) -> Option<u32> {
    let Event::Turn(fact) = event else { return None };
    if let TurnFact::ToolExecuted(executed) = fact {
        Some(executed.index)
    } else if let TurnFact::ToolExecutionFailed(failed) = fact {
        Some(failed.index)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_shown_once_from_wherever_it_is_followed() {
        let mut stream = Stream::default();
        // Followed from the middle on.
        assert!(!stream.shows(OpId(1), "of an answer."));
        assert_eq!(stream.rest("The end of an answer.").as_deref(), Some("The end of an answer."));
        // From its beginning.
        assert_eq!(stream.begins(OpId(2)), "");
        assert!(stream.shows(OpId(2), "All ") && stream.shows(OpId(2), "of it."));
        assert_eq!(stream.rest("All of it."), None);
        assert!(!stream.shows(OpId(2), "of it."), "it comes late");
        // Not to its end, since the runtime was away.
        stream.begins(OpId(3));
        assert!(stream.shows(OpId(3), "All "));
        stream.op = None;
        assert!(!stream.shows(OpId(3), "it."));
        assert_eq!(stream.rest("All of it.").as_deref(), Some("of it."));
        // A second attempt.
        stream.begins(OpId(4));
        assert!(stream.shows(OpId(4), "Brok"));
        assert_eq!(stream.begins(OpId(4)), "Brok");
        assert!(stream.shows(OpId(4), "Who"));
        assert_eq!(stream.rest("Whole.").as_deref(), Some("le."));
    }
}
