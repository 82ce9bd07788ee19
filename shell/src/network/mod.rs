//! The real server, runtime and clients over a network that is simulated: it delays, loses, cuts and splits as a
//! seed says. Streams and time are simulated, files are not; time stands still while a disk is waited for.
//!
//! A connection that loses a segment stays silent for good, as one whose other end is gone without a word.

mod client;
mod follower;
mod half_open;
mod models;
mod nodes;
mod once;
mod reset;
mod server;
mod slow;
mod waited;

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use holon_platform::{Environment, clock};
use turmoil::{Builder, Sim};

/// How many seeds each scenario is played with, unless this variable says otherwise.
const SEEDS: u64 = 2;
const VARIABLE: &str = "HOLON_NETWORK_SEEDS";
/// Whatever is shorter happens at once, as far as the network is concerned.
const TICK: Duration = Duration::from_millis(20);

/// What happened, and when: lines that two runs of one seed have in common.
#[derive(Clone, Default)]
pub(crate) struct Timeline(Rc<RefCell<Vec<String>>>);

impl Timeline {
    pub(crate) fn record(&self, what: impl Display) {
        let at = turmoil::sim_elapsed().unwrap_or_default().as_millis();
        self.0.borrow_mut().push(format!("{at:>7} {what}"));
    }

    /// What may take more or less time in another run.
    pub(crate) fn record_untimed(&self, what: impl Display) {
        self.0.borrow_mut().push(what.to_string());
    }
}

/// Numbers that a seed decides.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Within a range of milliseconds.
    pub(crate) fn time(&mut self, from: u64, to: u64) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Duration::from_millis(from + (mixed ^ (mixed >> 31)) % (to - from))
    }
}

/// Plays a scenario with several seeds, with each of them twice: it must happen the same way again.
pub(crate) fn each_seed(shape: impl Fn(&mut Builder), scenario: impl Fn(&mut Sim<'_>, &Timeline, Dice)) {
    // The process's own clock begins here at the latest, outside of any simulation.
    clock::now();
    let wanted = Environment::of_process().get(VARIABLE).and_then(|number| number.parse().ok());
    for seed in 1..=wanted.unwrap_or(SEEDS) {
        let played = || {
            let timeline = Timeline::default();
            let mut builder = Builder::new();
            builder.rng_seed(seed).simulation_duration(Duration::from_hours(2));
            let mut dice = Dice::new(seed);
            // The same for all: into how many segments a text is cut may depend on threads.
            let latency = dice.time(20, 120);
            builder.tick_duration(TICK).min_message_latency(latency).max_message_latency(latency);
            shape(&mut builder);
            let telling = PrintOnPanic(seed, timeline.clone());
            scenario(&mut builder.build(), &timeline, dice);
            drop(telling);
            timeline.0.take()
        };
        let (timeline, again) = (played(), played());
        assert!(!timeline.is_empty());
        for (number, line) in timeline.iter().enumerate() {
            assert_eq!(Some(line), again.get(number), "seed {seed} played twice, line {number}");
        }
        assert_eq!(timeline.len(), again.len(), "seed {seed} played twice");
    }
}

/// Prints what had happened when a scenario fails.
struct PrintOnPanic(u64, Timeline);

impl Drop for PrintOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}:\n{}", self.0, self.1.0.borrow().join("\n"));
        }
    }
}
