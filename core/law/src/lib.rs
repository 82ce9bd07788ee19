//! What must always hold, as folds over records: the same functions check simulated runs, fuzzed runs and the
//! ledger of a real daemon. A law reads the agent's log so far ([`past::Past`], a fold of its
//! own that knows nothing of the core's) and the next record; it decides nothing and repairs
//! nothing. Replies to clients and the content of a disk are checked elsewhere.

#![no_std]
#![forbid(unsafe_code)]
#![expect(clippy::wildcard_enum_match_arm, reason = "a law is silent about each fact that it does not name")]

#[macro_use]
extern crate alloc;

mod answers;
mod authority;
mod budgets;
mod children;
mod commands;
mod deposits;
mod episodes;
mod hints;
mod lifecycle;
mod log;
mod memory;
#[deny(clippy::wildcard_enum_match_arm)]
mod past;
mod queue;
mod references;
pub mod replay;
mod requests;
mod servers;
mod shown;
mod skills;
mod sleep;
mod stops;
mod tasks;
mod timers;
mod triggers;
mod turns;
mod unattended;
mod waits;
mod work;
mod workspaces;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::ids::{AgentId, EventSeq};
use holon_facts::record::Record;
use past::Past;

/// The verdict of a law on a record: false when the law does not apply to it.
type Checked = Result<bool, String>;

/// The law applies, and it holds exactly if `holds`.
fn rule(holds: bool, problem: impl FnOnce() -> String) -> Checked {
    if holds { Ok(true) } else { Err(problem()) }
}

/// One law. `check` gets everything before the record, and the record.
#[derive(Debug)]
struct Law {
    id: &'static str,
    sentence: &'static str,
    check: fn(&Past, &Record) -> Checked,
}

const fn law(id: &'static str, sentence: &'static str, check: fn(&Past, &Record) -> Checked) -> Law {
    Law { id, sentence, check }
}

/// Every law whose subject exists, by family.
const LAWS: [Law; 85] = [
    law("L1", "Nothing starts between a stop and the next start.", lifecycle::l1),
    law(
        "L2",
        "A stop leaves no run, no hold, and no operation but those of tasks that are to end; it releases each root in which no command still runs, holds the others, and names both.",
        lifecycle::l2,
    ),
    law(
        "L3",
        "A stop or abort takes nothing from the queue, and aborts the message of its run.",
        lifecycle::l3,
    ),
    law(
        "L4",
        "A start alone starts nothing: the next run names the queued message it is for.",
        lifecycle::l4,
    ),
    law(
        "E3",
        "A stop or abort names the run, the messages, the operations and the tasks that it ends, and the reports that it drops.",
        stops::e3,
    ),
    law(
        "L5",
        "Posture follows the last control command; one without effect records nothing; an archived agent is stopped.",
        lifecycle::l5,
    ),
    law("L6", "Admission to a stopped agent never changes its posture.", lifecycle::l6),
    law("L8", "A record that names a run or an operation names one in progress.", lifecycle::l8),
    law("P1", "Phases of a task never go back, and its first end stays.", tasks::p1),
    law(
        "P2",
        "Each end of a task is delivered by one message, in its step or with others in a tick, before its agent rests.",
        tasks::p2,
    ),
    law("P4", "A command is executed once, by a supervisor that is on record before.", commands::p4),
    law(
        "Q1",
        "Each admitted message is queued, claimed or terminal, and claimed only by what runs.",
        queue::q1,
    ),
    law("Q2", "What is terminal stays as it is.", queue::q2),
    law("Q3", "A message is claimed from the queue, by one run.", queue::q3),
    law("Q4", "The claimed message is the first of the eligible queue.", queue::q4),
    law("Q5", "A known key admits nothing new.", queue::q5),
    law(
        "Q7",
        "Crashes without anything new are counted, and the last one drops with a failure brief.",
        queue::q7,
    ),
    law("Q9", "Each id is given once, in order, and named only afterwards.", references::q9),
    law(
        "Q10",
        "A message comes back exactly if its run was interrupted, and for the same cause.",
        queue::q10,
    ),
    law("T1", "At most one run is in progress.", turns::t1),
    law("T2", "Each run is for one message that it claimed, and that no settled run was for.", turns::t2),
    law("T3", "Rounds are counted from 0, with one request at a time.", turns::t3),
    law("T4", "Each run ends once, after its operations, under its own name.", turns::t4),
    law("T5", "Each tool call has one result, in order, before anything else is asked.", turns::t5),
    law("T6", "A crossed bound ends the run with its name; the end of a run has its rounds.", turns::t6),
    law("T7", "A run follows another of its message only after another process, or a wait.", turns::t7),
    law(
        "T8",
        "A summary of rounds comes between rounds, only grows, leaves the last two rounds whole, and follows one refusal at most.",
        turns::t8,
    ),
    law(
        "M2",
        "What was interjected into a turn stands in it again after an interruption, in order, before what is asked next.",
        shown::m2,
    ),
    law(
        "M4",
        "A request begins with all of the one before, or what it has of that and the first part that is another one are on record; in a run it does, unless another model is asked, an episode closed, or a provider refused thoughts.",
        requests::m4,
    ),
    law(
        "M5",
        "The turns of one episode ask the same model first and offer the same tools. Earlier builds closed no episode.",
        episodes::m5,
    ),
    law(
        "M7",
        "An episode closes once, with the turns that ended in it, and in the middle of a turn for the size of a request alone.",
        episodes::m7,
    ),
    law(
        "M10",
        "The fences of one message's runs carry tags of their own, the same after an interruption.",
        shown::m10,
    ),
    law(
        "M12",
        "A request that is sent fits its model, by an estimate and by what the provider has counted so far, both on record.",
        requests::m12,
    ),
    law(
        "M14",
        "Working memory follows each turn that changed something of it, with the files that the turn changed. Earlier builds kept none.",
        memory::m14,
    ),
    law(
        "M15",
        "A model is asked to sum up an episode right before that closes for what a request takes, one at a time, and what comes of it is on record once.",
        episodes::m15,
    ),
    law(
        "K1",
        "A skill becomes active by a file of it that a successful command has named, or by a prompt of the turn that brings it along, and it is one that the agent is offered.",
        skills::k1,
    ),
    law(
        "K2",
        "Skills on offer are on record as they change, before the context of a turn; those of the user are for the default agent alone, and an untrusted workspace offers none.",
        skills::k2,
    ),
    law(
        "K3",
        "Prompts of operators alone bring skills along: at most 4, each once, of at most 24 KiB.",
        skills::k3,
    ),
    law(
        "K4",
        "A skill that a command's file or a prompt makes active is active before anything else is on record.",
        skills::k4,
    ),
    law(
        "CX35",
        "Tools of other programs are on record as they change, before the context of a turn; requests offer them behind the agent's own, in the order of their names, and others in the middle of no episode.",
        servers::cx35,
    ),
    law(
        "CX33",
        "A call of a tool of another program is sent once and has one result; where nobody saw its end, the result is `interrupted`.",
        servers::cx33,
    ),
    law(
        "CX37",
        "What other programs answer is evidence: it changes no file, begins nobody and ends no turn.",
        servers::cx37,
    ),
    law(
        "Y1",
        "A look at what an agent remembers brings a text, and nothing else: it changes no file and ends no turn.",
        memory::y1,
    ),
    law(
        "Y2",
        "What an agent noted for itself stands behind its instructions, as notes: its two memory files and no other.",
        memory::y2,
    ),
    law("T9", "An interjection enters once, at a safe point, before the next round.", turns::t9),
    law(
        "T10",
        "Attempts stay within their policy, wait before they repeat, and never repeat in vain.",
        turns::t10,
    ),
    law(
        "T11",
        "Output of a model or a tool admits no message except those that an agent leaves itself and those that an outbox message delivers; it gives no command and stops no agent.",
        authority::t11,
    ),
    law(
        "T12",
        "A turn completes only by a round that came to a real end or by a call that rests; another end fails it by its name, and only what was cut off is continued. Earlier builds recorded no end.",
        answers::t12,
    ),
    law(
        "M11",
        "The end of a task that was shown begins no turn, and a turn that has chosen to rest asks no model again.",
        stops::m11,
    ),
    law(
        "T13",
        "No call of a tool that its run does not offer is executed. Earlier builds executed it.",
        turns::t13,
    ),
    law("A1", "Trust and authority follow from kind and origin alone.", authority::a1),
    law("A4", "Only operators interject, and nothing else enters a turn in progress.", authority::a4),
    law(
        "A5",
        "Only the address in force wakes an agent, and never a stopped one; a delivery is one hint, which records whether its body is a repeated one.",
        triggers::a5,
    ),
    law(
        "W2",
        "Posture changes by a command, by a decision to rest, or by a turn, within its step, and each change is on record.",
        lifecycle::w2,
    ),
    law(
        "W3",
        "Pending hints of one source are coalesced until a tick delivers all pending hints, and none of them is lost.",
        hints::w3,
    ),
    law(
        "W5",
        "Occurrences of a timer come once, in order, when they are due, never after its end; one message at a time reports them.",
        timers::w5,
    ),
    law("W6", "Missed occurrences fire or are skipped, as the policy of their timer requires.", timers::w6),
    law("W7", "Recorded time goes back only by a recorded step of the clock.", log::w7),
    law(
        "W8",
        "A wait is over when a turn takes what it waits for, and each message ends all that wait for it.",
        waits::w8,
    ),
    law(
        "W9",
        "An item, or the agent, has one wait at a time, which something can end, and none once it is completed.",
        waits::w9,
    ),
    law("W10", "Each end of a run has one closure, which waits exactly if it names for what.", log::w10),
    law(
        "W11",
        "What is completed is written and picked no more, and nobody looks at its plan; a turn is bound to the item in focus, which is open.",
        work::w11,
    ),
    law(
        "B1",
        "What a request may take is reserved as it is opened, and settled as it ends, against the day of the reservation. Earlier builds reserved nothing.",
        budgets::b1,
    ),
    law(
        "B2",
        "A hold for a budget follows its exhaustion, ends with its day or not by itself, and only such a hold is ended by raising it.",
        budgets::b2,
    ),
    law(
        "C1",
        "A child is private, one deeper than its supervisor, and begins with the task that supervises it.",
        children::c1,
    ),
    law(
        "C2",
        "A child reports once how it ended; its task ends with that report, or when nobody can report any more.",
        children::c2,
    ),
    law(
        "C4",
        "Whoever is begun by another knows no folder that the other does not, and works where it does, or in its own home.",
        children::c4,
    ),
    law(
        "C5",
        "What one agent has for another is delivered or comes back once, and is taken in once.",
        children::c5,
    ),
    law(
        "C10",
        "Whoever is begun by another has the template that its call names, of the user or the build; nothing is fetched for it. Earlier builds took none.",
        children::c10,
    ),
    law(
        "C6",
        "A child that has come to its end takes nothing and runs no more; nothing of it is left when it is archived.",
        children::c6,
    ),
    law(
        "O2",
        "A root is occupied while a run or a command there needs it, after a stop while a command does; what is released was occupied.",
        workspaces::o2,
    ),
    law("O3", "Nothing is executed or changed in a root but by whoever occupies it.", workspaces::o3),
    law(
        "O4",
        "An agent works inside of a workspace that it knows, or in its home, and none in which it works is taken from it.",
        workspaces::o4,
    ),
    law(
        "O5",
        "A worktree is on record before anything of it is there; one that nobody needs is removed, or retained with a reason.",
        workspaces::o5,
    ),
    law("X7", "What was deposited while nobody owned its agent is taken once.", deposits::x7),
    law("D3", "A log starts with its agent and has no gap; steps never go back.", log::d3),
    law(
        "S1",
        "When an obligation of an open item is due, one message delivers it; without a due obligation no message is sent.",
        work::s1,
    ),
    law(
        "S2",
        "A turn that brings an item nothing defers the next one, by turns in a row, and the last one stalls it.",
        work::s2,
    ),
    law("S4", "While a tick with a key is pending, no second one is admitted.", queue::s4),
    law(
        "S5",
        "A task's result needs no model only if a turn has shown it or its agent ended the task.",
        tasks::s5,
    ),
    law("S6", "A task in progress has an operation that will report its end.", tasks::s6),
    law(
        "S7",
        "Each change of posture or label starts from the one before; the outcome of an operator's command names the posture at its admission as the previous one.",
        lifecycle::s7,
    ),
    law(
        "S9",
        "Turns that an agent causes itself and that bring nothing on are counted; the next ones wait for a time, then for somebody outside.",
        unattended::s9,
    ),
    law("S10", "A sleep's end is delivered once, when it is due, unless a turn began before.", sleep::s10),
    law(
        "S11",
        "Blockers and waits are looked at again when that is due, each time twice as late, and at last by an operator.",
        waits::s11,
    ),
];

const TABLE: [(&str, &str); LAWS.len()] = {
    let mut table = [("", ""); LAWS.len()];
    let mut at = 0;
    while at < LAWS.len() {
        table[at] = (LAWS[at].id, LAWS[at].sentence);
        at += 1;
    }
    table
};

/// Checks records in the order of each agent's log; the logs of several agents may be interleaved.
#[derive(Debug, Clone)]
pub struct Laws {
    agents: BTreeMap<AgentId, Past>,
    antecedents: [u64; LAWS.len()],
}

/// A law that a record broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{law} at {agent} #{event_seq}: {problem}")]
pub struct Violation {
    pub law: &'static str,
    pub agent: AgentId,
    pub event_seq: EventSeq,
    pub problem: String,
}

impl Laws {
    pub fn new() -> Self {
        Self { agents: BTreeMap::new(), antecedents: [0; LAWS.len()] }
    }

    /// Id and sentence of every law.
    pub fn table() -> &'static [(&'static str, &'static str)] {
        &TABLE
    }

    /// Checks the next record.
    ///
    /// # Errors
    /// The first law of the table that it breaks. Checking may continue: the record counts as past.
    pub fn step(&mut self, record: &Record) -> Result<(), Violation> {
        self.check(record).into_iter().next().map_or(Ok(()), Err)
    }

    /// Checks the next record against every law.
    pub fn check(&mut self, record: &Record) -> Vec<Violation> {
        let mut violations = Vec::new();
        let past = self.agents.entry(record.agent.clone()).or_default();
        for (law, antecedents) in LAWS.iter().zip(&mut self.antecedents) {
            match (law.check)(past, record) {
                Ok(applies) => *antecedents += u64::from(applies),
                Err(problem) => {
                    *antecedents += 1;
                    let (agent, event_seq) = (record.agent.clone(), record.event_seq);
                    violations.push(Violation { law: law.id, agent, event_seq, problem });
                }
            }
        }
        past.follow(record);
        violations
    }

    /// Takes a record in without checking it: what came before the records that are checked.
    pub fn follow(&mut self, record: &Record) {
        self.agents.entry(record.agent.clone()).or_default().follow(record);
    }

    /// Forgets the agents of which `stays` is false; their logs have to be followed again before they are checked.
    pub fn keep(&mut self, mut stays: impl FnMut(&AgentId) -> bool) {
        self.agents.retain(|agent, _| stays(agent));
    }

    /// How often each law had something to say: one that never had proves nothing.
    pub fn antecedents(&self) -> Vec<(&'static str, u64)> {
        LAWS.iter().map(|law| law.id).zip(self.antecedents).collect()
    }
}

impl Default for Laws {
    fn default() -> Self {
        Self::new()
    }
}
