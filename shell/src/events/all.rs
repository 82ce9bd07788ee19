//! Events of all public agents in the one order of the ledger, for whoever follows them together. Each read of what is
//! new is made once for all followers; an agent costs something only while it has events.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use holon_facts::{AgentId, Record};
use holon_ledger::error::LedgerError;
use holon_ledger::read::{LedgerSeq, Located, Overall, Reader, Stretch};
use holon_platform::spawn;
use serde_json::json;
use tokio::sync::{Mutex, watch};

use super::EventsError;
use super::presented::{self, Presenting};
use crate::envelope::Envelopes;

/// Events that are handed over at once.
const BATCH: usize = 128;
/// Between two looks at what other runtimes write.
const LOOK: Duration = Duration::from_millis(100);
/// Events that are kept for followers who are a little behind; the others read the ledger.
const KEPT: usize = 1_024;
/// Bytes of them.
const KEPT_BYTES: usize = 1 << 20;
/// Agents whose runs are remembered between two events, and messages of each.
const AGENTS: usize = 512;
const MESSAGES: usize = 16;

/// The kind that stands for an event which can't be read.
pub const DAMAGED: &str = "event_damaged";

/// One event among those of all agents, as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct PlacedEvent {
    pub at: LedgerSeq,
    pub kind: &'static str,
    /// The envelope with its position as JSON, without a line end.
    pub json: String,
    /// What it means to people, as JSON: none where nobody asked for it, nothing where it can't be read.
    pub presentation: Option<String>,
}

impl PlacedEvent {
    /// The envelope, where asked for with what it means to people.
    pub fn envelope(&self, present: bool) -> Cow<'_, str> {
        presented::envelope(&self.json, self.presentation.as_deref(), present)
    }

    fn bytes(&self) -> usize {
        self.json.len() + self.presentation.as_ref().map_or(0, String::len)
    }
}

/// A page of them.
#[derive(Debug)]
pub struct PlacedPage {
    pub events: Vec<PlacedEvent>,
    pub reached: LedgerSeq,
    pub more: bool,
    pub last: LedgerSeq,
}

/// Reads one page, with what events mean to people where that is asked for. Its cost has a bound: where only private agents were at work, it may have no events.
///
/// # Errors
/// When the ledger can't be read. An event that is damaged comes as such.
pub fn page_of_all(reader: &Arc<Reader>, stretch: Stretch, present: bool) -> Result<PlacedPage, EventsError> {
    let Overall { mut records, reached, more, last } = reader.of_all(stretch)?;
    if stretch.newest {
        // Envelopes follow the order of events.
        records.reverse();
    }
    let mut envelopes = EnvelopesByAgent::default();
    let mut events = envelopes.all(reader, records, present)?;
    if stretch.newest {
        events.reverse();
    }
    Ok(PlacedPage { events, reached, more, last })
}

/// What all followers of everything share.
pub(super) struct AllTopic {
    /// Counts what has become durable while somebody follows.
    changes: watch::Sender<u64>,
    presenting: Presenting,
    window: Mutex<Window>,
}

/// The newest events, without a gap.
#[derive(Default)]
struct Window {
    /// Everything later than this, …
    after: LedgerSeq,
    /// … and not later than this, is in here.
    through: LedgerSeq,
    events: VecDeque<Arc<PlacedEvent>>,
    bytes: usize,
    envelopes: EnvelopesByAgent,
}

/// Puts records of many agents into envelopes, in their order.
#[derive(Default)]
struct EnvelopesByAgent(BTreeMap<AgentId, Envelopes>);

/// Sees every event of a public agent after its cursor once, in the order of the ledger.
pub struct AllSubscription {
    topic: Arc<AllTopic>,
    reader: Arc<Reader>,
    cursor: LedgerSeq,
    /// Whether what events mean to people is asked for.
    present: bool,
    changes: watch::Receiver<u64>,
    /// Whether other runtimes write, too: they are looked at now and then.
    elsewhere: bool,
}

/// What one look at the topic gave.
struct Looked {
    events: Vec<Arc<PlacedEvent>>,
    through: LedgerSeq,
}

impl Default for AllTopic {
    fn default() -> Self {
        Self { changes: watch::channel(0).0, presenting: Presenting::default(), window: Mutex::default() }
    }
}

impl AllTopic {
    /// Something has become durable. Costs next to nothing while nobody follows.
    pub(super) fn notify(&self) {
        if self.changes.receiver_count() > 0 {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    async fn after(
        &self,
        cursor: LedgerSeq,
        reader: &Arc<Reader>,
        present: bool,
    ) -> Result<Looked, EventsError> {
        let mut window = self.window.lock().await;
        if cursor > window.through {
            // Nobody followed for a while.
            *window = Window { after: cursor, through: cursor, ..Window::default() };
        }
        if cursor == window.through {
            window.read(reader, self.presenting.is_asked_for()).await?;
        }
        if let Some(looked) = window.looked(cursor, present) {
            return Ok(looked);
        }
        drop(window);
        let stretch = Stretch { after: cursor, before: None, limit: BATCH, newest: false };
        let page = blocking(reader, move |reader| page_of_all(reader, stretch, present)).await?;
        Ok(Looked { events: page.events.into_iter().map(Arc::new).collect(), through: page.reached })
    }
}

impl Window {
    /// Reads what the ledger has behind it.
    async fn read(&mut self, reader: &Arc<Reader>, present: bool) -> Result<(), EventsError> {
        let stretch = Stretch { after: self.through, before: None, limit: BATCH, newest: false };
        let mut envelopes = std::mem::take(&mut self.envelopes);
        // A wait that is given up here leaves envelopes that begin anew.
        let (overall, envelopes) = blocking(reader, move |reader| {
            let overall = reader.of_all(stretch)?;
            let events = envelopes.all(reader, overall.records, present)?;
            Ok(((events, overall.reached), envelopes))
        })
        .await?;
        let (events, reached) = overall;
        self.envelopes = envelopes;
        self.through = reached;
        for event in events {
            self.bytes += event.bytes();
            self.events.push_back(Arc::new(event));
        }
        while self.events.len() > KEPT || self.bytes > KEPT_BYTES {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.bytes();
            self.after = oldest.at;
        }
        Ok(())
    }

    /// What comes after a cursor; none where that is in the ledger only, as are those whose presentation is asked for, and
    /// was not when they came.
    fn looked(&self, cursor: LedgerSeq, present: bool) -> Option<Looked> {
        if cursor < self.after {
            return None;
        }
        let skipped = self.events.partition_point(|event| event.at <= cursor);
        let later = self.events.iter().skip(skipped).take(BATCH);
        let whole = later.take_while(|event| !present || event.presentation.is_some());
        let events: Vec<_> = whole.cloned().collect();
        let rest = skipped + events.len() < self.events.len();
        if rest && events.is_empty() {
            return None;
        }
        let through = events.last().filter(|_| rest).map_or(self.through, |event| event.at);
        Some(Looked { events, through })
    }
}

impl EnvelopesByAgent {
    fn all(
        &mut self,
        reader: &Arc<Reader>,
        records: Vec<Located>,
        present: bool,
    ) -> Result<Vec<PlacedEvent>, EventsError> {
        records.into_iter().map(|located| self.event(reader, located, present)).collect()
    }

    fn event(
        &mut self,
        reader: &Arc<Reader>,
        located: Located,
        present: bool,
    ) -> Result<PlacedEvent, EventsError> {
        let Located { at, agent, event_seq, record } = located;
        let damaged = |error: &LedgerError| {
            let data = json!({
                "position": at.0, "type": DAMAGED, "agent_id": agent, "event_seq": event_seq,
                "problem": error.to_string(),
            });
            PlacedEvent { at, kind: DAMAGED, json: data.to_string(), presentation: Some(String::new()) }
        };
        let line = match record {
            Ok(record) => self
                .line(reader, &record)
                .and_then(|line| Ok((record.event.kind(), line, presented::of(&record, present)?))),
            Err(error) => Err(error.into()),
        };
        match line {
            Ok((kind, line, presentation)) => {
                let fields = line.strip_prefix('{').unwrap_or(&line);
                let json = format!(r#"{{"position":{},{fields}"#, at.0);
                Ok(PlacedEvent { at, kind, json, presentation })
            }
            Err(EventsError::Ledger(error)) if error.is_damage() => Ok(damaged(&error)),
            Err(error @ (EventsError::Ledger(_) | EventsError::Json(_) | EventsError::Ended)) => Err(error),
        }
    }

    fn line(&mut self, reader: &Arc<Reader>, record: &Record) -> Result<String, EventsError> {
        if self.0.len() >= AGENTS && !self.0.contains_key(&record.agent) {
            // Those that are at work come back with their next event.
            self.0.clear();
        }
        let envelopes = match self.0.get_mut(&record.agent) {
            Some(envelopes) => envelopes,
            None => {
                let made = Envelopes::from(reader.clone(), record.agent.clone(), record.event_seq)?;
                self.0.entry(record.agent.clone()).or_insert(made.remembering(MESSAGES))
            }
        };
        Ok(envelopes.line(record)?)
    }
}

impl AllSubscription {
    pub(super) fn new(topic: Arc<AllTopic>, reader: Arc<Reader>, cursor: LedgerSeq, present: bool) -> Self {
        let (changes, elsewhere) = (topic.changes.subscribe(), reader.is_of_all_cells());
        topic.presenting.join(present);
        Self { topic, reader, cursor, present, changes, elsewhere }
    }

    /// Everything up to here was handed over.
    pub fn cursor(&self) -> LedgerSeq {
        self.cursor
    }

    /// Waits for events; never gives none.
    ///
    /// # Errors
    /// When the ledger can't be read. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<Arc<PlacedEvent>>, EventsError> {
        loop {
            self.changes.borrow_and_update();
            let Looked { events, through } =
                self.topic.after(self.cursor, &self.reader, self.present).await?;
            let moved = through > self.cursor;
            self.cursor = self.cursor.max(through);
            if !events.is_empty() {
                return Ok(events);
            }
            if !moved {
                let elsewhere = async {
                    match self.elsewhere {
                        true => tokio::time::sleep(LOOK).await,
                        false => std::future::pending().await,
                    }
                };
                tokio::select! {
                    // The topic lives as long as this does.
                    changed = self.changes.changed() => changed.map_err(|_| EventsError::Ended)?,
                    () = elsewhere => {}
                }
            }
        }
    }
}

impl Drop for AllSubscription {
    fn drop(&mut self) {
        self.topic.presenting.leave(self.present);
    }
}

async fn blocking<T: Send + 'static>(
    reader: &Arc<Reader>,
    read: impl FnOnce(&Arc<Reader>) -> Result<T, EventsError> + Send + 'static,
) -> Result<T, EventsError> {
    let reader = reader.clone();
    spawn::blocking(move || read(&reader)).await.map_err(|_| EventsError::Ended)?
}
