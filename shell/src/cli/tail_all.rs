//! `holon tail --all`: what happens to all public agents, in the one order of the ledger.

use std::collections::BTreeMap;

use holon_api::{AllEvents, AllEventsQuery, AnyEvent, Control, DamagedEvent, Follow, LedgerSeq, Order};
use holon_facts::{AgentId, EventSeq};

use super::client_context::ClientContext;
use super::exit::Exit;
use super::interrupts::Ending;
use super::output::{self, Failure};
use super::tail::{EVENTS, TailArgs, is_step, label, shown};
use super::transcript;
use crate::screen::Look;
use holon_present::DetailLine;

/// Pages that are looked through for events of the level.
const PAGES: usize = 16;

pub(super) async fn tail(cli: &ClientContext, args: &TailArgs, ending: &Ending) -> Result<Exit, Failure> {
    let (events, cursor) = ending.or(newest(cli, args)).await?;
    ending.or(print(cli, args, &events)).await?;
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
        ending.or(print(cli, args, std::slice::from_ref(&next))).await?;
    }
}

/// The newest events of the level, the oldest first, and the position from which to go on.
async fn newest(cli: &ClientContext, args: &TailArgs) -> Result<(Vec<AnyEvent>, LedgerSeq), Failure> {
    let wanted = args.events as usize;
    let (mut events, mut end, mut before) = (Vec::new(), None, None);
    for _ in 0..PAGES {
        let query = AllEventsQuery {
            before,
            limit: Some(EVENTS),
            order: Some(Order::Desc),
            ..AllEventsQuery::default()
        };
        let page = cli.client.all_events(query).await?.into_reply();
        end.get_or_insert(page.last_position);
        for event in page.events {
            if events.len() == wanted {
                break;
            }
            events.extend(line(&event, args)?.map(|_| event));
        }
        before = page.next;
        if events.len() == wanted || before.is_none() {
            break;
        }
    }
    events.reverse();
    Ok((events, end.unwrap_or_default()))
}

/// Prints events, the steps of turns with what they bring.
async fn print(cli: &ClientContext, args: &TailArgs, events: &[AnyEvent]) -> Result<(), Failure> {
    let more = details(cli, args, events).await?;
    for event in events {
        let lines = match event {
            AnyEvent::Event(event) => more.get(&event.agent_id).and_then(|of| of.get(&event.event_seq)),
            AnyEvent::Damaged(_) => None,
        };
        match (line(event, args)?, event, lines) {
            (Some(_), AnyEvent::Event(event), Some(lines)) => {
                output::line(&output::labelled_lines(&label(event, args), lines))?;
            }
            (Some(line), ..) => output::line(&line)?,
            (None, ..) => {}
        }
    }
    Ok(())
}

/// What the steps among these events bring, by agent: one look at the transcript of each.
async fn details(
    cli: &ClientContext,
    args: &TailArgs,
    events: &[AnyEvent],
) -> Result<BTreeMap<AgentId, BTreeMap<EventSeq, Vec<DetailLine>>>, Failure> {
    let mut spans: BTreeMap<&AgentId, (EventSeq, EventSeq)> = BTreeMap::new();
    for event in events {
        let AnyEvent::Event(event) = event else { continue };
        if is_step(event, args) {
            let span = spans.entry(&event.agent_id).or_insert((event.event_seq, event.event_seq));
            span.1 = event.event_seq;
        }
    }
    let mut found = BTreeMap::new();
    for (agent, span) in spans {
        found.insert(agent.clone(), transcript::details(cli, agent, span).await?);
    }
    Ok(found)
}

fn line(event: &AnyEvent, args: &TailArgs) -> Result<Option<String>, Failure> {
    match event {
        AnyEvent::Event(event) => shown(event, args),
        AnyEvent::Damaged(event) if args.json => Ok(Some(output::json(&serde_json::to_string(event)?))),
        AnyEvent::Damaged(DamagedEvent { agent_id, event_seq, problem, .. }) => {
            let what = format!("event {event_seq} is damaged: {problem}");
            Ok(Some(output::labelled(agent_id.as_str(), Look::Bad, &what)))
        }
    }
}
