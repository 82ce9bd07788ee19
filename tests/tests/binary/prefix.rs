//! What repeats of a request in the next one, and what a turn costs by that: 60 prompts with three rounds of tools each, in
//! one episode, over a day of mixed work, and across restarts. `cargo test -p end-to-end --test binary prefix:: -- --nocapture`
//! prints the figures of docs/context.md.

use std::sync::atomic::{AtomicUsize, Ordering};

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, Reply, calls, command, says};
use serde_json::{Value, json};

const PROMPTS: usize = 60;
const ROUNDS: usize = 3;
/// What providers ask for cached input, of the full price.
const CACHED: f64 = 0.1;

/// A model that calls a tool in each of three rounds, then answers.
fn works(request: &Value) -> Reply {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let messages = request["messages"].as_array().expect("a conversation");
    let since = messages.iter().rev().take_while(|message| message["role"] != "user");
    if since.filter(|message| message["role"] == "tool").count() >= ROUNDS {
        return says("The report is written, and its tests pass.");
    }
    // About as much as a command of a day's work prints.
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    calls(&[command(&format!("seq -f 'line %04g of report {number} is as long as such lines are' 1 6"))])
}

/// A request as a provider keeps it: tools, then the system message, then the conversation.
fn layout(request: &Value) -> String {
    let messages = request["messages"].as_array().expect("a conversation").iter();
    let texts = messages.map(Value::to_string).collect::<Vec<_>>();
    format!("{}\n{}", request["tools"], texts.join("\n"))
}

/// What repeats and what it costs.
struct Figures {
    requests: usize,
    /// Of each request that had one after it, the part that begins the next, in order.
    shares: Vec<f64>,
    /// Of all bytes that were sent, those that began the request before.
    cached: f64,
    /// Input of a turn at the full price, where what is cached costs a tenth.
    kilobytes: f64,
}

impl Figures {
    fn of(requests: &[Value]) -> Self {
        let sent: Vec<String> = requests.iter().map(layout).collect();
        let (mut shares, mut repeated, mut bytes) = (Vec::new(), 0.0, 0.0);
        for (at, now) in sent.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |at| sent[at].as_str());
            let common =
                before.bytes().zip(now.bytes()).take_while(|(one, other)| one == other).count() as f64;
            if at > 0 {
                shares.push(common / before.len() as f64);
            }
            repeated += common;
            bytes += now.len() as f64;
        }
        let full = bytes - repeated * (1.0 - CACHED);
        Self {
            requests: sent.len(),
            shares,
            cached: repeated / bytes,
            kilobytes: full / 1_000.0 / PROMPTS as f64,
        }
    }

    /// The part of requests that are whole in the next one, to 99 %.
    fn whole(&self) -> f64 {
        let whole = self.shares.iter().filter(|share| **share >= 0.99).count();
        whole as f64 / self.shares.len() as f64
    }

    fn shown(&self, what: &str) -> String {
        let least = self.shares.iter().copied().fold(1.0, f64::min);
        format!(
            "{what}: {} requests; {:.1} % begin with 99 % of the one before (least share {:.1} %); {:.1} % of all bytes \
             repeat; {:.1} full-price kB of input a turn",
            self.requests,
            self.whole() * 100.0,
            least * 100.0,
            self.cached * 100.0,
            self.kilobytes
        )
    }
}

fn day(between: impl Fn(&Daemon, usize)) -> Figures {
    let provider = Provider::answering(works);
    let daemon = Daemon::new(&provider);
    daemon.start();
    for at in 0..PROMPTS {
        between(&daemon, at);
        daemon.ok(&["prompt", "--wait", &format!("Write report {at}, then check it.")]);
    }
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    Figures::of(&provider.requests())
}

fn restart(daemon: &Daemon) {
    daemon.ok(&["daemon", "stop"]);
    daemon.start();
}

#[test]
fn within_an_episode_each_request_begins_the_next() {
    let figures = day(|_, _| {});
    println!("{}", figures.shown("one episode"));
    assert!(figures.whole() >= 0.99, "{:?}", figures.shares);
    assert!(figures.kilobytes < 60.0, "{}", figures.kilobytes);
}

#[test]
fn a_restart_in_the_middle_changes_nothing_of_that() {
    let figures = day(|daemon, at| {
        if at == PROMPTS / 2 {
            restart(daemon);
        }
    });
    println!("{}", figures.shown("a restart in the middle"));
    assert!(figures.whole() >= 0.99, "{:?}", figures.shares);
}

/// Hints, instructions that change, two compactions by an operator, two restarts.
#[test]
fn over_a_day_of_mixed_work_nine_of_ten_requests_begin_the_next() {
    let figures = day(|daemon, at| {
        if at % 20 == 10 {
            daemon.ok(&[
                "wake",
                "the build is done",
                "--source",
                "ci",
                "--body",
                &json!({ "at": at }).to_string(),
            ]);
        }
        if at % 15 == 7 {
            let rules = daemon.0.home().join("agents/main/AGENTS.md");
            std::fs::write(rules, format!("Number of the day's part: {}\n", at / 15)).expect("a file");
        }
        if at % 30 == 29 {
            daemon.ok(&["agent", "compact"]);
        }
        if at % 25 == 24 {
            restart(daemon);
        }
    });
    println!("{}", figures.shown("a day of mixed work"));
    assert!(figures.whole() >= 0.9, "{:?}", figures.shares);
}
