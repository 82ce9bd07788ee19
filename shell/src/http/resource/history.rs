//! What was said and told: pages of briefs and of the transcript, with whole texts. The cost is what is
//! returned.

use holon_api::rows::{ListBriefs, ShowTranscript};
use holon_api::{Brief, Briefs, PageQuery, Transcript, TranscriptEntry};
use holon_core::transcript;
use holon_facts::event::BriefFact;
use holon_facts::{AgentId, Event, EventSeq, Record};
use holon_ledger::read::Wanted;

use super::super::App;
use super::super::route::{Call, Handled};
use super::agents::{bounded, check_cursor};
use super::texts;

/// Entries of one page, where nothing else is asked for, and at most.
const ENTRIES: (u32, u32) = (50, 500);
/// Texts of one page, in bytes: a page with more ends early, after one entry at least.
const PAGE_BYTES: usize = 4 << 20;
/// Beyond every event.
const END: EventSeq = EventSeq(i64::MAX as u64);

/// Records that may be entries of a transcript.
const ENTRY: &[&str] = &[
    "message_admitted",
    "turn_started",
    "assistant_round_recorded",
    "tool_executed",
    "tool_execution_failed",
    "reminder_injected",
    "runtime_error",
];
const ATTEMPT: &[&str] = &["provider_attempt_recorded"];
/// Attempts before one of these belong to an earlier round.
const ROUND_ENDS: &[&str] = &["turn_started", "assistant_round_recorded"];
/// Attempts of one page: retries of every round of it, and more.
const ATTEMPTS: usize = 5_000;

pub(in super::super) async fn briefs(app: App, call: Call<ListBriefs>) -> Handled<Briefs> {
    app.blocking(move |app| page_of_briefs(app, &call.path.agent_id, &call.query)).await
}

pub(in super::super) async fn transcript(app: App, call: Call<ShowTranscript>) -> Handled<Transcript> {
    app.blocking(move |app| page_of_transcript(app, &call.path.agent_id, &call.query)).await
}

pub(super) fn page_of_briefs(app: &App, agent: &AgentId, query: &PageQuery) -> Handled<Briefs> {
    let span = Span::read(app, agent, query)?;
    let (records, mut more) = span.records(app, agent, &["brief_created"])?;
    let (mut briefs, mut bytes) = (Vec::new(), 0);
    for record in span.in_order(&records) {
        let Some(brief) = brief(app, record)? else { continue };
        bytes += brief.text.len();
        if bytes > PAGE_BYTES && !briefs.is_empty() {
            more = true;
            break;
        }
        briefs.push(brief);
    }
    span.restore(&mut briefs);
    let next = span.next(briefs.iter().map(|brief| brief.event_seq)).filter(|_| more);
    Ok(Briefs { ok: true, briefs, more, next })
}

pub(super) fn page_of_transcript(app: &App, agent: &AgentId, query: &PageQuery) -> Handled<Transcript> {
    let span = Span::read(app, agent, query)?;
    let (records, mut more) = span.records(app, agent, ENTRY)?;
    let entries = folded(app, agent, &records)?;
    let (mut page, mut bytes) = (Vec::<TranscriptEntry>::new(), 0);
    for entry in span.in_order(&entries) {
        let (entry, length) = texts::whole(&app.runtime, entry)?;
        bytes += length;
        if bytes > PAGE_BYTES && !page.is_empty() {
            more = true;
            break;
        }
        page.push(entry);
    }
    let cut = page.len() < entries.len();
    span.restore(&mut page);
    // Records that are no entries lie at the end of a page that was not cut.
    let next = if cut {
        span.next(page.iter().map(|entry| entry.event_seq))
    } else {
        span.next(records.iter().map(|record| record.event_seq))
    };
    Ok(Transcript { ok: true, entries: page, more, next: next.filter(|_| more) })
}

/// Which records make a page.
#[derive(Debug, Clone, Copy)]
struct Span {
    after: EventSeq,
    before: EventSeq,
    limit: usize,
    newest: bool,
}

impl Span {
    fn read(app: &App, agent: &AgentId, query: &PageQuery) -> Handled<Self> {
        let limit = bounded("limit", query.limit, ENTRIES, 1)?;
        let last = app.last_event(agent)?;
        check_cursor("after", query.after, last)?;
        check_cursor("before", query.before, last.next())?;
        let after = query.after.unwrap_or(EventSeq(0));
        Ok(Self { after, before: query.before.unwrap_or(END), limit, newest: query.after.is_none() })
    }

    /// The records, the oldest first, and whether there are more.
    fn records(&self, app: &App, agent: &AgentId, kinds: &[&'static str]) -> Handled<(Vec<Record>, bool)> {
        let Self { after, before, limit, newest } = *self;
        let wanted = Wanted { kinds, after, before, limit: limit + 1, newest };
        let mut records = app.reader.of_kinds(agent, wanted)?;
        let more = records.len() > limit;
        if more {
            records.remove(if newest { 0 } else { limit });
        }
        Ok((records, more))
    }

    /// From the end at which the page begins.
    fn in_order<'a, T>(&self, items: &'a [T]) -> Box<dyn Iterator<Item = &'a T> + 'a> {
        if self.newest { Box::new(items.iter().rev()) } else { Box::new(items.iter()) }
    }

    /// The oldest first again.
    fn restore<T>(&self, items: &mut [T]) {
        if self.newest {
            items.reverse();
        }
    }

    /// The cursor of the next page.
    fn next(&self, seqs: impl Iterator<Item = EventSeq>) -> Option<EventSeq> {
        if self.newest { seqs.min() } else { seqs.max() }
    }
}

pub(super) fn brief(app: &App, record: &Record) -> Handled<Option<Brief>> {
    let Event::Brief(BriefFact::BriefCreated(fact)) = &record.event else { return Ok(None) };
    Ok(Some(Brief {
        id: fact.id,
        kind: fact.kind,
        visibility: fact.visibility,
        text: texts::resolve(&app.runtime, &fact.text)?,
        run_id: fact.run_id,
        work_item_id: fact.work_item_id,
        related_message_id: fact.related_message_id,
        interjected_message_ids: fact.interjected_message_ids.clone(),
        created_at: record.at,
        event_seq: record.event_seq,
    }))
}

/// The entries of these records, each round with its attempts: those that came before the first record, too.
fn folded(app: &App, agent: &AgentId, records: &[Record]) -> Handled<Vec<transcript::TranscriptEntry>> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(Vec::new()) };
    let before = first.event_seq;
    let ends = Wanted { kinds: ROUND_ENDS, after: EventSeq(0), before, limit: 1, newest: true };
    let after = app.reader.of_kinds(agent, ends)?.first().map_or(EventSeq(0), |record| record.event_seq);
    let attempts = Wanted { kinds: ATTEMPT, after, before: last.event_seq, limit: ATTEMPTS, newest: true };
    let mut all = app.reader.of_kinds(agent, attempts)?;
    all.extend_from_slice(records);
    all.sort_by_key(|record| record.event_seq);
    let mut fold = transcript::Transcript::default();
    let entries = all.iter().filter_map(|record| fold.step(record));
    Ok(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_transcript_reads_are_kinds_that_there_are() {
        let kinds: Vec<&str> = Event::kinds().map(|(kind, _)| kind).collect();
        for kind in [ENTRY, ATTEMPT, ROUND_ENDS].concat() {
            assert!(kinds.contains(&kind), "{kind}");
        }
    }
}
