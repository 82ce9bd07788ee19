//! The laws that need more than the records of one agent: the disk, clients, two runs. With the table of
//! `core/law/src/` they make the page `docs/laws.md`.

use std::fmt::Write;

use holon_law::Laws;

use crate::cluster;
use crate::explore;
use crate::fault::kinds::{KINDS, PATTERNS};
use crate::options::Sabotage;

/// What a law is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Holds at every moment.
    Safety,
    /// Compares two positions or two runs.
    Pair,
    /// Something happens within a bound, once faults are over.
    Liveness,
}

/// A law of the world, and the sabotaged world in which it fails.
#[derive(Debug, Clone, Copy)]
pub struct WorldLaw {
    pub id: &'static str,
    pub sentence: &'static str,
    pub sort: Sort,
    pub broken: Broken,
}

/// A sabotaged world.
#[derive(Debug, Clone, Copy)]
pub enum Broken {
    /// One of the swarm.
    Drawn(Sabotage),
    /// A small world, by its name; `sim/tests/worlds/explore.rs` searches it.
    Small(&'static str, explore::Sabotage),
    /// A small world of two nodes, by its name; `sim/tests/worlds/small_clusters.rs` searches it.
    Nodes(&'static str, cluster::rules::Sabotage),
}

const fn law(id: &'static str, sort: Sort, sabotage: Sabotage, sentence: &'static str) -> WorldLaw {
    WorldLaw { id, sentence, sort, broken: Broken::Drawn(sabotage) }
}

const fn nodes(
    id: &'static str,
    sort: Sort,
    world: &'static str,
    sabotage: cluster::rules::Sabotage,
    sentence: &'static str,
) -> WorldLaw {
    WorldLaw { id, sentence, sort, broken: Broken::Nodes(world, sabotage) }
}

use Sort::{Liveness as L, Pair as P, Safety as S};

pub const WORLD: [WorldLaw; 67] = [
    law("A2", S, Sabotage::Promote, "A request shows each message with the authority it was admitted with."),
    law(
        "B3",
        S,
        Sabotage::PaidTwice,
        "A request is sent only if every budget covers it, one that is exhausted is named with what was used, and what \
         requests took adds up, over agents, days and lives.",
    ),
    law("C3", S, Sabotage::HalfAStop, "No child begins a turn while its supervisor is stopped."),
    law(
        "C7",
        S,
        Sabotage::Orphans,
        "Who lives under supervision has a task of its supervisor, and each such task has somebody who lives, or whose \
         end is on its way; at the end of everything nobody is left.",
    ),
    law("C8", S, Sabotage::Prolific, "Nobody has more children, or deeper ones, than there may be."),
    law(
        "C9",
        P,
        Sabotage::MistellChild,
        "A child ends as its own turns require and reports its last answer, and its parent is shown exactly that; for a \
         child that never reported, no result is shown.",
    ),
    law("D1", S, Sabotage::ReleaseEarly, "An effect leaves after its records are on the disk."),
    law(
        "D2",
        P,
        Sabotage::LoseAcknowledged,
        "What was acknowledged or shown to a client survives a crash, if the sync was honest.",
    ),
    law(
        "D4",
        P,
        Sabotage::TimidReader,
        "In a damaged ledger, rows that were not synced are cut at the damage; damage of synced rows is reported with its position.",
    ),
    law("D5", P, Sabotage::StaleSnapshot, "The live state is the fold of the records."),
    law("D6", P, Sabotage::ForgetCall, "Recorded calls, made again, bring the same records and effects."),
    law(
        "D7",
        P,
        Sabotage::StaleSnapshot,
        "A snapshot at any position and the records after it give what the whole log gives.",
    ),
    law("D8", P, Sabotage::StaleRecovery, "Recovering what is at rest records nothing, however often."),
    law("D9", S, Sabotage::IgnoreFailure, "After a failed sync nothing leaves the process."),
    law(
        "D10",
        S,
        Sabotage::LateStop,
        "A full disk refuses input, and takes a stop and a shutdown at once; free space is noticed within seconds.",
    ),
    law("D11", P, Sabotage::TrustingReader, "A step is read back wholly or not at all."),
    law(
        "D13",
        S,
        Sabotage::NewestFirst,
        "What is handed over becomes durable in its order, each batch once, and none is left behind.",
    ),
    law(
        "D12",
        P,
        Sabotage::Interfere,
        "Without one agent the others record the same at the same moments, where slots, bounds of a step, budgets, disk, \
         process and clock are not shared.",
    ),
    law(
        "E1",
        S,
        Sabotage::LoseEffect,
        "What the records of a step promise leaves with it, once in each life of the process: operations, cancellations, \
         ends of commands, watches of those that go on, loads for messages that wait; and what is to happen at a time is \
         armed, and does not happen before.",
    ),
    law(
        "E2",
        P,
        Sabotage::TakeAgain,
        "An outbox message is taken once, also where only the receiver's log records it.",
    ),
    law(
        "E3",
        S,
        Sabotage::HalfTheStop,
        "The reply to a stop or an abort lists what the command released, ended and cancelled: exactly what is on record.",
    ),
    law("G2", S, Sabotage::NoSize, "An agent at rest is no larger than what it must remember."),
    law(
        "G4",
        S,
        Sabotage::LoseObserved,
        "Whoever follows the records sees each once, in order, across all lives.",
    ),
    law(
        "G5",
        P,
        Sabotage::ChangeReply,
        "Replies to callers and the posture equal those of the reference model.",
    ),
    law("G6", S, Sabotage::Blind, "A decision and a closure report the true state, and follow from it."),
    law(
        "L7",
        S,
        Sabotage::GoOn,
        "A shutdown ends no command; after it was answered only replies, cancellations and stops leave.",
    ),
    law(
        "M1",
        S,
        Sabotage::DropMessage,
        "Each message that a turn takes stands in its requests once, with its kind, origin, class and text.",
    ),
    law(
        "M2",
        S,
        Sabotage::DropInterjection,
        "Each interjection stands in every later request of its turn once, where it was taken in.",
    ),
    law(
        "M3",
        S,
        Sabotage::SwapResults,
        "Each call is shown with its own arguments and its own result, in the model's order; its own arguments are what \
         is executed.",
    ),
    law(
        "M4",
        S,
        Sabotage::AddWords,
        "A request shows the rounds and notes of its turn and of those before it in the episode as they are on record, and \
         nothing else; work items, waits, environment and instruction files are shown as they were when the run began.",
    ),
    law(
        "M5",
        P,
        Sabotage::AnotherPrefix,
        "The next request of an agent begins with all of the one before, in whichever turn, until an episode closes; one \
         whose turn was interrupted may be laid aside.",
    ),
    law(
        "M6",
        S,
        Sabotage::SwapEarlier,
        "A digest names what operators asked and what the calls of its turns changed, as it is on record; a summary of \
         hidden rounds names each of their effects.",
    ),
    law(
        "M8",
        P,
        Sabotage::AnotherLife,
        "After a restart the next request begins with all of the one before.",
    ),
    law(
        "M9",
        S,
        Sabotage::DropHint,
        "A turn for hints or ends of tasks shows each of them with the body of the hint.",
    ),
    law(
        "M10",
        S,
        Sabotage::Unfence,
        "What others wrote stands between fences whose tag it does not have, and never in the system role.",
    ),
    law(
        "M13",
        S,
        Sabotage::DropImage,
        "Each image of a message or a result is shown with it, once; where a request has as many as it may, those that follow \
         are named, and no others.",
    ),
    law(
        "M16",
        S,
        Sabotage::DropSkill,
        "Each skill that a prompt brings along is shown with it, once and quoted.",
    ),
    law(
        "O6",
        S,
        Sabotage::Stray,
        "Each worktree that is there, folder or branch, is one that somebody has on record, and what is in use is there.",
    ),
    law("O1", S, Sabotage::Crowded, "Of each execution root one supervision tree has it at a time."),
    law(
        "P5",
        P,
        Sabotage::ForgetEnd,
        "A command is started once, by a supervisor that is on the disk; a start of the runtime waits for a running command, \
         and the model is shown how the command really ended.",
    ),
    law(
        "P6",
        S,
        Sabotage::BeginAgain,
        "No operation is begun twice, in whichever life of the process; no command begins while the allowed number runs; \
         only a started command is asked to end.",
    ),
    law(
        "P7",
        S,
        Sabotage::LoseTexts,
        "A request names texts that the ledger was given, and has a form that every transport can send.",
    ),
    law(
        "P8",
        P,
        Sabotage::MisreportEnd,
        "The recorded end of a task is the one that its supervisor observed, and unknown where no supervisor observed it. \
         Input that is recorded as written to a task was written.",
    ),
    law(
        "P10",
        P,
        Sabotage::HideTwins,
        "A command that equals one which runs as a task begins exactly if its call does not take that one, and a call that does \
         gets it.",
    ),
    law("Q6", S, Sabotage::AnswerTwice, "Each caller is answered once; what is acknowledged is on the disk."),
    law(
        "Q8",
        S,
        Sabotage::SmallQueue,
        "Admitted messages fit into the capacity of the queue, and only operators use their reserve.",
    ),
    law("R1", P, Sabotage::Misread, "What clients read of an agent follows from its records."),
    law("S3", S, Sabotage::NoWait, "After a step the next deadline is not now."),
    law(
        "S12",
        S,
        Sabotage::NobodyComes,
        "What is waited for can still come, and what stands in the way of work is looked at again.",
    ),
    law("S8", S, Sabotage::NoCost, "What a step records is bounded by what it has to settle."),
    law("V1", L, Sabotage::Impatient, "The system comes to rest."),
    law("V2", L, Sabotage::LoseWake, "Each admitted message comes to an end."),
    law("V5", L, Sabotage::LateStop, "A stop takes no longer than the disk, whoever is silent."),
    law("V6", L, Sabotage::LateStop, "A shutdown takes no longer than the disk."),
    law("V7", L, Sabotage::Hasty, "A recovery takes a few steps for each agent."),
    law(
        "V8",
        L,
        Sabotage::NoPatience,
        "Nobody who waits for a slot is passed over more often than twice by each other; a turn that goes on after \
         a restart passes nobody over.",
    ),
    law(
        "V9",
        L,
        Sabotage::Oversleep,
        "A task that was asked to end has ended within its grace and two reports.",
    ),
    WorldLaw {
        id: "V10",
        sentence: "From every state of the small worlds, the drain policy comes to rest.",
        sort: L,
        broken: Broken::Small("retry", explore::Sabotage::LoseWake),
    },
    law(
        "W1",
        S,
        Sabotage::NoHold,
        "Who is started, idle, unheld and has messages runs, where there is a slot.",
    ),
    law("G1", S, Sabotage::Panic, "Nothing panics."),
    nodes(
        "X1",
        S,
        "takeover",
        cluster::rules::Sabotage::NoEpoch,
        "No batch of a fenced epoch lands: epochs in the log of a cell never decrease, and each belongs to one node.",
    ),
    nodes(
        "X2",
        S,
        "unknown",
        cluster::rules::Sabotage::NoHead,
        "A batch is in the log of its cell once, and what was acknowledged to anybody is in it.",
    ),
    nodes(
        "X3",
        S,
        "takeover",
        cluster::rules::Sabotage::BeginEarly,
        "No effect begins and nothing is acknowledged but of a batch that landed in its own epoch.",
    ),
    nodes(
        "X4",
        S,
        "takeover",
        cluster::rules::Sabotage::ClaimByTime,
        "No effect of an epoch begins once a later one has begun.",
    ),
    nodes(
        "X5",
        S,
        "takeover",
        cluster::rules::Sabotage::BeginAgain,
        "An effect begins at most once, over all nodes.",
    ),
    nodes(
        "X6",
        S,
        "unknown",
        cluster::rules::Sabotage::DecideAnew,
        "The state of an owner is the fold of the log: nothing lands that it has given up.",
    ),
    nodes(
        "X8",
        L,
        "takeover",
        cluster::rules::Sabotage::NoBurial,
        "One node that lives and reaches the database owns the cell within a lease, the grace and two polls, once what it \
         had asked before is answered or given up, and serves a request.",
    ),
];

/// A law of the real program: of processes, files and lines, which no simulated world has.
#[derive(Debug, Clone, Copy)]
pub struct ProgramLaw {
    pub id: &'static str,
    pub sentence: &'static str,
    /// The file and the function of the test that checks it.
    pub test: (&'static str, &'static str),
    /// The same for the test that breaks the law on purpose.
    pub sabotage: (&'static str, &'static str),
}

const fn program(
    id: &'static str,
    sentence: &'static str,
    test: (&'static str, &'static str),
    sabotage: (&'static str, &'static str),
) -> ProgramLaw {
    ProgramLaw { id, sentence, test, sabotage }
}

const SCRIPTS: (&str, &str) =
    ("tests/tests/binary/acp_scripts.rs", "whatever_an_editor_does_each_prompt_has_one_response");
const EDITOR_LAWS: &str = "tests/src/editor_laws.rs";

pub const PROGRAM: [ProgramLaw; 5] = [
    program(
        "CX34",
        "No server of tools runs whose definition is neither configured nor approved as it is now.",
        ("tests/tests/binary/mcp_workspace.rs", "nothing_starts_that_nobody_approved"),
        ("shell/mcp/src/approval.rs", "cx34_nothing_starts_that_nobody_approved"),
    ),
    program(
        "CX36",
        "After the death of a runtime nobody of its servers of tools is left once the next one runs, wherever they moved to.",
        ("tests/tests/binary/mcp_kills.rs", "nobody_of_a_killed_runtime_is_left_and_no_call_is_sent_twice"),
        ("tests/tests/binary/mcp_kills.rs", "one_that_is_left_is_noticed"),
    ),
    program(
        "CX38",
        "Each prompt of an editor has one response, also where the runtime was killed meanwhile.",
        SCRIPTS,
        (EDITOR_LAWS, "each_prompt_has_one_response"),
    ),
    program(
        "CX39",
        "What a load shows of a session ends before its response, each answer and each call once.",
        SCRIPTS,
        (EDITOR_LAWS, "a_load_is_over_with_its_response"),
    ),
    program(
        "CX40",
        "No update of a run follows the response to its prompt, cancelled or not.",
        SCRIPTS,
        (EDITOR_LAWS, "nothing_of_a_run_follows_its_response"),
    ),
];

/// The page `docs/laws.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# Laws\n\nWritten by `sim laws`; a test compares. S holds at every moment, P compares two positions or \
         runs, L happens within a bound once faults are over.\n\n## Of records\n\nFolds over the log of one agent \
         (`core/law/src/`): the same functions check simulated runs and real ledgers. Each is broken on \
         purpose in `core/src/law_tests/sabotage.rs`.\n\n| id | kind | law |\n| --- | --- | --- |\n",
    );
    for (id, sentence) in Laws::table() {
        line(&mut page, &[id, "S", sentence]);
    }
    page += "\n## Of the world\n\nChecked against the simulated disk, against the replies to callers, over two runs, or over \
             all runs of a small world. Each is broken on purpose, in the way that the last column names.\n\n| id | kind | law | sabotage |\n\
             | --- | --- | --- | --- |\n";
    for law in WORLD {
        let sort = match law.sort {
            Sort::Safety => "S",
            Sort::Pair => "P",
            Sort::Liveness => "L",
        };
        let broken = match law.broken {
            Broken::Drawn(sabotage) => format!("`{sabotage:?}`"),
            Broken::Small(world, sabotage) => format!("`{sabotage:?}` in the small world `{world}`"),
            Broken::Nodes(world, sabotage) => {
                format!("`{sabotage:?}` in the small world of two nodes `{world}`")
            }
        };
        line(&mut page, &[law.id, sort, law.sentence, &broken]);
    }
    page += "\n## Of the program\n\nChecked against the real binary: its processes, files and the lines that its clients get.\n\n\
             | id | law | checked by | broken by |\n| --- | --- | --- | --- |\n";
    for law in PROGRAM {
        let named = |(file, test): (&str, &str)| format!("`{test}` in `{file}`");
        line(&mut page, &[law.id, law.sentence, &named(law.test), &named(law.sabotage)]);
    }
    page += "\n## Faults\n\nWhat is counted when a fault strikes, and when it meets what its contract speaks of.\n\n\
             | catalogue | strikes | meets |\n| --- | --- | --- |\n";
    for kind in KINDS {
        line(&mut page, &[kind.rows, kind.name, kind.meets.unwrap_or("the same")]);
    }
    page += "\nTogether: ";
    page += &PATTERNS.join("; ");
    page += ".\n";
    page
}

fn line(page: &mut String, cells: &[&str]) {
    // Writing to a string can't fail.
    writeln!(page, "| {} |", cells.join(" | ")).unwrap_or_default();
}
