//! What agents have asked of their operator: from their ledger rows, without loading one, and from their briefs.

use holon_api::rows::{CloseAsk, ListAsks};
use holon_api::{AskPath, ClosedAsk, Inbox, OpenAsk};
use holon_core::agent::asks::Ask;
use holon_core::view::standing::Standing;
use holon_core::{Answer as Answered, Input};
use holon_facts::AgentId;
use holon_ledger::read::Listing;

use super::super::App;
use super::super::route::{Call, Handled};
use super::agents::bounded;
use super::control::unexpected;
use super::history::brief;
use crate::temporary_runs;

/// Agents of one page, where nothing else is asked for, and at most.
const AGENTS: (u32, u32) = (100, 500);
/// Texts of one page, in bytes: a page with more ends early, after one agent at least.
const PAGE_BYTES: usize = 4 << 20;

pub(in super::super) async fn inbox(app: App, call: Call<ListAsks>) -> Handled<Inbox> {
    let limit = bounded("limit", call.query.limit, AGENTS, 1)?;
    app.blocking(move |app| page(app, call.query.after.as_ref(), limit)).await
}

pub(in super::super) async fn close(app: App, call: Call<CloseAsk>) -> Handled<ClosedAsk> {
    let AskPath { agent_id, brief_id: brief } = call.path;
    let agent = agent_id.clone();
    let ask = move |reply| Input::CloseAsk { agent, brief, reply };
    let answered = app.runtime.ask(Some(&agent_id), ask).await?;
    let Answered::AskClosed { brief: brief_id } = answered else { return Err(unexpected(answered)) };
    Ok(ClosedAsk { ok: true, agent_id, brief_id })
}

fn page(app: &App, after: Option<&AgentId>, limit: usize) -> Handled<Inbox> {
    let agents = app.overview.agents_after(Listing::Asking, after, limit + 1)?;
    let runs = if after.is_none() { temporary_runs::that_ask(&app.about.home) } else { Vec::new() };
    let mut inbox = Inbox { ok: true, asks: Vec::new(), older: 0, more: false, next: None, runs };
    let (mut bytes, mut shown) = (0, 0);
    let mut last = None;
    for agent in agents {
        if shown == limit || bytes > PAGE_BYTES {
            (inbox.more, inbox.next) = (true, last);
            break;
        }
        let Some(Standing { asks, older_asks, .. }) = agent.row.standing else { continue };
        for ask in asks {
            let open = open(app, &agent.row.agent, ask)?;
            bytes += open.as_ref().map_or(0, |open| open.text.len());
            inbox.asks.extend(open);
        }
        inbox.older = inbox.older.saturating_add(older_asks);
        shown += 1;
        last = Some(agent.row.agent);
    }
    Ok(inbox)
}

fn open(app: &App, agent: &AgentId, ask: Ask) -> Handled<Option<OpenAsk>> {
    let Some(record) = app.overview.record(agent, ask.event_seq)? else { return Ok(None) };
    Ok(brief(app, &record)?.map(|brief| OpenAsk {
        agent_id: agent.clone(),
        brief_id: brief.id,
        kind: brief.kind,
        text: brief.text,
        work_item_id: brief.work_item_id,
        created_at: brief.created_at,
        event_seq: brief.event_seq,
    }))
}
