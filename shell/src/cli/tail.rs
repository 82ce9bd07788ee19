//! `holon tail`: what happened to an agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use holon_api::{Control, Document, Envelope, Events, EventsQuery, Follow, Followed, Order};
use holon_facts::{AgentId, EventSeq};
use holon_text::moment;

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::interrupts::Ending;
use super::output::{self, Failure};
use super::{tail_all, transcript};
use crate::screen::Look;
use holon_present::{Category, Level, Presentation};

/// Most events: what the runtime gives at once.
pub(super) const EVENTS: u32 = 512;
/// Pages of events that are looked through for those of a level.
const PAGES: usize = 20;
/// Events that bring what their presentation has no room for.
const STEPS: [&str; 3] = ["assistant_round_recorded", "tool_executed", "tool_execution_failed"];

#[derive(Debug, Args)]
pub(super) struct TailArgs {
    #[command(flatten)]
    whom: Whom,
    /// Show events of all public agents, in one order
    #[arg(long, conflicts_with_all = ["agent", "named"])]
    pub(super) all: bool,
    /// Begin with this many last events of the level, at most 512
    #[arg(long, short = 'n', value_name = "N", default_value_t = 64, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(EVENTS)))]
    pub(super) events: u32,
    /// Follow new events
    #[arg(long, short)]
    pub(super) follow: bool,
    /// Show events up to this level
    #[arg(long, value_enum, default_value_t = UpTo::Verbose, value_name = "LEVEL")]
    level: UpTo,
    /// Print each event as a line of JSON, in its envelope, whatever its level
    #[arg(long, conflicts_with = "level")]
    pub(super) json: bool,
}

/// A [`Level`] as it is typed; the numbers are the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum UpTo {
    /// Show messages, results and what needs the operator
    #[value(alias = "3")]
    Info,
    /// Also show the steps of each turn
    #[value(alias = "4")]
    Verbose,
    /// Also show how the runtime works
    #[value(alias = "5")]
    Debug,
}

impl From<UpTo> for Level {
    fn from(typed: UpTo) -> Self {
        match typed {
            UpTo::Info => Self::Info,
            UpTo::Verbose => Self::Verbose,
            UpTo::Debug => Self::Debug,
        }
    }
}

pub(super) fn tail(home: Option<PathBuf>, args: TailArgs) -> Result<Exit, Failure> {
    // Nothing more happens in a home whose runtime is stopped.
    if args.follow {
        return ClientContext::work(home, |cli, ending| async move { whole(cli, args, ending).await });
    }
    ClientContext::read(home, |cli, ending| async move { whole(cli, args, ending).await })
}

async fn whole(cli: ClientContext, args: TailArgs, ending: Ending) -> Result<Exit, Failure> {
    if args.all {
        return tail_all::tail(&cli, &args, &ending).await;
    }
    let agent = ending.or(cli.agent(args.whom.name())).await?;
    let cursor = ending.or(newest(&cli, &agent, &args)).await?;
    if !args.follow {
        return Ok(Exit::Completed);
    }
    let mut follow = cli.client.follow(&agent, Some(cursor), false);
    loop {
        let next = tokio::select! {
            biased;
            // Whoever followed has seen enough.
            () = ending.wait() => return Ok(Exit::Completed),
            next = follow.next() => next?,
        };
        if let Followed::Event(event) = next {
            print(&cli, &agent, &args, std::slice::from_ref(&event)).await?;
        }
    }
}

/// Prints the end of what is there, and says where it is.
async fn newest(cli: &ClientContext, agent: &AgentId, args: &TailArgs) -> Result<EventSeq, Failure> {
    let wanted = args.events as usize;
    let (mut shown, mut cursor, mut before) = (Vec::new(), None, None);
    for page in 0..=PAGES {
        if page == PAGES {
            output::prose(
                "holon: the newest events alone were looked at: older ones have more of this level",
            );
            break;
        }
        // Where no event is wanted, the last one says where to go on.
        let limit = if args.json { args.events.max(1) } else { EVENTS };
        let query = EventsQuery {
            before_seq: before,
            limit: Some(limit),
            order: Some(Order::Desc),
            ..EventsQuery::default()
        };
        let events = cli.client.events(agent, query).await?.into_reply().events;
        cursor = cursor.or(events.first().map(|event| event.event_seq));
        before = events.last().map(|event| event.event_seq);
        let ended = events.len() < limit as usize;
        shown.extend(
            events.into_iter().filter(|event| args.json || shown_as(event, args.level.into()).is_some()),
        );
        shown.truncate(wanted);
        if ended || shown.len() == wanted {
            break;
        }
    }
    shown.reverse();
    print(cli, agent, args, &shown).await?;
    Ok(cursor.unwrap_or(EventSeq(0)))
}

/// Prints events, the steps of turns with what they bring.
async fn print(
    cli: &ClientContext,
    agent: &AgentId,
    args: &TailArgs,
    events: &[Document<Envelope>],
) -> Result<(), Failure> {
    let steps = || events.iter().filter(|event| is_step(event, args)).map(|event| event.event_seq);
    let more = match (steps().min(), steps().max()) {
        (Some(first), Some(last)) => transcript::details(cli, agent, (first, last)).await?,
        (None, _) | (_, None) => BTreeMap::new(),
    };
    for event in events {
        if let Some(shown) = shown(event, args)? {
            match more.get(&event.event_seq) {
                Some(lines) => output::line(&output::labelled_lines(&label(event, args), lines))?,
                None => output::line(&shown)?,
            }
        }
    }
    Ok(())
}

/// One event as a line or more, as it is written to stdout; none if it is of another level.
pub(super) fn shown(event: &Document<Envelope>, args: &TailArgs) -> Result<Option<String>, Failure> {
    if args.json {
        return Ok(Some(output::json(&serde_json::to_string(event)?)));
    }
    Ok(shown_as(event, args.level.into())
        .map(|(look, shown)| output::labelled(&label(event, args), look, &shown)))
}

/// Whether an event brings more than its presentation has.
pub(super) fn is_step(event: &Envelope, args: &TailArgs) -> bool {
    !args.json && STEPS.contains(&event.kind.as_str())
}

/// When, and of all agents who.
pub(super) fn label(event: &Envelope, args: &TailArgs) -> String {
    let agent = if args.all { format!("  {}", event.agent_id) } else { String::new() };
    format!("{}{agent}", moment::exact(event.ts))
}

/// What goes wrong stands out, and what only surrounds the agent's own doing stands back.
fn look(category: Category) -> Look {
    match category {
        Category::OperatorNotification => Look::Bad,
        Category::Brief
        | Category::Message
        | Category::AssistantProgress
        | Category::Tool
        | Category::Task
        | Category::Waiting => Look::Plain,
        Category::Runtime | Category::Workspace | Category::StateSync | Category::Trace => Look::Aside,
    }
}

/// An event for people, where the level shows it.
fn shown_as(event: &Envelope, level: Level) -> Option<(Look, String)> {
    // A newer runtime has events that this program does not know.
    let Ok(record) = event.record() else { return Some((Look::Plain, event.kind.clone())) };
    let told = Presentation::of(&record);
    level.shows(told.visibility).then(|| (look(told.category), told.shown()))
}
