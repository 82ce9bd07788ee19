//! `holon tail --all`: what happens to all public agents, in the one order of the ledger.

use holon_api::{AllEvents, AllEventsQuery, AnyEvent, Control, DamagedEvent, Follow, LedgerSeq, Order};

use super::client_context::ClientContext;
use super::exit::Exit;
use super::interrupts::Ending;
use super::output::{self, Failure};
use super::tail::{EVENTS, TailArgs, shown};
use crate::screen::Tone;

/// Pages that are looked through for events of the level.
const PAGES: usize = 16;

pub(super) async fn tail(cli: &ClientContext, args: &TailArgs, ending: &Ending) -> Result<Exit, Failure> {
    let (lines, cursor) = ending.or(newest(cli, args)).await?;
    for line in lines.iter().rev() {
        output::line(line)?;
    }
    if !args.follow {
        return Ok(Exit::Completed);
    }
    let mut follow = cli.client.follow_all(Some(cursor));
    loop {
        let next = tokio::select! {
            biased;
            () = ending.wait() => return Ok(Exit::Completed),
            next = follow.next() => next?,
        };
        if let Some(line) = line(&next, args)? {
            output::line(&line)?;
        }
    }
}

/// The newest events of the level, the newest first, and the position from which to go on.
async fn newest(cli: &ClientContext, args: &TailArgs) -> Result<(Vec<String>, LedgerSeq), Failure> {
    let wanted = args.events as usize;
    let (mut lines, mut end, mut before) = (Vec::new(), None, None);
    for _ in 0..PAGES {
        let query = AllEventsQuery {
            before,
            limit: Some(EVENTS),
            order: Some(Order::Desc),
            ..AllEventsQuery::default()
        };
        let page = cli.client.all_events(query).await?.into_reply();
        end.get_or_insert(page.last_position);
        for event in &page.events {
            if lines.len() == wanted {
                break;
            }
            lines.extend(line(event, args)?);
        }
        before = page.next;
        if lines.len() == wanted || before.is_none() {
            break;
        }
    }
    Ok((lines, end.unwrap_or_default()))
}

fn line(event: &AnyEvent, args: &TailArgs) -> Result<Option<String>, Failure> {
    match event {
        AnyEvent::Event(event) => shown(event, args),
        AnyEvent::Damaged(event) if args.json => Ok(Some(output::json(&serde_json::to_string(event)?))),
        AnyEvent::Damaged(DamagedEvent { agent_id, event_seq, problem, .. }) => {
            let what = format!("event {event_seq} is damaged: {problem}");
            Ok(Some(output::labelled(agent_id.as_str(), Tone::Bad, &what)))
        }
    }
}
