//! Temporary runs of a home: where each is, what it was about, and how it stands.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use holon_api::TemporaryRunSummary;
use holon_core::agent::budget::Account;
use holon_core::summary::SchedulingPosture;
use holon_core::view::RunVerdict;
use holon_core::view::standing::Standing;
use holon_facts::event::{InboxFact, LifecycleFact};
use holon_facts::ids::IdError;
use holon_facts::message::Message;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Event, EventSeq, MessageId, Record, Wall};
use holon_ledger::error::LedgerError;
use holon_ledger::read::{Listing, Reader, Wanted};
use holon_ledger::sqlite::HomeLock;
use holon_present::one_line;
use holon_text::nearest::did_you_mean;
use serde::{Deserialize, Serialize};

use crate::daemon::{read_private, remove_private, write_private};
use crate::home::Home;
use crate::prune;

/// Messages among which prompts are looked for, from either end.
const MESSAGES: usize = 64;
/// Records among which an answer is looked for.
const ABOUT_ANSWER: usize = 1_024;
/// Beyond every event.
const END: EventSeq = EventSeq(i64::MAX as u64);

/// Newest runs among which those that ask are looked for.
const LOOKED_THROUGH: usize = 64;
/// The state of a run that asks.
pub const WAITING_FOR_OPERATOR: &str = "waiting_for_operator";

/// The file of what a run has to keep to.
const TERMS: &str = "terms.json";

/// Why a run can't be shown.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("there is no run {name} below {}{near}", folder.display())]
    Unknown { name: String, folder: PathBuf, near: String },
    #[error("several runs begin with {name}: {names}")]
    Several { name: String, names: String },
    #[error("there is no run below {} to continue", folder.display())]
    Nothing { folder: PathBuf },
    #[error("the run {name} has no history: it ended before it began")]
    Empty { name: String },
    #[error(transparent)]
    Name(#[from] IdError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What a temporary run has to keep to, and whether it did. No record has that: it is kept in the folder of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    pub check: Option<String>,
    /// The text of the schema.
    pub output_schema: Option<String>,
    pub tries: Option<u32>,
    /// As `--budget` takes it.
    pub budget: Option<String>,
    /// What did not hold in the end, as the agent is notified.
    pub unmet: Option<String>,
    /// Whether the agent was given something to do after which nobody has looked if they hold.
    pub unverified: bool,
}

impl Terms {
    /// Those of the run that has this home. A file that can't be read has none: the run can still be shown.
    fn of(home: &Home) -> Self {
        read_private(&home.run_file(TERMS)).ok().flatten().unwrap_or_default()
    }

    /// Whether something has to hold before the run is completed.
    pub fn has_conditions(&self) -> bool {
        self.check.is_some() || self.output_schema.is_some()
    }

    /// Whether the same has to hold.
    pub fn has_conditions_of(&self, other: &Self) -> bool {
        self.check == other.check && self.output_schema == other.output_schema
    }

    /// # Errors
    /// The folder can't be written to.
    pub fn keep(&self, home: &Home) -> io::Result<()> {
        let path = home.run_file(TERMS);
        if *self == Self::default() { remove_private(&path) } else { write_private(&path, self) }
    }
}

/// A temporary run.
pub struct TemporaryRun {
    pub agent: AgentId,
    pub home: Home,
    pub began: Wall,
    /// None of a run that an earlier build wrote, and of one in its first moments.
    pub standing: Option<Standing>,
    pub spent: Account,
    pub execution: ExecutionBinding,
    pub first_prompt: Option<Message>,
    pub last_prompt: Option<Message>,
    /// Whether a process is at it.
    pub in_progress: bool,
    pub terms: Terms,
}

/// The names of the runs of a home, the one that changed last first.
pub fn names(home: &Home) -> Vec<String> {
    let mut runs: Vec<(PathBuf, SystemTime)> = prune::runs(&home.runs());
    runs.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    runs.iter().filter_map(|(path, _)| Some(path.file_name()?.to_str()?.to_owned())).collect()
}

/// The run of that name; `run-` may be left out, and so may what only one name goes on with.
///
/// # Errors
/// No such run, or several.
pub fn named(home: &Home, name: &str) -> Result<TemporaryRun, RunError> {
    let names = names(home);
    let whole = if name.starts_with("run-") { name.to_owned() } else { format!("run-{name}") };
    let fits: Vec<&String> = names.iter().filter(|known| known.starts_with(&whole)).collect();
    let found = match (names.contains(&whole), fits.as_slice()) {
        (true, _) => &whole,
        (false, [one]) => *one,
        (false, []) => {
            let near = did_you_mean(&whole, names.iter().map(String::as_str));
            return Err(RunError::Unknown { name: name.to_owned(), folder: home.runs(), near });
        }
        (false, several) => {
            let names: Vec<&str> = several.iter().take(4).map(|name| name.as_str()).collect();
            return Err(RunError::Several { name: name.to_owned(), names: names.join(", ") });
        }
    };
    TemporaryRun::open(home, found)
}

/// The run that changed last.
///
/// # Errors
/// There is none.
pub fn newest(home: &Home) -> Result<TemporaryRun, RunError> {
    let Some(newest) = names(home).into_iter().next() else {
        return Err(RunError::Nothing { folder: home.runs() });
    };
    TemporaryRun::open(home, &newest)
}

/// The newest runs that wait for an answer, the one that waits longest first. A run that can't be read is left to `runs list`.
pub fn that_ask(home: &Home) -> Vec<TemporaryRunSummary> {
    let names = names(home).into_iter().take(LOOKED_THROUGH);
    let runs = names.filter_map(|name| TemporaryRun::open(home, &name).ok());
    let mut asking: Vec<TemporaryRunSummary> =
        runs.map(|run| run.summary()).filter(|run| run.state == WAITING_FOR_OPERATOR).collect();
    asking.sort_by_key(|run| run.since);
    asking
}

impl TemporaryRun {
    /// # Errors
    /// A ledger that can't be read, or that has no such agent.
    pub fn open(home: &Home, name: &str) -> Result<Self, RunError> {
        let home = home.run(name);
        let agent = AgentId::new(name)?;
        let in_progress = HomeLock::probe(home.root()).is_err();
        let empty = || RunError::Empty { name: name.to_owned() };
        if !home.ledger_file().is_file() {
            return Err(empty());
        }
        let reader = Reader::open(&home.ledger_file())?;
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
            terms: Terms::of(&home),
            in_progress,
            agent,
            home,
        })
    }

    /// How it stands, as lists show it.
    pub fn summary(&self) -> TemporaryRunSummary {
        let prompt = self.first_prompt.as_ref().map(|message| one_line(message.body.text.preview()));
        TemporaryRunSummary {
            run: self.agent.clone(),
            state: state(self),
            began_at: self.began,
            since: self.standing.as_ref().map(|standing| standing.since),
            waiting_for: self.standing.as_ref().and_then(|standing| standing.waiting_for.clone()),
            spent: self.spent.total,
            folder: self.execution.cwd.clone(),
            prompt,
            ledger: self.ledger().display().to_string(),
        }
    }

    pub fn ledger(&self) -> PathBuf {
        self.home.ledger_file()
    }
}

/// The newest records of a run from this prompt on that have to do with its answer.
///
/// # Errors
/// A ledger that can't be read.
pub fn about_answer(home: &Home, agent: &AgentId, prompt: MessageId) -> Result<Vec<Record>, LedgerError> {
    let reader = Reader::open(&home.ledger_file())?;
    let Some(admission) = reader.admission(agent, prompt)? else { return Ok(Vec::new()) };
    let after = EventSeq(admission.event_seq.0.saturating_sub(1));
    let kinds = &["message_admitted", "wait_resolved", "brief_created"];
    reader.of_kinds(agent, Wanted { kinds, after, before: END, limit: ABOUT_ANSWER, newest: true })
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

fn state(run: &TemporaryRun) -> String {
    match &run.standing {
        _ if run.in_progress => "in_progress".to_owned(),
        Some(Standing { verdict: Some(RunVerdict::Stopped), .. }) => "ended".to_owned(),
        // Its agent is done, and its conditions are not met.
        Some(Standing { verdict: Some(RunVerdict::Completed), .. }) if run.terms.unmet.is_some() => {
            RunVerdict::Failed.to_string()
        }
        // Nobody has looked at its conditions.
        Some(Standing { verdict: Some(RunVerdict::Completed), .. })
            if run.terms.unverified && run.last_prompt.is_some() =>
        {
            RunVerdict::Interrupted.to_string()
        }
        Some(Standing { verdict: Some(verdict), .. }) => verdict.to_string(),
        Some(Standing {
            posture: SchedulingPosture::ActiveTurn | SchedulingPosture::HasQueuedInput, ..
        }) => "killed".to_owned(),
        Some(Standing { posture, .. }) => posture.to_string(),
        None => "unknown".to_owned(),
    }
}
