//! A temporary run that has been: where it is, and what it was about.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::anyhow;
use holon_core::agent::budget::Account;
use holon_core::view::standing::Standing;
use holon_facts::event::{InboxFact, LifecycleFact};
use holon_facts::message::Message;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Event, EventSeq, Record, Wall};
use holon_ledger::sqlite::{HomeLock, LedgerError, Listing, Reader, Wanted};
use holon_text::nearest::did_you_mean;

use super::exit::Exit;
use super::output::Failure;
use crate::home::Home;
use crate::prune;

/// Messages among which prompts are looked for, from either end.
const MESSAGES: usize = 64;
/// Beyond every event.
const END: EventSeq = EventSeq(i64::MAX as u64);

/// A temporary run.
pub(super) struct EarlierRun {
    pub(super) agent: AgentId,
    pub(super) home: Home,
    pub(super) began: Wall,
    /// None of a run that an earlier build wrote, and of one in its first moments.
    pub(super) standing: Option<Standing>,
    pub(super) spent: Account,
    pub(super) execution: ExecutionBinding,
    pub(super) first_prompt: Option<Message>,
    pub(super) last_prompt: Option<Message>,
    /// Whether a process is at it.
    pub(super) in_progress: bool,
}

/// The names of the runs of a home, the one that changed last first.
pub(super) fn names(home: &Home) -> Vec<String> {
    let mut runs: Vec<(PathBuf, SystemTime)> = prune::runs(&home.runs());
    runs.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    runs.iter().filter_map(|(path, _)| Some(path.file_name()?.to_str()?.to_owned())).collect()
}

/// The run of that name; `run-` may be left out, and so may what only one name goes on with.
///
/// # Errors
/// No such run, or several.
pub(super) fn named(home: &Home, name: &str) -> Result<EarlierRun, Failure> {
    let names = names(home);
    let whole = if name.starts_with("run-") { name.to_owned() } else { format!("run-{name}") };
    let fits: Vec<&String> = names.iter().filter(|known| known.starts_with(&whole)).collect();
    let found = match (names.contains(&whole), fits.as_slice()) {
        (true, _) => &whole,
        (false, [one]) => *one,
        (false, []) => {
            let near = did_you_mean(&whole, names.iter().map(String::as_str));
            let error = anyhow!("there is no run {name} below {}{near}", home.runs().display());
            return Err(Failure::new(Exit::NotFound, error).hint("holon runs list"));
        }
        (false, several) => {
            let names: Vec<&str> = several.iter().take(4).map(|name| name.as_str()).collect();
            let error = anyhow!("several runs begin with {name}: {}", names.join(", "));
            return Err(Failure::usage(error).hint("holon runs list"));
        }
    };
    EarlierRun::open(home, found)
}

/// The run that changed last.
///
/// # Errors
/// There is none.
pub(super) fn newest(home: &Home) -> Result<EarlierRun, Failure> {
    let Some(newest) = names(home).into_iter().next() else {
        let error = anyhow!("there is no run below {} to continue", home.runs().display());
        return Err(Failure::new(Exit::NotFound, error).hint("holon run \"…\""));
    };
    EarlierRun::open(home, &newest)
}

impl EarlierRun {
    /// # Errors
    /// A ledger that can't be read, or that has no such agent.
    pub(super) fn open(home: &Home, name: &str) -> Result<Self, Failure> {
        let home = home.run(name);
        let agent = AgentId::new(name).map_err(Failure::usage)?;
        let in_progress = HomeLock::probe(home.root()).is_err();
        let empty = || {
            let error = anyhow!("the run {name} has no history: it ended before it began");
            Failure::new(Exit::NotFound, error).hint("holon runs list")
        };
        if !home.ledger().is_file() {
            return Err(empty());
        }
        let reader = Reader::open(&home.ledger())?;
        let listed = reader.agents_after(Listing::WithPrivate, None, MESSAGES)?;
        let listed = listed.into_iter().find(|listed| listed.row.agent == agent).ok_or_else(empty)?;
        let created = listed.created?.ok_or_else(empty)?;
        let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &created.event else { return Err(empty()) };
        Ok(Self {
            first_prompt: prompt(&reader, &agent, false)?,
            last_prompt: prompt(&reader, &agent, true)?,
            execution: fact.spec.execution.clone(),
            began: created.at,
            spent: listed.account,
            standing: listed.row.standing,
            in_progress,
            agent,
            home,
        })
    }

    pub(super) fn ledger(&self) -> PathBuf {
        self.home.ledger()
    }

    pub(super) fn folder(&self) -> &Path {
        Path::new(&self.execution.cwd)
    }
}

fn prompt(reader: &Reader, agent: &AgentId, newest: bool) -> Result<Option<Message>, LedgerError> {
    let kinds = &["message_admitted"];
    let records =
        reader.of_kinds(agent, Wanted { kinds, after: EventSeq(0), before: END, limit: MESSAGES, newest })?;
    let by_operator = |record: &Record| {
        let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return None };
        fact.message.is_by_operator().then(|| fact.message.clone())
    };
    let mut prompts = records.iter().filter_map(by_operator);
    Ok(if newest { prompts.next_back() } else { prompts.next() })
}
