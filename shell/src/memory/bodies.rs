//! The texts of documents, read where they are: on record, or in a file of the agent.

use holon_facts::episode::Digest;
use holon_facts::event::work::WorkChange;
use holon_facts::event::{BriefFact, EpisodeFact, InboxFact, WorkFact};
use holon_facts::{Event, EventSeq, Record, Text};
use holon_ledger::error::LedgerError;
use holon_ledger::read::Reader;
use holon_memory::Document;

/// The text of a document that is on record. None where a part of it was erased, or is damaged: nobody finds what can't be
/// shown. `newest` is a record of it that was read already.
pub(super) fn of(
    ledger: &Reader,
    document: &Document,
    newest: Option<&Record>,
) -> Result<Option<String>, LedgerError> {
    let mut body = String::new();
    for seq in &document.events {
        let read;
        let record = match newest.filter(|record| record.event_seq.0 == *seq) {
            Some(record) => record,
            None => match lost(ledger.record(&document.agent, EventSeq(*seq)))?.flatten() {
                Some(record) => {
                    read = record;
                    &read
                }
                None => return Ok(None),
            },
        };
        let Some(text) = lost(text(ledger, document, record))? else { return Ok(None) };
        if !body.is_empty() && !text.is_empty() {
            body.push_str("\n\n");
        }
        body.push_str(&text);
    }
    Ok(Some(body))
}

/// What is damaged or erased is none; a ledger that can't be read at all is an error.
fn lost<T>(read: Result<T, LedgerError>) -> Result<Option<T>, LedgerError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.is_damage() || matches!(error, LedgerError::Erased { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What one record has to say.
fn text(ledger: &Reader, document: &Document, record: &Record) -> Result<String, LedgerError> {
    if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event {
        return whole(ledger, &fact.message.body.text);
    }
    if let Event::Brief(BriefFact::BriefCreated(fact)) = &record.event {
        return whole(ledger, &fact.text);
    }
    if let Event::Episode(EpisodeFact::EpisodeClosed(fact)) = &record.event {
        return digest(ledger, &fact.digest);
    }
    if let Event::Episode(EpisodeFact::EpisodeSummarized(fact)) = &record.event {
        let summary = fact.summary.as_ref().map(|summary| whole(ledger, summary)).transpose()?;
        return Ok(format!("Summary:\n{}", summary.unwrap_or_default()));
    }
    if let Event::Work(WorkFact::WorkItemWritten(fact)) = &record.event {
        return match &fact.change {
            WorkChange::Created { objective, .. } => Ok(objective.clone()),
            WorkChange::Updated { objective, .. } => Ok(objective.clone().unwrap_or_default()),
            WorkChange::Completed { result_summary: None } => Ok(String::new()),
            WorkChange::Completed { result_summary: Some(report) } => {
                Ok(format!("Report:\n{}", whole(ledger, report)?))
            }
        };
    }
    // What is known of a workspace is where it is.
    Ok(document.path.clone().unwrap_or_default())
}

/// The facts of an episode in plain lines.
fn digest(ledger: &Reader, digest: &Digest) -> Result<String, LedgerError> {
    let mut lines = Vec::new();
    if let Some(focus) = &digest.focus {
        lines.push(format!("{}: {}", focus.work_item_id, focus.objective));
        lines.extend(focus.open_steps.iter().map(|step| format!("- {step}")));
    }
    for request in &digest.requests {
        lines.push(format!("Request: {}", whole(ledger, &request.text)?));
    }
    if !digest.changed_files.is_empty() {
        lines.push(format!("Changed files: {}", digest.changed_files.join(", ")));
    }
    for done in &digest.done {
        let exit = done.exit_status.map(|exit| format!(" (exit {exit})")).unwrap_or_default();
        lines.push(format!("{} {}{exit}", done.tool_name, done.arguments.preview()));
    }
    if let Some(last) = &digest.last_text {
        lines.push(format!("Answer: {}", whole(ledger, last)?));
    }
    Ok(lines.join("\n"))
}

/// A text of the ledger; what is not stored is shown by its beginning.
fn whole(ledger: &Reader, text: &Text) -> Result<String, LedgerError> {
    match text {
        Text::Inline(text) => Ok(text.clone()),
        Text::Stored(content) => Ok(ledger.content(content.id)?.unwrap_or_else(|| content.preview.clone())),
    }
}
