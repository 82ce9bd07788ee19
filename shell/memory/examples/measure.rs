//! Figures of the index, for docs/measures.md: `measure FOLDER AGENTS DOCUMENTS [BYTES]`, documents in all.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "it prints figures")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(clippy::cast_precision_loss, reason = "figures are rounded")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use holon_facts::{AgentId, Wall};
use holon_memory::{Document, Index, Kind, Query, RefKey, Search, Source, Standing, Workspaces};

const WORDS: u64 = 60_000;
const NOW: Wall = Wall(2_000_000_000_000_000);
const SLICE: usize = 2_000;

/// Always the same numbers.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 11
    }

    /// A word as texts use them: the first ones all the time, the last ones once.
    fn rank(&mut self) -> u64 {
        let unit = self.next() as f64 / (1_u64 << 53) as f64;
        ((WORDS as f64).powf(unit) as u64).min(WORDS - 1)
    }
}

fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ka", "re", "mo", "ti", "lun", "ser", "vo", "pa", "den", "ri", "go", "ma", "stel", "ui", "bra", "no",
    ];
    let mut number = rank * 7 + 3;
    let mut word = String::new();
    while number > 0 {
        word.push_str(SYLLABLES[usize::try_from(number % 16).expect("small")]);
        number /= 16;
    }
    word
}

fn text(draws: &mut Draws, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(&word(draws.rank()));
        text.push(if draws.next().is_multiple_of(12) { '.' } else { ' ' });
    }
    text
}

fn name(agent: u64) -> AgentId {
    AgentId::new(&format!("agent-{agent}")).expect("a name")
}

fn percentile(sorted: &[Duration], part: usize) -> f64 {
    sorted[(sorted.len() * part / 100).min(sorted.len() - 1)].as_secs_f64() * 1e3
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: u64| arguments.get(at).map_or(or, |it| it.parse().expect("a number"));
    let folder = Path::new(arguments.first().expect("a folder"));
    let (agents, documents) = (number(1, 1), number(2, 100_000));
    let bytes = usize::try_from(number(3, 600)).expect("small");
    let path = folder.join("memory.sqlite3");
    let mut index = Index::open(&path).expect("an index").index;
    let key = RefKey::new(b"a key");
    fill(&mut index, &key, (agents, documents), bytes);
    let size = fs::metadata(&path).expect("the file").len();
    let text = documents * bytes as u64;
    println!("size {} MB, {:.2} of its text", size / 1_000_000, size as f64 / text as f64);
    for (what, words) in [
        ("two rare words", (2_000, 2)),
        ("words of a text", (0, 3)),
        ("one common word", (20, 1)),
        ("two common words", (30, 2)),
    ] {
        searches(&index, agents, what, words);
    }
}

fn fill(index: &mut Index, key: &RefKey, (agents, documents): (u64, u64), bytes: usize) {
    let mut draws = Draws(1);
    let (begun, mut writing) = (Instant::now(), Duration::ZERO);
    let mut slices = Vec::new();
    for first in (0..documents).step_by(SLICE) {
        let texts: Vec<_> = (first..documents.min(first + SLICE as u64))
            .map(|id| {
                let agent = name(draws.next() % agents);
                let source = Source { kind: Kind::Brief, id: format!("brief_{id}") };
                let updated_at = Wall(NOW.0 - i64::try_from((documents - id) * 60_000_000).expect("small"));
                let title = text(&mut draws, 40);
                let document = Document {
                    agent,
                    source,
                    standing: Standing::Own,
                    workspace: None,
                    path: None,
                    title,
                    updated_at,
                    events: vec![id],
                    stamp: None,
                };
                (document, text(&mut draws, bytes))
            })
            .collect();
        let began = Instant::now();
        let fill = index.fill(key).expect("a transaction");
        for (document, body) in &texts {
            fill.agent(&document.agent, true).expect("an agent");
            fill.put(document, body).expect("a document");
        }
        fill.commit_through(first, 0).expect("a commit");
        slices.push(began.elapsed());
        writing += began.elapsed();
    }
    slices.sort_unstable();
    println!(
        "{documents} documents of {bytes} bytes, {agents} agents: {:.0} a second, {SLICE} at once p50 {:.0} p99 {:.0} ms, all {:.0} s",
        documents as f64 / writing.as_secs_f64(),
        percentile(&slices, 50),
        percentile(&slices, 99),
        begun.elapsed().as_secs_f64(),
    );
}

fn searches(index: &Index, agents: u64, what: &str, (from, words): (u64, usize)) {
    let mut draws = Draws(7);
    let (mut times, mut found) = (Vec::new(), 0);
    for _ in 0..200 {
        let agent = name(draws.next() % agents);
        let rank = |draws: &mut Draws| if from == 0 { draws.rank() } else { from + draws.next() % from };
        let query: Vec<String> = (0..words).map(|_| word(rank(&mut draws))).collect();
        let began = Instant::now();
        let query = Query::new(&query.join(" ")).expect("a query");
        let search =
            Search { agent: &agent, query: &query, workspaces: Workspaces::All, limit: 10, now: NOW };
        found += index.search(&search).expect("a result").hits.len();
        times.push(began.elapsed());
    }
    times.sort_unstable();
    println!(
        "{what}: p50 {:.1} p95 {:.1} p99 {:.1} ms, {:.1} results",
        percentile(&times, 50),
        percentile(&times, 95),
        percentile(&times, 99),
        found as f64 / 200.0,
    );
}
